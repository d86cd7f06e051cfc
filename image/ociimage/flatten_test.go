package ociimage_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/pkg/archive"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi/elftest"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

var amd64, arm64 = suite.Platforms()[0], suite.Platforms()[1]

// layers are what the layers of an image hold, bottom to top.
type layers [][]ocitest.Entry

var (
	file      = ocitest.File
	directory = ocitest.Directory
	symlink   = ocitest.Symlink
	hardlink  = ocitest.Hardlink
	whiteout  = ocitest.Whiteout
	opaque    = ocitest.Opaque
)

// openImage opens an image of the layers.
func openImage(t *testing.T, opts ociimage.Options, all layers) *ociimage.Image {
	t.Helper()
	layout := ocitest.NewLayout()
	var made []ocitest.Layer
	for _, entries := range all {
		made = append(made, ocitest.NewLayer(t, entries...))
	}
	layout.Index.Manifests = append(layout.Index.Manifests, layout.Image(t, amd64, dockerspec.DockerOCIImage{}, made...))
	return openOne(t, layout.WriteDir(t), opts)
}

func openOne(t *testing.T, ref string, opts ociimage.Options) *ociimage.Image {
	t.Helper()
	source, err := ociimage.Open(t.Context(), ref, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	i, err := source.Image(t.Context(), amd64)
	require.NoError(t, err)
	return i
}

// TestFlattenIsScan holds that flattening layers and scanning what containerd unpacks of them are the
// same.
func TestFlattenIsScan(t *testing.T) {
	program := string(elftest.File{Loader: "/lib64/ld-linux-x86-64.so.2", Needed: []string{"libc.so.6"}, RunPath: []string{"$ORIGIN"}}.Bytes())
	tests := map[string]layers{
		"no layer":           {},
		"an empty layer":     {{}},
		"files of all kinds": {{directory("./", 0o755), directory("./a", 0o750), file("./a/one", 0o640, "one"), symlink("./a/two", "../b"), file("./empty", 0o4755, "")}},
		"parents without entries": {
			{file("a/b/c", 0o644, "c"), file("a/b/d", 0o600, "d")},
		},
		"a file replaced": {
			{file("a", 0o644, "old")}, {file("a", 0o755, "new")},
		},
		"a file twice in a layer": {
			{file("a", 0o644, "old"), file("a", 0o755, "new")},
		},
		"a directory's attributes replaced, its contents kept": {
			{directory("a", 0o700), file("a/b", 0o644, "b")}, {directory("a", 0o1777)},
		},
		"a directory without an entry keeps its attributes": {
			{directory("a", 0o700), file("a/b", 0o644, "b")}, {file("a/c", 0o644, "c")},
		},
		"a directory replaced by a file": {
			{directory("a", 0o700), file("a/b/c", 0o644, "c")}, {file("a", 0o644, "file")},
		},
		"a file replaced by a directory": {
			{file("a", 0o644, "file")}, {directory("a", 0o700), file("a/b", 0o644, "b")},
		},
		"a symlink to a directory replaced by a directory": {
			{directory("usr/lib", 0o755), file("usr/lib/x", 0o644, "x"), symlink("lib", "usr/lib")}, {directory("lib", 0o755), file("lib/y", 0o644, "y")},
		},
		"a path through a symlink": {
			{directory("usr/lib", 0o755), symlink("lib", "usr/lib"), symlink("abs", "/usr"), symlink("up", "../../..")},
			{file("lib/x", 0o644, "x"), file("abs/lib/y", 0o644, "y"), file("up/z", 0o644, "z")},
		},
		"a file over a symlink": {
			{file("a", 0o644, "a"), symlink("b", "a")}, {file("b", 0o644, "b")},
		},
		"a symlink over a directory": {
			{directory("a", 0o755), file("a/b", 0o644, "b")}, {symlink("a", "nowhere")},
		},
		"whiteouts": {
			{file("a/b", 0o644, "b"), file("a/c", 0o644, "c"), file("d/e/f", 0o644, "f"), symlink("g", "a")},
			{whiteout("a/b"), whiteout("d"), whiteout("g"), whiteout("never/there")},
		},
		"a whiteout and a new file later": {
			{file("a/b", 0o644, "old")}, {whiteout("a/b")}, {file("a/b", 0o600, "new")},
		},
		"a whiteout through a symlink": {
			{file("usr/lib/x", 0o644, "x"), symlink("lib", "usr/lib")}, {whiteout("lib/x")},
		},
		"an opaque directory": {
			{directory("a", 0o700), file("a/b", 0o644, "b"), file("a/c/d", 0o644, "d")},
			{directory("a", 0o755), opaque("a"), file("a/new", 0o644, "new")},
		},
		"an opaque directory whose marker comes last": {
			{directory("a", 0o700), file("a/b", 0o644, "b"), file("a/c/d", 0o644, "d")},
			{directory("a", 0o755), file("a/new", 0o644, "new"), directory("a/c", 0o755), file("a/c/e", 0o644, "e"), opaque("a")},
		},
		"an opaque directory in an opaque one": {
			{file("a/b/c", 0o644, "c"), file("a/d", 0o644, "d")},
			{directory("a", 0o755), opaque("a"), directory("a/b", 0o755), opaque("a/b"), file("a/b/new", 0o644, "new")},
		},
		"hardlinks": {
			{file("a", 0o755, "#!/bin/sh\n"), hardlink("b", "a", 0o755), hardlink("c/d", "b", 0o755)},
		},
		"a hardlink to a lower layer, whose name goes away": {
			{file("a", 0o644, "a")}, {hardlink("b", "a", 0o644), whiteout("never")}, {whiteout("a")},
		},
		"a hardlink whose other name is replaced": {
			{file("a", 0o644, "old"), hardlink("b", "a", 0o644), file("a", 0o600, "new")},
		},
		"a hardlink to a symlink": {
			{file("a", 0o644, "a"), symlink("b", "a"), hardlink("c", "b", 0o777)},
		},
		"AUFS bookkeeping": {
			{file(".wh..wh.aufs", 0o444, ""), directory(".wh..wh.plnk", 0o700), file("a", 0o644, "a")},
		},
		"programs and scripts": {
			{file("bin/a", 0o755, program), file("bin/b", 0o755, "#!/usr/bin/env python3\nprint()\n"), file("lib/c", 0o644, "\x7fELF broken"), file("bin/d", 0o755, program[:100])},
			{hardlink("bin/e", "bin/a", 0o755)},
		},
		"a system's configuration": {
			{file("etc/passwd", 0o644, "old"), file("etc/group", 0o644, "root:x:0:"), file("etc/ld.so.conf.d/a.conf", 0o644, "/a\n")},
			{file("etc/passwd", 0o644, "root:x:0:0::/:\n"), file("etc/ld.so.conf", 0o644, "include /etc/ld.so.conf.d/*.conf\n"), file("etc/other", 0o644, "other")},
		},
		"a configuration behind symlinks": {
			{file("usr/share/passwd", 0o644, "root:x:0:0::/:\n"), symlink("etc/passwd", "../usr/share/passwd"), symlink("etc/group", "nowhere"), directory("etc/ld.so.conf", 0o755)},
			{file("usr/conf/real", 0o644, "/a\n"), symlink("etc/ld.so.conf.d/a.conf", "/usr/conf/real")},
		},
		"an etc that is a symlink": {
			{directory("usr/etc", 0o755), symlink("etc", "usr/etc"), file("etc/passwd", 0o644, "root:x:0:0::/:\n")},
		},
		"names that are no UTF-8": {
			{file("a\xff", 0o644, ""), directory("b\xff", 0o755), file("b\xff/c", 0o644, ""), symlink("d", "\xfe"), file("e", 0o644, "")},
		},
		"set-id files": {
			{file("b/su", 0o4755, "su"), file("a/wall", 0o2755, "wall"), directory("a/shared", 0o2755), directory("tmp", 0o1777)},
		},
		"names that sort around a slash": {
			{file("a/b", 0o644, ""), file("a-b", 0o644, ""), file("a.b", 0o644, ""), file("a0", 0o644, "")},
		},
		"a long name": {
			{file(strings.Repeat(strings.Repeat("x", 200)+"/", 12)+"end", 0o644, "end")},
		},
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		tests["files with capabilities"] = layers{
			{capable(file("b/ping", 0o755, "ping")), file("b/su", 0o4755, "su"), capable(file("a", 0o755, "a")), capable(hardlink("d/b", "b/ping", 0o755))},
			{capable(hardlink("c", "b/ping", 0o755)), file("a", 0o755, "another")},
		}
	}
	for name, all := range tests {
		t.Run(name, func(t *testing.T) {
			unpacked := t.TempDir()
			for _, entries := range all {
				for i := range entries {
					entries[i] = entries[i].Owned(uid, gid)
				}
				_, err := archive.Apply(t.Context(), unpacked, bytes.NewReader(ocitest.Tar(t, entries...)), archive.WithNoSameOwner())
				require.NoError(t, err)
			}
			root, err := os.OpenRoot(unpacked)
			require.NoError(t, err)
			defer root.Close()
			want, err := image.ScanDir(t.Context(), root)
			require.NoError(t, err)

			got, err := openImage(t, ociimage.Options{}, all).Flatten(t.Context(), ociimage.Keep{})
			require.NoError(t, err)
			opts := cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b *problem.Rule) bool { return a == b }), cmp.Comparer(func(a, b *problem.LintRule) bool { return a == b })}
			if uid != 0 {
				// Directories on the way belong to whoever unpacks.
				opts = append(opts, cmpopts.IgnoreFields(image.Entry{}, "UID", "GID"))
			}
			require.Empty(t, cmp.Diff(want, got.Scan, opts))
		})
	}
}

// capable gives an entry a capability, as its inode holds one.
func capable(e ocitest.Entry) ocitest.Entry {
	e.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02\x00\x04" + strings.Repeat("\x00", 14)}
	return e
}

func TestFlattenOwners(t *testing.T) {
	got, err := openImage(t, ociimage.Options{}, layers{
		{directory("a", 0o755).Owned(1, 2), file("a/b", 0o644, "").Owned(3, 4), symlink("c", "a").Owned(5, 6), hardlink("d", "a/b", 0o600).Owned(7, 8), file("e/f", 0o644, "").Owned(9, 9)},
	}).Flatten(t.Context(), ociimage.Keep{})
	require.NoError(t, err)
	var lines []string
	for _, e := range got.Scan.Entries {
		lines = append(lines, fmt.Sprintf("%s %04o %d:%d", e.Path, e.Mode, e.UID, e.GID))
	}
	require.Equal(t, []string{
		"a 0755 1:2", "a/b 0600 7:8", // all names of a file have its attributes, the last ones count
		"c 0777 5:6", "d 0600 7:8", "e 0755 0:0", "e/f 0644 9:9",
	}, lines)
}

func TestFlattenKeeps(t *testing.T) {
	keep := ociimage.Keep{Path: func(p string) bool { return strings.HasPrefix(p, "meta/") }, Bytes: 10}
	i := openImage(t, ociimage.Options{}, layers{
		{directory("real", 0o755), symlink("meta", "real"), file("meta/lost", 0o644, "lost"), file("other", 0o644, "other")},
		{whiteout("meta"), file("meta/a", 0o644, "old")},
		{file("meta/a", 0o644, "new"), hardlink("meta/b", "other", 0o644), file("meta/empty", 0o644, "")},
	})
	got, err := i.Flatten(t.Context(), keep)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(map[string][]byte{"meta/a": []byte("new"), "meta/b": []byte("other"), "meta/empty": nil}, got.Kept, cmpopts.EquateEmpty()))

	keep.Bytes = 7
	_, err = i.Flatten(t.Context(), keep)
	requireInvalid(t, err, "have more than 7 bytes")
}

func requireInvalid(t *testing.T, err error, want string) {
	t.Helper()
	var invalid *ociimage.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Contains(t, err.Error(), want)
}

// TestFlattenCompressions holds that layers are read however they are compressed, whatever their media
// types say about that.
func TestFlattenCompressions(t *testing.T) {
	raw := ocitest.Tar(t, file("a", 0o644, "a"))
	id := digest.FromBytes(raw)
	tests := map[string]ocitest.Layer{
		"none":                 {MediaType: ocispec.MediaTypeImageLayer, Blob: raw, DiffID: id},
		"gzip":                 {MediaType: ocispec.MediaTypeImageLayerGzip, Blob: ocitest.Gzip(t, raw), DiffID: id},
		"gzip of many members": {MediaType: ocispec.MediaTypeImageLayerGzip, Blob: append(ocitest.Gzip(t, raw[:700]), ocitest.Gzip(t, raw[700:])...), DiffID: id},
		"zstd":                 {MediaType: ocispec.MediaTypeImageLayerZstd, Blob: ocitest.Zstd(t, raw), DiffID: id},
		"zstd as Docker's":     {MediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip", Blob: ocitest.Zstd(t, raw), DiffID: id},
	}
	for name, layer := range tests {
		t.Run(name, func(t *testing.T) {
			layout := ocitest.NewLayout()
			layout.Index.Manifests = append(layout.Index.Manifests, layout.Image(t, amd64, dockerspec.DockerOCIImage{}, layer))
			got, err := openOne(t, layout.WriteDir(t), ociimage.Options{}).Flatten(t.Context(), ociimage.Keep{})
			require.NoError(t, err)
			require.Len(t, got.Scan.Entries, 1)
			require.Equal(t, digest.FromString("a"), got.Scan.Entries[0].Digest)
		})
	}
}

// TestFlattenRefuses holds what layers are refused for.
func TestFlattenRefuses(t *testing.T) {
	deep := func(first string) []ocitest.Entry {
		var entries []ocitest.Entry
		at := first
		for range 5 {
			below := strings.Repeat("d/", 600)
			entries = append(entries, directory(at+"/"+strings.TrimSuffix(below, "/"), 0o755), symlink(at+"x", at+"/"+below))
			at += "x"
		}
		return entries
	}
	tests := map[string]struct {
		entries []ocitest.Entry
		want    string
	}{
		"out of the image":                 {[]ocitest.Entry{file("../a", 0o644, "")}, `entry "../a": its path leads out of the image`},
		"out of the image by the middle":   {[]ocitest.Entry{file("a/../../b", 0o644, "")}, "its path leads out of the image"},
		"a hardlink out of the image":      {[]ocitest.Entry{hardlink("a", "../../etc/passwd", 0o644)}, "its path leads out of the image"},
		"a hardlink to nothing":            {[]ocitest.Entry{hardlink("a", "b", 0o644)}, `it is a hardlink to "b", which is not there`},
		"a hardlink through a symlink out": {[]ocitest.Entry{symlink("up", "/../.."), hardlink("a", "up/etc/passwd", 0o644)}, "which is not there"},
		"a hardlink to a directory":        {[]ocitest.Entry{directory("a", 0o755), hardlink("b", "a", 0o755)}, "it is a hardlink to a directory"},
		"a path through a file":            {[]ocitest.Entry{file("a", 0o644, ""), file("a/b", 0o644, "")}, "its path leads through a, which is no directory"},
		"symlinks in a circle":             {[]ocitest.Entry{symlink("a", "b"), symlink("b", "a"), file("a/c", 0o644, "")}, "more than 40 symlinks"},
		"a whiteout of nothing":            {[]ocitest.Entry{file("a/.wh.", 0o644, "")}, "it is a whiteout of no name"},
		"a whiteout of the parent":         {[]ocitest.Entry{file("a/.wh...", 0o644, "")}, "it is a whiteout of no name"},
		"a long name":                      {[]ocitest.Entry{file(strings.Repeat("x", 256), 0o644, "")}, "longer than 255 bytes"},
		"a long name on the way":           {[]ocitest.Entry{file(strings.Repeat("x", 256)+"/a", 0o644, "")}, "longer than 255 bytes"},
		"a long path":                      {[]ocitest.Entry{file(strings.Repeat("x/", 2100)+"x", 0o644, "")}, "its path is 4201 bytes long"},
		"a long link target":               {[]ocitest.Entry{symlink("a", strings.Repeat("x/", 2100))}, "its target is 4200 bytes long"},
		"a path that symlinks make deep":   {deep("a"), "its path is deeper than 2048 directories"},
		"an owner that is none":            {[]ocitest.Entry{file("a", 0o644, "").Owned(-5, 0)}, "its owner -5:0 is none"},
		"an owner beyond all":              {[]ocitest.Entry{file("a", 0o644, "").Owned(0, 1<<32-1)}, "its owner 0:4294967295 is none"},
		"a type that layers do not have":   {[]ocitest.Entry{{Header: tar.Header{Typeflag: 'V', Name: "a"}}}, "its type 'V' is none of a layer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := openImage(t, ociimage.Options{}, layers{tt.entries}).Flatten(t.Context(), ociimage.Keep{})
			requireInvalid(t, err, tt.want)
		})
	}
}

func TestFlattenForeignTypes(t *testing.T) {
	var entries []ocitest.Entry
	for name, kind := range map[string]byte{"block": tar.TypeBlock, "character": tar.TypeChar, "fifo": tar.TypeFifo} {
		entries = append(entries, ocitest.Entry{Header: tar.Header{Typeflag: kind, Name: name}})
	}
	got, err := openImage(t, ociimage.Options{}, layers{entries}).Flatten(t.Context(), ociimage.Keep{})
	require.NoError(t, err)
	require.Empty(t, got.Scan.Entries)
	require.Len(t, got.Scan.Problems, 3)
	require.Contains(t, got.Scan.Problems[0].Message, "/block is a block device")
}

// sparse is a tar with one file that is nothing but a hole, as GNU tar writes it.
func sparse(size int64) []byte {
	header := make([]byte, 512)
	copy(header, "hole")
	copy(header[100:], "0000644\x000000000\x000000000\x0000000000000\x0000000000000\x00")
	copy(header[148:], "        S")
	copy(header[257:], "ustar  \x00")
	// One sparse record of no bytes at the end, and the real size.
	copy(header[386:], fmt.Sprintf("%011o\x00%011o\x00", 0, 0))
	copy(header[483:], fmt.Sprintf("%011o\x00", size))
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	return slices.Concat(header, make([]byte, 1024))
}

func TestFlattenLimits(t *testing.T) {
	many := func(n int) []ocitest.Entry {
		var entries []ocitest.Entry
		for i := range n {
			entries = append(entries, file(fmt.Sprintf("f%d", i), 0o644, "x"))
		}
		return entries
	}
	limits := ociimage.DefaultLimits()
	limits.Scan.Entries, limits.Scan.Bytes, limits.Scan.PathBytes, limits.ExpandedBytes = 10, 100, 30, 64<<10
	opts := ociimage.Options{Limits: &limits}

	t.Run("a layer of zeros", func(t *testing.T) {
		_, err := openImage(t, opts, layers{{file("a", 0o644, strings.Repeat("\x00", 65<<10))}}).Flatten(t.Context(), ociimage.Keep{})
		requireInvalid(t, err, "the image expands to more than 65536 bytes")
	})
	t.Run("zeros behind the archive", func(t *testing.T) {
		raw := append(ocitest.Tar(t, file("a", 0o644, "")), make([]byte, 65<<10)...)
		layout := ocitest.NewLayout()
		layout.Index.Manifests = append(layout.Index.Manifests, layout.Image(t, amd64, dockerspec.DockerOCIImage{},
			ocitest.Layer{MediaType: ocispec.MediaTypeImageLayerGzip, Blob: ocitest.Gzip(t, raw), DiffID: digest.FromBytes(raw)}))
		_, err := openOne(t, layout.WriteDir(t), opts).Flatten(t.Context(), ociimage.Keep{})
		requireInvalid(t, err, "the image expands to more than 65536 bytes")
	})
	t.Run("a hole of a file", func(t *testing.T) {
		raw := sparse(8<<30 - 1)
		header, err := tar.NewReader(bytes.NewReader(raw)).Next()
		require.NoError(t, err)
		require.Equal(t, int64(8<<30-1), header.Size)
		layout := ocitest.NewLayout()
		layout.Index.Manifests = append(layout.Index.Manifests, layout.Image(t, amd64, dockerspec.DockerOCIImage{},
			ocitest.Layer{MediaType: ocispec.MediaTypeImageLayer, Blob: raw, DiffID: digest.FromBytes(raw)}))
		_, err = openOne(t, layout.WriteDir(t), opts).Flatten(t.Context(), ociimage.Keep{})
		requireInvalid(t, err, "the image expands to more than 65536 bytes")
	})
	t.Run("files of many layers", func(t *testing.T) {
		_, err := openImage(t, opts, layers{{file("a", 0o644, strings.Repeat("x", 33<<10))}, {file("a", 0o644, strings.Repeat("y", 33<<10))}}).Flatten(t.Context(), ociimage.Keep{})
		requireInvalid(t, err, "the image expands to more than 65536 bytes")
	})
	t.Run("entries", func(t *testing.T) {
		_, err := openImage(t, opts, layers{many(12)}).Flatten(t.Context(), ociimage.Keep{})
		requireInvalid(t, err, "the filesystem has more than 10 entries before it")
		got, err := openImage(t, opts, layers{many(11)}).Flatten(t.Context(), ociimage.Keep{})
		require.NoError(t, err)
		require.Len(t, got.Scan.Problems, 1)
		require.Contains(t, got.Scan.Problems[0].Message, "more than 10 entries")
		got, err = openImage(t, opts, layers{many(10)}).Flatten(t.Context(), ociimage.Keep{})
		require.NoError(t, err)
		require.Empty(t, got.Scan.Problems)
	})
	t.Run("bytes", func(t *testing.T) {
		got, err := openImage(t, opts, layers{{file("a", 0o644, strings.Repeat("x", 60)), hardlink("b", "a", 0o644)}}).Flatten(t.Context(), ociimage.Keep{})
		require.NoError(t, err)
		require.Empty(t, got.Scan.Problems, "a file counts once, whatever its names")
		got, err = openImage(t, opts, layers{{file("a", 0o644, strings.Repeat("x", 60)), file("b", 0o644, strings.Repeat("x", 60))}}).Flatten(t.Context(), ociimage.Keep{})
		require.NoError(t, err)
		require.Len(t, got.Scan.Problems, 1)
		require.Contains(t, got.Scan.Problems[0].Message, "larger than 100 bytes")
	})
	t.Run("paths that symlinks make long", func(t *testing.T) {
		got, err := openImage(t, opts, layers{{directory("aaaaaaaaaaaa/bbbbbbbbbbbb", 0o755), symlink("l", "aaaaaaaaaaaa/bbbbbbbbbbbb"), file("l/cccccccccc", 0o644, "")}}).Flatten(t.Context(), ociimage.Keep{})
		require.NoError(t, err)
		require.Len(t, got.Scan.Problems, 1)
		require.Contains(t, got.Scan.Problems[0].Message, "longer than 30 bytes")
	})
}

func TestFlattenIsCancelled(t *testing.T) {
	i := openImage(t, ociimage.Options{}, layers{{file("a", 0o644, strings.Repeat("x", 1<<20))}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := i.Flatten(ctx, ociimage.Keep{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestFlattenLeavesNothing holds that spools are gone afterwards.
func TestFlattenLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := openImage(t, ociimage.Options{TempDir: dir}, layers{{file("a", 0o755, string(elftest.File{}.Bytes()))}}).Flatten(t.Context(), ociimage.Keep{})
	require.NoError(t, err)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
