package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/cli anew")

// TestDocs holds docs/cli to what the commands say about themselves.
func TestDocs(t *testing.T) {
	const dir = "../../docs/cli"
	root := newRootCommand(&streams{out: os.Stdout})
	want := map[string]string{"README.md": index(root)}
	for _, cmd := range documented(root) {
		want[pageName(cmd)] = manual(cmd)
	}
	if *update {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
	}
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		got[e.Name()] = string(text)
	}
	require.Empty(t, cmp.Diff(want, got), "docs/cli is not what the commands say; run go generate ./cmd/agentsuite-llb")
}

func documented(root *cobra.Command) (commands []*cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			commands = append(commands, cmd)
		}
	}
	return commands
}

func pageName(cmd *cobra.Command) string { return cmd.Name() + ".md" }

func index(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n| command | what it does |\n|---|---|\n", root.Name(), root.Long)
	for _, cmd := range documented(root) {
		fmt.Fprintf(&b, "| [`%s`](%s) | %s |\n", cmd.UseLine(), pageName(cmd), cmd.Short)
	}
	return b.String()
}

func manual(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	description := cmd.Long
	if description == "" {
		description = cmd.Short + "."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n```text\n%s\n", cmd.CommandPath(), description, cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "```\n\n## Examples\n\n```sh\n%s\n", strings.ReplaceAll("\n"+cmd.Example, "\n  ", "\n")[1:])
	}
	fmt.Fprintf(&b, "```\n\n## Flags\n\n```text\n%s```\n", cmd.Flags().FlagUsages())
	return b.String()
}
