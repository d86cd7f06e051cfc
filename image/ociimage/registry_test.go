//go:build integration

package ociimage_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// TestOpenRegistry reads images from a real registry.
func TestOpenRegistry(t *testing.T) {
	registry := testenv.Registry(t)
	layout, images := twoPlatforms(t)
	repository, err := remote.NewRepository(registry.Host + "/writer")
	require.NoError(t, err)
	repository.PlainHTTP = true
	for d, raw := range layout.Blobs {
		if d == layout.Index.Manifests[0].Digest || d == images[amd64].Digest || d == images[arm64].Digest || bytes.Contains(raw, []byte(`"schemaVersion"`)) {
			continue
		}
		require.NoError(t, repository.Blobs().Push(t.Context(), ocispec.Descriptor{Digest: d, Size: int64(len(raw))}, bytes.NewReader(raw)))
	}
	// The attestations of the layout are left out: nobody may need them.
	var index ocispec.Index
	for _, platform := range suite.Platforms() {
		d := images[platform]
		require.NoError(t, repository.Manifests().Push(t.Context(), d, bytes.NewReader(layout.Blobs[d.Digest])))
		index.Manifests = append(index.Manifests, d)
	}
	index.SchemaVersion = 2
	d := layout.PutJSON(t, ocispec.MediaTypeImageIndex, index)
	require.NoError(t, repository.PushReference(t.Context(), d, bytes.NewReader(layout.Blobs[d.Digest]), "v1"))

	name := registry.Host + "/writer"
	t.Run("by tag and digest", func(t *testing.T) {
		for _, ref := range []string{name + ":v1", name + "@" + string(d.Digest), "docker-image://" + name + ":v1@" + string(d.Digest), name + "@" + string(images[amd64].Digest)} {
			tmp := t.TempDir()
			i := openOne(t, ref, ociimage.Options{TempDir: tmp})
			require.Equal(t, images[amd64].Digest, i.Descriptor.Digest)
			rootfs, err := i.Flatten(t.Context(), ociimage.Keep{Path: func(string) bool { return true }, Bytes: 100})
			require.NoError(t, err)
			require.Equal(t, "amd64", string(rootfs.Kept["arch"]))
			left, err := os.ReadDir(tmp)
			require.NoError(t, err)
			require.Empty(t, left, "spools are gone")
		}
	})
	t.Run("pinned", func(t *testing.T) {
		want := images[arm64]
		pin := suite.BaseImage{
			Platform: arm64, ImageRef: name + "@" + string(want.Digest),
			Image: suite.Descriptor{MediaType: want.MediaType, Digest: want.Digest, Size: want.Size},
		}
		for _, where := range []string{"", "docker-image://" + name} {
			i, err := ociimage.Pinned(t.Context(), pin, where, ociimage.Options{})
			require.NoError(t, err)
			require.Equal(t, arm64, i.Platform)
			require.NoError(t, i.Close())
		}
		_, err := ociimage.Pinned(t.Context(), pin, "docker-image://"+registry.Host+"/other", ociimage.Options{})
		require.ErrorContains(t, err, "not found")
	})
	t.Run("missing", func(t *testing.T) {
		_, err := ociimage.Open(t.Context(), name+":v2", ociimage.Options{})
		require.ErrorContains(t, err, "not found")
	})
	t.Run("a broken Docker config", func(t *testing.T) {
		config := t.TempDir()
		t.Setenv("DOCKER_CONFIG", config)
		require.NoError(t, os.WriteFile(filepath.Join(config, "config.json"), []byte("{"), 0o600))
		_, err := ociimage.Open(t.Context(), name+":v1", ociimage.Options{})
		require.ErrorContains(t, err, "reading the Docker config")
	})
	t.Run("credentials for it", func(t *testing.T) {
		config := t.TempDir()
		t.Setenv("DOCKER_CONFIG", config)
		secret := base64.StdEncoding.EncodeToString([]byte("user:password"))
		require.NoError(t, os.WriteFile(filepath.Join(config, "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, registry.Host, secret), 0o600))
		require.NotNil(t, openOne(t, name+":v1", ociimage.Options{}))
	})
}
