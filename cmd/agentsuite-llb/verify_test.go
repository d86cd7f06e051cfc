package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite/content"
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

func TestVerifyASandboxImage(t *testing.T) {
	dir, contexts := pinnedSuite(t)
	built := buildByHand(t, dir, contexts, "writer")
	for name, args := range map[string][]string{
		"by itself":                          nil,
		"against its suite":                  {"--suite", dir},
		"against its suite and its images":   append([]string{"--suite", dir}, contexts...),
		"against its suite, for one of both": {"--suite", dir, "--platform", "linux/arm64"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, append([]string{"verify", built}, args...)...)
			require.Equal(t, exitGood, got.status, got.stdout+got.stderr)
			require.Contains(t, got.stdout, "conformant: agent writer for linux/arm64, built from suite sha256:")
			document := runCommand(t, append([]string{"verify", built, "--format", "json"}, args...)...).oneDocument(t)
			require.Equal(t, true, document["valid"])
		})
	}
	t.Run("against another suite", func(t *testing.T) {
		edit(t, filepath.Join(dir, "instructions/writer.md"), "Write", "Rewrite")
		require.Equal(t, exitGood, runCommand(t, "seal", dir).status)
		got := runCommand(t, "verify", built, "--suite", dir)
		require.Equal(t, exitInvalid, got.status)
		require.Contains(t, got.stdout, "(ASI-SRC-001)")
	})
}

// buildByHand does what BuildKit does with the plans of a target, and returns an OCI layout.
func buildByHand(t *testing.T, dir string, contexts []string, target string) string {
	t.Helper()
	var p planner
	for _, place := range []string{contexts[1], contexts[3]} {
		name, value, _ := strings.Cut(place, "=")
		context, err := image.ParseContext(name, value)
		require.NoError(t, err)
		p.contexts = append(p.contexts, context)
	}
	plans, err := p.plans(t.Context(), &streams{}, dir, target, nil)
	require.NoError(t, err)
	result := ocitest.NewLayout()
	for _, plan := range plans {
		var layers []ocitest.Layer
		for _, l := range plan.Layers {
			switch l.Kind {
			case image.LayerRuntimeBase:
				layers = append(layers, ocitest.NewLayer(t, baseEntries...))
			case image.LayerHarnessBeside:
				layers = append(layers, ocitest.NewLayer(t, harnessEntries...))
			default:
				layers = append(layers, ocitest.NewLayer(t, generated(t, dir, plan, l)...))
			}
		}
		result.Index.Manifests = append(result.Index.Manifests, result.Image(t, plan.Platform, plan.Config, layers...))
	}
	return result.WriteDir(t)
}

// generated are the entries of a layer that no image brings.
func generated(t *testing.T, dir string, plan planned, l image.Layer) (entries []ocitest.Entry) {
	t.Helper()
	read := func(path string) string {
		data, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		return string(data)
	}
	for _, b := range l.Bundles {
		made := map[string]bool{".": true}
		for _, e := range plan.inputs.Index.Below(b.PayloadRoot) {
			at := path.Join(strings.TrimPrefix(b.InstallRoot, "/"), strings.TrimPrefix(e.Path, b.PayloadRoot))
			for _, parent := range []string{"opt", path.Dir(path.Dir(at)), path.Dir(at)} {
				if !made[parent] {
					made[parent] = true
					entries = append(entries, ocitest.Directory(parent, 0o755))
				}
			}
			switch e.Type {
			case content.File:
				entries = append(entries, ocitest.File(at, int64(e.Mode), read(e.Path)))
			case content.Symlink:
				entries = append(entries, ocitest.Symlink(at, e.LinkTarget))
			}
		}
	}
	for _, e := range l.Directories {
		entries = append(entries, ocitest.Directory(e.Path, int64(e.Mode)))
	}
	for _, f := range l.Files {
		text := f.Text
		if f.Content != "" {
			text = read(f.Content)
		} else if text == "" {
			text = string(plan.inventory.Canonical())
		}
		entries = append(entries, ocitest.File(f.Path, int64(f.Mode), text))
	}
	return entries
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
	dir := strings.TrimPrefix(address, image.ContextLayout+"://")

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
