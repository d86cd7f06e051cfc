package ociimage_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/abi/elftest"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// heap is the memory in use that nothing but garbage collection gives back.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// The headers of a layer may be large, and compress to nothing; no more of them stays than names and targets.
func TestMemoryOfHeaders(t *testing.T) {
	const many = 200
	var entries []ocitest.Entry
	for i := range many {
		e := symlink(fmt.Sprintf("%03d-é", i), "é")
		e.PAXRecords = map[string]string{"comment": strings.Repeat("x", 1<<19)}
		entries = append(entries, e)
	}
	i := openImage(t, ociimage.Options{}, layers{entries})
	before := heap()
	got, err := i.Flatten(t.Context(), ociimage.Keep{})
	require.NoError(t, err)
	require.Less(t, heap(), before+16<<20)
	require.Len(t, got.Scan.Entries, many)
}

// What is kept of files is bounded while layers are read, not only in the end.
func TestMemoryOfKeptFiles(t *testing.T) {
	const most = 1 << 20
	limits := ociimage.DefaultLimits()
	limits.Scan.DatabaseBytes = 1 << 16
	opts := ociimage.Options{Limits: &limits}
	keep := ociimage.Keep{Path: func(p string) bool { return strings.HasPrefix(p, "meta/") }, Bytes: most}
	files := func(format string, n, size int) (entries []ocitest.Entry) {
		for i := range n {
			entries = append(entries, file(fmt.Sprintf(format, i), 0o644, strings.Repeat("x", size)))
		}
		return entries
	}
	t.Run("that are asked for", func(t *testing.T) {
		_, err := openImage(t, opts, layers{files("meta/%d", 4, most)}).Flatten(t.Context(), keep)
		requireInvalid(t, err, "the files to keep, of all layers together, are larger")
	})
	t.Run("that are a system's configuration", func(t *testing.T) {
		_, err := openImage(t, opts, layers{files("etc/ld.so.conf.d/%d.conf", 40, 1<<16)}).Flatten(t.Context(), ociimage.Keep{})
		requireInvalid(t, err, "the files to keep, of all layers together, are larger")
	})
	t.Run("that are a system's configuration, by way of symlinks", func(t *testing.T) {
		entries := files("elsewhere/%d", 40, 1<<16)
		for i := range entries {
			entries = append(entries, symlink(fmt.Sprintf("etc/ld.so.conf.d/%d.conf", i), fmt.Sprintf("/elsewhere/%d", i)))
		}
		got, err := openImage(t, opts, layers{entries}).Flatten(t.Context(), ociimage.Keep{})
		require.NoError(t, err)
		require.Contains(t, got.Scan.Problems[0].Message, "are larger than 1048576 bytes together")
		require.Len(t, got.Scan.Files, 16)
	})
	t.Run("of which one is large", func(t *testing.T) {
		entries := append(files("elsewhere/%d", 1, most), symlink("etc/passwd", "/elsewhere/0"))
		got, err := openImage(t, opts, layers{entries}).Flatten(t.Context(), keep)
		require.NoError(t, err)
		require.Contains(t, got.Scan.Problems[0].Message, "/etc/passwd is larger than 65536 bytes")
	})
}

// Symlinks lead to paths that are far longer than any name of an entry, for every file that lies there.
func TestMemoryOfLongPaths(t *testing.T) {
	const below = 500
	deep := strings.Repeat(strings.Repeat("d", 250)+"/", 15)
	at := ""
	var entries []ocitest.Entry
	for i := range 36 {
		entries = append(entries, directory(at+strings.TrimSuffix(deep, "/"), 0o755), symlink(fmt.Sprintf("l%d", i), at+deep))
		at = fmt.Sprintf("l%d/", i)
	}
	for i := range below {
		entries = append(entries, file(fmt.Sprintf("%s%d", at, i), 0o644, ""))
	}
	i := openImage(t, ociimage.Options{}, layers{entries})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := i.Flatten(t.Context(), ociimage.Keep{})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	require.Contains(t, got.Scan.Problems[0].Message, "longer than 4096 bytes")
}

// A file of a few kilobytes states a hundred times as much of itself, under each of its names.
func TestFactsAreBounded(t *testing.T) {
	limits := ociimage.DefaultLimits()
	limits.Scan.FactsBytes = 1 << 20
	opts := ociimage.Options{Limits: &limits}
	program := string(elftest.File{Needed: slices.Repeat([]string{strings.Repeat("x", 4000)}, 60)}.Bytes())
	require.Less(t, len(program), 8<<10)
	_, err := openImage(t, opts, layers{{file("a", 0o755, program), file("b", 0o755, program), file("c", 0o755, program), file("d", 0o755, program), file("e", 0o755, program)}}).Flatten(t.Context(), ociimage.Keep{})
	requireInvalid(t, err, "what native files state of themselves")
	got, err := openImage(t, opts, layers{{file("a", 0o755, program), hardlink("b", "a", 0o755), hardlink("c", "a", 0o755), hardlink("d", "a", 0o755), hardlink("e", "a", 0o755)}}).Flatten(t.Context(), ociimage.Keep{})
	require.NoError(t, err)
	require.Len(t, got.Scan.Problems, 1)
	require.Contains(t, got.Scan.Problems[0].Message, "takes more than 1048576 bytes")
}

// A filesystem of nothing but what is refused is not described to its end.
func TestFindingsAreBounded(t *testing.T) {
	var entries []ocitest.Entry
	for i := range 20_000 {
		e := file(fmt.Sprint(i), 0o644, "")
		e.Typeflag = '6' // a FIFO
		entries = append(entries, e)
	}
	got, err := openImage(t, ociimage.Options{}, layers{entries}).Flatten(t.Context(), ociimage.Keep{})
	require.NoError(t, err)
	require.Len(t, got.Scan.Problems, 10_000)
}

func TestImagesOfAnIndexAreBounded(t *testing.T) {
	limits := ociimage.DefaultLimits()
	limits.ConfigBytes = 4 << 10
	layout := ocitest.NewLayout()
	for n := range 8 {
		config := dockerspec.DockerOCIImage{Image: ocispec.Image{Author: strings.Repeat("x", 1<<10)}}
		layout.Index.Manifests = append(layout.Index.Manifests, layout.Image(t, suite.Platform{OS: "linux", Architecture: fmt.Sprint(n)}, config))
	}
	source, err := ociimage.Open(t.Context(), layout.WriteDir(t), ociimage.Options{Limits: &limits})
	require.NoError(t, err)
	defer source.Close()
	_, err = source.Images(t.Context())
	requireInvalid(t, err, "the configs of its images have more than 4096 bytes together")
}
