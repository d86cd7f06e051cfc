package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func (v *verification) checkFilesystem(ctx context.Context) error {
	v.expected[image.BindingPath] = v.report.Kind == suite.AgentTarget
	v.expected[image.InventoryPath], v.expected[image.RuntimePath] = true, true
	v.readInventory()
	v.checkMetadata()
	if v.inventory != nil {
		v.compareInventory()
	}
	if v.selection != nil {
		v.checkBundles()
		v.checkWritable()
	}
	return v.checkInputFilesystems(ctx)
}

// readInventory reads the inventory. Being in canonical form, it has no unknown and no repeated member.
func (v *verification) readInventory() {
	text, ok := v.kept[image.InventoryPath]
	if !ok {
		v.problem(problem.VerifyInventory, image.InventoryPath, "/%s is missing", image.InventoryPath)
		return
	}
	// So many too many entries are listed one by one, which tells more.
	const tooMany = 10_000
	inventory, err := image.DecodeInventory(text, len(v.scan.Entries)+tooMany)
	if err != nil {
		v.problem(problem.VerifyInventory, image.InventoryPath, "it is no inventory: %v", err)
		return
	}
	if canonical := inventory.Canonical(); !bytes.Equal(canonical, text) {
		v.problem(problem.VerifyInventory, image.InventoryPath,
			"it is no inventory in canonical form: it differs from one at byte %d", differsAt(canonical, text))
		return
	}
	entries := inventory.Entries
	for i := 1; i < len(entries); i++ {
		if entries[i-1].Path >= entries[i].Path {
			v.problem(problem.VerifyInventory, image.InventoryPath, "the entry %s stands behind %s; entries are sorted by path and distinct",
				problem.Quoted(entries[i].Path), problem.Quoted(entries[i-1].Path))
			return
		}
	}
	rule := problem.VerifyBindingPlatform
	if v.report.Kind == suite.ToolProviderTarget {
		rule = problem.VerifyProviderPlatform
	}
	v.checkPlatform(rule, inventory.Platform, problem.Place{Path: image.InventoryPath, Pointer: "/platform"})
	v.inventory, v.report.Entries = inventory, len(entries)
}

func differsAt(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// checkMetadata checks everything at and below /.agentsuite, whatever the inventory says of it.
func (v *verification) checkMetadata() {
	directories := map[string]bool{image.MetadataDir: true}
	for p, expected := range v.expected {
		for dir := path.Dir(p); expected && dir != "." && !directories[dir]; dir = path.Dir(dir) {
			directories[dir] = true
		}
	}
	self, contents := v.scan.Below(image.MetadataDir)
	if self != nil {
		contents = append([]image.Entry{*self}, contents...)
	}
	for i := range contents {
		e := &contents[i]
		want := image.Entry{Path: e.Path, Type: content.File, Mode: image.MetadataFileMode, Size: e.Size, Digest: e.Digest}
		switch {
		case directories[e.Path]:
			want = image.Entry{Path: e.Path, Type: content.Directory, Mode: image.MetadataDirMode}
		case !v.expected[e.Path]:
			// What is below broken records cannot be told from what does not belong there.
			if v.selection != nil {
				v.problem(problem.VerifyMetadata, e.Path, "/%s is none of the image's records", e.Path)
			}
			continue
		}
		if e.Type == content.Symlink {
			want.Size, want.Digest = 0, ""
		}
		if difference := want.Difference(e); difference != "" {
			v.problem(problem.VerifyMetadata, e.Path, "/%s is not as metadata is: %s", e.Path, difference)
		}
	}
}

// compareInventory compares the filesystem with the inventory, entry by entry.
func (v *verification) compareInventory() {
	listed, found := v.inventory.Entries, v.scan.Entries
	for len(listed) > 0 || len(found) > 0 {
		switch {
		case len(found) > 0 && (found[0].Path == image.BindingPath || found[0].Path == image.InventoryPath):
			found = found[1:]
		case len(found) == 0 || len(listed) > 0 && listed[0].Path < found[0].Path:
			v.problem(problem.VerifyFilesystem, listed[0].Path, "the inventory lists /%s, which the filesystem does not have", listed[0].Path)
			listed = listed[1:]
		case len(listed) == 0 || found[0].Path < listed[0].Path:
			v.problem(problem.VerifyFilesystem, found[0].Path, "the filesystem has /%s, which the inventory does not list", found[0].Path)
			found = found[1:]
		default:
			if difference := listed[0].Difference(&found[0]); difference != "" {
				v.problem(problem.VerifyFilesystem, found[0].Path, "/%s is listed and found differently: %s", found[0].Path, difference)
			}
			listed, found = listed[1:], found[1:]
		}
	}
}

// destinations are the entries of a bundle where they lie in the image; hardlinks are the files that
// they name.
func destinations(b suite.Bundle) []image.Entry {
	files := map[string]suite.InventoryEntry{}
	for _, f := range b.Variant.Files {
		files[path.Join(b.Variant.PayloadRoot, f.Path)] = f
	}
	entries := make([]image.Entry, 0, len(b.Variant.Files))
	for _, f := range b.Variant.Files {
		at := strings.TrimPrefix(path.Join(b.Variant.InstallRoot, f.Path), "/")
		if f.Type == content.Hardlink {
			f = files[f.LinkTarget]
		}
		e := image.Entry{
			Path: at, Type: f.Type, Mode: f.Mode, UID: f.UID, GID: f.GID,
			Size: f.Size, Digest: f.Digest, LinkTarget: f.LinkTarget, Component: b.Key().String(),
		}
		if e.Type == content.Symlink {
			e.Mode = 0o777
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b image.Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries
}

// checkBundles checks that the bundles are in the filesystem, and that what the inventory says to be of
// a bundle is.
func (v *verification) checkBundles() {
	brings := map[string]map[string]bool{}
	for _, b := range v.selection.Bundles {
		component := b.Key().String()
		paths := map[string]bool{}
		brings[component] = paths
		for _, e := range destinations(b) {
			paths[e.Path] = true
			for dir := path.Dir(e.Path); dir != "." && !paths[dir]; dir = path.Dir(dir) {
				paths[dir] = true
			}
			got, ok := v.scan.Lookup(e.Path)
			if !ok {
				v.problem(problem.VerifyBundle, e.Path, "/%s of bundle %s is not in the filesystem", e.Path, component)
			} else if difference := e.Difference(got); difference != "" {
				v.problem(problem.VerifyBundle, e.Path, "/%s of bundle %s is not as its inventory says: %s", e.Path, component, difference)
			}
		}
	}
	if v.inventory == nil {
		return
	}
	for i := range v.inventory.Entries {
		e := &v.inventory.Entries[i]
		bundle, known := brings[e.Component]
		metadata := e.Path == image.MetadataDir || isMetadata(e.Path)
		switch {
		case metadata != (e.Component == image.ComponentMetadata):
			v.problem(problem.VerifyComponent, e.Path, "the inventory says that %s brings /%s; what is in /%s, and nothing else, is of the component %s",
				problem.Quoted(e.Component), e.Path, image.MetadataDir, image.ComponentMetadata)
		case metadata, e.Component == image.ComponentRuntimeBase, e.Component == image.ComponentHarness && v.report.Kind == suite.AgentTarget:
		case !known:
			v.problem(problem.VerifyComponent, e.Path, "the inventory says that %s brings /%s, but the image is not made of that", problem.Quoted(e.Component), e.Path)
		case !bundle[e.Path]:
			v.problem(problem.VerifyComponent, e.Path, "the inventory says that bundle %s brings /%s, which is not among its files", e.Component, e.Path)
		}
	}
}

// checkWritable checks that nothing lies where empty writable directories will be mounted.
func (v *verification) checkWritable() {
	if v.inventory == nil {
		return
	}
	entries := v.inventory.Entries
	listed := &image.Scan{Entries: entries}
	for _, b := range v.selection.Bundles {
		for _, w := range b.Variant.WritablePaths {
			target, e, ok := abi.Resolve(v.lookup, w)
			if ok && e.Type != content.Directory {
				v.problem(problem.VerifyWritable, target, "bundle %s needs %s writable, but /%s is no directory", b.Key(), problem.Quoted(w), target)
				continue
			}
			below := []string{strings.TrimPrefix(w, "/")}
			if ok && target != below[0] {
				below = append(below, target)
			}
			for _, dir := range below {
				self, contents := listed.Below(dir)
				if self != nil {
					contents = append([]image.Entry{*self}, contents...)
				}
				for _, e := range contents {
					if e.Component != image.ComponentRuntimeBase {
						v.problem(problem.VerifyWritable, e.Path, "bundle %s needs %s writable, but %s brings /%s, which would be hidden", b.Key(), problem.Quoted(w), e.Component, e.Path)
					}
				}
			}
		}
	}
}

// checkInputFilesystems holds the image against the pinned images that are given.
func (v *verification) checkInputFilesystems(ctx context.Context) error {
	base, harness := v.opts.Base, v.opts.Harness
	if base == nil {
		return nil
	}
	stacked := harness != nil && image.Stacked(base.Config.RootFS.DiffIDs, harness.Config.RootFS.DiffIDs)
	lower, what := base, "runtime base"
	if stacked {
		lower, what = harness, "harness"
	}
	v.checkLayers(lower, what)
	scans := map[string]*image.Scan{}
	for component, i := range map[string]*ociimage.Image{image.ComponentRuntimeBase: base, image.ComponentHarness: harness} {
		if i == nil {
			continue
		}
		scan, err := flatten(ctx, i)
		if err != nil {
			return fmt.Errorf("reading the given %s: %w", component, err)
		}
		scans[component] = scan
	}
	v.base = scans[image.ComponentRuntimeBase]
	if v.inventory != nil {
		v.checkOrigins(scans)
	}
	// Without the harness nobody knows whether it is one on top of the base, which may take files away.
	if harness == nil && v.report.Kind == suite.AgentTarget {
		return nil
	}
	lowest := scans[image.ComponentRuntimeBase]
	if stacked {
		lowest = scans[image.ComponentHarness]
	}
	v.checkContained(lowest, what)
	if harness != nil && !stacked {
		v.checkContained(withoutDirectories(scans[image.ComponentHarness]), "harness")
	}
	return nil
}

func flatten(ctx context.Context, i *ociimage.Image) (*image.Scan, error) {
	rootfs, err := i.Flatten(ctx, ociimage.Keep{})
	if err != nil {
		return nil, err
	}
	for _, p := range rootfs.Scan.Problems {
		if p.Rule == problem.ImageLimit {
			return nil, errors.New(p.Message)
		}
	}
	return rootfs.Scan, nil
}

// withoutDirectories leaves out what an image beside the base may have otherwise than the final
// filesystem.
func withoutDirectories(scan *image.Scan) *image.Scan {
	return &image.Scan{Entries: slices.DeleteFunc(slices.Clone(scan.Entries), func(e image.Entry) bool { return e.Type == content.Directory })}
}

// checkLayers checks that the layers of the lower image are the first ones, blobs and all.
func (v *verification) checkLayers(lower *ociimage.Image, what string) {
	for n, want := range lower.Manifest.Layers {
		if n >= len(v.image.Manifest.Layers) {
			v.problem(problem.VerifyBase, "", "the %s has %d layers, the image only %d", what, len(lower.Manifest.Layers), len(v.image.Manifest.Layers))
			return
		}
		if got := v.image.Manifest.Layers[n]; got.Digest != want.Digest {
			v.problem(problem.VerifyBase, "", "layer %d of the image is %s, that of the %s is %s", n+1, got.Digest, what, want.Digest)
			return
		}
	}
}

// checkOrigins checks that what the inventory says to be of a pinned image is.
func (v *verification) checkOrigins(scans map[string]*image.Scan) {
	for i := range v.inventory.Entries {
		e := &v.inventory.Entries[i]
		scan := scans[e.Component]
		if scan == nil {
			continue
		}
		got, ok := scan.Lookup(e.Path)
		if !ok {
			v.problem(problem.VerifyComponent, e.Path, "the inventory says that the %s brings /%s, which it does not have", e.Component, e.Path)
		} else if difference := e.Difference(got); difference != "" {
			v.problem(problem.VerifyComponent, e.Path, "the inventory says that the %s brings /%s, which it has otherwise: %s", e.Component, e.Path, difference)
		}
	}
}

// checkContained checks that the image has what a pinned image has.
func (v *verification) checkContained(scan *image.Scan, what string) {
	for i := range scan.Entries {
		e := &scan.Entries[i]
		got, ok := v.scan.Lookup(e.Path)
		if !ok {
			v.problem(problem.VerifyBase, e.Path, "the %s has /%s, the image does not", what, e.Path)
		} else if difference := e.Difference(got); difference != "" {
			v.problem(problem.VerifyBase, e.Path, "the %s and the image have /%s differently: %s", what, e.Path, difference)
		}
	}
}
