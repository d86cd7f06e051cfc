package image

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// MaxLayers is the number of layers that an image stays within where its pinned images allow it.
// Docker's layer store refuses an image of more than 125 layers; this leaves a few to whoever builds on
// top of an agent image.
const MaxLayers = 120

// fold groups bundles into at most budget layers. Within the budget each bundle has a layer of its own,
// which other images can share; above it the smallest bundles share one layer, behind all others. Sizes
// are those of the bundles in their order; a group lists its bundles in that order too, and of equal
// sizes the later ones are folded. The result depends on the arguments alone.
func fold(sizes []int64, budget int) [][]int {
	own := len(sizes)
	if budget = max(budget, 1); own > budget {
		own = budget - 1
	}
	bySize := make([]int, len(sizes))
	for i := range bySize {
		bySize[i] = i
	}
	slices.SortStableFunc(bySize, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	alone, shared := bySize[:own], bySize[own:]
	slices.Sort(alone)
	slices.Sort(shared)
	var groups [][]int
	for _, i := range alone {
		groups = append(groups, []int{i})
	}
	if len(shared) > 0 {
		groups = append(groups, shared)
	}
	return groups
}

// newLayers lists the layers of an image, bottom to top. The metadata layer has its files already.
func newLayers(in Inputs, metadata Layer) []Layer {
	base := in.Base
	layers := []Layer{{
		Kind: LayerRuntimeBase, Name: "runtime base " + base.Pin.ImageRef, Image: &base.Pin, DiffIDs: base.Config.RootFS.DiffIDs,
	}}
	below := len(base.Config.RootFS.DiffIDs)
	if harness := in.Harness; harness != nil {
		layer := Layer{Kind: LayerHarnessBeside, Name: "harness " + harness.Pin.ImageRef, Image: &harness.Pin}
		if in.stacked() {
			layer.Kind, layer.DiffIDs = LayerHarnessStacked, harness.Config.RootFS.DiffIDs[below:]
			below += len(layer.DiffIDs)
		} else {
			below++
		}
		layers = append(layers, layer)
	}
	layers = append(layers, bundleLayers(in, MaxLayers-below-1)...)
	return append(layers, metadata)
}

func bundleLayers(in Inputs, budget int) []Layer {
	bundles := in.Selection.Bundles
	copies := make([]BundleCopy, len(bundles))
	sizes := make([]int64, len(bundles))
	for i, b := range bundles {
		copies[i] = newBundleCopy(in, b)
		sizes[i] = copies[i].Size
	}
	var layers []Layer
	for _, group := range fold(sizes, budget) {
		layer := Layer{Kind: LayerBundles}
		names := make([]string, len(group))
		for i, n := range group {
			layer.Bundles = append(layer.Bundles, copies[n])
			names[i] = copies[n].Component
		}
		layer.Name = "bundle " + names[0]
		if len(names) > 1 {
			layer.Name = fmt.Sprintf("%d bundles %s", len(names), strings.Join(names, " "))
		}
		layers = append(layers, layer)
	}
	return layers
}

func newBundleCopy(in Inputs, b suite.Bundle) BundleCopy {
	c := BundleCopy{
		Component:   b.Key().String(),
		PayloadRoot: b.Variant.PayloadRoot,
		InstallRoot: b.Variant.InstallRoot,
		Entries:     len(b.Variant.Files),
	}
	for _, f := range b.Variant.Files {
		switch f.Type {
		case content.File:
			c.Size += f.Size
		case content.Directory:
			if f.Mode != wayMode {
				c.Directories = append(c.Directories, Entry{
					Path: strings.TrimPrefix(path.Join(c.InstallRoot, f.Path), "/"), Type: content.Directory, Mode: f.Mode, Component: c.Component,
				})
			}
		}
	}
	slices.SortFunc(c.Directories, compareEntries)
	c.Repeated = len(Repeated(in.Index, c.PayloadRoot)) > 0
	for _, ignored := range in.Index.Ignored {
		if within(ignored, c.PayloadRoot) && ignored != c.PayloadRoot {
			c.Excluded = append(c.Excluded, strings.TrimPrefix(ignored, path.Clean(c.PayloadRoot)+"/"))
		}
	}
	slices.Sort(c.Excluded)
	return c
}

// Repeated lists the files of a payload that have the bytes and the mode of an earlier one, sorted. In an
// extracted directory such files may be hard links of each other or not; the content is the same, so the
// layer must be. Whoever copies the payload from there copies these apart. An archive says which entries
// are hard links, so of one none is listed.
func Repeated(index *content.Index, payloadRoot string) []string {
	if index.Form != content.FormDirectory {
		return nil
	}
	type file struct {
		digest digest.Digest
		mode   uint32
	}
	seen := map[file]bool{}
	var repeated []string
	for _, e := range index.Below(payloadRoot) {
		if e.Type != content.File {
			continue
		}
		f := file{e.Digest, e.Mode}
		if seen[f] {
			repeated = append(repeated, e.Path)
		}
		seen[f] = true
	}
	return repeated
}
