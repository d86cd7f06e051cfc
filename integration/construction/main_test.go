//go:build integration

// Package construction_test builds images out of suites, runtime bases and harnesses that are made for one question each,
// with a real daemon, and holds what comes out to the inventory that the image itself embeds.
package construction_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/containerd/log"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
)

// world is what all tests of the package share; nothing in it changes once it is made.
var world struct {
	tools    daemon.Tools
	registry *daemon.Registry
	// buildkitd is for tests that ask what is in an image. Those that ask how it comes about, or what a cache does, start
	// one of their own.
	buildkitd *daemon.Buildkitd
	// dir is for files of several tests, binary a directory in it that holds the frontend's binary and nothing else.
	dir, binary string
}

func TestMain(m *testing.M) {
	status, err := setUp(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func setUp(run func() int) (status int, err error) {
	ctx := context.Background()
	if err := log.SetLevel("error"); err != nil { // of the stores of the client's side
		return 0, err
	}
	if world.tools, err = daemon.FindTools(); err != nil {
		return 0, err
	}
	if world.dir, err = os.MkdirTemp("", "construction-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(world.dir)) }()
	world.binary = filepath.Join(world.dir, "binary")
	if err := compileFrontend(ctx); err != nil {
		return 0, err
	}
	if world.registry, err = daemon.StartRegistry(ctx, world.tools, daemon.RegistryOptions{}); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, world.registry.Stop()) }()
	if world.buildkitd, err = daemon.StartBuildkitd(ctx, world.tools, options()); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, world.buildkitd.Stop()) }()
	return run(), nil
}

// options are those of a daemon that reaches the registry.
func options() daemon.BuildkitdOptions {
	return daemon.BuildkitdOptions{Registries: []string{world.registry.Host}}
}

// compileFrontend makes the binary that the tools in the graph run, out of the sources that the tests are compiled from.
func compileFrontend(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-C", world.tools.Checkout, "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=",
		"-o", filepath.Join(world.binary, "frontend"), "./cmd/frontend")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the frontend: %w\n%s", err, output)
	}
	return nil
}
