//go:build integration

package sandbox_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// However the suite reaches the builder, it is the same suite and gives the same image.
func TestContexts(t *testing.T) {
	t.Parallel()
	b := example.Builder(t, daemon.BuildkitdOptions{})
	packed := t.TempDir()
	digest := pack(t, "content-tar-gzip", filepath.Join(packed, "suite.tar.gz"))
	require.Equal(t, digest, pack(t, "oci-layout-tar", filepath.Join(packed, "layout.tar")))
	require.Equal(t, digest, pack(t, "oci-layout", filepath.Join(packed, "layout")))
	out, err := exec.CommandContext(t.Context(), "tar", "-cf", filepath.Join(packed, "plain.tar"), "-C", example.Suite, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	files := httptest.NewServer(http.FileServer(http.Dir(packed)))
	t.Cleanup(files.Close)

	args := slices.Concat([]string{"--provenance=false", "--build-arg", "AGENTSUITE_DIGEST=" + digest}, example.FromRegistry())
	want := b.BuildLayout(t, example.Suite, args...)
	for name, from := range map[string]struct {
		context string
		stdin   string
	}{
		"layout directory":             {context: filepath.Join(packed, "layout")},
		"tar on standard input":        {context: "-", stdin: "plain.tar"},
		"content layer on standard in": {context: "-", stdin: "suite.tar.gz"},
		"layout tar on standard input": {context: "-", stdin: "layout.tar"},
		"content layer over http":      {context: files.URL + "/suite.tar.gz"},
		"plain tar over http":          {context: files.URL + "/plain.tar"},
		"layout tar over http":         {context: files.URL + "/layout.tar"},
	} {
		t.Run(name, func(t *testing.T) {
			layout := filepath.Join(t.TempDir(), "layout")
			cmd := b.Buildx.Command(t.Context(), slices.Concat(
				[]string{"build", "--file", "agentsuite.json", "--build-arg", "BUILDKIT_SYNTAX=" + example.Frontend(), "--output", "type=oci,tar=false,dest=" + layout},
				args, []string{from.context})...)
			if from.stdin != "" {
				file, err := os.Open(filepath.Join(packed, from.stdin))
				require.NoError(t, err)
				defer file.Close()
				cmd.Stdin = file
			}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, want.Digests(), testenv.ReadLayout(t, layout).Digests())
		})
	}
}

// pack packs the suite and returns the digest that the command prints.
func pack(t *testing.T, format, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), example.Program(), "pack", example.Suite, "--format", format, "--output", path).CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}
