//go:build integration

package construction_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// layers are the layers of an image for a platform: those of the pinned images, and ours.
func (a authored) layers(t *testing.T, b built, platform suite.Platform) (pinned, ours []ocispecs.Descriptor) {
	t.Helper()
	i, ok := b.layout.Images[platform.String()]
	require.True(t, ok, "no image for %s", platform)
	require.Len(t, i.Config.RootFS.DiffIDs, len(i.Manifest.Layers))
	bottom := a.spec.base
	if image.Stacked(diffIDs(a.spec.base), diffIDs(a.spec.harness)) {
		bottom = a.spec.harness
	}
	require.Greater(t, len(i.Manifest.Layers), len(bottom.layers))
	return i.Manifest.Layers[:len(bottom.layers)], i.Manifest.Layers[len(bottom.layers):]
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
