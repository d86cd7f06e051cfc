//go:build integration

package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// Each mistake gives one error that says where it is, what was expected and what was found, and nothing is pushed.
func TestBadInput(t *testing.T) {
	t.Parallel()
	b := example.Builder(t, daemon.BuildkitdOptions{})
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.Dockerfile")
	require.NoError(t, os.WriteFile(elsewhere, []byte("# syntax=x\nRUN something\n"), 0o644))
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		args  []string
		want  []string // all of them in the error
	}{
		{
			name:  "stale digest",
			spoil: func(t *testing.T, dir string) { edit(t, dir, "instructions/clock.md", "time", "hour") },
			want:  []string{"agents/clock.json:", "digest (AS-ID-001)", "instructions/clock.md", ">>>"},
		},
		{
			name: "unknown member",
			spoil: func(t *testing.T, dir string) {
				edit(t, dir, "agents/clock.json", `"model": {`, `"modelo": 1, "model": {`)
			},
			want: []string{"agents/clock.json:", "json (AS-JSON-001)", "modelo", ">>>"},
		},
		{
			name: "escape sequences",
			spoil: func(t *testing.T, dir string) {
				edit(t, dir, "agents/clock.json", `"model": {`, "\"x\u202e\u009b31m\": \"\x1b]0;owned\a\", \"model\": {")
			},
			want: []string{"agents/clock.json:", "json (AS-JSON-001)", ">>>", `\u001b]0;owned\u0007`},
		},
		{
			name: "millions of lines",
			spoil: func(t *testing.T, dir string) {
				edit(t, dir, "agents/clock.json", `"model": {`, strings.Repeat("\n", 3_000_000)+`"modelo": 1, "model": {`)
			},
			want: []string{"agents/clock.json:", "json (AS-JSON-001)", "modelo"},
		},
		{
			name: "credential in the wrong place",
			spoil: func(t *testing.T, dir string) {
				edit(t, dir, "agents/clock.json", `"model": {`, `"ghp_`+strings.Repeat("s3cr3t", 6)+`": 1, "model": {`)
			},
			want: []string{"agents/clock.json:", "json (AS-JSON-001)", "(a GitHub token, not shown)"},
		},
		{
			name: "missing payload file",
			spoil: func(t *testing.T, dir string) {
				require.NoError(t, os.Remove(filepath.Join(dir, "tool-providers/datetime/1.0.0/linux-amd64/bin/datetime")))
			},
			want: []string{"tool-provider.json:", "AS-PROVIDER-001", "bin/datetime", ">>>"},
		},
		{
			name: "wrong platform",
			args: []string{"--platform", "linux/riscv64"},
			want: []string{"linux/riscv64", "linux/amd64 or linux/arm64"},
		},
		{
			name: "unknown target",
			args: []string{"--target", "clok"},
			want: []string{`no target "clok"`, "did you mean clock?", "datetime@1.0.0"},
		},
		{
			name: "colliding path",
			spoil: func(t *testing.T, dir string) {
				edit(t, dir, "tool-providers/datetime/1.0.0/tool-provider.json", "/opt/agentsuite/tool-providers/datetime/1.0.0", "/usr/local")
				bin := filepath.Join(dir, "tool-providers/datetime/1.0.0/linux-amd64/bin")
				require.NoError(t, os.WriteFile(filepath.Join(bin, "harness"), []byte("other"), 0o755))
				require.NoError(t, example.Seal(t.Context(), dir))
			},
			want: []string{"usr/local/bin/harness", "harness", "datetime@1.0.0"},
		},
		{
			name: "unreachable image",
			spoil: func(t *testing.T, dir string) {
				edit(t, dir, "build-profiles/default.json", "registry.example/agentsuite/runtime-base", "127.0.0.1:1/nowhere")
				require.NoError(t, example.Seal(t.Context(), dir))
			},
			want: []string{"build-profiles/default.json:", "127.0.0.1:1/nowhere", "--build-context", ">>>"},
		},
		{
			name: "a store without the pinned digest",
			args: []string{"--build-context", testenv.BaseName + "=" + example.Layout("frontend")},
			want: []string{"build-profiles/default.json:", "build context " + testenv.BaseName, "runtime base linux/amd64"},
		},
		{
			name: "a tag instead of a digest",
			spoil: func(t *testing.T, dir string) {
				path := filepath.Join(dir, "build-profiles/default.json")
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				before, after, found := strings.Cut(string(data), "@sha256:")
				require.True(t, found)
				require.NoError(t, os.WriteFile(path, []byte(before+":latest"+after[64:]), 0o644))
			},
			want: []string{"build-profiles/default.json:", "runtime-base:latest", "digest"},
		},
		{
			name: "another suite than the one stated",
			args: []string{"--build-arg", "AGENTSUITE_DIGEST=sha256:" + strings.Repeat("0", 64)},
			want: []string{"AGENTSUITE_DIGEST", "sha256:" + strings.Repeat("0", 64)},
		},
		{
			name: "another epoch",
			args: []string{"--build-arg", "SOURCE_DATE_EPOCH=1"},
			want: []string{`SOURCE_DATE_EPOCH is "1"`, "sourceEpoch 1767225600"},
		},
		{
			name: "unknown argument",
			args: []string{"--build-arg", "AGENTSUITE_DIGST=x"},
			want: []string{"AGENTSUITE_DIGST", "AGENTSUITE_DIGEST"},
		},
		{
			name: "reserved label",
			args: []string{"--label", "org.agentsuite.agent=other"},
			want: []string{"org.agentsuite.agent"},
		},
		{
			name: "build file with instructions",
			spoil: func(t *testing.T, dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("# syntax=x\nFROM scratch\n"), 0o644))
			},
			want: []string{"Dockerfile", "AS-PATH-001"},
		},
		{
			name: "build file with instructions elsewhere",
			args: []string{"--file", elsewhere},
			want: []string{"elsewhere.Dockerfile", "AS-PATH-001", "line 2"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := example.Clone(t)
			if test.spoil != nil {
				test.spoil(t, dir)
			}
			name := example.Registry.Host + "/bad/" + strings.ReplaceAll(test.name, " ", "-")
			args := append([]string{"--output", "type=image,push=true,name=" + name}, test.args...)
			if !hasContext(test.args) {
				args = append(args, example.FromRegistry()[:2]...)
			}
			args = append(args, example.FromRegistry()[2:]...)
			out, err := b.Build(t, dir, args...)
			require.Error(t, err)
			for _, want := range test.want {
				require.Contains(t, out.Stderr, want)
			}
			require.NotContains(t, out.Stderr, "panic")
			for _, hostile := range []string{"\x1b]", "\a", "\u009b", "\u202e", "s3cr3t"} {
				require.NotContains(t, out.Stderr, hostile)
			}
			require.Len(t, lines(out.Stderr, "ERROR: failed to build"), 1, out.Stderr)
			require.False(t, pushed(t, name), "nothing may be pushed")
		})
	}
}

func hasContext(args []string) bool { return len(args) > 0 && args[0] == "--build-context" }
