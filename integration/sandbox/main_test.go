//go:build integration

// Package sandbox_test builds sandbox images of the example suite by every way in which people build them, and looks at
// what came out.
package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// The names that the example suite pins its images under.
const (
	baseName    = "registry.example/agentsuite/runtime-base"
	harnessName = "registry.example/agentsuite/harness"
)

// world is what all tests of the package share; nothing in it changes once it is made.
var world struct {
	tools    daemon.Tools
	registry *daemon.Registry
	// images holds the OCI layouts of the bake file's targets, which are in the registry too.
	images string
	// suite is the example suite, sealed, with its images pinned.
	suite string
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
	if world.tools, err = daemon.FindTools(); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "sandbox-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if world.registry, err = daemon.StartRegistry(ctx, world.tools, daemon.RegistryOptions{}); err != nil {
		return 0, err
	}
	defer func() { _ = world.registry.Stop() }()
	if err := bakeImages(ctx, dir); err != nil {
		return 0, err
	}
	world.suite = filepath.Join(dir, "suite")
	if err := os.CopyFS(world.suite, os.DirFS(filepath.Join(world.tools.Checkout, "build/examples/datetime"))); err != nil {
		return 0, fmt.Errorf("run `make programs` first: %w", err)
	}
	if err := seal(ctx, world.suite, "harness"); err != nil {
		return 0, err
	}
	return run(), nil
}

// bakeImages builds the frontend and the example images, into layouts and into the registry.
func bakeImages(ctx context.Context, dir string) error {
	buildkitd, err := daemon.StartBuildkitd(ctx, world.tools, daemon.BuildkitdOptions{Registries: []string{world.registry.Host}})
	if err != nil {
		return err
	}
	defer func() { _ = buildkitd.Stop() }()
	buildx, err := daemon.NewBuildx(ctx, world.tools, filepath.Join(dir, "buildx"), buildkitd)
	if err != nil {
		return err
	}
	world.images = filepath.Join(world.tools.Checkout, "build/images")
	if err := os.RemoveAll(world.images); err != nil {
		return err
	}
	for _, env := range [][]string{nil, {"PUSH=1", "REGISTRY=" + world.registry.Host + "/agentsuite"}} {
		cmd := buildx.Command(ctx, "bake")
		cmd.Dir = world.tools.Checkout
		cmd.Env = append(cmd.Env, env...)
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("baking the images (run `make programs` first): %w\n%s", err, output)
		}
	}
	return nil
}

// seal seals a suite with its pins set to the layouts, the harness's to the one that is named.
func seal(ctx context.Context, dir, harness string) error {
	cmd := exec.CommandContext(ctx, program(), "seal", dir,
		"--pin", baseName+"=oci-layout://"+filepath.Join(world.images, "runtime-base"),
		"--pin", harnessName+"=oci-layout://"+filepath.Join(world.images, harness))
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("sealing %s: %w\n%s", dir, err, output)
	}
	return nil
}

// program is the command line under test.
func program() string { return filepath.Join(world.tools.BinDir(), "agentsuite-llb") }

// builder is a fresh buildkitd with a buildx that uses it.
type builder struct {
	*daemon.Buildkitd
	buildx *daemon.Buildx
}

func newBuilder(t *testing.T, opts daemon.BuildkitdOptions) builder {
	t.Helper()
	opts.Registries = []string{world.registry.Host}
	buildkitd := testenv.Buildkitd(t, opts)
	return builder{buildkitd, testenv.Buildx(t, buildkitd)}
}

// frontendRef names the packaged frontend in the registry.
func frontendRef(t *testing.T) string {
	t.Helper()
	return world.registry.Host + "/agentsuite/frontend@" + layoutDigest(t, "frontend").String()
}

// fromRegistry and fromLayouts say where the pinned images lie.
func fromRegistry() []string {
	return []string{
		"--build-context", baseName + "=docker-image://" + world.registry.Host + "/agentsuite/runtime-base",
		"--build-context", harnessName + "=docker-image://" + world.registry.Host + "/agentsuite/harness",
	}
}

func fromLayouts(t *testing.T) []string {
	t.Helper()
	at := func(target string) string {
		return "oci-layout://" + filepath.Join(world.images, target) + "@" + layoutDigest(t, target).String()
	}
	return []string{
		"--build-context", baseName + "=" + at("runtime-base"),
		"--build-context", harnessName + "=" + at("harness"),
	}
}

func layoutDigest(t *testing.T, target string) digest.Digest {
	t.Helper()
	var index ocispecs.Index
	readJSON(t, filepath.Join(world.images, target, "index.json"), &index)
	require.Len(t, index.Manifests, 1)
	return index.Manifests[0].Digest
}

// build runs `buildx build` of the suite in dir through the packaged frontend.
func (b builder) build(t *testing.T, dir string, args ...string) (daemon.Output, error) {
	t.Helper()
	args = append([]string{"build", "--file", filepath.Join(dir, "agentsuite.json"), "--build-arg", "BUILDKIT_SYNTAX=" + frontendRef(t)}, args...)
	return b.buildx.Run(t.Context(), append(args, dir)...)
}

// output is an exported OCI layout.
type output struct {
	dir    string
	digest digest.Digest // of the index, or of the manifest if there is but one
	images map[string]ocispecs.Descriptor
}

// buildOutput builds into a layout.
func (b builder) buildOutput(t *testing.T, dir string, args ...string) output {
	t.Helper()
	layout := filepath.Join(t.TempDir(), "layout")
	out, err := b.build(t, dir, append([]string{"--output", "type=oci,tar=false,dest=" + layout}, args...)...)
	require.NoError(t, err, out.Stderr)
	return readOutput(t, layout)
}

func readOutput(t *testing.T, dir string) output {
	t.Helper()
	out := output{dir: dir, images: map[string]ocispecs.Descriptor{}}
	var index ocispecs.Index
	readJSON(t, filepath.Join(dir, "index.json"), &index)
	require.Len(t, index.Manifests, 1)
	out.digest = index.Manifests[0].Digest
	if index.Manifests[0].MediaType == ocispecs.MediaTypeImageManifest {
		out.images[platformOf(t, out, index.Manifests[0])] = index.Manifests[0]
		return out
	}
	var platforms ocispecs.Index
	out.blob(t, index.Manifests[0].Digest, &platforms)
	for _, m := range platforms.Manifests {
		if m.Platform.OS != "unknown" { // attestations
			out.images[m.Platform.OS+"/"+m.Platform.Architecture] = m
		}
	}
	return out
}

func platformOf(t *testing.T, out output, descriptor ocispecs.Descriptor) string {
	t.Helper()
	var manifest ocispecs.Manifest
	var config ocispecs.Image
	out.blob(t, descriptor.Digest, &manifest)
	out.blob(t, manifest.Config.Digest, &config)
	return config.OS + "/" + config.Architecture
}

func (o output) blob(t *testing.T, dgst digest.Digest, into any) {
	t.Helper()
	readJSON(t, filepath.Join(o.dir, "blobs/sha256", dgst.Encoded()), into)
}

// digests are the manifest digests by platform.
func (o output) digests() map[string]digest.Digest {
	digests := map[string]digest.Digest{}
	for platform, descriptor := range o.images {
		digests[platform] = descriptor.Digest
	}
	return digests
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into), path)
}

// cloneSuite copies a suite so that a test may change it.
func cloneSuite(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "suite")
	require.NoError(t, os.CopyFS(dir, os.DirFS(world.suite)))
	return dir
}

// lines are the lines of a text that hold a word.
func lines(text, word string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
