package content

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// destination is a name in a directory under which a file or a directory is to appear, whole or not at
// all: what is written has a temporary name beside it first.
type destination struct {
	parent *os.Root
	name   string
}

func openDestination(p string) (*destination, error) {
	dir, name := filepath.Split(filepath.Clean(p))
	if name == "" || name == "." || name == ".." {
		return nil, fmt.Errorf("writing to %s: expected the path of something that does not exist yet", p)
	}
	if dir == "" {
		dir = "."
	}
	parent, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &destination{parent: parent, name: name}, nil
}

func (d *destination) Close() error { return d.parent.Close() }

func (d *destination) temporary() string {
	return "." + d.name + "." + rand.Text()[:10] + ".tmp"
}

// vacant fails if something exists under the name.
func (d *destination) vacant() error {
	if _, err := d.parent.Lstat(d.name); err == nil {
		return fmt.Errorf("writing to %s: %w; remove it, or choose another name", filepath.Join(d.parent.Name(), d.name), fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// directory makes a directory with a temporary name.
func (d *destination) directory() (name string, root *os.Root, err error) {
	name = d.temporary()
	if err := d.parent.Mkdir(name, 0o755); err != nil {
		return "", nil, err
	}
	if root, err = d.parent.OpenRoot(name); err != nil {
		return "", nil, errors.Join(err, d.parent.Remove(name))
	}
	return name, root, nil
}

// staging is a directory into which content is extracted before it is known to be good. Its methods
// refuse nothing and report nothing: the tree does, and of trouble with writing the first is kept in
// err, after which they do nothing. On a nil staging they do nothing either.
//
// Everything goes through a handle of the directory, and nothing is ever opened that exists already,
// so no entry can make another one appear elsewhere.
type staging struct {
	to    *destination
	name  string
	root  *os.Root
	dirs  handles
	made  map[string]uint32
	limit int
	err   error
	gone  bool
}

func (d *destination) stage(limit int) (*staging, error) {
	name, root, err := d.directory()
	if err != nil {
		return nil, err
	}
	return &staging{to: d, name: name, root: root, dirs: handles{root: root}, made: map[string]uint32{}, limit: limit}, nil
}

func (s *staging) ensure(dir string) error {
	if _, ok := s.made[dir]; ok || dir == "." {
		return nil
	}
	if err := s.ensure(path.Dir(dir)); err != nil {
		return err
	}
	// An archive need not list the directories on the way to a file, and a small one can imply very
	// many of them.
	if len(s.made) >= s.limit {
		return fmt.Errorf("extracting takes more than %d directories, which is the limit", s.limit)
	}
	// Until everything is extracted, only the owner needs to get in, and must.
	if err := s.root.Mkdir(dir, 0o700); err != nil {
		return err
	}
	s.made[dir] = 0o755
	return nil
}

// in does something in a directory, which it makes if necessary.
func (s *staging) in(dir string, f func(*os.Root) error) {
	if s == nil || s.err != nil {
		return
	}
	err := s.ensure(dir)
	if err == nil {
		var handle *os.Root
		if handle, err = s.dirs.at(dir); err == nil {
			err = f(handle)
		}
	}
	s.fail(err)
}

func (s *staging) fail(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("extracting: %w", err)
	}
}

func (s *staging) directory(p string, mode uint32) {
	s.in(p, func(*os.Root) error {
		s.made[p] = mode
		return nil
	})
}

func (s *staging) symlink(p, target string) {
	s.in(path.Dir(p), func(dir *os.Root) error { return dir.Symlink(target, path.Base(p)) })
}

func (s *staging) hardlink(p, target string) {
	s.in(path.Dir(p), func(*os.Root) error { return s.root.Link(target, p) })
}

// file begins a file. What it returns is never nil, and writing to it never fails.
func (s *staging) file(p string, mode uint32) *stagedFile {
	f := &stagedFile{staging: s, mode: fs.FileMode(mode)}
	s.in(path.Dir(p), func(dir *os.Root) (err error) {
		f.file, err = dir.OpenFile(path.Base(p), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	return f
}

type stagedFile struct {
	staging *staging
	file    *os.File
	mode    fs.FileMode
}

func (f *stagedFile) Write(p []byte) (int, error) {
	if f.file != nil && f.staging.err == nil {
		_, err := f.file.Write(p)
		f.staging.fail(err)
	}
	return len(p), nil
}

func (f *stagedFile) Close() {
	if f.file != nil {
		f.staging.fail(errors.Join(f.file.Chmod(f.mode), f.file.Close()))
	}
}

// commit gives the directories their modes and the staging its name. It must be the last call.
func (s *staging) commit() error {
	s.dirs.close()
	defer s.root.Close()
	// Deepest first, since a directory may lose the permission that getting through it takes.
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(s.made))) {
		s.fail(s.root.Chmod(dir, fs.FileMode(s.made[dir])))
	}
	s.fail(s.to.parent.Chmod(s.name, 0o755))
	if s.err == nil {
		s.fail(s.to.parent.Rename(s.name, s.to.name))
	}
	return s.err
}

// discard removes the staging. It may be called again.
func (s *staging) discard() error {
	if s == nil || s.gone {
		return nil
	}
	s.gone = true
	s.dirs.close()
	return errors.Join(s.root.Close(), s.to.parent.RemoveAll(s.name))
}

// handles keeps the handle of the directory that was used last: files come sorted, or nearly so.
type handles struct {
	root *os.Root
	dir  string
	sub  *os.Root
}

// at returns the handle of a directory below the root. It is valid until the next call.
func (h *handles) at(dir string) (*os.Root, error) {
	if dir == "." {
		return h.root, nil
	}
	if h.sub != nil && h.dir == dir {
		return h.sub, nil
	}
	h.close()
	sub, err := h.root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	h.dir, h.sub = strings.Clone(dir), sub
	return sub, nil
}

func (h *handles) close() {
	if h.sub != nil {
		h.sub.Close()
		h.sub = nil
	}
}
