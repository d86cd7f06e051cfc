//go:build integration

package testenv_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// TestImages holds that a pushed image has one digest on every daemon and at every time, and that the Dockerfile
// frontend runs as an image.
func TestImages(t *testing.T) {
	t.Parallel()
	registry := testenv.Registry(t)
	var frontends, hellos []string
	for range 2 {
		buildx := testenv.Buildx(t, testenv.Buildkitd(t, daemon.BuildkitdOptions{Registries: []string{registry.Host}}))
		frontend := testenv.DockerfileFrontend(t, buildx, registry)
		frontends = append(frontends, frontend.Ref())

		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "hello"), []byte("hello"), 0o600))
		hello := testenv.Push(t, buildx, registry, "hello",
			"# syntax="+frontend.Ref()+"\nFROM scratch\nCOPY --link hello /\n", dir, "--platform=linux/amd64,linux/arm64")
		hellos = append(hellos, hello.Ref())
	}
	require.Equal(t, frontends[0], frontends[1])
	require.Equal(t, hellos[0], hellos[1])
	require.NotEqual(t, frontends[0], hellos[0])
}
