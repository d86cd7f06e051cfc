package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
)

func TestVerifyAnImageThatIsNoSandbox(t *testing.T) {
	address := layout(t, dockerspec.DockerOCIImageConfig{}, ocitest.File("etc/passwd", 0o644, ""))

	got := runCommand(t, "verify", address)
	require.Equal(t, exitInvalid, got.status, got.stderr)
	require.Contains(t, got.stdout, "(ASI-")
	require.NotContains(t, got.stdout, "conformant")
	require.Contains(t, got.stderr, "linux/amd64:\n")
	require.Contains(t, got.stderr, "linux/arm64:\n")

	got = runCommand(t, "verify", address, "--platform", "linux/arm64")
	require.Equal(t, exitInvalid, got.status, got.stderr)
	require.NotContains(t, got.stderr, "linux/amd64")

	document := runCommand(t, "verify", address, "--format", "json").oneDocument(t)
	require.Equal(t, false, document["valid"])
	require.NotEmpty(t, document["errors"])
	require.Len(t, document["report"].(map[string]any)["images"], 2)
}

func TestVerifyAgainstASuite(t *testing.T) {
	dir, contexts := pinnedSuite(t)
	address := layout(t, dockerspec.DockerOCIImageConfig{}, ocitest.File("etc/passwd", 0o644, ""))
	got := runCommand(t, append([]string{"verify", address, "--suite", dir}, contexts...)...)
	require.Equal(t, exitInvalid, got.status, got.stderr)

	edit(t, filepath.Join(dir, "instructions/writer.md"), "Write", "Rewrite")
	got = runCommand(t, "verify", address, "--suite", dir)
	require.Equal(t, exitInvalid, got.status)
	require.Contains(t, got.stderr, "digest (AS-ID-001)")
	require.Empty(t, got.stdout, "the suite is what is invalid")
}

func TestVerifyWhatCannotBeRead(t *testing.T) {
	address := layout(t, dockerspec.DockerOCIImageConfig{}, ocitest.File("etc/passwd", 0o644, ""))
	dir := strings.TrimPrefix(address, ociLayoutScheme)

	t.Run("a truncated blob", func(t *testing.T) {
		broken := t.TempDir()
		require.NoError(t, os.CopyFS(broken, os.DirFS(dir)))
		blobs, err := filepath.Glob(filepath.Join(broken, "blobs/sha256/*"))
		require.NoError(t, err)
		for _, blob := range blobs {
			require.NoError(t, os.Truncate(blob, 1))
		}
		got := runCommand(t, "verify", broken)
		require.Equal(t, exitInvalid, got.status, got.stderr)
		require.Contains(t, got.stderr, "the descriptor states")
		require.NotEmpty(t, runCommand(t, "verify", broken, "--format", "json").oneDocument(t)["errors"])
	})
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"nothing there":         {[]string{dir + "/missing.tar"}, "missing.tar"},
		"another platform":      {[]string{dir, "--platform", "linux/riscv64"}, "is neither linux/amd64 nor linux/arm64"},
		"a context without use": {[]string{dir, "--build-context", "registry.example/base=" + address}, "give the suite: --suite PATH"},
		"no suite there":        {[]string{dir, "--suite", dir + "/suite"}, "a suite is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, append([]string{"verify"}, test.args...)...)
			require.Equal(t, exitTrouble, got.status, got.stderr)
			require.Contains(t, got.stderr, test.want)
			require.Empty(t, got.stdout)
		})
	}
}
