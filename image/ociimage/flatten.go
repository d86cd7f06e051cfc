package ociimage

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Rootfs is the filesystem that the layers of an image make.
type Rootfs struct {
	// Scan is what [image.ScanDir] would say of the unpacked layers.
	Scan *image.Scan
	// Kept are the bytes of the regular files that were asked for, by path.
	Kept map[string][]byte
}

// Keep says of which regular files [Image.Flatten] returns the bytes.
type Keep struct {
	// Path tells by a path without a leading slash; nil means none.
	Path func(path string) bool
	// Bytes is the size of one file and of all together. A larger one is an *[InvalidError].
	Bytes int64
}

// Flatten applies the layers of an image in order, whiteouts included, and returns the filesystem that
// they make. It unpacks nothing. A layer that is not what it should be is an *[InvalidError].
func (i *Image) Flatten(ctx context.Context, keep Keep) (_ *Rootfs, err error) {
	limits := i.source.limits
	if keep.Path == nil {
		keep.Path = func(string) bool { return false }
	}
	most := max(keep.Bytes, limits.Scan.DatabaseBytes)
	a := &applier{
		tree: newTree(ctx), image: i, most: most, held: 16 * most, expanded: limits.ExpandedBytes,
		keep: func(p string) bool { return keep.Path(p) || image.IsConfiguration(p) },
		hash: sha256.New(), buf: make([]byte, 128<<10),
	}
	defer func() {
		if a.spool != nil {
			err = errors.Join(err, a.spool.Close())
		}
	}()
	left := limits.ExpandedBytes
	for n := range i.Manifest.Layers {
		a.layer = n
		if err := i.walkLayer(ctx, n, &left, a.apply); err != nil {
			return nil, err
		}
	}
	rootfs := &Rootfs{
		Scan: &image.Scan{Files: map[string][]byte{}, Objects: map[string]abi.Facts{}},
		Kept: map[string][]byte{},
	}
	files := a.collect(rootfs.Scan)
	if limit := exceeded(files, rootfs.Scan, limits.Scan); limit != nil {
		// As in a scan, half a filesystem says nothing that a check could rely on.
		rootfs.Scan = &image.Scan{Problems: []problem.Problem{*limit}}
		return rootfs, nil
	}
	wanted := map[string]*inode{}
	left = keep.Bytes
	for p, file := range files {
		if !keep.Path(p) {
			continue
		}
		if left -= file.size; left < 0 {
			return nil, i.source.invalid("the filesystem", "the files below the directory of /%s have more than %d bytes", p, keep.Bytes)
		}
		wanted[p] = file
	}
	configuration := rootfs.Scan.Configuration()
	for _, target := range configuration {
		wanted[target] = files[target]
	}
	if err := i.fetch(ctx, wanted, most); err != nil {
		return nil, err
	}
	for p, file := range wanted {
		if keep.Path(p) {
			rootfs.Kept[p] = file.bytes
		}
	}
	for _, p := range slices.Sorted(maps.Keys(configuration)) {
		if err := rootfs.Scan.Keep(p, bytes.NewReader(files[configuration[p]].bytes), limits.Scan.DatabaseBytes); err != nil {
			return nil, err
		}
	}
	return rootfs, nil
}

// fetch reads the bytes of files that were not kept. The names of entries do not always tell where a
// file will be: parents can be symlinks, and hardlinks have several names. Layers with such files are
// read once more.
func (i *Image) fetch(ctx context.Context, files map[string]*inode, most int64) error {
	missing := map[origin]*inode{}
	layers := map[int]bool{}
	for _, file := range files {
		if int64(len(file.bytes)) < min(file.size, most+1) {
			missing[file.origin] = file
			layers[file.origin.layer] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(layers)) {
		left := i.source.limits.ExpandedBytes
		err := i.walkLayer(ctx, n, &left, func(entry int, _ *tar.Header, r io.Reader) (err error) {
			if file := missing[origin{n, entry}]; file != nil {
				file.bytes, err = io.ReadAll(io.LimitReader(r, most+1))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// collect writes the tree into a scan, in the order in which a scan walks, and returns the regular
// files.
func (a *applier) collect(scan *image.Scan) map[string]*inode {
	files := map[string]*inode{}
	var capable []string
	type directory struct {
		path string
		*node
	}
	pending := []directory{{"", a.root}}
	for len(pending) > 0 {
		dir := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		var below []directory
		for _, name := range slices.Sorted(maps.Keys(dir.children)) {
			child, p := dir.children[name], path.Join(dir.path, name)
			if !scan.Admit(p, child.kind) {
				continue
			}
			e := image.Entry{Path: p, Type: content.File, Mode: child.mode, UID: child.uid, GID: child.gid}
			switch child.kind {
			case fs.ModeDir:
				e.Type = content.Directory
				below = append(below, directory{p, child})
			case fs.ModeSymlink:
				e.Type, e.LinkTarget = content.Symlink, child.target
			default:
				e.Size, e.Digest = child.size, child.digest
				files[p] = child.inode
				if child.facts != nil {
					scan.Objects[p] = *child.facts
				}
				if child.capable {
					capable = append(capable, p)
				}
			}
			scan.Append(e)
		}
		slices.Reverse(below)
		pending = append(pending, below...)
	}
	slices.SortFunc(scan.Entries, func(a, b image.Entry) int { return strings.Compare(a.Path, b.Path) })
	scan.AppendCapable(capable)
	return files
}

// exceeded is the problem of a filesystem beyond the limits of a scan.
func exceeded(files map[string]*inode, scan *image.Scan, limits image.ScanLimits) *problem.Problem {
	var bytes int64
	counted := map[*inode]bool{}
	for _, file := range files {
		if !counted[file] {
			counted[file] = true
			bytes += file.size
		}
	}
	var p problem.Problem
	long := slices.IndexFunc(scan.Entries, func(e image.Entry) bool { return len(e.Path) > limits.PathBytes })
	switch {
	case long >= 0:
		p = problem.New(problem.ImageLimit, problem.Place{Path: scan.Entries[long].Path[:limits.PathBytes]},
			"this path is longer than %d bytes, the most that an image is scanned with", limits.PathBytes)
	case len(scan.Entries) > limits.Entries:
		p = problem.New(problem.ImageLimit, problem.Place{}, "the filesystem has more than %d entries, the most that an image is scanned with", limits.Entries)
	case bytes > limits.Bytes:
		p = problem.New(problem.ImageLimit, problem.Place{}, "the files of the filesystem are larger than %d bytes together, the most that an image is scanned with", limits.Bytes)
	default:
		return nil
	}
	return &p
}
