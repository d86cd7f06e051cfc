// Package ocitest makes images for tests: layers of tar entries, and layouts that hold them. Nothing
// stops a test from making images that no tool would.
package ocitest

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
)

// Entry is one entry of a layer; the size is that of Content.
type Entry struct {
	tar.Header
	Content string
}

// Owned gives the entry an owner.
func (e Entry) Owned(uid, gid int) Entry {
	e.Uid, e.Gid = uid, gid
	return e
}

// File is a regular file.
func File(name string, mode int64, content string) Entry {
	return Entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}, content}
}

// Directory is a directory.
func Directory(name string, mode int64) Entry {
	return Entry{Header: tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}}
}

// Symlink is a symlink.
func Symlink(name, target string) Entry {
	return Entry{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}}
}

// Hardlink is another name of a file, whose mode it repeats.
func Hardlink(name, target string, mode int64) Entry {
	return Entry{Header: tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: mode}}
}

// Whiteout removes what lower layers have at a path.
func Whiteout(name string) Entry {
	return File(path.Join(path.Dir(name), ".wh."+path.Base(name)), 0o644, "")
}

// Opaque removes what lower layers have below a directory.
func Opaque(dir string) Entry { return File(path.Join(dir, ".wh..wh..opq"), 0o644, "") }

// Tar is the archive of a layer.
func Tar(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		e.Size = int64(len(e.Content))
		require.NoError(t, w.WriteHeader(&e.Header))
		_, err := w.Write([]byte(e.Content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// Gzip compresses a layer.
func Gzip(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(raw)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// Zstd compresses a layer.
func Zstd(t testing.TB, raw []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer w.Close()
	return w.EncodeAll(raw, nil)
}

// Layer is a layer of an image.
type Layer struct {
	MediaType string
	// Blob is the layer as it lies in the layout, DiffID the digest of the tar in it.
	Blob   []byte
	DiffID digest.Digest
}

// NewLayer is a gzip-compressed layer.
func NewLayer(t testing.TB, entries ...Entry) Layer {
	t.Helper()
	raw := Tar(t, entries...)
	return Layer{ocispec.MediaTypeImageLayerGzip, Gzip(t, raw), digest.FromBytes(raw)}
}

// Layout is an OCI image layout. A test may change everything in it before it is written.
type Layout struct {
	Blobs map[digest.Digest][]byte
	Index ocispec.Index
}

// NewLayout is an empty layout.
func NewLayout() *Layout {
	return &Layout{
		Blobs: map[digest.Digest][]byte{},
		Index: ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex},
	}
}

// Put adds a blob.
func (l *Layout) Put(mediaType string, raw []byte) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	l.Blobs[d.Digest] = raw
	return d
}

// PutJSON adds a blob that is the JSON form of a value.
func (l *Layout) PutJSON(t testing.TB, mediaType string, value any) ocispec.Descriptor {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return l.Put(mediaType, raw)
}

// Image adds an image's blobs and returns the descriptor of its manifest, with its platform. The config
// gets the platform and the diff ids.
func (l *Layout) Image(t testing.TB, platform suite.Platform, config dockerspec.DockerOCIImage, layers ...Layer) ocispec.Descriptor {
	t.Helper()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.RootFS = ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{}}
	manifest := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Layers: []ocispec.Descriptor{}}
	for _, layer := range layers {
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, layer.DiffID)
		manifest.Layers = append(manifest.Layers, l.Put(layer.MediaType, layer.Blob))
	}
	manifest.Config = l.PutJSON(t, ocispec.MediaTypeImageConfig, config)
	d := l.PutJSON(t, ocispec.MediaTypeImageManifest, manifest)
	d.Platform = &ocispec.Platform{OS: platform.OS, Architecture: platform.Architecture}
	return d
}

// files are the layout's files by name.
func (l *Layout) files(t testing.TB) map[string][]byte {
	index, err := json.Marshal(l.Index)
	require.NoError(t, err)
	files := map[string][]byte{
		ocispec.ImageLayoutFile: []byte(`{"imageLayoutVersion":"1.0.0"}`),
		ocispec.ImageIndexFile:  index,
	}
	for d, raw := range l.Blobs {
		files[path.Join(ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded())] = raw
	}
	return files
}

// WriteDir writes the layout into a new directory and returns it.
func (l *Layout) WriteDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, raw := range l.files(t) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	return dir
}

// WriteTar writes the layout into a new tar and returns its path.
func (l *Layout) WriteTar(t testing.TB) string {
	t.Helper()
	files := l.files(t)
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(files)) {
		entries = append(entries, File(name, 0o644, string(files[name])))
	}
	return WriteFile(t, "image.tar", Tar(t, entries...))
}

// WriteFile writes a file of its own directory and returns its path.
func WriteFile(t testing.TB, name string, raw []byte) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(at, raw, 0o600))
	return at
}
