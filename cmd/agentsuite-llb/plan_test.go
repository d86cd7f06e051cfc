package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// What the images hold that the workshop is pinned to.
var (
	baseEntries = []ocitest.Entry{
		ocitest.Directory("etc", 0o755), ocitest.File("etc/passwd", 0o644, "root:x:0:0::/:/bin/sh\n"), ocitest.Directory("bin", 0o755),
		ocitest.File("bin/opa", 0o755, "\x00"), ocitest.File("bin/amd64", 0o755, "\x00"), ocitest.File("bin/arm64", 0o755, "\x00"),
	}
	harnessEntries = []ocitest.Entry{ocitest.Directory("opt", 0o755), ocitest.File("opt/harness", 0o755, "\x00")}
)

// pinnedSuite is the workshop with its images pinned to ones in OCI layouts, and the flags that say where
// those are.
func pinnedSuite(t *testing.T) (dir string, contexts []string) {
	t.Helper()
	dir = sealedSuite(t)
	base := layout(t, dockerspec.DockerOCIImageConfig{ImageConfig: ocispec.ImageConfig{Env: []string{"PATH=/bin"}}}, baseEntries...)
	harness := layout(t, dockerspec.DockerOCIImageConfig{ImageConfig: ocispec.ImageConfig{
		Entrypoint: []string{"/opt/harness"}, User: "1000:1000", Env: []string{"SECRET=hush"},
	}}, harnessEntries...)
	pins := []string{"registry.example/base=" + base, "registry.example/harness=" + harness}
	got := runCommand(t, "seal", dir, "--pin", pins[0], "--pin", pins[1])
	require.Equal(t, exitGood, got.status, got.stderr)
	require.Contains(t, got.stdout, "build-profiles/default.json\n")
	return dir, []string{"--build-context", pins[0], "--build-context", pins[1]}
}

// layout writes an OCI layout with an image for every platform, of one layer, and returns its address.
func layout(t *testing.T, config dockerspec.DockerOCIImageConfig, entries ...ocitest.Entry) string {
	t.Helper()
	l := ocitest.NewLayout()
	for _, platform := range suite.Platforms() {
		l.Index.Manifests = append(l.Index.Manifests, l.Image(t, platform, dockerspec.DockerOCIImage{Config: config}, ocitest.NewLayer(t, entries...)))
	}
	return image.ContextLayout + "://" + l.WriteDir(t)
}

func TestSealPinsToALayout(t *testing.T) {
	dir, contexts := pinnedSuite(t)
	got := runCommand(t, "seal", "--check", dir, "--pin", contexts[1], "--pin", contexts[3])
	require.Equal(t, exitGood, got.status, got.stderr)

	half := ocitest.NewLayout()
	half.Index.Manifests = append(half.Index.Manifests, half.Image(t, suite.Platforms()[0], dockerspec.DockerOCIImage{}))
	got = runCommand(t, "seal", dir, "--pin", "registry.example/base=oci-layout://"+half.WriteDir(t))
	require.Equal(t, exitTrouble, got.status)
	require.Contains(t, got.stderr, "pinning registry.example/base of build profile default for linux/arm64")
	got = runCommand(t, "seal", dir, "--pin", "registry.example/bse="+layout(t, dockerspec.DockerOCIImageConfig{}))
	require.Equal(t, exitTrouble, got.status)
	require.Contains(t, got.stderr, "registry.example/base, registry.example/harness")
}

func TestPlan(t *testing.T) {
	dir, contexts := pinnedSuite(t)
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	plan := func(t *testing.T, args ...string) outcome {
		t.Helper()
		return runCommand(t, append(append([]string{"plan", dir}, contexts...), args...)...)
	}

	t.Run("an agent", func(t *testing.T) {
		got := plan(t, "--target", "writer")
		require.Equal(t, exitGood, got.status, got.stderr)
		for _, want := range []string{
			"writer linux/amd64\n├─ suite sha256:", "\nwriter linux/arm64\n", "source epoch 1767225600 (2026-01-01T00:00:00Z)",
			"opa@1.0.0 at /opt/opa: ", "runtime@2.1.0 at /opt/runtime: ", "/.agentsuite/binding.json, ", "├─ binding sha256:",
			"user 1000:1000", "environment SECRET\n", "entrypoint [\"/opt/harness\"]", "label org.agentsuite.agent=writer",
			"harness: 2 entries, 1 B\n",
		} {
			require.Contains(t, got.stdout, want)
		}
		require.NotContains(t, got.stdout, "hush")
	})
	t.Run("for programs", func(t *testing.T) {
		got := plan(t, "--target", "opa@1.0.0", "--format", "json", "--label", "x=y")
		require.Equal(t, exitGood, got.status, got.stderr)
		var document planJSON
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &document))
		require.True(t, document.Valid)
		require.Len(t, document.Plans, 1, "opa has one composition")
		require.Equal(t, "opa@1.0.0", document.Plans[0].Target)
		require.Nil(t, document.Plans[0].Binding)
		require.Equal(t, image.LayerRuntimeBase, document.Plans[0].Layers[0].Kind)
		require.Equal(t, "y", document.Plans[0].Config.Config.Labels["x"])
	})
	t.Run("every form of the suite has the same plan", func(t *testing.T) {
		want := plan(t, "--target", "writer", "--format", "json").stdout
		for _, form := range []string{"layout", "suite.tar", "suite.tar.gz"} {
			packed := filepath.Join(t.TempDir(), form)
			require.Equal(t, exitGood, runCommand(t, "pack", dir, "-o", packed).status)
			got := runCommand(t, append([]string{"plan", packed, "--target", "writer", "--format", "json"}, contexts...)...)
			require.Equal(t, want, got.stdout)
		}
	})
	t.Run("problems", func(t *testing.T) {
		// A base without the interpreter of the bundle's scripts.
		dir, contexts := pinnedSuite(t)
		contexts[1] = "registry.example/base=" + layout(t, dockerspec.DockerOCIImageConfig{}, ocitest.File("etc/passwd", 0o644, ""))
		require.Equal(t, exitGood, runCommand(t, "seal", dir, "--pin", contexts[1]).status)
		got := runCommand(t, append([]string{"plan", dir, "--target", "writer", "--platform", "linux/amd64"}, contexts...)...)
		require.Equal(t, exitInvalid, got.status, got.stderr)
		require.Contains(t, got.stderr, "build (ASI-ABI-001)")
		require.Empty(t, got.stdout)
		got = runCommand(t, append([]string{"plan", dir, "--target", "writer", "--format", "json"}, contexts...)...)
		require.Equal(t, exitInvalid, got.status)
		require.NotEmpty(t, got.oneDocument(t)["errors"])
	})
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a mistyped target":        {[]string{"--target", "writr"}, "did you mean writer?"},
		"no target of several":     {nil, "has several agents, so name a target"},
		"a platform without it":    {[]string{"--target", "reviewer", "--platform", "linux/arm64"}, "it has one for linux/amd64"},
		"an unknown platform":      {[]string{"--platform", "linux/riscv64"}, "is neither linux/amd64 nor linux/arm64"},
		"a context of no scheme":   {[]string{"--build-context", "registry.example/base=./base"}, "is neither REPOSITORY=oci-layout://DIR nor"},
		"a label without a value":  {[]string{"--label", "x"}, "is not NAME=VALUE"},
		"a layout without the pin": {[]string{"--target", "writer", "--build-context", contexts[3], "--build-context", "registry.example/base=" + strings.TrimPrefix(contexts[3], "registry.example/harness=")}, "reading the runtime base: the pinned image for linux/amd64 cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			got := plan(t, test.args...)
			if name == "a layout without the pin" {
				got = runCommand(t, append([]string{"plan", dir}, test.args...)...)
			}
			require.Equal(t, exitTrouble, got.status, got.stderr)
			require.Contains(t, got.stderr, test.want)
			require.Empty(t, got.stdout)
		})
	}
	left, err := filepath.Glob(filepath.Join(scratch, programName+"-*"))
	require.NoError(t, err)
	require.Empty(t, left, "planning leaves nothing behind")
}

func TestBytesize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 1_500_000: "1.5 MB", 4_200_000_000: "4.2 GB", 5_000_000_000_000_000: "5000.0 TB"} {
		require.Equal(t, want, bytesize(n))
	}
}
