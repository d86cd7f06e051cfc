//go:build integration

package construction_test

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// linked is a tool with files that have each other's bytes, in places where only names differ.
func linked(id string) provider {
	return tool(id,
		ocitest.File("lib/one", 0o644, "same\n"), ocitest.File("lib/two", 0o644, "same\n"), ocitest.Directory("lib/private", 0o700),
		ocitest.File("lib/private/three", 0o644, "same\n"), ocitest.File("lib/executable", 0o755, "same\n"),
		ocitest.File("empty", 0o644, ""), ocitest.File("other/empty", 0o644, ""), ocitest.File("other/ignored", 0o644, "same\n"),
	)
}

// link makes files hard links of each other, as package managers that save space do.
func hardlink(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names[1:] {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		require.NoError(t, os.Link(filepath.Join(dir, names[0]), filepath.Join(dir, name)))
	}
}

// A checkout in which files are hard links of each other has the same content as one in which they are not, and gives the
// same image; in whatever order a daemon meets the two.
func TestHardLinksOfACheckoutDoNotShow(t *testing.T) {
	t.Parallel()
	suiteOf := func(t *testing.T, links bool) authored {
		t.Helper()
		s := spec{agents: []string{"agent", "other"}, providers: []provider{linked("a"), linked("b")}}
		a := s.draft(t)
		writeFile(t, a.dir, ".dockerignore", "**/ignored\n")
		require.NoError(t, a.seal(t))
		if links {
			for _, id := range []string{"a", "b"} {
				hardlink(t, filepath.Join(a.dir, "tool-providers", id, "linux-amd64"), "lib/two", "lib/one", "lib/private/three", "other/ignored")
				hardlink(t, filepath.Join(a.dir, "tool-providers", id, "linux-amd64"), "empty", "other/empty")
			}
			// Across payloads, and between a payload and documents, which is nobody's business either.
			hardlink(t, filepath.Join(a.dir, "tool-providers"), "a/in.json", "b/in.json")
			hardlink(t, filepath.Join(a.dir, "tool-providers"), "a/linux-amd64/lib/executable", "b/linux-amd64/lib/executable")
		}
		return a
	}
	plain, links := suiteOf(t, false), suiteOf(t, true)
	fresh := func() func(authored, request) built {
		buildkitd := testenv.Buildkitd(t, options())
		return func(a authored, r request) built { return a.buildOn(t, buildkitd, r) }
	}
	want := fresh()(plain, request{target: "agent"})
	want.requireHonest(t, amd64)
	isLink := func(h *tar.Header) bool { return h.Typeflag == tar.TypeLink }
	require.Empty(t, plain.namesInLayers(t, want, isLink))

	onlyLinks := fresh()
	require.Equal(t, want.layout.Digests(), onlyLinks(links, request{target: "agent"}).layout.Digests())

	// This daemon has seen the content without links, and knows the index of the suite, but not the layers.
	knowing := testenv.Buildkitd(t, options())
	_, err := plain.tryBuild(t, knowing, request{target: "nobody"})
	require.ErrorContains(t, err, `no target "nobody"`)
	require.Equal(t, want.layout.Digests(), links.buildOn(t, knowing, request{target: "agent"}).layout.Digests())

	for way, copied := range both {
		b := onlyLinks(links, request{target: "a@1.0.0", copied: copied})
		b.requireHonest(t, amd64)
		require.Empty(t, links.namesInLayers(t, b, isLink), way)
	}
}
