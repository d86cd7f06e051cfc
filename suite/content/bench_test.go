package content_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// benchTree is a payload: a few large files, and many small ones. It returns its size.
func benchTree(b *testing.B, dir string) (size int64) {
	b.Helper()
	random := rand.New(rand.NewSource(1))
	add := func(name string, n int) {
		data := make([]byte, n)
		random.Read(data[:n/2]) // half of it compresses
		write(b, filepath.Join(dir, name), string(data))
		size += int64(n)
	}
	for i := range 8 {
		add(fmt.Sprintf("bin/tool-%d", i), 24<<20)
	}
	for i := range 2000 {
		add(fmt.Sprintf("lib/%02d/module-%04d.py", i%40, i), 1000+random.Intn(30_000))
	}
	return size
}

// cpu is the processor time that the process has used, which says what work costs also on a machine
// that is busy with other things.
func cpu(b *testing.B) time.Duration {
	var usage unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// hashing is the processor time that hashing so many bytes takes.
func hashing(b *testing.B, size int64) time.Duration {
	data := make([]byte, 1<<20)
	start := cpu(b)
	for ; size > 0; size -= int64(len(data)) {
		sha256.Sum256(data[:min(size, int64(len(data)))])
	}
	return cpu(b) - start
}

// BenchmarkOpen reports as x-sha256 how fast it reads, compared with hashing as many bytes in memory, by
// the processor time that either takes.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	size := benchTree(b, dir)
	archive := filepath.Join(b.TempDir(), "content")
	_, err := content.Pack(b.Context(), dir, archive, content.FormContentTarGzip, content.PackOptions{Limits: content.DefaultLimits()})
	require.NoError(b, err)
	for _, bench := range []struct {
		name, path string
		digest     bool
	}{{"directory", dir, false}, {"directory-with-digest", dir, true}, {"archive", archive, false}} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(size)
			var opening, plain time.Duration
			for b.Loop() {
				b.StopTimer()
				plain += hashing(b, size)
				b.StartTimer()
				start := cpu(b)
				index, err := content.Open(b.Context(), bench.path, content.Options{Limits: content.DefaultLimits(), Digest: bench.digest})
				require.NoError(b, err)
				opening += cpu(b) - start
				noProblems(b, index)
			}
			b.ReportMetric(plain.Seconds()/opening.Seconds(), "x-sha256")
		})
	}
}

// BenchmarkDocuments compares reading 5,000 small documents with reading them by os.ReadFile and
// hashing them, one after the other.
func BenchmarkDocuments(b *testing.B) {
	dir := b.TempDir()
	for i := range 5000 {
		write(b, filepath.Join(dir, fmt.Sprintf("agents/%02d/agent-%04d.json", i%50, i)), fmt.Sprintf(`{"id":"agent-%04d","filler":%q}`, i, longName(2000)))
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			for i := range 5000 {
				data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("agents/%02d/agent-%04d.json", i%50, i)))
				require.NoError(b, err)
				sha256.Sum256(data)
			}
		}
	})
	b.Run("Open", func(b *testing.B) {
		for b.Loop() {
			index, err := content.Open(b.Context(), dir, defaults())
			require.NoError(b, err)
			require.Len(b, index.Texts, 5000)
		}
	})
}
