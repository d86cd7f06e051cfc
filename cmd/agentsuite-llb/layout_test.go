package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
)

// layout is an OCI layout that a test writes images into.
type layout struct {
	dir   string
	index ocispec.Index
}

func newLayout(t *testing.T) *layout {
	t.Helper()
	l := &layout{dir: t.TempDir()}
	l.index.SchemaVersion, l.index.MediaType = 2, ocispec.MediaTypeImageIndex
	require.NoError(t, os.MkdirAll(filepath.Join(l.dir, "blobs/sha256"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644))
	return l
}

func (l *layout) blob(t *testing.T, mediaType string, data []byte) ocispec.Descriptor {
	t.Helper()
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "blobs/sha256", d.Digest.Encoded()), data, 0o644))
	return d
}

func (l *layout) json(t *testing.T, mediaType string, v any) ocispec.Descriptor {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return l.blob(t, mediaType, data)
}

// add writes an image for a platform and returns the descriptor of its manifest.
func (l *layout) add(t *testing.T, platform suite.Platform, config ocispec.ImageConfig, layers ...[]byte) ocispec.Descriptor {
	t.Helper()
	p := ocispec.Platform{OS: platform.OS, Architecture: platform.Architecture}
	image := ocispec.Image{Platform: p, Config: config, RootFS: ocispec.RootFS{Type: "layers"}}
	manifest := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest}
	for _, layer := range layers {
		manifest.Layers = append(manifest.Layers, l.blob(t, ocispec.MediaTypeImageLayer, layer))
		image.RootFS.DiffIDs = append(image.RootFS.DiffIDs, digest.FromBytes(layer))
		image.History = append(image.History, ocispec.History{CreatedBy: "a test"})
	}
	manifest.Config = l.json(t, ocispec.MediaTypeImageConfig, image)
	d := l.json(t, ocispec.MediaTypeImageManifest, manifest)
	stated := d
	stated.Platform = &p
	l.index.Manifests = append(l.index.Manifests, stated)
	index, err := json.Marshal(l.index)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "index.json"), index, 0o644))
	return d
}

// layer makes a layer of executable files, in the order given, with their parent directories.
func layer(t *testing.T, files ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	made := map[string]bool{".": true}
	for _, f := range files {
		if dir := filepath.Dir(f[0]); !made[dir] {
			made[dir] = true
			require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}))
		}
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f[0], Mode: 0o755, Size: int64(len(f[1]))}))
		_, err := w.Write([]byte(f[1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}
