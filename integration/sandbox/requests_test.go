//go:build integration

package sandbox_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	spb "github.com/moby/buildkit/sourcepolicy/pb"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	agentllb "github.com/agentsuite/agentsuite-llb/llb"
)

// pushed asks the registry whether a repository has the tag latest.
func pushed(t *testing.T, name string) bool {
	t.Helper()
	host, repository, _ := strings.Cut(name, "/")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, "http://"+host+"/v2/"+repository+"/manifests/latest", nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode == http.StatusOK
}

func TestCalls(t *testing.T) {
	t.Parallel()
	b := example.Builder(t, daemon.BuildkitdOptions{})

	t.Run("targets", func(t *testing.T) {
		out, err := b.Build(t, example.Suite, "--call", "targets")
		require.NoError(t, err)
		require.Contains(t, out.Stdout, "clock (default)")
		require.Contains(t, out.Stdout, "datetime@1.0.0")
		require.Contains(t, out.Stdout, "linux/amd64")
	})
	t.Run("outline", func(t *testing.T) {
		out, err := b.Build(t, example.Suite, "--call", "outline")
		require.NoError(t, err)
		require.Contains(t, out.Stdout, "AGENTSUITE_DIGEST")
	})
	t.Run("check of a good suite", func(t *testing.T) {
		out, err := b.Build(t, example.Suite, "--check")
		require.NoError(t, err, out.Stdout)
		require.Contains(t, out.Stdout, "Check complete, no warnings found")
	})
	t.Run("check of a bad suite", func(t *testing.T) {
		dir := example.Clone(t)
		edit(t, dir, "instructions/clock.md", "time", "hour")
		edit(t, dir, "tool-providers/datetime/1.0.0/tool-provider.json", `"protocol"`, `"protokol"`)
		out, err := b.Build(t, dir, "--check")
		require.Error(t, err)
		text := out.Stdout + out.Stderr
		require.Contains(t, text, "digest (AS-ID-001)")
		require.Contains(t, text, "json (AS-JSON-001)")
		require.Contains(t, text, ">>>")
	})
}

// A daemon refuses a source that the policy of a solve does not list.
func TestDaemonRefusesUnlistedSources(t *testing.T) {
	t.Parallel()
	b := example.Builder(t, daemon.BuildkitdOptions{})
	listed := llb.Local("listed")
	policy, err := agentllb.Policy(t.Context(), listed)
	require.NoError(t, err)
	for name, state := range map[string]llb.State{
		"image": llb.Image("registry.example/other@sha256:" + strings.Repeat("0", 64)),
		"http":  llb.HTTP("http://127.0.0.1:1/file"),
		"git":   llb.Git("https://127.0.0.1:1/repository.git", ""),
		"local": llb.Local("other"),
	} {
		t.Run(name, func(t *testing.T) {
			def, err := state.Marshal(t.Context())
			require.NoError(t, err)
			_, err = testenv.Client(t, b.Buildkitd).Build(t.Context(), client.SolveOpt{}, "", func(ctx context.Context, c gateway.Client) (*gateway.Result, error) {
				return c.Solve(ctx, gateway.SolveRequest{Evaluate: true, Definition: def.ToPB(), SourcePolicies: []*spb.Policy{policy}})
			}, nil)
			require.ErrorContains(t, err, "denied by policy")
		})
	}
}
