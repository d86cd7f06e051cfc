package content_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// smallLimits keep what a fuzzer comes up with small.
func smallLimits() content.Options {
	limits := content.DefaultLimits()
	limits.Entries, limits.ExpandedBytes, limits.ArchiveBytes, limits.Problems = 1000, 1<<20, 4<<20, 50
	return content.Options{Limits: limits}
}

// stored wraps data in gzip without compressing, which a fuzzer has no use for.
func stored(tb testing.TB, data []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	require.NoError(tb, err)
	_, err = z.Write(data)
	require.NoError(tb, err)
	require.NoError(tb, z.Close())
	return b.Bytes()
}

// withChecksums makes the checksums of all tar headers right, which a fuzzer would hardly ever do.
func withChecksums(data []byte) []byte {
	data = bytes.Clone(data)
	for block := range slices.Chunk(data, 512) {
		if len(block) == 512 && string(block[257:262]) == "ustar" {
			checksum(block)
		}
	}
	return data
}

// sound holds what is true of every index, whatever it was read from.
func sound(t *testing.T, index *content.Index) {
	require.IsIncreasing(t, pathsOf(index))
	require.LessOrEqual(t, len(index.Problems), 51)
	for _, e := range index.Entries {
		require.NoError(t, content.CheckPath(e.Path))
		require.True(t, filepath.IsLocal(e.Path))
	}
	if len(index.Problems) > 0 {
		return
	}
	for _, e := range index.Entries {
		if parent, ok := index.Entry(path.Dir(e.Path)); ok {
			require.Equal(t, content.Directory, parent.Type)
		}
		switch e.Type {
		case content.File:
			require.NoError(t, e.Digest.Validate())
			require.Zero(t, e.Mode&0o022)
		case content.Symlink:
			require.True(t, filepath.IsLocal(path.Join(path.Dir(e.Path), e.LinkTarget)))
		case content.Hardlink:
			target, ok := index.Entry(e.LinkTarget)
			require.True(t, ok)
			require.Equal(t, content.File, target.Type)
		}
	}
}

// extracted holds that what a good archive extracts to is what its index says.
func extracted(t *testing.T, index *content.Index, read func(content.Options) *content.Index) {
	opts := smallLimits()
	for _, e := range index.Entries {
		for name := range strings.SplitSeq(e.Path, "/") {
			if len(name) > 255 {
				return // no filesystem has such names
			}
		}
		if len(e.LinkTarget) > 1000 || e.Path == "oci-layout" || e.Path == ".dockerignore" {
			return
		}
	}
	opts.Extract = filepath.Join(t.TempDir(), "content")
	noProblems(t, read(opts))
	back := open(t, opts.Extract, smallLimits())
	for _, e := range index.Entries {
		got, ok := back.Entry(e.Path)
		if !ok {
			require.Contains(t, back.Ignored, strings.Split(e.Path, "/")[0])
			continue
		}
		if e.Type == content.Hardlink {
			target, _ := back.Entry(e.LinkTarget)
			e.Type, e.LinkTarget, e.Size, e.Digest = content.File, "", target.Size, target.Digest
		}
		e.UID, e.GID = 0, 0
		requireEqual(t, e, got)
	}
}

func FuzzTar(f *testing.F) {
	f.Add(tarOf(f, sample...))
	for _, members := range breakouts {
		if data := tarOf(f, members...); len(data) < 8<<10 {
			f.Add(data)
		}
	}
	for _, format := range []tar.Format{tar.FormatGNU, tar.FormatPAX} {
		f.Add(tarOf(f, member{name: strings.Repeat("long/", 30) + "x", body: "x", format: format}, member{name: "h", typ: tar.TypeLink, link: strings.Repeat("long/", 30) + "x", format: format}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		layer := stored(t, withChecksums(data))
		index := stream(t, layer, smallLimits())
		sound(t, index)
		if len(index.Problems) == 0 {
			extracted(t, index, func(o content.Options) *content.Index { return stream(t, layer, o) })
		}
	})
}

func FuzzGzip(f *testing.F) {
	for _, fault := range archiveFaults(f) {
		if len(fault.layer) < 4<<10 {
			f.Add(fault.layer)
		}
	}
	f.Add(layerOf(f, sample...))
	f.Fuzz(func(t *testing.T, data []byte) {
		sound(t, stream(t, append([]byte("\x1f\x8b"), data...), smallLimits()))
		sound(t, stream(t, data, smallLimits()))
	})
}

func FuzzLayoutTar(f *testing.F) {
	layer := layerOf(f, member{name: "agentsuite.json", body: "{}"})
	f.Add(newEnvelope(layer).build(f).tar(f))
	for _, fault := range envelopeFaults {
		e := newEnvelope(layer)
		fault.change(e)
		if data := e.build(f).tar(f); len(data) < 16<<10 {
			f.Add(data)
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 2 && string(data[:2]) == "\x1f\x8b" {
			return
		}
		data = withChecksums(data)
		path := filepath.Join(dir, "layout")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		fromFile, fromStream := open(t, path, smallLimits()), stream(t, data, smallLimits())
		sound(t, fromFile)
		requireEqual(t, fromFile, fromStream)
	})
}

// FuzzLayout makes the three documents of a layout of what the fuzzer comes up with.
func FuzzLayout(f *testing.F) {
	good := newEnvelope(layerOf(f, member{name: "agentsuite.json", body: "{}"}))
	layout := good.build(f)
	f.Add([]byte(layout["oci-layout"]), []byte(layout["index.json"]), []byte(jsonOf(f, good.manifest)))
	f.Fuzz(func(t *testing.T, marker, index, manifest []byte) {
		all := files{}
		for name, data := range layout {
			all[name] = data
		}
		all["oci-layout"], all["index.json"] = string(marker), string(index)
		e := &envelope{files: all}
		selected := e.blob("application/vnd.oci.image.manifest.v1+json", string(manifest))
		// Whatever index there is, the manifest is also tried where a good index selects it.
		sound(t, open(t, all.directory(t), smallLimits()))
		all["index.json"] = jsonOf(t, object{"schemaVersion": 2, "manifests": []any{selected}})
		fromFiles := open(t, all.directory(t), smallLimits())
		sound(t, fromFiles)
		requireEqual(t, fromFiles, stream(t, all.tar(t), smallLimits()), cmpopts.IgnoreFields(content.Index{}, "Form"))
	})
}

func FuzzCheckPath(f *testing.F) {
	for _, p := range []string{"", "a", "a/b", "/", "..", "a/..", "./a", "a//b", "a\\b", "a\x00", "\xff", "...", "é"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if content.CheckPath(p) == nil {
			require.True(t, filepath.IsLocal(p))
			require.Equal(t, path.Clean(p), p)
			require.NotEqual(t, ".", p)
			require.False(t, strings.ContainsAny(p, "\\\x00"))
			require.LessOrEqual(t, len(p), 1024)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, &content.Index{Form: content.FormDirectory, Entries: sampleEntries(), Texts: map[string][]byte{"a": []byte("b")}, Ignored: []string{".git"}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, err := content.Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		back, err := content.Decode(bytes.NewReader(encode(t, index)))
		require.NoError(t, err)
		requireEqual(t, index, back)
	})
}
