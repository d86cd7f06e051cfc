//go:build integration

package testenv_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/solver/pb"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"github.com/tonistiigi/fsutil"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// TestSolve builds from a local source in two daemons at once, one of them offline, runs a program without network on
// the way, and reads the exported image.
func TestSolve(t *testing.T) {
	t.Parallel()
	probe := buildProbe(t)
	for _, offline := range []bool{false, true} {
		name := map[bool]string{false: "online", true: "offline"}[offline]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			buildkitd := testenv.Buildkitd(t, daemon.BuildkitdOptions{Offline: offline})
			run := llb.Local("probe").Run(
				llb.Args([]string{"/probe", "report", "/out/interfaces"}),
				llb.Network(pb.NetMode_NONE), llb.ReadonlyRootFS())
			image := solveOCI(t, buildkitd, run.AddMount("/out", llb.Scratch()), probe)
			require.Equal(t, map[string]string{"interfaces": "lo"}, image)
		})
	}
}

// TestOffline holds that an offline daemon's containers with the host's network have none.
func TestOffline(t *testing.T) {
	t.Parallel()
	probe := buildProbe(t)
	for offline, want := range map[bool]bool{true: true, false: false} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			buildkitd := testenv.Buildkitd(t, daemon.BuildkitdOptions{Offline: offline})
			run := llb.Local("probe").Run(llb.Args([]string{"/probe", "report", "/out/interfaces"}))
			image := solveOCI(t, buildkitd, run.AddMount("/out", llb.Scratch()), probe)
			require.Equal(t, want, image["interfaces"] == "lo", "interfaces: %s", image["interfaces"])
		})
	}
}

// TestBuildx pushes to the registry through buildx's remote driver and reads the manifest there.
func TestBuildx(t *testing.T) {
	t.Parallel()
	registry := testenv.Registry(t)
	buildkitd := testenv.Buildkitd(t, daemon.BuildkitdOptions{Registries: []string{registry.Host}})
	buildx := testenv.Buildx(t, buildkitd)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM scratch\nCOPY Dockerfile /\n"), 0o644))

	_, err := buildx.Run(t.Context(), "build", "--provenance=false", "--push", "-t", registry.Host+"/some/image:tag", dir)
	require.NoError(t, err)

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+registry.Host+"/v2/some/image/manifests/tag", nil)
	require.NoError(t, err)
	request.Header.Set("Accept", ocispecs.MediaTypeImageManifest)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var manifest ocispecs.Manifest
	require.NoError(t, json.NewDecoder(response.Body).Decode(&manifest))
	require.Len(t, manifest.Layers, 1)

	_, err = buildx.Run(t.Context(), "build", "--file", "missing", dir)
	require.ErrorContains(t, err, "missing: no such file or directory")
}

// TestNothingStays ends daemons in the middle of a build, after interrupting the build and without, and looks for what
// they might leave.
func TestNothingStays(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *daemon.Buildkitd, interrupt func()){
		"interrupt": func(_ *daemon.Buildkitd, interrupt func()) { interrupt() },
		"kill":      func(b *daemon.Buildkitd, _ func()) { b.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			buildkitd, err := daemon.StartBuildkitd(t.Context(), testenv.Tools(t), daemon.BuildkitdOptions{})
			require.NoError(t, err)
			word := "word-of-" + filepath.Base(buildkitd.Root)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			blocked := solveBlocked(ctx, t, buildkitd, word, buildProbe(t))
			require.NotEmpty(t, processesWith(t, word), "the build's process should run before its daemon ends")

			end(buildkitd, interrupt)
			require.Error(t, <-blocked)
			require.NoError(t, buildkitd.Stop())
			require.Empty(t, processesWith(t, word))
			require.Empty(t, processesWith(t, buildkitd.Root))
			require.NoDirExists(t, buildkitd.Root)
			mounts, err := os.ReadFile("/proc/self/mountinfo")
			require.NoError(t, err)
			require.NotContains(t, string(mounts), buildkitd.Root)
			require.NoFileExists(t, strings.TrimPrefix(buildkitd.Address, "unix://"))
		})
	}
}

// TestCrash holds that a daemon's cache outlives it where it is meant to, and that a daemon that ended by itself is told.
func TestCrash(t *testing.T) {
	t.Parallel()
	root := testenv.StateDir(t)
	probe := buildProbe(t)
	state := llb.Local("probe").File(llb.Mkfile("/hello", 0o644, []byte("hello")))
	want := map[string]string{"hello": "hello"}

	first, err := daemon.StartBuildkitd(t.Context(), testenv.Tools(t), daemon.BuildkitdOptions{Root: root})
	require.NoError(t, err)
	require.Equal(t, want, solveOCI(t, first, llb.Scratch().File(llb.Copy(state, "/hello", "/hello")), probe))
	first.Kill()

	second, err := daemon.StartBuildkitd(t.Context(), testenv.Tools(t), daemon.BuildkitdOptions{Root: root})
	require.NoError(t, err)
	usage, err := testenv.Client(t, second).DiskUsage(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, usage)

	// Its own process is the one to whom only this daemon's configuration file belongs.
	for _, pid := range processesWith(t, filepath.Join(root, "buildkitd.toml")) {
		id, err := strconv.Atoi(pid)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(id, syscall.SIGKILL))
	}
	<-second.Done()
	require.ErrorContains(t, second.Stop(), "buildkitd ended on its own (signal: killed); its log:\n")
	require.NoError(t, first.Stop())
}

// buildProbe compiles the probe into a directory of its own.
func buildProbe(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(dir, "probe"), "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return dir
}

// solveOCI exports state as an image and returns the regular files of its one layer.
func solveOCI(t *testing.T, buildkitd *daemon.Buildkitd, state llb.State, probe string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var archive bytes.Buffer
	_, err := testenv.Client(t, buildkitd).Solve(ctx, marshal(t, state), client.SolveOpt{
		LocalMounts: map[string]fsutil.FS{"probe": localFS(t, probe)},
		Exports: []client.ExportEntry{{
			Type:  client.ExporterOCI,
			Attrs: map[string]string{"compression": "uncompressed"},
			Output: func(map[string]string) (io.WriteCloser, error) {
				return nopCloser{&archive}, nil
			},
		}},
	}, nil)
	require.NoError(t, err)

	blobs := tarFiles(t, archive.Bytes())
	var index ocispecs.Index
	require.NoError(t, json.Unmarshal([]byte(blobs["index.json"]), &index))
	blob := func(d ocispecs.Descriptor) []byte { return []byte(blobs["blobs/sha256/"+d.Digest.Encoded()]) }
	var manifest ocispecs.Manifest
	require.NoError(t, json.Unmarshal(blob(index.Manifests[0]), &manifest))
	require.Len(t, manifest.Layers, 1)
	return tarFiles(t, blob(manifest.Layers[0]))
}

// solveBlocked starts a build whose process never ends, and returns when that process runs; the channel carries the
// build's error.
func solveBlocked(ctx context.Context, t *testing.T, buildkitd *daemon.Buildkitd, word, probe string) <-chan error {
	t.Helper()
	c := testenv.Client(t, buildkitd)
	run := llb.Local("probe").Run(llb.Args([]string{"/probe", "block", word}), llb.Network(pb.NetMode_NONE))
	definition := marshal(t, run.Root())
	mounts := map[string]fsutil.FS{"probe": localFS(t, probe)}
	status := make(chan *client.SolveStatus)
	result := make(chan error, 1)
	go func() {
		_, err := c.Solve(ctx, definition, client.SolveOpt{LocalMounts: mounts}, status)
		result <- err
	}()
	running := make(chan struct{})
	go func() {
		for s := range status {
			for _, l := range s.Logs {
				if strings.Contains(string(l.Data), "blocking") {
					close(running)
				}
			}
		}
	}()
	select {
	case <-running:
	case err := <-result:
		require.NoError(t, errors.Join(errors.New("the build ended before its daemon"), err))
	case <-time.After(time.Minute):
		require.Fail(t, "the build's process did not start within a minute")
	}
	return result
}

func marshal(t *testing.T, state llb.State) *llb.Definition {
	t.Helper()
	definition, err := state.Marshal(t.Context(), llb.LinuxAmd64)
	require.NoError(t, err)
	return definition
}

func localFS(t *testing.T, dir string) fsutil.FS {
	t.Helper()
	fs, err := fsutil.NewFS(dir)
	require.NoError(t, err)
	return fs
}

// tarFiles returns the regular files of an archive.
func tarFiles(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		if header.Typeflag == tar.TypeReg {
			content, err := io.ReadAll(r)
			require.NoError(t, err)
			files[header.Name] = string(content)
		}
	}
}

// processesWith returns the ids of all processes of the machine that have an argument containing text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var pids []string
	for _, file := range files {
		// A process that ends meanwhile has nothing to read, which is an answer too.
		if content, _ := os.ReadFile(file); bytes.Contains(content, []byte(text)) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
