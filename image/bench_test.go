package image_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
)

// largeScan is a base with n files more than debian, spread over directories as distributions do.
func largeScan(n int) *image.Scan {
	files := make([]image.Entry, n)
	for i := range files {
		files[i] = file(fmt.Sprintf("usr/share/package-%04d/locale/%02d/messages-%d.mo", i/100, i/10%10, i), 0o644, fmt.Sprint(i))
	}
	return debian(files...)
}

func benchmarkSizes(b *testing.B, run func(b *testing.B, scan *image.Scan)) {
	for _, n := range []int{10_000, 300_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			scan := largeScan(n)
			b.ReportAllocs()
			run(b, scan)
		})
	}
}

// BenchmarkCompose composes a base, a harness beside it and a bundle of 2,000 files.
func BenchmarkCompose(b *testing.B) {
	var payload []image.Entry
	for i := range 2000 {
		payload = append(payload, file(fmt.Sprintf("lib/module-%04d.py", i), 0o644, fmt.Sprint(i)))
	}
	benchmarkSizes(b, func(b *testing.B, scan *image.Scan) {
		w := world{base: scan, bundles: []bundle{tool("a", payload...)}}
		recipe, scans := w.benchInputs(b)
		for b.Loop() {
			composed, _, err := image.Compose(b.Context(), recipe, scans)
			require.NoError(b, err)
			require.Empty(b, composed.Problems)
		}
	})
}

// BenchmarkComposeStacked composes a harness on top of a base of the same size.
func BenchmarkComposeStacked(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, scan *image.Scan) {
		recipe, scans := world{base: scan, stacked: true}.benchInputs(b)
		for b.Loop() {
			_, _, err := image.Compose(b.Context(), recipe, scans)
			require.NoError(b, err)
		}
	})
}

func (w world) benchInputs(b *testing.B) (*image.Recipe, image.Scans) {
	w.t = b
	recipe, err := image.NewRecipe(w.inputs())
	require.NoError(b, err)
	return recipe, w.scans()
}

func BenchmarkEncodeScan(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, scan *image.Scan) {
		for b.Loop() {
			var buf bytes.Buffer
			require.NoError(b, scan.Encode(&buf))
			b.SetBytes(int64(buf.Len()))
		}
	})
}

func BenchmarkDecodeScan(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, scan *image.Scan) {
		var buf bytes.Buffer
		require.NoError(b, scan.Encode(&buf))
		b.SetBytes(int64(buf.Len()))
		for b.Loop() {
			_, err := image.DecodeScan(bytes.NewReader(buf.Bytes()))
			require.NoError(b, err)
		}
	})
}
