//go:build integration

package construction_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// layers are the layers of an image for a platform: those of the pinned images, and ours.
func (a authored) layers(t *testing.T, b built, platform suite.Platform) (pinned, ours []ocispecs.Descriptor) {
	t.Helper()
	i, ok := b.layout.Images[platform.String()]
	require.True(t, ok, "no image for %s", platform)
	require.Len(t, i.Config.RootFS.DiffIDs, len(i.Manifest.Layers))
	n := len(a.spec.bottom().layers)
	require.Greater(t, len(i.Manifest.Layers), n)
	return i.Manifest.Layers[:n], i.Manifest.Layers[n:]
}

// bottom is the pinned image that an agent's image begins with.
func (s spec) bottom() img {
	if image.Stacked(diffIDs(s.base), diffIDs(s.harness)) {
		return s.harness
	}
	return s.base
}

func diffIDs(i img) []digest.Digest {
	var ids []digest.Digest
	for _, l := range i.layers {
		ids = append(ids, l.DiffID)
	}
	return ids
}

// walk reads the entries of a layer.
func (b built) walk(t *testing.T, layer ocispecs.Descriptor, visit func(*tar.Header)) {
	t.Helper()
	require.Equal(t, ocispecs.MediaTypeImageLayerGzip, layer.MediaType)
	blob, err := os.Open(b.layout.Blob(layer.Digest))
	require.NoError(t, err)
	defer blob.Close()
	expanded, err := gzip.NewReader(blob)
	require.NoError(t, err)
	for r := tar.NewReader(expanded); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		visit(header)
	}
}

// namesInLayers lists the names in our layers for which a condition holds.
func (a authored) namesInLayers(t *testing.T, b built, condition func(*tar.Header) bool) []string {
	t.Helper()
	var names []string
	for _, platform := range a.spec.platforms {
		_, ours := a.layers(t, b, platform)
		for _, l := range ours {
			b.walk(t, l, func(h *tar.Header) {
				if condition(h) {
					names = append(names, h.Name)
				}
			})
		}
	}
	return names
}

// The pinned images' layers come first and are the pinned blobs. What is ours removes nothing, has no time but the source
// epoch, and what comes from the suite is nobody's but root's.
func TestLayers(t *testing.T) {
	t.Parallel()
	base := debian(t, ocitest.File("usr/bin/su", 0o4755, "su\n")).withLayer(t, ocitest.Whiteout("root/.bashrc"), ocitest.File("etc/second", 0o644, "second\n"))
	for kind, harness := range map[string]img{
		"beside":  beside(t, ocitest.Directory("work", 0o2770).Owned(65532, 65532), ocitest.File("work/x", 0o640, "x").Owned(65532, 65532), ocitest.File("usr/bin/wall", 0o2755, "wall\n")),
		"stacked": stacked(t, base).withLayer(t, ocitest.Whiteout("etc/second")),
	} {
		a := spec{base: base, harness: harness, platforms: []suite.Platform{amd64, arm64}, providers: []provider{
			tool("a", ocitest.Directory("in", 0o700), ocitest.Symlink("link", "bin/a")), tool("b").at("/root/x/b"), linked("c"), tool("d").at("/tmp/d"),
		}}.author(t)
		for way, copied := range both {
			t.Run(kind+" "+way, func(t *testing.T) {
				t.Parallel()
				b := a.build(t, request{copied: copied, platforms: a.spec.platforms})
				for _, platform := range a.spec.platforms {
					pinned, ours := a.layers(t, b, platform)
					for n, l := range a.spec.bottom().layers {
						require.Equal(t, digest.FromBytes(l.Blob), pinned[n].Digest)
						blob, err := os.ReadFile(b.layout.Blob(pinned[n].Digest))
						require.NoError(t, err)
						require.Equal(t, l.Blob, blob)
					}
					i := b.layout.Images[platform.String()]
					require.Equal(t, int64(sourceEpoch), i.Config.Created.Unix())
					explained := slices.DeleteFunc(i.Config.History, func(h ocispecs.History) bool { return h.EmptyLayer })
					require.Len(t, explained, len(i.Manifest.Layers))
					for _, h := range explained[len(pinned):] {
						require.Equal(t, int64(sourceEpoch), h.Created.Unix())
						require.Contains(t, h.CreatedBy, "agentsuite-llb: ")
					}
					for n, l := range ours {
						fromSuite := n > 0 || kind == "stacked"
						b.walk(t, l, func(h *tar.Header) {
							require.NotContains(t, h.Name, ".wh.")
							require.NotContains(t, []string{"", ".", "/", "./"}, h.Name, "the root directory is the base's")
							require.EqualValues(t, sourceEpoch, h.ModTime.Unix(), h.Name)
							require.Zero(t, h.ModTime.Nanosecond(), h.Name)
							for _, record := range []string{"atime", "ctime"} {
								require.NotContains(t, h.PAXRecords, record, h.Name)
							}
							if !fromSuite || isRestored(h.Name) {
								return
							}
							require.Zero(t, h.Mode&0o7000, "%s has mode %o", h.Name, h.Mode)
							if h.Typeflag != tar.TypeSymlink {
								require.Zero(t, h.Mode&0o022, "%s has mode %o", h.Name, h.Mode)
							}
							require.Equal(t, []int{0, 0}, []int{h.Uid, h.Gid}, h.Name)
						})
					}
				}
			})
		}
	}
}

// isRestored tells of the directories of the small Debian that a metadata layer puts back as they were.
func isRestored(name string) bool {
	return name == "opt/" || name == "root/" || name == "tmp/"
}

// A layer is what it is by what is in it: the same in every agent's image, on every platform that has the same payload, on
// a base that was built anew, and whoever builds it.
func TestBundlesAreShared(t *testing.T) {
	t.Parallel()
	platforms := []suite.Platform{amd64, arm64}
	s := spec{agents: []string{"one", "two"}, platforms: platforms, providers: []provider{
		tool("portable", ocitest.File("lib/portable.txt", 0o644, "portable\n")),
		{id: "native", entrypoint: "bin/native", of: map[suite.Platform][]ocitest.Entry{
			amd64: {ocitest.File("bin/native", 0o755, "amd64\n")}, arm64: {ocitest.File("bin/native", 0o755, "arm64\n")},
		}},
	}}
	bundles := func(t *testing.T, a authored, buildkitd *daemon.Buildkitd, target string) map[suite.Platform][]digest.Digest {
		t.Helper()
		b := a.buildOn(t, buildkitd, request{target: target, platforms: platforms})
		found := map[suite.Platform][]digest.Digest{}
		for _, platform := range platforms {
			b.requireHonest(t, platform)
			_, ours := a.layers(t, b, platform)
			require.Len(t, ours, 4)                                           // harness, two bundles, metadata
			found[platform] = []digest.Digest{ours[2].Digest, ours[1].Digest} // the closure's order is that of ids
		}
		return found
	}
	first := s.author(t)
	one := bundles(t, first, world.buildkitd, "one")
	require.Equal(t, one[amd64][0], one[arm64][0], "the same payload on two platforms")
	require.NotEqual(t, one[amd64][1], one[arm64][1])
	require.Equal(t, one, bundles(t, first, testenv.Buildkitd(t, options()), "two"), "another agent, another builder")

	s.base = debian(t, ocitest.File("etc/rebuilt", 0o644, "rebuilt\n"))
	require.Equal(t, one, bundles(t, s.author(t), world.buildkitd, "one"), "another base")
}

// A change of an agent's instructions makes the metadata anew and nothing else of the image.
func TestAnInstructionChangesTheMetadataAlone(t *testing.T) {
	t.Parallel()
	for way, copied := range both {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			buildkitd := testenv.Buildkitd(t, options())
			a := spec{providers: []provider{tool("a"), linked("b")}}.author(t)
			before := a.buildOn(t, buildkitd, request{copied: copied})
			a.edit(t, "instructions/agent.md", "Do what is asked.", "Do what is asked, and well.")
			require.NoError(t, a.seal(t))
			after := a.buildOn(t, buildkitd, request{copied: copied})

			_, old := a.layers(t, before, amd64)
			_, fresh := a.layers(t, after, amd64)
			last := len(old) - 1
			require.Equal(t, old[:last], fresh[:last])
			require.NotEqual(t, old[last], fresh[last])

			want := []string{"[agent linux/amd64] merge the layers", "[agent linux/amd64] metadata", "[agent linux/amd64] metadata: prepare"}
			if copied {
				want = []string{"[agent linux/amd64] metadata", "[agent linux/amd64] metadata: copy onto the others", "[agent linux/amd64] metadata: prepare"}
			}
			ours := func(name string) bool { return strings.HasPrefix(name, "[agent ") }
			require.Equal(t, want, matching(after.ran(), ours))
			tools := func(name string) bool {
				return strings.Contains(name, "scan") || strings.Contains(name, "compose") || strings.Contains(name, "open")
			}
			require.Equal(t, []string{"[internal] [agent linux/amd64] compose the filesystem", "[internal] open the suite"}, matching(after.ran(), tools))

			again := a.buildOn(t, buildkitd, request{copied: copied})
			require.Equal(t, after.layout.Digests(), again.layout.Digests())
			if !copied {
				anew := a.buildOn(t, buildkitd, request{uncached: true})
				require.Equal(t, after.layout.Digests(), anew.layout.Digests(), "made again, at another time")
				require.Contains(t, anew.ran(), "[agent linux/amd64] bundle b@1.0.0")
			}
			require.Empty(t, matching(again.ran(), func(name string) bool { return ours(name) || tools(name) }), "a warm build starts no tool")
		})
	}
}

func matching(names []string, condition func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !condition(name) })
}

// The blobs of a base stay as they are, however they are compressed.
func TestBaseCompressions(t *testing.T) {
	t.Parallel()
	raw := ocitest.Tar(t, ocitest.File("etc/zstd", 0o644, "zstd\n"))
	plain := ocitest.Tar(t, ocitest.File("etc/plain", 0o644, "plain\n"))
	base := debian(t)
	base.layers = append(base.layers, layer(t), base.layers[0], layer(t), // layers can be empty, and the same again
		ocitest.Layer{MediaType: ocispecs.MediaTypeImageLayerZstd, Blob: ocitest.Zstd(t, raw), DiffID: digest.FromBytes(raw)},
		ocitest.Layer{MediaType: ocispecs.MediaTypeImageLayer, Blob: plain, DiffID: digest.FromBytes(plain)},
	)
	for kind, harness := range map[string]img{"beside": beside(t), "stacked": stacked(t, base)} {
		a := spec{base: base, harness: harness, providers: []provider{tool("a")}}.author(t)
		for way, copied := range both {
			t.Run(kind+" "+way, func(t *testing.T) {
				t.Parallel()
				b := a.build(t, request{copied: copied})
				inventory := b.requireHonest(t, amd64)
				requireEntry(t, inventory, file("etc/zstd", 0o644, image.ComponentRuntimeBase))
				requireEntry(t, inventory, file("etc/plain", 0o644, image.ComponentRuntimeBase))
				pinned, _ := a.layers(t, b, amd64)
				for n, l := range a.spec.bottom().layers {
					require.Equal(t, digest.FromBytes(l.Blob), pinned[n].Digest)
					require.Equal(t, l.MediaType, pinned[n].MediaType)
				}
			})
		}
	}
}
