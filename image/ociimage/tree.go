package ociimage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/image/abi"
)

// node is one name in the filesystem that layers make.
type node struct {
	// layer is the layer that brought the name, or its attributes.
	layer int
	*inode
	// children are those of a directory, nil for everything else.
	children map[string]*node
	// opaque is the layer that last emptied the directory of what is below.
	opaque int
}

// inode is what all names of a file share.
type inode struct {
	kind     fs.FileMode // the type
	mode     uint32      // permission, set-id and sticky bits
	uid, gid int
	size     int64
	digest   digest.Digest
	target   string // of a symlink
	facts    *abi.Facts
	capable  bool // it has capabilities
	// origin is where the bytes of a regular file come from, bytes are they if they are kept.
	origin origin
	bytes  []byte
}

// origin is an entry of a layer: the layers and their entries are counted from 0.
type origin struct{ layer, entry int }

// Bounds on following paths, as in Linux.
const (
	maxSymlinks = 40
	maxDepth    = 2048 // directories in a path of PATH_MAX bytes
	maxName     = 255  // NAME_MAX
	// maxWork bounds the steps of applying layers: no image that people run needs a hundredth of it.
	maxWork = 1 << 30
)

var errTooMuchWork = errors.New("applying it takes more steps than any image needs")

// tree is the filesystem that layers make. Layers are applied bottom to top.
type tree struct {
	ctx   context.Context
	root  *node
	layer int
	nodes int
	work  int
}

func newTree(ctx context.Context) *tree {
	t := &tree{ctx: ctx}
	t.root = t.newDirectory()
	return t
}

// newDirectory is a directory that no layer has an entry for: what unpackers make on the way.
func (t *tree) newDirectory() *node {
	return &node{layer: t.layer, inode: &inode{kind: fs.ModeDir, mode: 0o755}, children: map[string]*node{}, opaque: -1}
}

// step accounts for one step, so that hostile layers come to an end.
func (t *tree) step() error {
	t.work++
	if t.work > maxWork {
		return errTooMuchWork
	}
	if t.work%4096 == 0 && t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return nil
}

// follow walks a clean path without a leading slash from the root, through symlinks, and never leaves
// the root. Missing directories are made if create is set; otherwise a missing one gives fs.ErrNotExist.
func (t *tree) follow(name string, create bool) (*node, error) {
	stack := []*node{t.root}
	pending := []string{name}
	for links := 0; len(pending) > 0; {
		var component string
		last := len(pending) - 1
		component, pending[last], _ = strings.Cut(pending[last], "/")
		if pending[last] == "" {
			pending = pending[:last]
		}
		if err := t.step(); err != nil {
			return nil, err
		}
		here := stack[len(stack)-1]
		switch component {
		case "", ".":
			continue
		case "..":
			stack = stack[:max(len(stack)-1, 1)]
			continue
		}
		child := here.children[component]
		switch {
		case len(component) > maxName:
			return nil, fmt.Errorf("a name in its path is longer than %d bytes", maxName)
		case child == nil && !create:
			return nil, fs.ErrNotExist
		case child == nil:
			child = t.newDirectory()
			t.put(here, component, child)
		case child.kind == fs.ModeSymlink:
			if links++; links > maxSymlinks {
				return nil, errors.New("its path leads through more than 40 symlinks")
			}
			if strings.HasPrefix(child.target, "/") {
				stack = stack[:1]
			}
			pending = append(pending, child.target)
			continue
		case child.kind != fs.ModeDir:
			return nil, fmt.Errorf("its path leads through %s, which is no directory", component)
		}
		if stack = append(stack, child); len(stack) > maxDepth {
			return nil, fmt.Errorf("its path is deeper than %d directories", maxDepth)
		}
	}
	return stack[len(stack)-1], nil
}

func (t *tree) put(dir *node, name string, child *node) {
	if dir.children[name] == nil {
		t.nodes++
	}
	dir.children[name] = child
}

// add puts an entry of the current layer at a path. What is there gives way, except that a directory
// over a directory keeps its contents.
func (t *tree) add(name string, file *inode) error {
	if name == "." {
		return nil // the root directory has no entry
	}
	dir, err := t.follow(path.Dir(name), true)
	if err != nil {
		return err
	}
	base := path.Base(name)
	if len(base) > maxName {
		return fmt.Errorf("its name is longer than %d bytes", maxName)
	}
	old := dir.children[base]
	if old != nil && old.kind == fs.ModeDir && file.kind == fs.ModeDir {
		old.inode, old.layer = file, t.layer
		return nil
	}
	if old != nil {
		if err := t.drop(dir, base); err != nil {
			return err
		}
	}
	n := &node{layer: t.layer, inode: file, opaque: -1}
	if file.kind == fs.ModeDir {
		n.children = map[string]*node{}
	}
	t.put(dir, base, n)
	return nil
}

// link adds another name of a regular file or symlink that is there already.
func (t *tree) link(name, target string) (*inode, error) {
	dir, err := t.follow(path.Dir(target), false)
	if err != nil {
		return nil, err
	}
	original := dir.children[path.Base(target)]
	switch {
	case original == nil:
		return nil, fs.ErrNotExist
	case original.kind == fs.ModeDir:
		return nil, errors.New("it is a hardlink to a directory")
	}
	return original.inode, t.add(name, original.inode)
}

// whiteout removes what lower layers have at a path. The directory that it lies in comes into being, as
// where unpackers put the whiteout itself there.
func (t *tree) whiteout(name string) error {
	dir, err := t.follow(path.Dir(name), true)
	if err != nil {
		return err
	}
	return t.dropLower(dir, path.Base(name))
}

// opaque removes what lower layers have in a directory.
func (t *tree) opaque(name string) error {
	dir, err := t.follow(name, true)
	if err != nil || dir.opaque == t.layer {
		return err
	}
	dir.opaque = t.layer
	return t.dropLowerChildren(dir)
}

func (t *tree) dropLowerChildren(dir *node) error {
	for name := range dir.children {
		if err := t.dropLower(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// dropLower removes a name of a directory with all below it, except what the current layer brought: a
// whiteout is about the layers below, wherever in the archive it stands.
func (t *tree) dropLower(dir *node, name string) error {
	child := dir.children[name]
	if child == nil {
		return nil
	}
	if err := t.step(); err != nil {
		return err
	}
	if child.children != nil {
		if err := t.dropLowerChildren(child); err != nil {
			return err
		}
	}
	switch {
	case child.layer == t.layer:
	case len(child.children) > 0:
		// The directory itself is gone, one of that name is still on the way to others.
		child.layer, child.inode = t.layer, t.newDirectory().inode
	default:
		delete(dir.children, name)
		t.nodes--
	}
	return nil
}

// drop removes a name of a directory with all below it.
func (t *tree) drop(dir *node, name string) error {
	pending := []*node{dir.children[name]}
	for len(pending) > 0 {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if err := t.step(); err != nil {
			return err
		}
		t.nodes--
		for _, child := range n.children {
			pending = append(pending, child)
		}
	}
	delete(dir.children, name)
	return nil
}
