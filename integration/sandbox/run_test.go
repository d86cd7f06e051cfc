//go:build integration

package sandbox_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
)

// The agent runs under runc by the contract in its image: its tool answers, and nothing else is possible.
func TestAgentRuns(t *testing.T) {
	t.Parallel()
	b := example.Builder(t, daemon.BuildkitdOptions{})
	dir := t.TempDir()
	archive := filepath.Join(dir, "rootfs.tar")
	_, err := b.Build(t, example.Suite, append([]string{"--output", "type=tar,dest=" + archive}, example.FromRegistry()...)...)
	require.NoError(t, err)
	bundle := filepath.Join(dir, "bundle")
	rootfs := filepath.Join(bundle, "rootfs")
	require.NoError(t, os.MkdirAll(rootfs, 0o755))
	out, err := exec.CommandContext(t.Context(), "tar", "-xf", archive, "-C", rootfs).CombinedOutput()
	require.NoError(t, err, string(out))
	probe, err := os.ReadFile(filepath.Join(example.Tools.BinDir(), "sandbox-probe"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(rootfs, "sandbox-probe"), probe, 0o755))

	run := func(args ...string) (string, error) {
		var contract specs.Spec
		readJSON(t, filepath.Join(rootfs, ".agentsuite/runtime.json"), &contract)
		contract.Process.Args = args
		config, err := json.Marshal(contract)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(bundle, "config.json"), config, 0o644))
		cmd := exec.CommandContext(t.Context(), example.Tools.Runc, "--root", filepath.Join(dir, "runc"), "run", "--bundle", bundle, "clock")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	answer, err := run("/usr/local/bin/harness", "call", "current_time")
	require.NoError(t, err, answer)
	require.Regexp(t, `\{"utc":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\}`, answer)

	refusal, err := run("/usr/local/bin/harness", "call", "delete_everything")
	require.Error(t, err)
	require.Contains(t, refusal, "current_time", "the declared tools are named")

	facts, err := run("/sandbox-probe")
	require.NoError(t, err, facts)
	require.Contains(t, facts, "user 65532:65532\n")
	require.Contains(t, facts, "NoNewPrivs 1\n")
	require.Len(t, lines(facts, "Cap"), 5)
	for _, capability := range lines(facts, "Cap") {
		require.True(t, strings.HasSuffix(capability, " 0000000000000000"), capability)
	}
	require.NotContains(t, facts, "possible", "nothing of the image can be written")
	require.Equal(t, []string{"interface lo"}, lines(facts, "interface"), "no network but its own loopback")
}
