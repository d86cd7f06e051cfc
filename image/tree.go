package image

import (
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// maxSymlinks is how many symlinks Linux follows on the way to one file. maxSteps is how many names may be on the
// way, which symlinks of thousands each can make as many times more.
const (
	maxSymlinks = 40
	maxSteps    = 4096
)

// tree is a filesystem as its sorted entries.
type tree []Entry

// lookup finds the entry at a path; a symlink itself, not what it points to.
func (t tree) lookup(p string) (*Entry, bool) {
	i, ok := slices.BinarySearchFunc(t, p, func(e Entry, p string) int { return strings.Compare(e.Path, p) })
	if !ok {
		return nil, false
	}
	return &t[i], true
}

// Lookup finds the entry at a path; a symlink itself, not what it points to.
func (s *Scan) Lookup(p string) (*Entry, bool) { return tree(s.Entries).lookup(p) }

// Below returns the entries at and below a path, the one at the path apart and nil if there is none.
func (s *Scan) Below(dir string) (self *Entry, contents []Entry) { return tree(s.Entries).below(dir) }

// resolve follows symlinks as the kernel does for a process whose root the tree is. target has none and
// no leading slash; what it names need not exist, but everything on the way to it that exists is a
// directory. ok is false for a loop, for a way without end and for a path through a file. The entry is nil where nothing is,
// and for the root.
func (t tree) resolve(p string) (target string, e *Entry, ok bool) {
	var done []string
	pending := strings.Split(p, "/")
	for links, steps := 0, 0; len(pending) > 0; steps++ {
		if steps == maxSteps {
			return "", nil, false
		}
		name := pending[0]
		pending = pending[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = done[:max(len(done)-1, 0)]
			continue
		}
		done = append(done, name)
		e, found := t.lookup(strings.Join(done, "/"))
		switch {
		case !found || e.Type == content.Directory:
		case e.Type == content.Symlink:
			if links++; links > maxSymlinks {
				return "", nil, false
			}
			done = done[:len(done)-1]
			if strings.HasPrefix(e.LinkTarget, "/") {
				done = nil
			}
			pending = append(strings.Split(e.LinkTarget, "/"), pending...)
		case len(pending) > 0:
			return "", nil, false
		}
	}
	target = strings.Join(done, "/")
	e, _ = t.lookup(target)
	return target, e, true
}

// below yields the entries at and below a path, in two parts: the bytes that sort between a directory
// and its contents can be those of a neighbour, as in a, a-b, a/c.
func (t tree) below(dir string) (self *Entry, contents tree) {
	self, _ = t.lookup(dir)
	first, _ := slices.BinarySearchFunc(t, dir+"/", func(e Entry, p string) int { return strings.Compare(e.Path, p) })
	last, _ := slices.BinarySearchFunc(t, dir+"0", func(e Entry, p string) int { return strings.Compare(e.Path, p) })
	return self, t[first:last] // '0' is the byte behind '/'
}

// within tells whether p lies at or below dir. Both are clean, and both absolute or both not.
func within(p, dir string) bool {
	rest, ok := strings.CutPrefix(p, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}
