// Package testenv gives tests and benchmarks the real servers of package daemon, for as long as they run. Whatever is
// missing fails the test with the command that provides it; nothing is skipped.
//
// Tests that use it carry the build tag "integration", so that `go test ./...` needs neither root nor a daemon.
package testenv

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/moby/buildkit/client"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
)

// Tools returns the programs that the servers run from, and fails the test if one is missing.
func Tools(tb testing.TB) daemon.Tools {
	tb.Helper()
	tools, err := findTools()
	require.NoError(tb, err)
	return tools
}

var findTools = sync.OnceValues(daemon.FindTools)

// Buildkitd starts a buildkitd that ends with the test, which fails if the daemon did not last that long. A failed test
// logs the end of the daemon's output.
func Buildkitd(tb testing.TB, opts daemon.BuildkitdOptions) *daemon.Buildkitd {
	tb.Helper()
	buildkitd, err := daemon.StartBuildkitd(tb.Context(), Tools(tb), opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { stop(tb, "buildkitd", buildkitd) })
	return buildkitd
}

// Registry starts an empty registry that ends with the test, in the same way.
func Registry(tb testing.TB) *daemon.Registry {
	tb.Helper()
	registry, err := daemon.StartRegistry(tb.Context(), Tools(tb), daemon.RegistryOptions{})
	require.NoError(tb, err)
	tb.Cleanup(func() { stop(tb, "registry", registry) })
	return registry
}

// Buildx returns a buildx that builds on buildkitd.
func Buildx(tb testing.TB, buildkitd *daemon.Buildkitd) *daemon.Buildx {
	tb.Helper()
	buildx, err := daemon.NewBuildx(tb.Context(), Tools(tb), tb.TempDir(), buildkitd)
	require.NoError(tb, err)
	return buildx
}

// StateDir returns a directory that a daemon's root can be and that is removed with the test. It lies below the build
// folder, since the system's temporary directory may be of a file system that overlayfs does not work on.
func StateDir(tb testing.TB) string {
	tb.Helper()
	parent := filepath.Join(Tools(tb).Checkout, "build", "state")
	require.NoError(tb, os.MkdirAll(parent, 0o755))
	dir, err := os.MkdirTemp(parent, "test-") //nolint:usetesting // TempDir does not lie there
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, os.RemoveAll(dir)) })
	return dir
}

// Client returns a client of buildkitd that is closed with the test.
func Client(tb testing.TB, buildkitd *daemon.Buildkitd) *client.Client {
	tb.Helper()
	c, err := buildkitd.Client(tb.Context())
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// server is what a test leaves behind.
type server interface {
	Log() string
	Stop() error
}

// stop ends a server and shows what it wrote if the test went wrong.
func stop(tb testing.TB, name string, s server) {
	if tb.Failed() {
		tb.Logf("the end of %s's log:\n%s", name, s.Log())
	}
	if err := s.Stop(); err != nil {
		tb.Errorf("stopping %s: %v", name, err)
	}
}
