//go:build integration

package construction_test

import (
	"encoding/json"
	"fmt"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// cell is one way to an image.
type cell struct {
	harness string // "beside" or "stacked"
	copied  bool
	pushed  bool
}

func (c cell) String() string {
	return strings.Join([]string{c.harness, map[bool]string{false: "merged", true: "copied"}[c.copied], map[bool]string{false: "exported", true: "pushed"}[c.pushed]}, " ")
}

func cells() []cell {
	var all []cell
	for _, harness := range []string{"beside", "stacked"} {
		for _, copied := range []bool{false, true} {
			for _, pushed := range []bool{false, true} {
				all = append(all, cell{harness, copied, pushed})
			}
		}
	}
	return all
}

// made is what a cell gave: the digest of the index, and by platform that of the embedded inventory.
type made struct {
	digest      digest.Digest
	inventories map[suite.Platform]digest.Digest
}

// The image of a suite is one image, whichever way it is built: from a local directory, a git repository or an OCI layout of
// the suite, pushed or exported, each by a daemon that knows nothing. Copied instead of merged, its filesystem is the same.
// Every daemon takes the ways in another order, so that no two builds of the same image are of one second.
func TestEveryWayGivesTheSameImage(t *testing.T) {
	t.Parallel()
	platforms := []suite.Platform{amd64, arm64}
	base := debian(t)
	suites := map[string]authored{}
	for kind, harness := range map[string]img{"beside": beside(t), "stacked": stacked(t, base)} {
		suites[kind] = spec{platforms: platforms, base: base, harness: harness, providers: []provider{
			tool("a", ocitest.File("lib/one", 0o644, "same\n"), ocitest.File("lib/two", 0o644, "same\n"), ocitest.File("empty", 0o644, "")), tool("b", ocitest.Symlink("link", "bin/b")).at("/root/b"), tool("c").with(map[string]any{"writablePaths": []string{"/var/c"}}),
		}}.author(t)
	}
	frontend := frontendLayout(t)
	contexts := map[string]func(*testing.T, authored) (context, file string){
		"local": func(_ *testing.T, a authored) (string, string) {
			return a.dir, filepath.Join(a.dir, suite.ManifestPath)
		},
		"git": gitContext,
		"oci-layout": func(t *testing.T, a authored) (string, string) {
			out := filepath.Join(t.TempDir(), "suite")
			_, err := content.Pack(t.Context(), a.dir, out, content.FormOCILayout, content.PackOptions{Limits: content.DefaultLimits()})
			require.NoError(t, err)
			return out, filepath.Join(a.dir, suite.ManifestPath)
		},
	}
	var mutex sync.Mutex
	results := map[cell]map[string]made{}
	t.Run("contexts", func(t *testing.T) {
		offset := 0
		for name, context := range contexts {
			first := offset
			offset += 3
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				buildkitd := testenv.Buildkitd(t, options())
				buildx := testenv.Buildx(t, buildkitd)
				all := cells()
				for n := range all {
					c := all[(n+first)%len(all)]
					dir, file := context(t, suites[c.harness])
					m := c.build(t, buildx, suites[c.harness], frontend, dir, file)
					mutex.Lock()
					if results[c] == nil {
						results[c] = map[string]made{}
					}
					results[c][name] = m
					mutex.Unlock()
				}
			})
		}
	})
	for _, c := range cells() {
		want := results[cell{harness: c.harness}]["local"]
		require.Len(t, want.inventories, 2)
		require.Len(t, results[c], len(contexts))
		for context, got := range results[c] {
			require.Equal(t, want.inventories, got.inventories, "%s from %s", c, context)
			if !c.copied {
				require.Equal(t, want.digest, got.digest, "%s from %s", c, context)
			}
		}
	}
}

// build builds a suite as its users do, with buildx and the packaged frontend.
func (c cell) build(t *testing.T, buildx *daemon.Buildx, a authored, frontend, context, file string) made {
	t.Helper()
	out := t.TempDir()
	metadata, layout := filepath.Join(out, "metadata.json"), filepath.Join(out, "layout")
	args := []string{
		"build", "--file", file, "--build-arg", "BUILDKIT_SYNTAX=agentsuite/frontend", "--build-context", "agentsuite/frontend=oci-layout://" + frontend,
		"--build-context", baseName + "=" + someImageOf(t, a.base), "--build-context", harnessName + "=" + someImageOf(t, a.harness),
		"--platform", "linux/amd64,linux/arm64", "--provenance=false", "--metadata-file", metadata,
	}
	if c.copied {
		args = append(args, "--build-arg", "AGENTSUITE_MERGE=false")
	}
	repository := fmt.Sprintf("%s/matrix/%s", world.registry.Host, digest.FromString(t.Name() + c.String()).Encoded()[:12])
	if c.pushed {
		args = append(args, "--push", "--tag", repository)
	} else {
		args = append(args, "--output", "type=oci,tar=false,dest="+layout)
	}
	_, err := buildx.Run(t.Context(), append(args, context)...)
	require.NoError(t, err)

	data, err := os.ReadFile(metadata)
	require.NoError(t, err)
	var described struct {
		Digest digest.Digest `json:"containerimage.digest"`
	}
	require.NoError(t, json.Unmarshal(data, &described))
	m := made{digest: described.Digest, inventories: map[suite.Platform]digest.Digest{}}
	reference := "oci-layout://" + layout
	if c.pushed {
		reference = "docker-image://" + repository + "@" + m.digest.String()
	}
	source, err := ociimage.Open(t.Context(), reference, ociimage.Options{})
	require.NoError(t, err)
	defer source.Close()
	images, err := source.Images(t.Context())
	require.NoError(t, err)
	require.Len(t, images, 2)
	for _, i := range images {
		files := rootfs(t, i)
		requireHonest(t, i.Platform, files)
		m.inventories[i.Platform] = digest.FromBytes(files.Kept[image.InventoryPath])
	}
	return m
}

// someImageOf names a layout as buildx demands it, by an image in it; which one is of no account.
func someImageOf(t *testing.T, layout string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(layout, ocispecs.ImageIndexFile))
	require.NoError(t, err)
	var index ocispecs.Index
	require.NoError(t, json.Unmarshal(data, &index))
	return "oci-layout://" + layout + "@" + index.Manifests[0].Digest.String()
}

// frontendLayout is the packaged frontend as an OCI layout, with its digest.
func frontendLayout(t *testing.T) string {
	t.Helper()
	binary, err := os.ReadFile(filepath.Join(world.binary, "frontend"))
	require.NoError(t, err)
	layout := ocitest.NewLayout()
	descriptor := layout.Image(t, amd64, dockerspec.DockerOCIImage{Config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{
		Entrypoint: []string{"/frontend"},
		Labels: map[string]string{
			"moby.buildkit.frontend.network.none": "true",
			"moby.buildkit.frontend.caps":         "moby.buildkit.frontend.inputs,moby.buildkit.frontend.subrequests,moby.buildkit.frontend.contexts,moby.buildkit.frontend.gitquerystring",
		},
	}}}, layer(t, ocitest.File("frontend", 0o755, string(binary))))
	layout.Index.Manifests = []ocispecs.Descriptor{descriptor}
	return layout.WriteDir(t) + "@" + descriptor.Digest.String()
}

// gitContext serves a suite from a git repository and returns its URL.
func gitContext(t *testing.T, a authored) (context, file string) {
	t.Helper()
	git := func(dir string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid")
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v\n%s", cmd.Args, output)
		return strings.TrimSpace(string(output))
	}
	work, root := filepath.Join(t.TempDir(), "work"), t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(work, "suite"), os.DirFS(a.dir)))
	git(work, "init", "--quiet", "--initial-branch", "main")
	git(work, "add", ".")
	git(work, "commit", "--quiet", "--message", "suite")
	git(root, "clone", "--quiet", "--bare", work, "repository.git")
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(git(root, "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	})
	t.Cleanup(server.Close)
	return server.URL + "/repository.git#main:suite", suite.ManifestPath
}
