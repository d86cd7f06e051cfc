//go:build integration

package builders_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// door is a way to start a build.
type door func(t *testing.T, b testenv.Builder, dir string, args ...string) *exec.Cmd

// doors are a client with the packaged frontend, and the command line, which is the frontend itself.
var doors = map[string]door{
	"buildx": func(t *testing.T, b testenv.Builder, dir string, args ...string) *exec.Cmd {
		return b.Buildx.Command(t.Context(), b.Args(dir, slices.Concat(args, []string{"--provenance=false"})...)...)
	},
	"agentsuite-llb": func(t *testing.T, b testenv.Builder, dir string, args ...string) *exec.Cmd {
		args = append([]string{"build", "--addr", b.Address, "--progress", "plain"}, args...)
		return exec.CommandContext(t.Context(), example.Program(), append(args, dir)...)
	},
}

// slowDraft is a suite that every tool needs a while for: long enough to be met in the middle.
func slowDraft(t *testing.T) draft {
	t.Helper()
	entries := []ocitest.Entry{ocitest.Directory("srv", 0o755)}
	for i := range 20_000 {
		entries = append(entries, ocitest.File(fmt.Sprintf("srv/%05d", i), 0o644, ""))
	}
	d := smallDraft(t)
	d.base = smallBase(t, ocitest.NewLayer(t, entries...))
	random := make([]byte, 32<<20)
	_, err := rand.Read(random)
	require.NoError(t, err)
	d.providers[0].write = func(t testing.TB, dir string) {
		writeFile(t, dir, "random", random, 0o644)
	}
	return d
}

// A build that is interrupted ends with an error, leaves no tool running and no file half-written, and the next one
// succeeds.
func TestInterruptedBuild(t *testing.T) {
	t.Parallel()
	d := slowDraft(t)
	dir := d.write(t)
	for name, open := range doors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := example.Builder(t, daemon.BuildkitdOptions{})
			dest := filepath.Join(stateDir(t), "image.tar")
			args := append(d.contexts(), "--no-cache", "--output", "type=oci,compression=uncompressed,dest="+dest)
			// Composing is over before anybody could stop it.
			for _, tool := range []string{"open", "scan"} {
				build := start(t, open(t, b, dir, args...))
				frozen := build.freeze(t, b.Buildkitd, tool)
				require.NoError(t, build.cmd.Process.Signal(os.Interrupt))
				<-build.done
				require.Error(t, build.err, build.output())
				require.Contains(t, strings.ToLower(build.output()), "cancel", tool)
				frozen.requireEnd(t)
				left, err := os.ReadDir(filepath.Dir(dest))
				require.NoError(t, err)
				require.Empty(t, left, tool)
			}
			build := start(t, open(t, b, dir, args...))
			<-build.done
			require.NoError(t, build.err, build.output())
			require.FileExists(t, dest)
			require.Empty(t, tools(b.Buildkitd))
		})
	}
}

// A daemon that is killed in the middle of a build leaves a state that the next one builds from, to the same images.
func TestKilledDaemon(t *testing.T) {
	t.Parallel()
	d := slowDraft(t)
	dir := d.write(t)
	args := append(d.contexts(), "--provenance=false")
	want := example.Builder(t, daemon.BuildkitdOptions{}).BuildLayout(t, dir, args...).Digests()
	for _, point := range []string{"open", "scan", "compose", "export"} {
		t.Run(point, func(t *testing.T) {
			opts := daemon.BuildkitdOptions{Root: testenv.StateDir(t)}
			first := example.Builder(t, opts)
			dest := filepath.Join(stateDir(t), "image.tar")
			// The same compression as the build after it has, which takes the layers that this one made.
			build := start(t, doors["buildx"](t, first, dir, append(args, "--output", "type=oci,dest="+dest)...))
			if point == "export" {
				build.reaches(t, point, func() bool { return strings.Contains(build.output(), "exporting layers") })
			} else {
				build.freeze(t, first.Buildkitd, point)
			}
			first.Kill()
			<-build.done
			require.Error(t, build.err)
			require.Empty(t, tools(first.Buildkitd))
			require.NoFileExists(t, dest)

			require.Equal(t, want, example.Builder(t, opts).BuildLayout(t, dir, args...).Digests())
		})
	}
}
