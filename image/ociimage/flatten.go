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
	configuration := limits.Scan.DatabaseBytes
	a := &applier{
		tree: newTree(ctx), image: i, held: keep.Bytes + image.MaxConfiguration(configuration), expanded: limits.ExpandedBytes, facts: limits.Scan.FactsBytes,
		most: func(p string) int64 {
			switch {
			case keep.Path(p):
				return keep.Bytes
			case image.IsConfiguration(p):
				return configuration
			}
			return 0
		},
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
	files, limit := a.collect(rootfs.Scan, limits.Scan)
	if limit == nil {
		limit = exceeded(files, rootfs.Scan, limits.Scan)
	}
	if limit != nil {
		// As in a scan, half a filesystem says nothing that a check could rely on.
		rootfs.Scan = &image.Scan{Problems: []problem.Problem{*limit}}
		return rootfs, nil
	}
	wanted := map[string]wantedFile{}
	left = keep.Bytes
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if !keep.Path(p) {
			continue
		}
		if left -= files[p].size; left < 0 {
			return nil, i.source.invalid("the filesystem", "with /%s, the files to keep have more than %d bytes", p, keep.Bytes)
		}
		wanted[p] = wantedFile{files[p], keep.Bytes}
	}
	configured := rootfs.Scan.Configuration()
	for _, target := range configured {
		if _, ok := wanted[target]; !ok {
			wanted[target] = wantedFile{files[target], configuration}
		}
	}
	if err := i.fetch(ctx, wanted); err != nil {
		return nil, err
	}
	for p, file := range wanted {
		if keep.Path(p) {
			rootfs.Kept[p] = file.bytes
		}
	}
	for _, p := range slices.Sorted(maps.Keys(configured)) {
		if err := rootfs.Scan.Keep(p, bytes.NewReader(files[configured[p]].bytes), configuration); err != nil {
			return nil, err
		}
	}
	return rootfs, nil
}

// wantedFile is a file whose bytes are wanted, unless it has more than most.
type wantedFile struct {
	*inode
	most int64
}

// fetch reads the bytes of files that were not kept. The names of entries do not always tell where a
// file will be: parents can be symlinks, and hardlinks have several names. Layers with such files are
// read once more.
func (i *Image) fetch(ctx context.Context, files map[string]wantedFile) error {
	missing := map[origin]wantedFile{}
	layers := map[int]bool{}
	for _, file := range files {
		if int64(len(file.bytes)) < min(file.size, file.most+1) {
			missing[file.origin] = file
			layers[file.origin.layer] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(layers)) {
		left := i.source.limits.ExpandedBytes
		err := i.walkLayer(ctx, n, &left, func(entry int, _ *tar.Header, r io.Reader) (err error) {
			if file, ok := missing[origin{n, entry}]; ok {
				file.bytes, err = io.ReadAll(io.LimitReader(r, file.most+1))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// collect writes the tree into a scan, in the order in which a scan walks, and returns the regular files. What
// can become more than all entries together have ends it beyond its limit: paths, which symlinks make long, and
// facts, which hard links multiply.
func (a *applier) collect(scan *image.Scan, limits image.ScanLimits) (map[string]*inode, *problem.Problem) {
	files := map[string]*inode{}
	var capable []string
	weight := int64(0)
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
			if len(p) > limits.PathBytes {
				long := problem.New(problem.ImageLimit, problem.Place{Path: problem.Printable(p[:limits.PathBytes])},
					"this path is longer than %d bytes, the most that an image is scanned with", limits.PathBytes)
				return nil, &long
			}
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
					if weight += child.facts.Weight(); weight > limits.FactsBytes {
						limit := problem.New(problem.ImageLimit, problem.Place{},
							"what the native files of the filesystem state of themselves takes more than %d bytes, the most that an image is scanned with", limits.FactsBytes)
						return nil, &limit
					}
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
	return files, nil
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
	switch {
	case len(scan.Entries) > limits.Entries:
		p = problem.New(problem.ImageLimit, problem.Place{}, "the filesystem has more than %d entries, the most that an image is scanned with", limits.Entries)
	case bytes > limits.Bytes:
		p = problem.New(problem.ImageLimit, problem.Place{}, "the files of the filesystem are larger than %d bytes together, the most that an image is scanned with", limits.Bytes)
	default:
		return nil
	}
	return &p
}
