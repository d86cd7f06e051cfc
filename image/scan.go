package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// ScanLimits bounds what [ScanDir] accepts of a root filesystem, which is hostile input.
type ScanLimits struct {
	// Entries is the number of entries, the root directory not counted.
	Entries int
	// Bytes is the size of all regular files together, a file with several names counted once.
	Bytes int64
	// PathBytes is the length of a path.
	PathBytes int
	// DatabaseBytes is the size of one of the files whose bytes a scan keeps.
	DatabaseBytes int64
	// FactsBytes bounds what native files state of themselves, by the weight of their facts
	// ([abi.Facts.Weight]) under every name.
	FactsBytes int64
}

// DefaultScanLimits returns the limits that ScanDir applies: far above any image that people run,
// low enough that a filesystem made to exhaust the builder is refused. The facts of a system of twenty thousand
// libraries weigh a third of what they may.
func DefaultScanLimits() ScanLimits {
	return ScanLimits{Entries: 1_000_000, Bytes: 64 << 30, PathBytes: 4096, DatabaseBytes: 4 << 20, FactsBytes: 256 << 20}
}

// ScanDir scans the filesystem below root with [DefaultScanLimits]. It hashes files in parallel, never
// follows a symlink, and reads nothing outside root. What is wrong with the filesystem becomes a
// problem of the scan; an error means that it could not be read, or that ctx is done. The caller must
// be able to read every file, as root is.
func ScanDir(ctx context.Context, root *os.Root) (*Scan, error) {
	return scanDir(ctx, root, DefaultScanLimits())
}

func scanDir(ctx context.Context, root *os.Root, limits ScanLimits) (*Scan, error) {
	s := &scanner{root: root, limits: limits, scan: &Scan{Files: map[string][]byte{}, Objects: map[string]abi.Facts{}}}
	err := s.run(ctx)
	var exceeded *limitError
	if errors.As(err, &exceeded) {
		// Half a filesystem says nothing that a check could rely on.
		return &Scan{Problems: []problem.Problem{exceeded.problem}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("scanning the filesystem: %w", err)
	}
	return s.scan, nil
}

type limitError struct{ problem problem.Problem }

func (e *limitError) Error() string { return e.problem.Message }

func exceeds(at, format string, args ...any) error {
	return &limitError{problem.New(problem.ImageLimit, problem.Place{Path: problem.Printable(at)}, format, args...)}
}

// scanner walks a filesystem in one goroutine and reads its files in others.
type scanner struct {
	root   *os.Root
	limits ScanLimits
	scan   *Scan
	bytes  int64
	// weight is that of the facts so far.
	weight atomic.Int64
	// first is the first name of every file that has several.
	first map[inode]int
	// aliases are the other names: entry and the entry that has the digest.
	aliases [][2]int
}

type inode struct{ dev, ino uint64 }

// task is one opened file to read.
type task struct {
	entry int
	path  string
	size  int64
	file  *os.File
}

// reading is what reading a file gave.
type reading struct {
	entry  int
	digest digest.Digest
	facts  *abi.Facts
	// capable tells that the file has capabilities.
	capable bool
}

func (s *scanner) run(ctx context.Context) error {
	workers := runtime.GOMAXPROCS(0)
	tasks := make(chan task, workers)
	readings := make([][]reading, workers)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(tasks)
		return s.walk(ctx, tasks)
	})
	for w := range workers {
		group.Go(func() error {
			reader := newFileReader()
			for t := range tasks {
				got, err := reader.read(ctx, t)
				if err == nil {
					err = s.weigh(got.facts)
				}
				if err != nil {
					for t := range tasks {
						t.file.Close()
					}
					return err
				}
				readings[w] = append(readings[w], got)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := s.collect(readings); err != nil {
		return err
	}
	slices.SortFunc(s.scan.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return s.keepFiles()
}

// weigh adds the facts of one name of a file to those of all.
func (s *scanner) weigh(facts *abi.Facts) error {
	if facts == nil || s.weight.Add(facts.Weight()) <= s.limits.FactsBytes {
		return nil
	}
	// Which file it was depends on who read first.
	return exceeds("", "what the native files of the filesystem state of themselves takes more than %d bytes, the most that an image is scanned with", s.limits.FactsBytes)
}

func (s *scanner) collect(readings [][]reading) error {
	entries := s.scan.Entries
	capable := map[string]bool{}
	for _, r := range slices.Concat(readings...) {
		if r.capable {
			capable[entries[r.entry].Path] = true
		}
		entries[r.entry].Digest = r.digest
		if r.facts != nil {
			s.scan.Objects[entries[r.entry].Path] = *r.facts
		}
	}
	for _, alias := range s.aliases {
		name, original := &entries[alias[0]], &entries[alias[1]]
		name.Digest = original.Digest
		if facts, ok := s.scan.Objects[original.Path]; ok {
			if err := s.weigh(&facts); err != nil {
				return err
			}
			s.scan.Objects[name.Path] = facts
		}
		if capable[original.Path] {
			capable[name.Path] = true
		}
	}
	s.scan.AppendCapable(slices.Collect(maps.Keys(capable)))
	return nil
}

// walk visits every directory once, in an order that depends on names alone.
func (s *scanner) walk(ctx context.Context, tasks chan<- task) error {
	s.first = map[inode]int{}
	pending := []string{"."}
	for len(pending) > 0 {
		dir := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		below, err := s.walkDir(ctx, dir, tasks)
		if err != nil {
			return err
		}
		slices.Reverse(below)
		pending = append(pending, below...)
	}
	return nil
}

func (s *scanner) walkDir(ctx context.Context, dir string, tasks chan<- task) (below []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	handle, err := s.root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	names, err := s.names(handle, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		p := path.Join(dir, name)
		if len(p) > s.limits.PathBytes {
			return nil, exceeds(p[:s.limits.PathBytes], "this path is longer than %d bytes, the most that an image is scanned with", s.limits.PathBytes)
		}
		info, err := handle.Lstat(name)
		if err != nil {
			return nil, err
		}
		if !s.scan.Admit(p, info.Mode().Type()) {
			continue
		}
		index, err := s.add(handle, p, name, info)
		if err != nil {
			return nil, err
		}
		switch {
		case info.IsDir():
			below = append(below, p)
		case info.Mode().IsRegular():
			if err := s.send(ctx, handle, index, p, name, info, tasks); err != nil {
				return nil, err
			}
		}
	}
	return below, nil
}

// names lists a directory, sorted. It stops at the limit on entries, so that one directory cannot
// exhaust the memory.
func (s *scanner) names(handle *os.Root, dir string) ([]string, error) {
	d, err := handle.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var names []string
	for {
		some, err := d.Readdirnames(4096)
		names = append(names, some...)
		if len(s.scan.Entries)+len(names) > s.limits.Entries {
			return nil, exceeds(dir, "the filesystem has more than %d entries, the most that an image is scanned with", s.limits.Entries)
		}
		if errors.Is(err, io.EOF) || len(some) == 0 && err == nil {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *scanner) add(handle *os.Root, p, name string, info fs.FileInfo) (index int, err error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("the owner of %s cannot be told on this system", p)
	}
	e := Entry{Path: p, Mode: modeBits(info.Mode()), UID: int(stat.Uid), GID: int(stat.Gid)}
	switch {
	case info.IsDir():
		e.Type = content.Directory
	case info.Mode()&fs.ModeSymlink != 0:
		e.Type, e.Mode = content.Symlink, 0o777
		if e.LinkTarget, err = handle.Readlink(name); err != nil {
			return 0, err
		}
	default:
		e.Type, e.Size = content.File, info.Size()
	}
	s.scan.Append(e)
	return len(s.scan.Entries) - 1, nil
}

// modeBits are the permission, set-id and sticky bits of a mode, where a kernel has them.
func modeBits(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if mode&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

// send opens a regular file for the readers, unless another name of it is with them already.
func (s *scanner) send(ctx context.Context, handle *os.Root, index int, p, name string, info fs.FileInfo, tasks chan<- task) error {
	if stat := info.Sys().(*syscall.Stat_t); stat.Nlink > 1 {
		id := inode{uint64(stat.Dev), stat.Ino} //nolint:unconvert // it has another type on other systems
		if original, ok := s.first[id]; ok {
			s.aliases = append(s.aliases, [2]int{index, original})
			return nil
		}
		s.first[id] = index
	}
	if info.Size() > s.limits.Bytes-s.bytes {
		return exceeds(p, "the files of the filesystem are larger than %d bytes together, the most that an image is scanned with", s.limits.Bytes)
	}
	s.bytes += info.Size()
	file, err := openRegular(handle, name)
	if err != nil {
		return fmt.Errorf("opening %s: %w", p, err)
	}
	select {
	case tasks <- task{entry: index, path: p, size: info.Size(), file: file}:
		return nil
	case <-ctx.Done():
		file.Close()
		return context.Cause(ctx)
	}
}

// openRegular opens a file that was seen to be regular. It neither follows a symlink nor blocks on a
// FIFO, should the entry have been replaced since.
func openRegular(handle *os.Root, name string) (*os.File, error) {
	file, err := handle.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errChanged
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

var errChanged = errors.New("it changed while it was read")

// fileReader reads one file after the other into the same memory.
type fileReader struct {
	hash   hash.Hash
	buffer []byte
}

func newFileReader() *fileReader {
	return &fileReader{hash: sha256.New(), buffer: make([]byte, 128<<10)}
}

func (r *fileReader) read(ctx context.Context, t task) (reading, error) {
	defer t.file.Close()
	if err := ctx.Err(); err != nil {
		return reading{}, context.Cause(ctx)
	}
	got := reading{entry: t.entry}
	r.hash.Reset()
	native := false
	var size int64
	for {
		n, err := t.file.Read(r.buffer)
		if size == 0 {
			native = hasMagic(r.buffer[:n])
		}
		size += int64(n)
		r.hash.Write(r.buffer[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && size > t.size {
			err = errChanged
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return reading{}, fmt.Errorf("reading %s: %w", t.path, err)
		}
	}
	if size != t.size {
		return reading{}, fmt.Errorf("reading %s: %w", t.path, errChanged)
	}
	got.digest = digest.NewDigest(digest.SHA256, r.hash)
	var err error
	if got.capable, err = content.HasCapability(t.file); err != nil {
		return reading{}, err
	}
	if native {
		if got.facts, err = abi.Read(t.file, size); err != nil {
			return reading{}, fmt.Errorf("reading %s: %w", t.path, err)
		}
	}
	return got, nil
}

// hasMagic tells whether a file that begins with head can be an ELF file or a script.
func hasMagic(head []byte) bool {
	return bytes.HasPrefix(head, []byte("#!")) || bytes.HasPrefix(head, []byte("\x7fELF"))
}

// keepFiles keeps the bytes of the files that composing reads.
func (s *scanner) keepFiles() error {
	files := s.scan.Configuration()
	for _, p := range slices.Sorted(maps.Keys(files)) {
		file, err := openRegular(s.root, files[p])
		if err != nil {
			return fmt.Errorf("opening %s: %w", p, err)
		}
		err = s.scan.Keep(p, file, s.limits.DatabaseBytes)
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
