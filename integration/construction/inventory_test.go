//go:build integration

package construction_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/verify"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// requireHonest holds that an image's filesystem is exactly what its embedded inventory says, and returns the inventory.
func (b built) requireHonest(t *testing.T, platform suite.Platform) image.Inventory {
	t.Helper()
	return requireHonest(t, platform, rootfs(t, b.open(t, platform)))
}

func requireHonest(t *testing.T, platform suite.Platform, files *ociimage.Rootfs) image.Inventory {
	t.Helper()
	var inventory image.Inventory
	require.NoError(t, json.Unmarshal(files.Kept[image.InventoryPath], &inventory))
	require.Equal(t, platform, inventory.Platform)

	stated := slices.Clone(inventory.Entries)
	for n := range stated {
		require.NotEmpty(t, stated[n].Component, stated[n].Path)
		stated[n].Component = ""
	}
	found := slices.DeleteFunc(slices.Clone(files.Scan.Entries), func(e image.Entry) bool {
		return e.Path == image.InventoryPath || e.Path == image.BindingPath
	})
	require.Empty(t, cmp.Diff(stated, found), "the filesystem (+) differs from its inventory (-)")
	return inventory
}

// entry is the inventory's entry at a path; nil if there is none.
func entry(inventory image.Inventory, p string) *image.Entry {
	n := slices.IndexFunc(inventory.Entries, func(e image.Entry) bool { return e.Path == p })
	if n < 0 {
		return nil
	}
	return &inventory.Entries[n]
}

// requireEntry holds that the inventory has an entry, size and digest apart.
func requireEntry(t *testing.T, inventory image.Inventory, want image.Entry) {
	t.Helper()
	got := entry(inventory, want.Path)
	require.NotNil(t, got, want.Path)
	require.Empty(t, cmp.Diff(want, *got, cmpopts.IgnoreFields(image.Entry{}, "Size", "Digest")))
}

// requireVerified holds that an image is what the validator of sandbox images demands, of itself and beside the suite and
// the pinned images that it was built from.
func (a authored) requireVerified(t *testing.T, b built, platform suite.Platform) {
	t.Helper()
	index, err := content.Open(t.Context(), a.dir, content.Options{Limits: content.DefaultLimits(), Digest: true})
	require.NoError(t, err)
	graph, report, err := suite.Validate(t.Context(), index, content.DefaultLimits())
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	opts := verify.Options{Suite: graph, SuiteDigest: index.SuiteDigest, Base: openImage(t, a.base, platform)}
	i := b.open(t, platform)
	if i.Config.Config.Labels[image.LabelAgent] != "" {
		opts.Harness = openImage(t, a.harness, platform)
	}
	verified, err := verify.Image(t.Context(), i, opts)
	require.NoError(t, err)
	require.Empty(t, verified.Problems)
}

// openImage opens the image of a layout for a platform.
func openImage(t *testing.T, layout string, platform suite.Platform) *ociimage.Image {
	t.Helper()
	source, err := ociimage.Open(t.Context(), "oci-layout://"+layout, ociimage.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	i, err := source.Image(t.Context(), platform)
	require.NoError(t, err)
	return i
}
