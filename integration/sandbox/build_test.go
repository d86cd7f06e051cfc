//go:build integration

package sandbox_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// Three doors lead to one image: buildx with the packaged frontend, the command line with the same image, and the command
// line as the frontend itself.
func TestEveryDoorGivesTheSameImage(t *testing.T) {
	t.Parallel()
	b := example.Builder(t, daemon.BuildkitdOptions{})
	args := slices.Concat([]string{"--platform", bothPlatforms, "--provenance=false"}, example.FromRegistry())
	want := b.BuildLayout(t, example.Suite, args...)
	require.Len(t, want.Images, 2)

	for name, frontend := range map[string][]string{
		"in-process": nil,
		"packaged":   {"--frontend", example.Frontend()},
	} {
		t.Run(name, func(t *testing.T) {
			layout := filepath.Join(t.TempDir(), "layout")
			args := slices.Concat(
				[]string{"build", "--addr", b.Address, "--progress", "plain", "--platform", bothPlatforms, "--output", "type=oci,tar=false,dest=" + layout},
				frontend, example.FromRegistry(), []string{example.Suite})
			out, err := exec.CommandContext(t.Context(), example.Program(), args...).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, want.Digests(), testenv.ReadLayout(t, layout).Digests())
		})
	}

	t.Run("syntax line", func(t *testing.T) {
		dir := example.Clone(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("# syntax="+example.Frontend()+"\n"), 0o644))
		layout := filepath.Join(t.TempDir(), "layout")
		_, err := b.Buildx.Run(t.Context(), slices.Concat([]string{"build", "--output", "type=oci,tar=false,dest=" + layout}, args, []string{dir})...)
		require.NoError(t, err)
		require.Equal(t, want.Digests(), testenv.ReadLayout(t, layout).Digests())
	})
}

// Two checkouts whose files are of different age, two daemons that know nothing, and more than a second between the builds.
func TestBuildsAreReproducible(t *testing.T) {
	t.Parallel()
	args := slices.Concat([]string{"--platform", bothPlatforms, "--provenance=false"}, example.FromRegistry())
	started := time.Now()
	first := example.Builder(t, daemon.BuildkitdOptions{}).BuildLayout(t, example.Suite, args...)

	dir := example.Clone(t)
	then := time.Now().Add(-1000 * time.Hour)
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, then, then)
	}))
	<-time.After(time.Until(started.Add(1100 * time.Millisecond))) // builds within one second are equal by luck
	second := example.Builder(t, daemon.BuildkitdOptions{}).BuildLayout(t, dir, args...)
	require.Len(t, first.Images, 2)
	require.Equal(t, first.Digests(), second.Digests())
	require.Equal(t, first.Digest, second.Digest, "the index")
}

// With everything handed over as OCI layouts, a daemon without any network builds the same.
func TestBuildsOffline(t *testing.T) {
	t.Parallel()
	args := []string{"--platform", bothPlatforms, "--provenance=false"}
	online := example.Builder(t, daemon.BuildkitdOptions{}).BuildLayout(t, example.Suite, slices.Concat(args, example.FromRegistry())...)

	b := example.Builder(t, daemon.BuildkitdOptions{Offline: true})
	b.Frontend = "agentsuite/frontend"
	frontend := []string{"--build-context", b.Frontend + "=" + example.Layout("frontend")}
	offline := b.BuildLayout(t, example.Suite, slices.Concat(args, frontend, example.FromLayouts())...)
	require.Equal(t, online.Digests(), offline.Digests())
}
