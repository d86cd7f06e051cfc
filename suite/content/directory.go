package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/moby/patternmatcher"
	"golang.org/x/sync/errgroup"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// directory reads an extracted suite: first its names, then its files. Everything goes through handles
// of the directory, which no symlink leads out of.
type directory struct {
	*tree
	root    *os.Root
	ignore  *ignore
	ignored []string
	// stats says what was found under a file's path, so that something else is noticed that took its
	// place meanwhile.
	stats map[string]fs.FileInfo
	// kept says of each entry whether its bytes are kept.
	kept []bool
	// mutex guards findings and texts while files are read.
	mutex sync.Mutex
}

// readDirectory reads the content in a directory. If packed is not nil, the content is packed into it
// at the same time.
func readDirectory(ctx context.Context, root *os.Root, limits Limits, packed *layerWriter) (*directory, error) {
	d := &directory{tree: newTree(limits), root: root, stats: map[string]fs.FileInfo{}}
	if err := d.readIgnore(); err != nil {
		return nil, err
	}
	_, err := d.walk(ctx, root, ".", patternmatcher.MatchInfo{})
	if err != nil && !errors.Is(err, errStop) {
		return nil, err
	}
	slices.Sort(d.ignored)
	// What is not listed to its end is not worth hashing.
	if finished := cmp.Or(d.finish(), d.choose()); errors.Is(err, errStop) || finished != nil {
		return d, nil
	}
	if packed != nil && len(d.problems) == 0 {
		err = d.pack(ctx, packed)
	} else {
		err = d.hash(ctx)
	}
	if err != nil && !errors.Is(err, errStop) {
		return nil, err
	}
	return d, nil
}

// choose decides which files' bytes are kept, in an order that does not depend on how they are read.
func (d *directory) choose() error {
	d.kept = make([]bool, len(d.entries))
	for i, e := range d.entries {
		if e.Type == File {
			var err error
			if d.kept[i], err = d.keeps(e.Path, e.Size); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *directory) readIgnore() error {
	stat, err := d.root.Lstat(ignoreFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := d.buildFile(d.root, ignoreFile, stat)
	if err != nil || text == nil {
		return err
	}
	var wrong error
	if d.ignore, wrong = parseIgnore(text, d.limits.IgnorePatterns); wrong != nil {
		return d.report(problem.BuildFile, ignoreFile, "the file cannot be applied: %v", wrong)
	}
	return nil
}

// buildFile reads a build file that must be text. It is nil if it is not even that.
func (d *directory) buildFile(root *os.Root, name string, stat fs.FileInfo) ([]byte, error) {
	switch {
	case !stat.Mode().IsRegular():
		return nil, d.report(problem.BuildFile, name, "the build file is %s; expected a regular file", kindOf(stat.Mode()))
	case stat.Size() > d.limits.BuildFileBytes:
		return nil, d.report(problem.BuildFile, name, "the build file has %d bytes; the limit is %d", stat.Size(), d.limits.BuildFileBytes)
	}
	file, err := openSame(root, name, stat)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text := make([]byte, stat.Size())
	_, err = io.ReadFull(file, text)
	return text, err
}

// walk takes in everything in a directory, and tells whether that is anything. above is how the patterns
// matched the directory.
func (d *directory) walk(ctx context.Context, root *os.Root, dir string, above patternmatcher.MatchInfo) (some bool, err error) {
	names, err := namesIn(root)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return some, err
		}
		p := path.Join(dir, name)
		stat, err := root.Lstat(name)
		if err != nil {
			return some, err
		}
		ignored, match, err := d.ignore.match(p, above)
		if err != nil {
			return some, err
		}
		build, dockerfile := isBuildFile(p)
		switch {
		case build && dockerfile && !ignored:
			err = d.dockerfile(root, name, stat)
			fallthrough
		case build:
			d.ignored = append(d.ignored, p)
		case stat.IsDir() && (!ignored || d.ignore.exceptions):
			var within bool
			within, err = d.subdirectory(ctx, root, name, p, stat, match, ignored)
			some = some || within
		case ignored:
			d.ignored = append(d.ignored, p)
		default:
			some = true
			err = d.entry(root, name, p, stat)
		}
		if err != nil {
			return some, err
		}
	}
	return some, nil
}

// subdirectory takes in a directory and what is in it. One that is ignored is content only for what in
// it is not.
func (d *directory) subdirectory(ctx context.Context, root *os.Root, name, p string, stat fs.FileInfo, match patternmatcher.MatchInfo, ignored bool) (some bool, err error) {
	if !ignored {
		added, err := d.add(Entry{Path: p, Type: Directory}, modeOf(stat.Mode()))
		if err != nil || !added {
			return true, err
		}
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return false, err
	}
	defer sub.Close()
	if now, err := sub.Stat("."); err != nil {
		return false, err
	} else if !os.SameFile(stat, now) {
		return false, errChanged(p)
	}
	before := len(d.ignored)
	some, err = d.walk(ctx, sub, p, match)
	switch {
	case err != nil || !ignored:
		return true, err
	case some:
		_, err = d.add(Entry{Path: p, Type: Directory}, modeOf(stat.Mode()))
	default:
		d.ignored = append(d.ignored[:before], p)
	}
	return some, err
}

func namesIn(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (d *directory) entry(root *os.Root, name, p string, stat fs.FileInfo) error {
	mode := modeOf(stat.Mode())
	switch {
	case stat.Mode().IsRegular():
		if err := d.grow(p, stat.Size()); err != nil {
			return err
		}
		added, err := d.add(Entry{Path: p, Type: File, Size: stat.Size()}, mode)
		if added {
			d.stats[p] = stat
		}
		return err
	case stat.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		if err != nil {
			return err
		}
		_, err = d.add(Entry{Path: p, Type: Symlink, LinkTarget: target}, mode)
		return err
	default:
		return d.report(problem.PathType, p, "the entry is %s; expected a regular file, a directory or a symlink", kindOf(stat.Mode()))
	}
}

func (d *directory) dockerfile(root *os.Root, name string, stat fs.FileInfo) error {
	text, err := d.buildFile(root, name, stat)
	if err != nil || text == nil {
		return err
	}
	if wrong := CheckBuildFile(text); wrong != nil {
		return d.report(problem.BuildFile, name, `the build file is refused: %v; expected a "# syntax=" line and nothing else but blank lines and comments`, wrong)
	}
	return nil
}

// kindOf names what is no regular file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symlink"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeCharDevice != 0:
		return "a character device"
	case mode&fs.ModeDevice != 0:
		return "a block device"
	}
	return "of an unknown type"
}

// modeOf returns the mode bits as Unix has them.
func modeOf(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, special := range []struct {
		mode fs.FileMode
		bit  uint32
	}{{fs.ModeSetuid, 0o4000}, {fs.ModeSetgid, 0o2000}, {fs.ModeSticky, 0o1000}} {
		if mode&special.mode != 0 {
			bits |= special.bit
		}
	}
	return bits
}

func errChanged(p string) error {
	return fmt.Errorf("%s changed while it was read", p)
}

// openSame opens a regular file that was found before. Should something else have taken its place, a
// FIFO does not block it, and it is not read.
func openSame(root *os.Root, name string, found fs.FileInfo) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	now, err := file.Stat()
	if err == nil && (!os.SameFile(found, now) || !now.Mode().IsRegular() || now.Size() != found.Size()) {
		err = errChanged(file.Name())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// batchFiles and batchBytes bound how many files in a row one goroutine takes at a time: enough to
// share the handle of their directory, few enough to spread the work evenly.
const (
	batchFiles = 64
	batchBytes = 4 << 20
)

// hash reads all files, as many at a time as there are cores.
func (d *directory) hash(ctx context.Context) error {
	var batches [][]int
	files, bytes := 0, int64(0)
	for i, e := range d.entries {
		if e.Type != File {
			continue
		}
		if len(batches) == 0 || files == batchFiles || bytes > batchBytes {
			batches = append(batches, nil)
			files, bytes = 0, 0
		}
		last := len(batches) - 1
		batches[last] = append(batches[last], i)
		files++
		bytes += e.Size
	}

	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), len(batches)) {
		group.Go(func() error {
			reader := d.newReader(ctx)
			defer reader.close()
			for {
				n := next.Add(1) - 1
				if n >= int64(len(batches)) {
					return nil
				}
				for _, i := range batches[n] {
					if err := reader.read(i, nil); err != nil {
						return err
					}
				}
			}
		})
	}
	return group.Wait()
}

// pack reads all entries in order and writes them into a content layer.
func (d *directory) pack(ctx context.Context, layer *layerWriter) error {
	reader := d.newReader(ctx)
	defer reader.close()
	for i, e := range d.entries {
		if err := layer.begin(e); err != nil {
			return err
		}
		if e.Type == File {
			if err := reader.read(i, layer); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileReader reads the files of a directory, one after the other.
type fileReader struct {
	*directory
	ctx  context.Context
	dirs handles
	copy *copier
}

func (d *directory) newReader(ctx context.Context) *fileReader {
	return &fileReader{directory: d, ctx: ctx, dirs: handles{root: d.root}, copy: newCopier()}
}

func (r *fileReader) close() { r.dirs.close() }

// read reads the file of entry i to its digest, its text if that is kept, and out unless it is nil.
func (r *fileReader) read(i int, out io.Writer) error {
	e := &r.entries[i]
	dir, err := r.dirs.at(path.Dir(e.Path))
	if err != nil {
		return err
	}
	file, err := openSame(dir, path.Base(e.Path), r.stats[e.Path])
	if err != nil {
		return err
	}
	defer file.Close()
	capable, err := HasCapability(file)
	if err != nil {
		return err
	}
	if capable {
		r.mutex.Lock()
		err = r.report(problem.PathAttribute, e.Path, "the file has capabilities; expected none (setcap -r)")
		r.mutex.Unlock()
		if err != nil {
			return err
		}
	}
	sum, text, err := r.copy.file(out, &source{ctx: r.ctx, r: file}, e.Size, r.kept[i])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errChanged(e.Path)
	}
	if err != nil {
		return err
	}
	e.Digest = sum
	if r.kept[i] {
		r.mutex.Lock()
		r.keep(e.Path, text)
		r.mutex.Unlock()
	}
	return nil
}
