package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
)

// The names that the example suite pins its images under.
const (
	BaseName    = "registry.example/agentsuite/runtime-base"
	HarnessName = "registry.example/agentsuite/harness"
)

// bakeTargets are the images of docker-bake.hcl that builds need.
var bakeTargets = []string{"frontend", "runtime-base", "harness", "harness-stacked"}

// Example is the example suite, sealed, and the images that building it needs. The tests of a package share one; nothing in
// it changes.
type Example struct {
	Tools    daemon.Tools
	Registry *daemon.Registry
	// Suite is the suite's directory; its harness stands beside the base.
	Suite string

	layouts string
	digests map[string]digest.Digest
}

// NewExample starts a registry and builds the images into it and into OCI layouts. The function ends the registry and
// removes the files.
func NewExample(ctx context.Context) (_ *Example, _ func() error, err error) {
	tools, err := daemon.FindTools()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		return nil, nil, err
	}
	e := &Example{Tools: tools, Suite: filepath.Join(dir, "suite"), layouts: filepath.Join(dir, "images"), digests: map[string]digest.Digest{}}
	remove := func() error {
		err := os.RemoveAll(dir)
		if e.Registry != nil {
			err = errors.Join(err, e.Registry.Stop())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	if e.Registry, err = daemon.StartRegistry(ctx, tools, daemon.RegistryOptions{}); err != nil {
		return nil, nil, err
	}
	if err := e.bake(ctx, filepath.Join(dir, "buildx")); err != nil {
		return nil, nil, err
	}
	if err := os.CopyFS(e.Suite, os.DirFS(filepath.Join(tools.Checkout, "build/examples/datetime"))); err != nil {
		return nil, nil, fmt.Errorf("run `make programs` first: %w", err)
	}
	if err := e.Seal(ctx, e.Suite, BaseName+"="+e.Layout("runtime-base"), HarnessName+"="+e.Layout("harness")); err != nil {
		return nil, nil, err
	}
	return e, remove, nil
}

func (e *Example) bake(ctx context.Context, config string) error {
	buildkitd, err := daemon.StartBuildkitd(ctx, e.Tools, daemon.BuildkitdOptions{Registries: []string{e.Registry.Host}})
	if err != nil {
		return err
	}
	defer func() { _ = buildkitd.Stop() }()
	buildx, err := daemon.NewBuildx(ctx, e.Tools, config, buildkitd)
	if err != nil {
		return err
	}
	args := []string{"bake", "--allow=fs.write=" + filepath.Dir(e.layouts)}
	for _, target := range bakeTargets {
		args = append(args, "--set", fmt.Sprintf("%s.output=type=oci,tar=false,rewrite-timestamp=true,dest=%s/%s", target, e.layouts, target))
	}
	cmd := buildx.Command(ctx, append(args, bakeTargets...)...)
	cmd.Dir = e.Tools.Checkout
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("baking the images (run `make programs` first): %w\n%s", err, output)
	}
	for _, target := range bakeTargets {
		if e.digests[target], err = e.Registry.Push(ctx, filepath.Join(e.layouts, target), "agentsuite/"+target); err != nil {
			return err
		}
	}
	return nil
}

// Program is the command line under test.
func (e *Example) Program() string { return filepath.Join(e.Tools.BinDir(), "agentsuite-llb") }

// Seal seals the suite in dir with its images pinned: each pin is REPOSITORY=LOCATION, as `seal --pin` takes it.
func (e *Example) Seal(ctx context.Context, dir string, pins ...string) error {
	args := []string{"seal", dir}
	for _, pin := range pins {
		args = append(args, "--pin", pin)
	}
	if output, err := exec.CommandContext(ctx, e.Program(), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("sealing %s: %w\n%s", dir, err, output)
	}
	return nil
}

// Clone copies the suite so that a test may change it.
func (e *Example) Clone(tb testing.TB) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "suite")
	require.NoError(tb, os.CopyFS(dir, os.DirFS(e.Suite)))
	return dir
}

// Layout is where an image of the bake file lies as an OCI layout, as --build-context and --pin take it.
func (e *Example) Layout(target string) string {
	return "oci-layout://" + filepath.Join(e.layouts, target) + "@" + e.digests[target].String()
}

// Image reads an image of the bake file.
func (e *Example) Image(tb testing.TB, target string) Layout {
	tb.Helper()
	return ReadLayout(tb, filepath.Join(e.layouts, target))
}

// Frontend names the packaged frontend in the registry, by digest.
func (e *Example) Frontend() string {
	return e.Registry.Host + "/agentsuite/frontend@" + e.digests["frontend"].String()
}

// FromRegistry says where a build finds the images that the suite pins: in the registry.
func (e *Example) FromRegistry() []string {
	return []string{
		"--build-context", BaseName + "=docker-image://" + e.Registry.Host + "/agentsuite/runtime-base",
		"--build-context", HarnessName + "=docker-image://" + e.Registry.Host + "/agentsuite/harness",
	}
}

// FromLayouts says the same of the OCI layouts.
func (e *Example) FromLayouts() []string {
	return []string{
		"--build-context", BaseName + "=" + e.Layout("runtime-base"),
		"--build-context", HarnessName + "=" + e.Layout("harness"),
	}
}

// Builder is a buildkitd, and a buildx that builds on it.
type Builder struct {
	*daemon.Buildkitd
	Buildx *daemon.Buildx
	// Frontend is the image that Build names as the frontend.
	Frontend string
}

// Builder starts a buildkitd that reaches the registry.
func (e *Example) Builder(tb testing.TB, opts daemon.BuildkitdOptions) Builder {
	tb.Helper()
	opts.Registries = append(opts.Registries, e.Registry.Host)
	buildkitd := Buildkitd(tb, opts)
	return Builder{Buildkitd: buildkitd, Buildx: Buildx(tb, buildkitd), Frontend: e.Frontend()}
}

// Args are the arguments of `buildx build` for the suite in dir through the packaged frontend.
func (b Builder) Args(dir string, args ...string) []string {
	args = append([]string{"build", "--file", filepath.Join(dir, "agentsuite.json"), "--build-arg", "BUILDKIT_SYNTAX=" + b.Frontend}, args...)
	return append(args, dir)
}

// Build builds the suite in dir.
func (b Builder) Build(tb testing.TB, dir string, args ...string) (daemon.Output, error) {
	tb.Helper()
	return b.Buildx.Run(tb.Context(), b.Args(dir, args...)...)
}

// BuildLayout builds the suite in dir into an OCI layout.
func (b Builder) BuildLayout(tb testing.TB, dir string, args ...string) Layout {
	tb.Helper()
	layout := filepath.Join(tb.TempDir(), "layout")
	_, err := b.Build(tb, dir, append([]string{"--output", "type=oci,tar=false,dest=" + layout}, args...)...)
	require.NoError(tb, err)
	return ReadLayout(tb, layout)
}
