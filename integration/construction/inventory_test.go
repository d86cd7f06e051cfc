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
	"github.com/agentsuite/agentsuite-llb/suite"
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
