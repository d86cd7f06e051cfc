//go:build integration

package construction_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/pb"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"
	"github.com/tonistiigi/fsutil"

	"github.com/agentsuite/agentsuite-llb/frontend"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// buildLimit bounds one build: far more than any of these needs.
const buildLimit = 5 * time.Minute

// request is what is asked of a build.
type request struct {
	// target is the agent or tool provider; empty means the only agent.
	target    string
	platforms []suite.Platform
	// copied builds without MergeOp.
	copied bool
	// uncached runs every step again.
	uncached bool
	// push names the image in the registry that the result goes to; else it goes to a layout.
	push string
	// instead does something with the result instead of exporting it.
	instead func(context.Context, gateway.Client, *gateway.Result) error
}

// built is what a build gave.
type built struct {
	layout   testenv.Layout
	warnings []string
	// progress is everything that the daemon told.
	progress []*client.SolveStatus
}

// both are the ways of joining layers.
var both = map[string]bool{"merge": false, "copy": true}

// build builds with the shared daemon.
func (a authored) build(t *testing.T, r request) built {
	t.Helper()
	b, err := a.tryBuild(t, world.buildkitd, r)
	require.NoError(t, err)
	return b
}

// buildOn builds with a daemon of the test's own.
func (a authored) buildOn(t *testing.T, buildkitd *daemon.Buildkitd, r request) built {
	t.Helper()
	b, err := a.tryBuild(t, buildkitd, r)
	require.NoError(t, err)
	return b
}

// tryBuild runs the frontend in this process against a daemon, as the command line does.
func (a authored) tryBuild(t *testing.T, buildkitd *daemon.Buildkitd, r request) (built, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), buildLimit)
	defer cancel()
	attrs := map[string]string{"filename": "agentsuite.json", "target": r.target}
	if len(r.platforms) > 0 {
		names := make([]string, len(r.platforms))
		for i, p := range r.platforms {
			names[i] = p.String()
		}
		attrs["platform"] = strings.Join(names, ",")
	}
	if r.copied {
		attrs["build-arg:"+frontend.ArgMerge] = "false"
	}
	if r.uncached {
		attrs["no-cache"] = ""
	}
	stores := map[string]content.Store{}
	for name, dir := range map[string]string{baseName: a.base, harnessName: a.harness} {
		id := strings.ReplaceAll(name, "/", "-")
		store, err := local.NewStore(dir)
		require.NoError(t, err)
		stores[id] = store
		attrs["context:"+name] = "oci-layout://" + id
	}
	opts := client.SolveOpt{
		FrontendAttrs: attrs,
		OCIStores:     stores,
		// What a daemon keeps of a directory for the next transfer is kept by this name.
		SharedKey: a.dir,
		LocalMounts: map[string]fsutil.FS{
			"context": localFS(t, a.dir), "dockerfile": localFS(t, a.dir), frontend.LocalExecutable: localFS(t, world.binary),
		},
	}
	out := filepath.Join(t.TempDir(), "layout")
	switch {
	case r.instead != nil:
	case r.push != "":
		opts.Exports = []client.ExportEntry{{Type: client.ExporterImage, Attrs: map[string]string{"name": r.push, "push": "true"}}}
	default:
		opts.Exports = []client.ExportEntry{{Type: client.ExporterOCI, Attrs: map[string]string{"tar": "false"}, OutputDir: out}}
	}

	var b built
	status, followed := make(chan *client.SolveStatus), make(chan struct{})
	go func() {
		defer close(followed)
		b.follow(status)
	}()
	_, err := testenv.Client(t, buildkitd).Build(ctx, opts, "agentsuite-llb", func(ctx context.Context, c gateway.Client) (*gateway.Result, error) {
		result, err := frontend.BuildFromClient(ctx, c)
		if err == nil && r.instead != nil {
			err = r.instead(ctx, c, result)
		}
		return result, err
	}, status)
	<-followed
	if err == nil && len(opts.Exports) > 0 && r.push == "" {
		b.layout = testenv.ReadLayout(t, out)
	}
	return b, err
}

// run builds an image for the shared daemon's platform and runs its process there, as the config says and as sandboxes are
// run: without a network, on a filesystem that cannot be written. It returns what the process wrote.
func (a authored) run(t *testing.T, r request) (string, error) {
	t.Helper()
	var out bytes.Buffer
	r.instead = func(ctx context.Context, c gateway.Client, result *gateway.Result) error {
		var config dockerspec.DockerOCIImage
		if err := json.Unmarshal(result.Metadata[exptypes.ExporterImageConfigKey], &config); err != nil {
			return err
		}
		container, err := c.NewContainer(ctx, gateway.NewContainerRequest{
			Mounts: []gateway.Mount{{Dest: "/", MountType: pb.MountType_BIND, Ref: result.Ref, Readonly: true}}, NetMode: pb.NetMode_NONE,
		})
		if err != nil {
			return err
		}
		defer func() { _ = container.Release(context.WithoutCancel(ctx)) }()
		process, err := container.Start(ctx, gateway.StartRequest{
			Args: append(config.Config.Entrypoint, config.Config.Cmd...), Env: config.Config.Env, User: config.Config.User, Cwd: config.Config.WorkingDir,
			Stdout: nopCloser{&out}, Stderr: nopCloser{&out},
		})
		if err != nil {
			return err
		}
		return process.Wait()
	}
	_, err := a.tryBuild(t, world.buildkitd, r)
	return out.String(), err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// follow collects what a daemon tells of a build.
func (b *built) follow(status <-chan *client.SolveStatus) {
	for s := range status {
		b.progress = append(b.progress, s)
		for _, w := range s.Warnings {
			// The agents of these suites are none to evaluate.
			if text := string(w.Short); !strings.Contains(text, "AgentWithoutEvaluations") {
				b.warnings = append(b.warnings, text)
			}
		}
	}
}

// steps are the names of all steps of the build, sorted.
func (b built) steps() []string {
	var names []string
	for _, s := range b.progress {
		for _, v := range s.Vertexes {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ran are the names of the steps that did something, sorted: those that were under way and whose result did not come from
// the cache. A step without inputs is once under way to tell what it is.
func (b built) ran() []string {
	type step struct {
		name   string
		starts map[int64]bool
		cached bool
		needed int
	}
	steps := map[digest.Digest]*step{}
	for _, s := range b.progress {
		for _, v := range s.Vertexes {
			if steps[v.Digest] == nil {
				steps[v.Digest] = &step{name: v.Name, starts: map[int64]bool{}, needed: 1}
			}
			if len(v.Inputs) == 0 {
				steps[v.Digest].needed = 2
			}
			steps[v.Digest].cached = steps[v.Digest].cached || v.Cached
			if v.Started != nil {
				steps[v.Digest].starts[v.Started.UnixNano()] = true
			}
		}
	}
	var names []string
	for _, step := range steps {
		if !step.cached && len(step.starts) >= step.needed {
			names = append(names, step.name)
		}
	}
	slices.Sort(names)
	return names
}

func localFS(t *testing.T, dir string) fsutil.FS {
	t.Helper()
	fs, err := fsutil.NewFS(dir)
	require.NoError(t, err)
	return fs
}

// open opens the image that a build exported for a platform.
func (b built) open(t *testing.T, platform suite.Platform) *ociimage.Image {
	t.Helper()
	return openImage(t, b.layout.Dir, platform)
}

// rootfs is the filesystem that an image's layers make, with the bytes of everything below /.agentsuite.
func rootfs(t *testing.T, i *ociimage.Image) *ociimage.Rootfs {
	t.Helper()
	files, err := i.Flatten(t.Context(), ociimage.Keep{Bytes: 64 << 20, Path: func(p string) bool { return strings.HasPrefix(p, ".agentsuite/") }})
	require.NoError(t, err)
	require.Empty(t, files.Scan.Problems)
	return files
}
