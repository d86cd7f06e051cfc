//go:build integration

package builders_test

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// pushedDigests are the manifest digests of what lies under a name in the registry, by platform.
func pushedDigests(t *testing.T, ref string) map[string]digest.Digest {
	t.Helper()
	source, err := ociimage.Open(t.Context(), "docker-image://"+ref, ociimage.Options{})
	require.NoError(t, err)
	defer source.Close()
	images, err := source.Images(t.Context())
	require.NoError(t, err)
	digests := map[string]digest.Digest{}
	for _, img := range images {
		digests[img.Platform.String()] = img.Descriptor.Digest
	}
	return digests
}

// composed are the platforms that a daemon composed images for, by what it has in its cache.
func composed(t *testing.T, b *daemon.Buildkitd) (platforms []string) {
	t.Helper()
	records, err := testenv.Client(t, b).DiskUsage(t.Context())
	require.NoError(t, err)
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		for _, r := range records {
			if strings.Contains(r.Description, "[internal] [agent "+platform+"] compose the filesystem") {
				platforms = append(platforms, platform)
				break
			}
		}
	}
	return platforms
}

// A builder of two nodes, one for each platform, gives the images that one node gives. Each node runs the tools on its own
// platform, which here is not the one that it builds for: nothing in this machine could run a program for arm64.
func TestNodes(t *testing.T) {
	t.Parallel()
	d := smallDraft(t)
	dir := d.write(t)
	args := append(d.contexts(), "--provenance=false", "--platform", "linux/amd64,linux/arm64")
	push := func(b testenv.Builder, ref string) map[string]digest.Digest {
		_, err := b.Build(t, dir, append(args, "--output", "type=image,push=true,name="+ref)...)
		require.NoError(t, err)
		return pushedDigests(t, ref)
	}
	one := example.Builder(t, daemon.BuildkitdOptions{})
	want := push(one, example.Registry.Host+"/nodes/one:v1")
	require.Len(t, want, 2)
	require.Equal(t, []string{"linux/amd64", "linux/arm64"}, composed(t, one.Buildkitd))

	two := example.Builder(t, daemon.BuildkitdOptions{})
	arm := testenv.Buildkitd(t, daemon.BuildkitdOptions{
		Registries: []string{example.Registry.Host}, Platforms: []string{"linux/amd64", "linux/arm64"},
	})
	require.NoError(t, two.Buildx.Append(t.Context(), arm, "linux/arm64"))
	require.Equal(t, want, push(two, example.Registry.Host+"/nodes/two:v1"))
	require.Equal(t, []string{"linux/amd64"}, composed(t, two.Buildkitd))
	require.Equal(t, []string{"linux/arm64"}, composed(t, arm))
}
