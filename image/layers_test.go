package image

import (
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

func TestFold(t *testing.T) {
	for name, tc := range map[string]struct {
		sizes  []int64
		budget int
		want   [][]int
	}{
		"none":                      {nil, 5, nil},
		"within the budget":         {[]int64{3, 1, 2}, 3, [][]int{{0}, {1}, {2}}},
		"the smallest are folded":   {[]int64{5, 1, 9, 2, 7}, 3, [][]int{{2}, {4}, {0, 1, 3}}},
		"one above":                 {[]int64{5, 1, 9, 2}, 3, [][]int{{0}, {2}, {1, 3}}},
		"of equals the later":       {[]int64{1, 1, 1, 1}, 3, [][]int{{0}, {1}, {2, 3}}},
		"no room":                   {[]int64{1, 2}, 1, [][]int{{0, 1}}},
		"less than no room":         {[]int64{1, 2}, -7, [][]int{{0, 1}}},
		"no room for the only one":  {[]int64{1}, 0, [][]int{{0}}},
		"empty bundles count along": {[]int64{0, 0, 4}, 2, [][]int{{2}, {0, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, fold(tc.sizes, tc.budget))
		})
	}
}

func TestFoldStaysWithinTheBudget(t *testing.T) {
	sizes := make([]int64, 130)
	for i := range sizes {
		sizes[i] = int64(i*7919%131) << 10
	}
	groups := fold(sizes, MaxLayers-2)
	require.Len(t, groups, MaxLayers-2)
	all := slices.Concat(groups...)
	slices.Sort(all)
	for i, n := range all {
		require.Equal(t, i, n, "every bundle once")
	}
}

func TestStacked(t *testing.T) {
	a, b, c := digest.FromString("a"), digest.FromString("b"), digest.FromString("c")
	for name, tc := range map[string]struct {
		base, harness []digest.Digest
		want          bool
	}{
		"on top":                  {[]digest.Digest{a, b}, []digest.Digest{a, b, c}, true},
		"the base itself":         {[]digest.Digest{a, b}, []digest.Digest{a, b}, true},
		"independent":             {[]digest.Digest{a, b}, []digest.Digest{c}, false},
		"another second layer":    {[]digest.Digest{a, b}, []digest.Digest{a, c}, false},
		"fewer layers":            {[]digest.Digest{a, b}, []digest.Digest{a}, false},
		"the same in another way": {[]digest.Digest{a, b}, []digest.Digest{b, a, c}, false},
		"a base without layers":   {nil, []digest.Digest{a}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, Stacked(tc.base, tc.harness)) })
	}
}

// What may be hard links in a directory is known by what the content says alone.
func TestRepeated(t *testing.T) {
	one, two := digest.FromString("one"), digest.FromString("two")
	entry := func(p string, mode uint32, d digest.Digest) content.Entry {
		return content.Entry{Path: p, Type: content.File, Mode: mode, Digest: d}
	}
	index := &content.Index{Form: content.FormDirectory, Entries: []content.Entry{
		entry("a/1", 0o644, one), {Path: "a/2", Type: content.Directory, Mode: 0o755}, entry("a/2/1", 0o644, one), entry("a/2/2", 0o755, one),
		{Path: "a/3", Type: content.Symlink, LinkTarget: "1"}, entry("a/4", 0o644, two), entry("a/5", 0o644, one), entry("b/1", 0o644, one),
	}}
	require.Equal(t, []string{"a/2/1", "a/5"}, Repeated(index, "a"))
	require.Equal(t, []string(nil), Repeated(index, "a/2"))
	require.Equal(t, []string(nil), Repeated(index, "b"))
	index.Form = content.FormOCILayout
	require.Equal(t, []string(nil), Repeated(index, "a"), "an archive says which entries are hard links")
}
