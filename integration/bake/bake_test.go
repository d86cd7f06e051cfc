//go:build integration

// Package bake_test holds the images of docker-bake.hcl to what the rest relies on.
package bake_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// sourceEpoch is the bake file's default.
const sourceEpoch = 1767225600

var targets = []string{"frontend", "runtime-base", "harness", "harness-stacked"}

// Two checkouts whose files are of different age, two daemons that know nothing, and more than a second between them:
// whatever a clock or a cache could bring into an image would differ.
func TestImagesAreReproducible(t *testing.T) {
	t.Parallel()
	first := checkout(t)
	second := filepath.Join(t.TempDir(), "second")
	require.NoError(t, os.CopyFS(second, os.DirFS(first)))
	age(t, second)

	started := time.Now()
	want := bake(t, first)
	<-time.After(time.Until(started.Add(1100 * time.Millisecond))) // builds within one second are equal by luck
	got := bake(t, second)
	for _, target := range targets {
		require.Equal(t, want[target].Digest, got[target].Digest, target)
		require.Len(t, want[target].Images, 2, target)
		for platform, image := range want[target].Images {
			// A build profile pins images of this media type alone.
			require.Equal(t, ocispecs.MediaTypeImageManifest, image.Descriptor.MediaType, "%s for %s", target, platform)
		}
	}

	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		base, stacked, beside := want["runtime-base"].Images[platform], want["harness-stacked"].Images[platform], want["harness"].Images[platform]
		// What tells a stacked harness from one beside the base.
		require.Equal(t, base.Manifest.Layers, stacked.Manifest.Layers[:len(base.Manifest.Layers)], platform)
		require.Equal(t, base.Config.RootFS.DiffIDs, stacked.Config.RootFS.DiffIDs[:len(base.Config.RootFS.DiffIDs)], platform)
		require.NotContains(t, beside.Config.RootFS.DiffIDs, base.Config.RootFS.DiffIDs[0], platform)

		for target, entrypoint := range map[string][]string{
			"runtime-base":    nil,
			"harness":         {"/usr/local/bin/harness"},
			"harness-stacked": {"/usr/local/bin/harness"},
		} {
			config := want[target].Images[platform].Config
			require.Equal(t, entrypoint, config.Config.Entrypoint, target)
			require.Equal(t, "65532:65532", config.Config.User, target)
			require.Equal(t, int64(sourceEpoch), config.Created.Unix(), target)
		}
		frontend := want["frontend"].Images[platform].Config.Config
		require.Equal(t, []string{"/frontend"}, frontend.Entrypoint)
		require.Equal(t, "true", frontend.Labels["moby.buildkit.frontend.network.none"])
		require.Contains(t, frontend.Labels["moby.buildkit.frontend.caps"], "moby.buildkit.frontend.contexts")
	}
}

// checkout lays out, in a new directory, the part of the repository that the bake file reads, with the examples compiled.
// The frontend's binary is the harness's: only its packaging is at stake.
func checkout(t *testing.T) string {
	t.Helper()
	source, dir := testenv.Tools(t).Checkout, filepath.Join(t.TempDir(), "first")
	for _, name := range []string{
		"docker-bake.hcl", "Dockerfile.frontend",
		"examples/images/runtime-base.Dockerfile", "examples/images/harness.Dockerfile",
	} {
		copyFile(t, filepath.Join(source, name), filepath.Join(dir, name))
	}
	prepare := exec.CommandContext(t.Context(), "go", "-C", filepath.Join(source, "examples"),
		"run", "./cmd/prepare", "--out", filepath.Join(dir, "build/examples"))
	output, err := prepare.CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, platform := range []string{"linux_amd64", "linux_arm64"} {
		copyFile(t, filepath.Join(dir, "build/examples/images/harness", platform, "harness"),
			filepath.Join(dir, "build/frontend", platform, "frontend"))
	}
	return dir
}

// age makes everything below dir as old as the epoch allows: BuildKit brings later times back to the epoch, and leaves
// earlier ones, which no file that was just compiled has.
func age(t *testing.T, dir string) {
	t.Helper()
	then := time.Unix(sourceEpoch+1, 0)
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, then, then)
	}))
}

// bake builds everything in the checkout at dir with a fresh daemon. The second of two builds of one target must leave one
// image in its layout, since a layout with several says nothing to who reads it.
func bake(t *testing.T, dir string) map[string]testenv.Layout {
	t.Helper()
	buildx := testenv.Buildx(t, testenv.Buildkitd(t, daemon.BuildkitdOptions{}))
	for _, target := range []string{"default", "frontend"} {
		cmd := buildx.Command(t.Context(), "bake", target)
		cmd.Dir = dir
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	layouts := map[string]testenv.Layout{}
	for _, target := range targets {
		layouts[target] = testenv.ReadLayout(t, filepath.Join(dir, "build/images", target))
	}
	return layouts
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	require.NoError(t, err)
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.WriteFile(to, data, info.Mode()))
}
