//go:build integration

package sandbox_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
)

const bothPlatforms = "linux/amd64,linux/arm64"

// Three doors lead to one image: buildx with the packaged frontend, the command line with the same image, and the command
// line as the frontend itself.
func TestEveryDoorGivesTheSameImage(t *testing.T) {
	t.Parallel()
	b := newBuilder(t, daemon.BuildkitdOptions{})
	args := append([]string{"--platform", bothPlatforms, "--provenance=false"}, fromRegistry()...)
	want := b.buildOutput(t, world.suite, args...)
	require.Len(t, want.images, 2)

	for name, frontend := range map[string][]string{
		"in-process": nil,
		"packaged":   {"--frontend", frontendRef(t)},
	} {
		t.Run(name, func(t *testing.T) {
			layout := filepath.Join(t.TempDir(), "layout")
			args := append([]string{"build", "--addr", b.Address, "--progress", "plain", "--platform", bothPlatforms, "--output", "type=oci,tar=false,dest=" + layout}, frontend...)
			out, err := exec.CommandContext(t.Context(), program(), append(append(args, fromRegistry()...), world.suite)...).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, want.digests(), readOutput(t, layout).digests())
		})
	}

	t.Run("syntax line", func(t *testing.T) {
		dir := cloneSuite(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("# syntax="+frontendRef(t)+"\n"), 0o644))
		layout := filepath.Join(t.TempDir(), "layout")
		_, err := b.buildx.Run(t.Context(), append(append([]string{"build", "--output", "type=oci,tar=false,dest=" + layout}, args...), dir)...)
		require.NoError(t, err)
		require.Equal(t, want.digests(), readOutput(t, layout).digests())
	})
}

// Two checkouts whose files are of different age, two daemons that know nothing, and more than a second between the builds.
func TestBuildsAreReproducible(t *testing.T) {
	t.Parallel()
	args := append([]string{"--platform", bothPlatforms, "--provenance=false"}, fromRegistry()...)
	started := time.Now()
	first := newBuilder(t, daemon.BuildkitdOptions{}).buildOutput(t, world.suite, args...)

	dir := cloneSuite(t)
	then := time.Now().Add(-1000 * time.Hour)
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, then, then)
	}))
	<-time.After(time.Until(started.Add(1100 * time.Millisecond))) // builds within one second are equal by luck
	second := newBuilder(t, daemon.BuildkitdOptions{}).buildOutput(t, dir, args...)
	require.Len(t, first.images, 2)
	require.Equal(t, first.digests(), second.digests())
	require.Equal(t, first.digest, second.digest, "the index")
}

// With everything handed over as OCI layouts, a daemon without any network builds the same.
func TestBuildsOffline(t *testing.T) {
	t.Parallel()
	args := []string{"--platform", bothPlatforms, "--provenance=false"}
	online := newBuilder(t, daemon.BuildkitdOptions{}).buildOutput(t, world.suite, append(args, fromRegistry()...)...)
	frontend := []string{"--build-context", "agentsuite/frontend=oci-layout://" + filepath.Join(world.images, "frontend") + "@" + layoutDigest(t, "frontend").String()}

	b := newBuilder(t, daemon.BuildkitdOptions{Offline: true})
	layout := filepath.Join(t.TempDir(), "layout")
	all := append([]string{"build", "--file", filepath.Join(world.suite, "agentsuite.json"), "--build-arg", "BUILDKIT_SYNTAX=agentsuite/frontend", "--output", "type=oci,tar=false,dest=" + layout}, args...)
	all = append(append(append(all, frontend...), fromLayouts(t)...), world.suite)
	_, err := b.buildx.Run(t.Context(), all...)
	require.NoError(t, err)
	require.Equal(t, online.digests(), readOutput(t, layout).digests())
}
