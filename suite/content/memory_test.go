package content_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// endless makes a content layer with one file of so many zeros, on the fly.
func endless(size int64) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		t := tar.NewWriter(z)
		err := t.WriteHeader(&tar.Header{Name: "large", Mode: 0o644, Size: size})
		zeros := make([]byte, 1<<20)
		for n := int64(0); n < size && err == nil; n += int64(len(zeros)) {
			_, err = t.Write(zeros[:min(int64(len(zeros)), size-n)])
		}
		if err == nil {
			err = t.Close()
		}
		if err == nil {
			err = z.Close()
		}
		w.CloseWithError(err)
	}()
	return r
}

// What reading an archive allocates in all, let alone at a time, does not depend on the size of its
// files.
func TestMemory(t *testing.T) {
	const size = 256 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	layer := endless(size)
	defer layer.Close()
	index, err := content.OpenReader(t.Context(), layer, defaults())
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	noProblems(t, index)
	require.EqualValues(t, size, index.Entries[0].Size)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// A small stream that inflates to more than the limit ends there: nobody waits for its end.
func TestBomb(t *testing.T) {
	opts := defaults()
	opts.Limits.ExpandedBytes = 1 << 20
	layer := endless(1 << 50)
	defer layer.Close()
	index, err := content.OpenReader(t.Context(), io.LimitReader(layer, 64<<10), opts)
	require.NoError(t, err)
	require.Equal(t, []string{"path-limit large: the file has 1125899906842624 bytes and those before it have 0; the limit on all files together is 1048576"}, problemsOf(index))
}

// repeating reads the same bytes over and over.
type repeating struct {
	data []byte
	n    int
}

func (r *repeating) Read(p []byte) (int, error) {
	n := copy(p, r.data[r.n:])
	r.n = (r.n + n) % len(r.data)
	return n, nil
}

// A stream without end is not read for ever: neither one that inflates to nothing, nor what is left of one that
// is wrong.
func TestEndlessStreams(t *testing.T) {
	var nothing bytes.Buffer
	require.NoError(t, gzip.NewWriter(&nothing).Close())
	opts := defaults()
	opts.Limits.ArchiveBytes = 1 << 20
	const limit = "path-limit : the archive has more than 1048576 bytes, which is the limit, compressed as well as uncompressed"
	index, err := content.OpenReader(t.Context(), &repeating{data: nothing.Bytes()}, opts)
	require.NoError(t, err)
	require.Equal(t, []string{limit}, problemsOf(index))

	index, err = content.OpenReader(t.Context(), io.MultiReader(bytes.NewReader([]byte("\x1f\x8bno gzip")), &repeating{data: []byte("x")}), opts)
	require.NoError(t, err)
	require.Contains(t, problemsOf(index), limit)
	require.Len(t, index.Problems, 2)
}

// The headers of an archive may be large; nothing of them stays but what the index tells.
func TestMemoryOfHeaders(t *testing.T) {
	var members []member
	comment := longName(1 << 19)
	for i := range 100 {
		name := fmt.Sprintf("%03d-é", i)
		members = append(members, symlink(name, name+"x"))
		members[i].pax = map[string]string{"comment": comment}
	}
	layer := layerOf(t, members...)
	layout := newEnvelope(layer).build(t)
	for name := range layout {
		members = append(members, member{name: name, body: layout[name]})
	}
	layoutTar := tarOf(t, members...)
	for _, data := range [][]byte{layer, layoutTar} {
		before := heap()
		index := stream(t, data, defaults())
		noProblems(t, index)
		require.Less(t, heap()-before, int64(4<<20))
		require.Len(t, index.Entries, 100)
	}
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
