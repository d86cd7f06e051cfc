package ociimage_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// twoPlatforms is a layout as buildx writes it: one index below the layout's own, with images for both
// platforms and their attestations.
func twoPlatforms(t *testing.T) (*ocitest.Layout, map[suite.Platform]ocispec.Descriptor) {
	layout := ocitest.NewLayout()
	images := map[suite.Platform]ocispec.Descriptor{}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, platform := range suite.Platforms() {
		images[platform] = layout.Image(t, platform, dockerspec.DockerOCIImage{}, ocitest.NewLayer(t, file("arch", 0o644, platform.Architecture)))
		attestation := layout.PutJSON(t, ocispec.MediaTypeImageManifest, ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, Annotations: map[string]string{"for": platform.String()}})
		attestation.Platform = &ocispec.Platform{OS: "unknown", Architecture: "unknown"}
		attestation.Annotations = map[string]string{"vnd.docker.reference.type": "attestation-manifest"}
		index.Manifests = append(index.Manifests, images[platform], attestation)
	}
	artifact := layout.PutJSON(t, ocispec.MediaTypeImageManifest, ocispec.Manifest{})
	artifact.ArtifactType = "application/vnd.agentsuite.manifest.v1+json"
	index.Manifests = append(index.Manifests, artifact)
	d := layout.PutJSON(t, ocispec.MediaTypeImageIndex, index)
	d.Annotations = map[string]string{ocispec.AnnotationRefName: "v1", "io.containerd.image.name": "registry.example/writer:v1"}
	layout.Index.Manifests = []ocispec.Descriptor{d}
	return layout, images
}

func TestOpenLayout(t *testing.T) {
	layout, images := twoPlatforms(t)
	dir, archive := layout.WriteDir(t), layout.WriteTar(t)
	refs := map[string]string{
		"a directory":                    dir,
		"a directory by scheme":          "oci-layout://" + dir,
		"a directory and a tag":          dir + ":v1",
		"a directory and a name's tag":   "oci-layout://" + dir + ":v1",
		"a directory, a tag, a digest":   dir + ":v1@" + string(layout.Index.Manifests[0].Digest),
		"a directory and index's digest": dir + "@" + string(layout.Index.Manifests[0].Digest),
		"a tar":                          archive,
		"a tar and a tag":                archive + ":v1",
	}
	for name, ref := range refs {
		t.Run(name, func(t *testing.T) {
			source, err := ociimage.Open(t.Context(), ref, ociimage.Options{})
			require.NoError(t, err)
			defer source.Close()
			all, err := source.Images(t.Context())
			require.NoError(t, err)
			require.Len(t, all, 2)
			for i, platform := range []suite.Platform{amd64, arm64} {
				one, err := source.Image(t.Context(), platform)
				require.NoError(t, err)
				for _, image := range []*ociimage.Image{all[i], one} {
					require.Equal(t, platform, image.Platform)
					require.Equal(t, &platform, image.Stated)
					require.Equal(t, images[platform].Digest, image.Descriptor.Digest)
					rootfs, err := image.Flatten(t.Context(), ociimage.Keep{Path: func(string) bool { return true }, Bytes: 100})
					require.NoError(t, err)
					require.Equal(t, platform.Architecture, string(rootfs.Kept["arch"]))
				}
			}
		})
	}
	t.Run("a manifest's digest", func(t *testing.T) {
		source, err := ociimage.Open(t.Context(), dir+"@"+string(images[arm64].Digest), ociimage.Options{})
		require.NoError(t, err)
		defer source.Close()
		all, err := source.Images(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, arm64, all[0].Platform)
		_, err = source.Image(t.Context(), amd64)
		require.ErrorContains(t, err, "there is none for linux/amd64, only for linux/arm64")
	})
}

// TestOpenNeedsOnlyItsPlatform holds that an image can be read from a store that lacks the others.
func TestOpenNeedsOnlyItsPlatform(t *testing.T) {
	layout, images := twoPlatforms(t)
	delete(layout.Blobs, images[arm64].Digest)
	source, err := ociimage.Open(t.Context(), layout.WriteDir(t), ociimage.Options{})
	require.NoError(t, err)
	defer source.Close()
	_, err = source.Image(t.Context(), amd64)
	require.NoError(t, err)
	_, err = source.Images(t.Context())
	requireInvalid(t, err, "it is not in the layout")
}

func TestOpenWithoutPlatforms(t *testing.T) {
	layout := ocitest.NewLayout()
	for _, platform := range suite.Platforms() {
		d := layout.Image(t, platform, dockerspec.DockerOCIImage{})
		d.Platform = nil
		layout.Index.Manifests = append(layout.Index.Manifests, d, d)
	}
	source, err := ociimage.Open(t.Context(), layout.WriteDir(t), ociimage.Options{})
	require.NoError(t, err)
	defer source.Close()
	for _, platform := range suite.Platforms() {
		i, err := source.Image(t.Context(), platform)
		require.NoError(t, err)
		require.Equal(t, platform, i.Platform)
		require.Nil(t, i.Stated)
	}
}

func TestOpenSeveralForOnePlatform(t *testing.T) {
	layout := ocitest.NewLayout()
	for _, tag := range []string{"one", "two"} {
		d := layout.Image(t, amd64, dockerspec.DockerOCIImage{}, ocitest.NewLayer(t, file(tag, 0o644, "")))
		d.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
		layout.Index.Manifests = append(layout.Index.Manifests, d)
	}
	dir := layout.WriteDir(t)
	source, err := ociimage.Open(t.Context(), dir, ociimage.Options{})
	require.NoError(t, err)
	defer source.Close()
	_, err = source.Image(t.Context(), amd64)
	require.ErrorContains(t, err, "there are several for linux/amd64; name one by @DIGEST or :TAG, of "+string(layout.Index.Manifests[0].Digest))
	_, err = source.Images(t.Context())
	require.ErrorContains(t, err, "there are several for linux/amd64")

	require.Equal(t, layout.Index.Manifests[1].Digest, openOne(t, dir+":two", ociimage.Options{}).Descriptor.Digest)
	_, err = ociimage.Open(t.Context(), dir+":three", ociimage.Options{})
	requireInvalid(t, err, `it has no image with the tag "three"; it has "one", "two"`)
}

// edit changes the only manifest of a layout.
func edit(t *testing.T, layout *ocitest.Layout, change func(*ocispec.Manifest)) {
	d := &layout.Index.Manifests[0]
	var manifest ocispec.Manifest
	require.NoError(t, json.Unmarshal(layout.Blobs[d.Digest], &manifest))
	change(&manifest)
	*d = layout.PutJSON(t, ocispec.MediaTypeImageManifest, manifest)
}

// What an error repeats of a hostile image has an end.
func TestReasonsAreShort(t *testing.T) {
	l := ocitest.NewLayout()
	l.Index.Manifests = append(l.Index.Manifests, l.Put(ocispec.MediaTypeImageManifest, []byte(`{"schemaVersion": 1`+strings.Repeat("0", 1<<20)+`}`)))
	s, err := ociimage.Open(t.Context(), l.WriteDir(t), ociimage.Options{})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Images(t.Context())
	requireInvalid(t, err, "it is no OCI image manifest")
	require.Less(t, len(err.Error()), 2<<10)
}

// TestOpenRefuses holds that what is not what its descriptor says is refused, wherever it is.
func TestOpenRefuses(t *testing.T) {
	type layout = ocitest.Layout
	config := func(l *layout) digest.Digest {
		var manifest ocispec.Manifest
		_ = json.Unmarshal(l.Blobs[l.Index.Manifests[0].Digest], &manifest)
		return manifest.Config.Digest
	}
	layer := func(l *layout) digest.Digest {
		var manifest ocispec.Manifest
		_ = json.Unmarshal(l.Blobs[l.Index.Manifests[0].Digest], &manifest)
		return manifest.Layers[0].Digest
	}
	flip := func(l *layout, d digest.Digest) { l.Blobs[d][len(l.Blobs[d])/2] ^= 1 }
	cut := func(l *layout, d digest.Digest) { l.Blobs[d] = l.Blobs[d][:len(l.Blobs[d])/2] }
	tests := map[string]struct {
		spoil func(t *testing.T, l *layout)
		want  string
	}{
		"no index":                      {func(_ *testing.T, l *layout) { l.Index.Manifests = nil }, "it leads to no image"},
		"a manifest that is missing":    {func(_ *testing.T, l *layout) { clear(l.Blobs) }, "it is not in the layout"},
		"a manifest that differs":       {func(_ *testing.T, l *layout) { flip(l, l.Index.Manifests[0].Digest) }, "the manifest sha256:"},
		"a manifest that is longer":     {func(_ *testing.T, l *layout) { d := l.Index.Manifests[0].Digest; l.Blobs[d] = append(l.Blobs[d], '\n') }, "it is longer than the"},
		"a manifest that is cut":        {func(_ *testing.T, l *layout) { cut(l, l.Index.Manifests[0].Digest) }, "it is shorter than the"},
		"a manifest of another length":  {func(_ *testing.T, l *layout) { l.Index.Manifests[0].Size-- }, "it is longer than the"},
		"a manifest of endless length":  {func(_ *testing.T, l *layout) { l.Index.Manifests[0].Size = 1 << 62 }, "its size is stated as 4611686018427387904 bytes; at most 4194304 are read"},
		"a manifest of negative length": {func(_ *testing.T, l *layout) { l.Index.Manifests[0].Size = -1 }, "its size is stated as -1 bytes"},
		"a manifest with a path for a digest": {func(_ *testing.T, l *layout) { l.Index.Manifests[0].Digest = "sha256:../../index.json" },
			"its digest \"sha256:../../index.json\" is none"},
		"a manifest that is no JSON": {func(_ *testing.T, l *layout) {
			l.Index.Manifests[0] = l.Put(ocispec.MediaTypeImageManifest, []byte("manifest"))
		}, "it is no OCI image manifest"},
		"a manifest that says it is an index": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) { m.MediaType = ocispec.MediaTypeImageIndex })
		}, "it states the media type"},
		"a manifest of an artifact": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) { m.Config.MediaType = ocispec.MediaTypeEmptyJSON })
		}, "which is no image's"},
		"many layers": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) { m.Layers = make([]ocispec.Descriptor, 1001) })
		}, "there are 1001 layers, more than the 1000 that are read"},
		"other layers than the config": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) { m.Layers = m.Layers[:0] })
		}, "it lists 1 layers, the manifest 0"},
		"a config that differs": {func(_ *testing.T, l *layout) { flip(l, config(l)) }, "the config sha256:"},
		"a config that is no JSON": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) { m.Config = l.Put(ocispec.MediaTypeImageConfig, []byte("config")) })
		}, "it is no image config"},
		"a diff id that is none": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) {
				m.Config = l.Put(ocispec.MediaTypeImageConfig, []byte(`{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["x"]}}`))
			})
		}, `the layer "x" is not named by a digest`},
		"a layer that differs":    {func(_ *testing.T, l *layout) { flip(l, layer(l)) }, "layer 1, sha256:"},
		"a layer that is cut":     {func(_ *testing.T, l *layout) { cut(l, layer(l)) }, "it is shorter than the"},
		"a layer that is missing": {func(_ *testing.T, l *layout) { delete(l.Blobs, layer(l)) }, "it is not in the layout"},
		"a layer of another kind": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) { m.Layers[0].MediaType = "application/vnd.oci.image.layer.v1.tar+encrypted" })
		}, "is no tar's"},
		"a layer that is no tar": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) {
				m.Layers[0] = l.Put(ocispec.MediaTypeImageLayer, []byte(strings.Repeat("no tar ", 100)))
			})
		}, "layer 1, sha256:"},
		"a layer that is half a gzip": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) {
				m.Layers[0] = l.Put(ocispec.MediaTypeImageLayerGzip, l.Blobs[m.Layers[0].Digest][:30])
			})
		}, "unexpected EOF"},
		"a layer that is half a zstd": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) {
				m.Layers[0] = l.Put(ocispec.MediaTypeImageLayerZstd, ocitest.Zstd(t, ocitest.Tar(t, file("a", 0o644, "")))[:20])
			})
		}, "unexpected EOF"},
		"a layer that expands to something else": {func(t *testing.T, l *layout) {
			edit(t, l, func(m *ocispec.Manifest) {
				other := ocitest.NewLayer(t, file("other", 0o644, ""))
				m.Layers[0] = l.Put(other.MediaType, other.Blob)
			})
		}, ", the config states sha256:"},
		"indexes in indexes": {func(t *testing.T, l *layout) {
			for range 6 {
				l.Index.Manifests = []ocispec.Descriptor{l.PutJSON(t, ocispec.MediaTypeImageIndex, l.Index)}
			}
		}, "it lies below 4 others; flatten them"},
		"an index that is no JSON": {func(_ *testing.T, l *layout) {
			l.Index.Manifests = []ocispec.Descriptor{l.Put(ocispec.MediaTypeImageIndex, []byte("index"))}
		}, "it is no OCI image index"},
		"many manifests": {func(_ *testing.T, l *layout) { l.Index.Manifests = make([]ocispec.Descriptor, 1001) }, "there are more than 1000 manifests"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := ocitest.NewLayout()
			l.Index.Manifests = []ocispec.Descriptor{l.Image(t, amd64, dockerspec.DockerOCIImage{}, ocitest.NewLayer(t, file("a", 0o644, "a")))}
			tt.spoil(t, l)
			for form, ref := range map[string]string{"directory": l.WriteDir(t), "tar": l.WriteTar(t)} {
				requireInvalid(t, read(t, ref), tt.want)
				require.NotContains(t, read(t, ref).Error(), "\n", form)
			}
		})
	}
}

// read opens an image and flattens it.
func read(t *testing.T, ref string) error {
	source, err := ociimage.Open(t.Context(), ref, ociimage.Options{})
	if err != nil {
		return err
	}
	i, err := source.Image(t.Context(), amd64)
	if err == nil {
		_, err = i.Flatten(t.Context(), ociimage.Keep{})
	}
	return errors.Join(err, source.Close())
}

func TestOpenNothing(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.Mkdir(empty, 0o755))
	tests := map[string]struct{ ref, want string }{
		"a path that does not exist":        {filepath.Join(dir, "missing"), "no such file or directory"},
		"a path by scheme":                  {"oci-layout://missing", `opening "oci-layout://missing"`},
		"a path with a digest that is none": {empty + "@sha256:1", `"sha256:1" is no digest`},
		"neither a path nor a reference":    {"Not A Reference", `"Not A Reference" is neither a file or directory that exists nor an image reference`},
		"an empty directory":                {empty, "so the directory is no OCI image layout"},
		"a text":                            {ocitest.WriteFile(t, "text", []byte("text")), "it is no tar archive"},
		"another tar":                       {ocitest.WriteFile(t, "other.tar", ocitest.Tar(t, file("a", 0o644, ""))), "it holds neither an OCI image layout nor what docker save writes"},
		"a device":                          {"/dev/null", "it is neither a directory nor a regular file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ociimage.Open(t.Context(), tt.ref, ociimage.Options{})
			if name == "a path by scheme" {
				require.ErrorContains(t, err, "missing")
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// TestOpenLayoutLinks holds that a layout cannot lead out of its directory, nor to what is no file.
func TestOpenLayoutLinks(t *testing.T) {
	layout := ocitest.NewLayout()
	d := layout.Image(t, amd64, dockerspec.DockerOCIImage{})
	layout.Index.Manifests = []ocispec.Descriptor{d}
	outside := ocitest.WriteFile(t, "manifest", layout.Blobs[d.Digest])
	dir := layout.WriteDir(t)
	at := filepath.Join(dir, "blobs", "sha256", d.Digest.Encoded())
	require.NoError(t, os.Remove(at))
	require.NoError(t, os.Symlink(outside, at))
	require.ErrorContains(t, read(t, dir), "path escapes from parent")

	require.NoError(t, os.Remove(at))
	require.NoError(t, os.Mkdir(at, 0o755))
	require.ErrorContains(t, read(t, dir), "is no regular file")
}

// TestOpenSaved holds that what docker save wrote before it wrote layouts can be read.
func TestOpenSaved(t *testing.T) {
	first, second := ocitest.Tar(t, file("a", 0o644, "old")), ocitest.Tar(t, file("a", 0o644, "new"))
	config := func(architecture string, layers ...[]byte) string {
		image := ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: architecture}, RootFS: ocispec.RootFS{Type: "layers"}}
		for _, layer := range layers {
			image.RootFS.DiffIDs = append(image.RootFS.DiffIDs, digest.FromBytes(layer))
		}
		raw, err := json.Marshal(image)
		require.NoError(t, err)
		return string(raw)
	}
	archive := func(manifest string, more ...ocitest.Entry) string {
		return ocitest.WriteFile(t, "saved.tar", ocitest.Tar(t, append(more,
			file("one.json", 0o644, config("amd64", first, second, first)), file("two.json", 0o644, config("amd64", second)),
			file("111/layer.tar", 0o644, string(first)), file("222/layer.tar", 0o644, string(second)), symlink("333/layer.tar", "../111/layer.tar"),
			file("manifest.json", 0o644, manifest))...))
	}
	const manifest = `[{"Config":"one.json","RepoTags":["registry.example/one:v1"],"Layers":["111/layer.tar","222/layer.tar","333/layer.tar"]},
		{"Config":"two.json","RepoTags":["registry.example/two:v2"],"Layers":["222/layer.tar"]}]`

	for tag, want := range map[string]string{"v1": "old", "v2": "new"} {
		rootfs, err := openOne(t, archive(manifest)+":"+tag, ociimage.Options{}).Flatten(t.Context(), ociimage.Keep{Path: func(string) bool { return true }, Bytes: 100})
		require.NoError(t, err)
		require.Equal(t, want, string(rootfs.Kept["a"]))
	}
	for name, tt := range map[string]struct{ ref, want string }{
		"no such tag":              {archive(manifest) + ":v3", `it has no image with the tag "v3"; it has "registry.example/one:v1", "registry.example/two:v2"`},
		"no JSON":                  {archive("manifest"), "it is no list of images"},
		"a missing config":         {archive(`[{"Config":"missing.json"}]`), "missing.json: it is missing"},
		"a missing layer":          {archive(`[{"Config":"two.json","Layers":["444/layer.tar"]}]`), "444/layer.tar: it is missing"},
		"another number of layers": {archive(`[{"Config":"two.json","Layers":[]}]`), "it lists 1 layers, manifest.json lists 0"},
		"another layer":            {archive(`[{"Config":"two.json","Layers":["111/layer.tar"]}]`), "its bytes have another digest"},
		"no images":                {archive(`[]`), "it leads to no image"},
	} {
		t.Run(name, func(t *testing.T) { requireInvalid(t, read(t, tt.ref), tt.want) })
	}
}

func TestPinned(t *testing.T) {
	layout, images := twoPlatforms(t)
	dir := layout.WriteDir(t)
	pin := func(platform suite.Platform) suite.BaseImage {
		d := images[platform]
		return suite.BaseImage{
			Platform: platform, ImageRef: "registry.example/base@" + string(d.Digest),
			Image: suite.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size},
		}
	}
	t.Run("in a layout", func(t *testing.T) {
		for _, platform := range suite.Platforms() {
			for _, where := range []string{dir, "oci-layout://" + dir, "oci-layout://" + dir + ":v1", layout.WriteTar(t)} {
				i, err := ociimage.Pinned(t.Context(), pin(platform), where, ociimage.Options{})
				require.NoError(t, err)
				require.Equal(t, platform, i.Platform)
				require.Equal(t, pin(platform).Image.Digest, i.Descriptor.Digest)
				require.NoError(t, i.Close())
			}
		}
	})
	t.Run("in a layout without an index of it", func(t *testing.T) {
		bare := &ocitest.Layout{Blobs: layout.Blobs}
		i, err := ociimage.Pinned(t.Context(), pin(amd64), bare.WriteDir(t), ociimage.Options{})
		require.NoError(t, err)
		require.NoError(t, i.Close())
	})
	t.Run("in a layout that lacks it", func(t *testing.T) {
		_, err := ociimage.Pinned(t.Context(), pin(amd64), ocitest.NewLayout().WriteDir(t), ociimage.Options{})
		requireInvalid(t, err, "the pinned image for linux/amd64 cannot be read: image registry.example/base@"+string(images[amd64].Digest)+" in /")
	})
	t.Run("of another size", func(t *testing.T) {
		wrong := pin(amd64)
		wrong.Image.Size++
		_, err := ociimage.Pinned(t.Context(), wrong, dir, ociimage.Options{})
		requireInvalid(t, err, "it is shorter than the")
	})
	t.Run("nowhere", func(t *testing.T) {
		_, err := ociimage.Pinned(t.Context(), pin(amd64), "oci-layout://"+filepath.Join(dir, "missing"), ociimage.Options{})
		require.ErrorContains(t, err, "no such file or directory")
	})
}

func TestManifest(t *testing.T) {
	layout, images := twoPlatforms(t)
	dir := layout.WriteDir(t)
	for _, platform := range suite.Platforms() {
		got, err := ociimage.Manifest(t.Context(), "oci-layout://"+dir, platform, ociimage.Options{})
		require.NoError(t, err)
		want := images[platform]
		require.Equal(t, suite.Descriptor{MediaType: want.MediaType, Digest: want.Digest, Size: want.Size}, got)
	}
	_, err := ociimage.Manifest(t.Context(), dir, suite.Platform{OS: "linux", Architecture: "s390x"}, ociimage.Options{})
	require.ErrorContains(t, err, "there is none for linux/s390x, only for linux/amd64, linux/arm64")
	_, err = ociimage.Manifest(t.Context(), filepath.Join(dir, "missing"), amd64, ociimage.Options{})
	require.ErrorContains(t, err, "no such file")

	docker := ocitest.NewLayout()
	d := docker.Image(t, amd64, dockerspec.DockerOCIImage{})
	var manifest ocispec.Manifest
	require.NoError(t, json.Unmarshal(docker.Blobs[d.Digest], &manifest))
	manifest.MediaType = "application/vnd.docker.distribution.manifest.v2+json"
	docker.Index.Manifests = []ocispec.Descriptor{docker.PutJSON(t, manifest.MediaType, manifest)}
	_, err = ociimage.Manifest(t.Context(), docker.WriteDir(t), amd64, ociimage.Options{})
	requireInvalid(t, err, "so build the image with OCI media types")
}

// FuzzOpen reads image tars.
func FuzzOpen(f *testing.F) {
	layout := ocitest.NewLayout()
	layout.Index.Manifests = []ocispec.Descriptor{layout.Image(f, amd64, dockerspec.DockerOCIImage{}, ocitest.NewLayer(f, file("a", 0o644, "a")))}
	seed, err := os.ReadFile(layout.WriteTar(f))
	require.NoError(f, err)
	f.Add(seed)
	f.Add(ocitest.Tar(f, file("manifest.json", 0o644, `[{"Config":"c","Layers":["l"]}]`), file("c", 0o644, `{"rootfs":{"diff_ids":["x"]}}`), file("l", 0o644, "l")))
	at := filepath.Join(f.TempDir(), "image.tar")
	f.Fuzz(func(t *testing.T, raw []byte) {
		require.NoError(t, os.WriteFile(at, raw, 0o600))
		var disk *fs.PathError
		if err := read(t, at); errors.As(err, &disk) {
			t.Fatal(err)
		}
	})
}

// FuzzFlatten applies layers.
func FuzzFlatten(f *testing.F) {
	seeds := layers{
		{directory("a", 0o755), file("a/b", 0o644, "#!/bin/sh\n"), hardlink("c", "a/b", 0o644), symlink("d", "../a")},
		{file("d/e", 0o644, "\x7fELF"), whiteout("a/b"), opaque("a"), file("etc/passwd", 0o644, "root:x:0:0::/:\n")},
	}
	for _, entries := range seeds {
		f.Add(ocitest.Tar(f, entries...), ocitest.Gzip(f, ocitest.Tar(f, entries...)))
	}
	limits := ociimage.DefaultLimits()
	limits.ExpandedBytes, limits.Scan.Entries = 1<<20, 1000
	f.Fuzz(func(t *testing.T, first, second []byte) {
		l := ocitest.NewLayout()
		var made []ocitest.Layer
		for _, raw := range [][]byte{first, second} {
			made = append(made, ocitest.Layer{MediaType: ocispec.MediaTypeImageLayer, Blob: raw, DiffID: digest.FromBytes(raw)})
		}
		l.Index.Manifests = []ocispec.Descriptor{l.Image(t, amd64, dockerspec.DockerOCIImage{}, made...)}
		rootfs, err := openOne(t, l.WriteDir(t), ociimage.Options{Limits: &limits}).Flatten(t.Context(), ociimage.Keep{Path: func(p string) bool { return p == "c" }, Bytes: 1000})
		if err != nil {
			var invalid *ociimage.InvalidError
			require.ErrorAs(t, err, &invalid)
			return
		}
		for i, e := range rootfs.Scan.Entries {
			require.False(t, strings.HasPrefix(e.Path, "/") || strings.HasPrefix(e.Path, "../"), e.Path)
			require.True(t, i == 0 || rootfs.Scan.Entries[i-1].Path < e.Path, "entries are sorted")
		}
	})
}
