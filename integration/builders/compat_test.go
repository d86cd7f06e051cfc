//go:build integration && compat

package builders_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/frontend"
	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// oldVersions are the older buildkitds that `make compat` builds, oldest first.
func oldVersions(t *testing.T) []string {
	t.Helper()
	modules, err := filepath.Glob(filepath.Join(testenv.Tools(t).Checkout, "integration/oldtools/v*"))
	require.NoError(t, err)
	versions := make([]string, len(modules))
	for i, module := range modules {
		versions[i] = filepath.Base(module)
	}
	slices.SortFunc(versions, func(a, b string) int { return minor(t, a) - minor(t, b) })
	require.NotEmpty(t, versions)
	return versions
}

// minor is the 13 of v0.13.
func minor(t *testing.T, version string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(version, "v0."))
	require.NoError(t, err)
	return n
}

// tooOld tells of a version that it is older than the frontend's minimum.
func tooOld(t *testing.T, version string) bool {
	return minor(t, version) < minor(t, frontend.MinBuildKit)
}

// oldBuilder starts a buildkitd of another version.
func oldBuilder(t *testing.T, version string) testenv.Builder {
	t.Helper()
	tools := testenv.Tools(t)
	tools.Buildkitd = filepath.Join(tools.BinDir(), version, "buildkitd")
	require.FileExists(t, tools.Buildkitd, "run `make compat`")
	buildkitd, err := daemon.StartBuildkitd(t.Context(), tools, daemon.BuildkitdOptions{Registries: []string{example.Registry.Host}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, buildkitd.Stop()) })
	return testenv.Builder{Buildkitd: buildkitd, Buildx: testenv.Buildx(t, buildkitd), Frontend: example.Frontend()}
}

// foldedDraft is a suite whose image takes every turn that the emitter has: bundles that share a layer, install roots in one
// another and below directories of other modes.
func foldedDraft(t *testing.T) draft {
	t.Helper()
	d := smallDraft(t)
	d.providers = append(d.providers, bundles(130)...)
	d.providers = append(d.providers,
		provider{id: "outer", installRoot: "/srv/outer", files: map[string]string{"lib/a": "a"}},
		provider{id: "inner", installRoot: "/srv/outer/lib/inner"},
	)
	return d
}

// Every BuildKit since the minimum gives the images of the newest, bit for bit, through either door; an older one is told so
// in one sentence.
func TestOldBuildKits(t *testing.T) {
	t.Parallel()
	small := smallDraft(t)
	folded := foldedDraft(t)
	folded.platforms = suite.Platforms()[:1]
	type job struct {
		dir  string
		args []string
		want testenv.Layout
	}
	newest := example.Builder(t, daemon.BuildkitdOptions{})
	var jobs []job
	for _, j := range []job{
		{dir: small.write(t), args: append(small.contexts(), "--platform", "linux/amd64,linux/arm64", "--attest", "type=provenance,mode=max")},
		{dir: folded.write(t), args: append(folded.contexts(), "--platform", "linux/amd64", "--attest", "type=provenance,mode=max")},
	} {
		j.want = newest.BuildLayout(t, j.dir, j.args...)
		jobs = append(jobs, j)
	}
	for _, version := range oldVersions(t) {
		t.Run(version, func(t *testing.T) {
			b := oldBuilder(t, version)
			if tooOld(t, version) {
				for name, open := range doors {
					build := start(t, open(t, b, jobs[0].dir, jobs[0].args[:4]...))
					<-build.done
					require.Error(t, build.err, name)
					require.Contains(t, build.output(), "the builder's BuildKit is too old: this frontend needs "+frontend.MinBuildKit+" or newer", name)
				}
				return
			}
			for _, job := range jobs {
				got := b.BuildLayout(t, job.dir, job.args...)
				require.Equal(t, job.want.Digests(), got.Digests())
				for _, img := range got.Images {
					found := statements(t, got, img) // a provenance has another format on each
					require.Len(t, found[predicateBinding], 1)
					require.Len(t, img.Attestations.Layers, 2)
				}
			}
			layout := filepath.Join(t.TempDir(), "layout")
			args := append(slices.Clone(jobs[0].args), "--output", "type=oci,tar=false,dest="+layout)
			build := start(t, doors["agentsuite-llb"](t, b, jobs[0].dir, args...))
			<-build.done
			require.NoError(t, build.err, build.output())
			require.Equal(t, jobs[0].want.Digests(), testenv.ReadLayout(t, layout).Digests())
		})
	}
}

// The documentation has a row for everything that is tested here.
func TestDocumentedBuilders(t *testing.T) {
	t.Parallel()
	checkout := testenv.Tools(t).Checkout
	page, err := os.ReadFile(filepath.Join(checkout, "docs/builders.md"))
	require.NoError(t, err)
	for _, version := range oldVersions(t) {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "github.com/moby/buildkit")
		cmd.Dir = filepath.Join(checkout, "integration/oldtools", version)
		exact, err := cmd.Output()
		require.NoError(t, err)
		outcome := "same images"
		if tooOld(t, version) {
			outcome = "refused"
		}
		row := "| BuildKit " + strings.TrimSpace(string(exact)) + " | " + outcome + " |"
		require.Contains(t, string(page), row)
	}
}

// A Docker engine whose images lie in its classic store has no MergeOp: the same files are copied, and a warning says so.
func TestClassicDockerEngine(t *testing.T) {
	t.Parallel()
	d := foldedDraft(t)
	d.platforms = suite.Platforms()[:1]
	d.base, d.harness = inRegistry(t, d.base, "classic/base"), inRegistry(t, d.harness, "classic/harness")
	dir := d.write(t)
	engine, err := daemon.StartDockerd(t.Context(), testenv.Tools(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Stop()) })
	buildx, err := daemon.NewDockerBuildx(testenv.Tools(t), t.TempDir(), engine)
	require.NoError(t, err)
	classic := testenv.Builder{Buildx: buildx, Frontend: example.Frontend()}

	out, err := classic.Build(t, dir, append(d.contexts(), "--load", "--tag", "classic:built", "--progress", "plain")...)
	if err != nil {
		t.Log(engine.Log())
	}
	require.NoError(t, err)
	require.Contains(t, out.Stderr, "this builder has no MergeOp: layers are copied")

	response, err := engine.Get(t.Context(), "/images/classic:built/get")
	require.NoError(t, err)
	defer response.Body.Close()
	saved := filepath.Join(stateDir(t), "image.tar")
	file, err := os.Create(saved)
	require.NoError(t, err)
	_, err = io.Copy(file, response.Body)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	merged := example.Builder(t, daemon.BuildkitdOptions{}).BuildLayout(t, dir, append(d.contexts(), "--provenance=false")...)
	wantImage, want := flattened(t, merged.Dir)
	gotImage, got := flattened(t, saved)
	require.Empty(t, cmp.Diff(want.Entries, got.Entries))
	require.Equal(t, wantImage.Config.Config, gotImage.Config.Config)
}

// flattened is the one image at a place, and its filesystem.
func flattened(t *testing.T, ref string) (*ociimage.Image, *image.Scan) {
	t.Helper()
	source, err := ociimage.Open(t.Context(), ref, ociimage.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	img, err := source.Image(t.Context(), suite.Platforms()[0])
	require.NoError(t, err)
	rootfs, err := img.Flatten(t.Context(), ociimage.Keep{})
	require.NoError(t, err)
	return img, rootfs.Scan
}
