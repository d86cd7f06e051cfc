//go:build integration && compat

package builders_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

func TestVersionsProbe(t *testing.T) {
	d := smallDraft(t)
	dir := d.write(t)
	args := append(d.contexts(), "--provenance=false", "--platform", "linux/amd64,linux/arm64")
	want := example.Builder(t, daemon.BuildkitdOptions{}).BuildLayout(t, dir, args...)
	for _, version := range strings.Split(os.Getenv("PROBE"), ",") {
		t.Run(version, func(t *testing.T) {
			tools := testenv.Tools(t)
			tools.Buildkitd = filepath.Join(tools.BinDir(), version, "buildkitd")
			b, err := daemon.StartBuildkitd(t.Context(), tools, daemon.BuildkitdOptions{Registries: []string{example.Registry.Host}})
			require.NoError(t, err)
			defer b.Stop()
			builder := testenv.Builder{Buildkitd: b, Buildx: testenv.Buildx(t, b), Frontend: example.Frontend()}
			got := builder.BuildLayout(t, dir, args...)
			os.RemoveAll("/tmp/lay")
			os.CopyFS("/tmp/lay/want", os.DirFS(want.Dir))
			os.CopyFS("/tmp/lay/got", os.DirFS(got.Dir))
			require.Equal(t, want.Digests(), got.Digests())
			layout := filepath.Join(t.TempDir(), "layout")
			args := append([]string{"build", "--addr", b.Address, "--platform", "linux/amd64,linux/arm64", "--progress", "plain", "--output", "type=oci,tar=false,dest=" + layout}, d.contexts()...)
			out, err := exec.CommandContext(t.Context(), example.Program(), append(args, dir)...).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, want.Digests(), testenv.ReadLayout(t, layout).Digests())
		})
	}
}
