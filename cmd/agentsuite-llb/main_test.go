package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runAsProgram makes the test binary be the program, for what only a process of its own shows.
const runAsProgram = "AGENTSUITE_LLB_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(runAsProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// outcome is what one run of the program left behind.
type outcome struct {
	status         int
	stdout, stderr string
}

func runCommand(t *testing.T, args ...string) outcome {
	t.Helper()
	return runWithInput(t, nil, args...)
}

func runWithInput(t *testing.T, stdin io.Reader, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	status := run(t.Context(), args, stdin, &stdout, &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

// oneDocument decodes standard output, which must be one JSON document.
func (o outcome) oneDocument(t *testing.T) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(o.stdout))
	var document map[string]any
	require.NoError(t, d.Decode(&document), o.stdout)
	require.ErrorIs(t, d.Decode(new(any)), io.EOF, "one document")
	return document
}

// sealedSuite is a valid suite to work on.
func sealedSuite(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "workshop")
	source := "../../suite/seal/testdata/workshop"
	require.NoError(t, os.CopyFS(dir, os.DirFS(source+"/suite")))
	require.NoError(t, filepath.WalkDir(source+"/sealed", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return os.WriteFile(filepath.Join(dir, strings.TrimPrefix(path, source+"/sealed")), data, 0o644)
	}))
	// What a checkout's umask may have made of the modes.
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.Type()&os.ModeSymlink != 0 {
			return err
		}
		info, err := e.Info()
		require.NoError(t, err)
		if e.IsDir() || info.Mode()&0o100 != 0 {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	}))
	return dir
}

func edit(t *testing.T, path, old, with string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), old)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), old, with, 1)), 0o644))
}

func TestUsage(t *testing.T) {
	dir := sealedSuite(t)
	parent := filepath.Dir(dir)
	require.Equal(t, exitGood, runCommand(t, "pack", dir, "-o", filepath.Join(parent, "suite.tar")).status)
	tests := map[string]struct {
		args []string
		want string
	}{
		"a mistyped command":        {[]string{"validat", dir}, `there is no command "validat"; did you mean validate?`},
		"a path for a command":      {[]string{dir}, "to look at a suite: agentsuite-llb validate " + dir},
		"an unknown command":        {[]string{"frobnicate"}, "there are "},
		"a mistyped flag":           {[]string{"validate", "--formt", "json", dir}, "unknown flag: --formt; did you mean --format?"},
		"an unknown flag":           {[]string{"validate", "--quite-different", dir}, "unknown flag: --quite-different"},
		"an unknown short flag":     {[]string{"validate", "-x", dir}, "unknown shorthand flag"},
		"a mistyped format":         {[]string{"validate", "--format", "jsn", dir}, "did you mean json? There are text, json"},
		"a flag without its value":  {[]string{"validate", dir, "--format"}, "flag needs an argument"},
		"no path":                   {[]string{"validate"}, "PATH is missing: give the suite to validate"},
		"an empty path":             {[]string{"validate", ""}, "PATH is empty"},
		"two paths":                 {[]string{"validate", dir, dir}, "one argument is expected, but there are 2"},
		"a mistyped path":           {[]string{"validate", filepath.Join(parent, "workshp")}, "did you mean " + dir + "?"},
		"a path of nothing":         {[]string{"validate", filepath.Join(parent, "elsewhere", "x")}, "a suite is a directory with agentsuite.json in it"},
		"the document":              {[]string{"validate", filepath.Join(dir, "agentsuite.json")}, "give the directory that it lies in, " + dir},
		"the directory above":       {[]string{"validate", parent}, "did you mean " + dir + "?"},
		"a directory of the suite":  {[]string{"validate", filepath.Join(dir, "agents")}, "holds neither agentsuite.json nor oci-layout"},
		"a pin without an equals":   {[]string{"seal", dir, "--pin", "registry.example/base"}, "is not of the form REPOSITORY=oci-layout://DIR"},
		"a pin to a registry":       {[]string{"seal", dir, "--pin", "registry.example/base=docker://x"}, "is not of the form REPOSITORY=oci-layout://DIR"},
		"a pin given twice":         {[]string{"seal", dir, "--pin", "a.b/c=oci-layout://x", "--pin", "a.b/c=oci-layout://y"}, `--pin names "a.b/c" twice`},
		"seal of nothing":           {[]string{"seal", filepath.Join(parent, "workshp")}, "did you mean " + dir + "?"},
		"a label without a value":   {[]string{"plan", dir, "--label", "team"}, `--label "team" is not NAME=VALUE`},
		"an argument without one":   {[]string{"build", dir, "--build-arg", "AGENTSUITE_MERGE"}, `--build-arg "AGENTSUITE_MERGE" is not NAME=VALUE`},
		"a context of no place":     {[]string{"build", dir, "--build-context", "a.b/c"}, `--build-context "a.b/c" is neither`},
		"a build of an archive":     {[]string{"build", filepath.Join(parent, "suite.tar")}, "is an archive, and a builder reads directories; make an OCI layout directory of it: agentsuite-llb pack "},
		"the LLB of an archive":     {[]string{"llb", filepath.Join(parent, "suite.tar"), "--frontend", "a.b/c@sha256:" + strings.Repeat("0", 64)}, "is an archive, and a builder reads directories"},
		"a build of nothing":        {[]string{"build", filepath.Join(parent, "workshp")}, "did you mean " + dir + "?"},
		"a platform of no builder":  {[]string{"llb", dir, "--frontend", "a.b/c@sha256:" + strings.Repeat("0", 64), "--build-platform", "linux/x"}, `--build-platform "linux/x" is neither linux/amd64 nor linux/arm64`},
		"a platform of no image":    {[]string{"plan", dir, "--platform", "linux/x"}, `--platform "linux/x" is neither linux/amd64 nor linux/arm64`},
		"pack to nowhere":           {[]string{"pack", dir}, "say where to write: -o OUT"},
		"pack to an unknown form":   {[]string{"pack", dir, "-o", filepath.Join(parent, "x"), "--format", "oci-layout-tr"}, "did you mean oci-layout-tar?"},
		"an unknown schema":         {[]string{"schema", "agnet"}, "did you mean agent?"},
		"two schemas":               {[]string{"schema", "agent", "composition"}, "one schema is printed at a time"},
		"a version of something":    {[]string{"version", "x"}, "no argument is expected"},
		"a flag of another command": {[]string{"validate", dir, "--check"}, "unknown flag: --check"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, test.args...)
			require.Equal(t, exitTrouble, got.status, got.stderr)
			require.Empty(t, got.stdout, "results only")
			require.Contains(t, got.stderr, test.want)
			require.True(t, strings.HasPrefix(got.stderr, "agentsuite-llb: "), got.stderr)
			require.NotContains(t, got.stderr, "Flags:", "no help where an error was asked for")

			asJSON := runCommand(t, append(test.args, "--format=json")...)
			document := asJSON.oneDocument(t)
			require.Equal(t, exitTrouble, asJSON.status)
			require.Equal(t, false, document["valid"])
			require.NotEmpty(t, document["error"])
			require.Empty(t, asJSON.stderr)
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help"}, {"help", "seal"}, {"validate", "--help"}} {
		got := runCommand(t, args...)
		require.Equal(t, exitGood, got.status)
		require.Contains(t, got.stdout, "Usage:")
		require.Empty(t, got.stderr)
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	for _, cmd := range newRootCommand(&streams{}).Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "version" {
			require.NotEmpty(t, cmd.Example, cmd.Name())
		}
		require.NotEmpty(t, cmd.Short, cmd.Name())
	}
}

func TestValidate(t *testing.T) {
	dir := sealedSuite(t)

	t.Run("a valid suite", func(t *testing.T) {
		got := runCommand(t, "validate", dir)
		require.Equal(t, exitGood, got.status, got.stdout+got.stderr)
		require.Equal(t, "workshop conformant: 2 agents, 3 tool providers, 1 tool-provider compositions, 3 compositions; capabilities: bundled-stdio-mcp\n", got.stdout)
		require.Contains(t, got.stderr, "warning (AgentWithoutEvaluations)")

		got = runCommand(t, "validate", "--format", "json", dir)
		require.Equal(t, exitGood, got.status)
		document := got.oneDocument(t)
		require.Equal(t, true, document["valid"])
		require.EqualValues(t, 2, document["report"].(map[string]any)["agents"])
		require.NotEmpty(t, document["warnings"])
		require.Empty(t, got.stderr)
	})
	t.Run("an archive on standard input", func(t *testing.T) {
		tar := filepath.Join(t.TempDir(), "suite.tar")
		require.Equal(t, exitGood, runCommand(t, "pack", dir, "-o", tar).status)
		f, err := os.Open(tar)
		require.NoError(t, err)
		defer f.Close()
		got := runWithInput(t, f, "validate", "-")
		require.Equal(t, exitGood, got.status, got.stdout+got.stderr)
		require.Contains(t, got.stdout, "workshop conformant")
	})
	t.Run("an invalid suite", func(t *testing.T) {
		dir := sealedSuite(t)
		edit(t, filepath.Join(dir, "instructions/writer.md"), "Write", "Rewrite")
		got := runCommand(t, "validate", dir)
		require.Equal(t, exitInvalid, got.status)
		require.Contains(t, got.stdout, "agents/writer.json:8:13: digest (AS-ID-001): instructions/writer.md is sha256:")
		require.Contains(t, got.stderr, "1 problem\n")

		got = runCommand(t, "validate", "--format", "json", dir)
		require.Equal(t, exitInvalid, got.status)
		document := got.oneDocument(t)
		require.Equal(t, false, document["valid"])
		problems := document["errors"].([]any)
		require.Len(t, problems, 1)
		require.Equal(t, "/instructions/digest", problems[0].(map[string]any)["pointer"])
	})
	t.Run("no suite at all on standard input", func(t *testing.T) {
		got := runWithInput(t, strings.NewReader("nothing of the kind"), "validate", "-", "--format", "json")
		require.Equal(t, exitInvalid, got.status)
		require.Equal(t, false, got.oneDocument(t)["valid"])
	})
}

func TestSeal(t *testing.T) {
	dir := sealedSuite(t)
	got := runCommand(t, "seal", dir, "--check")
	require.Equal(t, outcome{exitGood, "", got.stderr}, got)
	require.Contains(t, got.stderr, "workshop is sealed\n")
	require.Contains(t, got.stderr, "note: drafts/next.json: nothing in the suite references this document")

	edit(t, filepath.Join(dir, "instructions/writer.md"), "Write", "Rewrite")
	got = runCommand(t, "seal", "--check", dir)
	require.Equal(t, outcome{exitInvalid, "agents/writer.json\nagentsuite.json\n", got.stderr}, got)
	require.Contains(t, got.stderr, "workshop is not sealed: 2 documents would change\n")
	got = runCommand(t, "seal", "--check", "--format", "json", dir)
	require.Equal(t, exitInvalid, got.status)
	require.Equal(t, []any{"agents/writer.json", "agentsuite.json"}, got.oneDocument(t)["changed"])

	got = runCommand(t, "seal", dir)
	require.Equal(t, outcome{exitGood, "agents/writer.json\nagentsuite.json\n", got.stderr}, got)
	require.Contains(t, got.stderr, "workshop is sealed: 2 documents written\n")
	require.Equal(t, exitGood, runCommand(t, "validate", dir).status)

	require.NoError(t, os.Remove(filepath.Join(dir, "instructions/writer.md")))
	got = runCommand(t, "seal", dir)
	require.Equal(t, exitInvalid, got.status)
	require.Empty(t, got.stdout)
	require.Contains(t, got.stderr, "graph (AS-GRAPH-001)")
	document := runCommand(t, "seal", dir, "--format=json").oneDocument(t)
	require.Len(t, document["errors"], 1)
}

func TestPack(t *testing.T) {
	dir := sealedSuite(t)
	digests := map[string]bool{}
	for _, out := range []string{"layout", "suite.tar", "suite.tar.gz", "suite.tgz"} {
		out = filepath.Join(t.TempDir(), out)
		got := runCommand(t, "pack", dir, "-o", out)
		require.Equal(t, exitGood, got.status, got.stderr)
		require.Regexp(t, `^sha256:[0-9a-f]{64}\n$`, got.stdout)
		digests[got.stdout] = true
		require.Equal(t, exitGood, runCommand(t, "validate", out).status)
	}
	require.Len(t, digests, 1, "one suite has one digest")

	t.Run("an invalid suite", func(t *testing.T) {
		dir := sealedSuite(t)
		edit(t, filepath.Join(dir, "instructions/writer.md"), "Write", "Rewrite")
		out := filepath.Join(t.TempDir(), "suite.tar")
		got := runCommand(t, "pack", dir, "-o", out)
		require.Equal(t, exitInvalid, got.status)
		require.Empty(t, got.stdout)
		require.Contains(t, got.stderr, "digest (AS-ID-001)")
		require.NoFileExists(t, out)
	})
}

func TestSchema(t *testing.T) {
	got := runCommand(t, "schema")
	require.Equal(t, exitGood, got.status)
	names := strings.Fields(got.stdout)
	require.Contains(t, names, "agent")
	for _, name := range names {
		byName := runCommand(t, "schema", name)
		require.Equal(t, exitGood, byName.status)
		require.Equal(t, "https://json-schema.org/draft/2020-12/schema", byName.oneDocument(t)["$schema"])
	}
	require.Equal(t, runCommand(t, "schema", "agent"), runCommand(t, "schema", "application/vnd.agentsuite.agent.v1+json"))
}

func TestVersion(t *testing.T) {
	got := runCommand(t, "version")
	require.Equal(t, exitGood, got.status)
	require.Contains(t, got.stdout, "AgentSuite 1.0.0-draft\n")
	require.Equal(t, "1.0.0-draft", runCommand(t, "version", "--format", "json").oneDocument(t)["spec"])
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	status := run(ctx, []string{"validate", sealedSuite(t)}, nil, &stdout, &stderr)
	require.Equal(t, exitTrouble, status)
	require.Equal(t, "agentsuite-llb: interrupted\n", stderr.String())
	require.Empty(t, stdout.String())
}

// What others say in an error controls no terminal and is no line of ours.
func TestTroubleControlsNoTerminal(t *testing.T) {
	var stderr bytes.Buffer
	s := &streams{err: &stderr}
	s.trouble(errors.New("denied: \x1b]0;owned\a\u009b31m\r\n\tagentsuite-llb: all is well"))
	require.Equal(t, `agentsuite-llb: denied: \u001b]0;owned\u0007\u009b31m`+"\n    agentsuite-llb: all is well\n", stderr.String())
}

// Nobody has to type or to write on for the program to end.
func TestInterruptedWhileWaiting(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = w.Write([]byte("\x1f\x8b"))
		cancel()
	}()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitTrouble, run(ctx, []string{"validate", "-"}, r, &stdout, &stderr))
	require.Equal(t, "agentsuite-llb: interrupted\n", stderr.String())
}

// Whoever reads our output may stop reading, as head does. That is no error worth a word.
func TestOutputThatNobodyReads(t *testing.T) {
	t.Run("in process", func(t *testing.T) {
		r, w := io.Pipe()
		require.NoError(t, r.Close())
		var stderr bytes.Buffer
		status := run(t.Context(), []string{"schema", "agent"}, nil, w, &stderr)
		require.Equal(t, exitTrouble, status)
		require.Empty(t, stderr.String())
	})
	t.Run("as a process", func(t *testing.T) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		defer w.Close()
		var stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), os.Args[0], "schema", "agent")
		cmd.Env = append(os.Environ(), runAsProgram+"=1")
		cmd.Stdout, cmd.Stderr = w, &stderr
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Run(), &exit)
		require.Empty(t, stderr.String())
	})
	t.Run("a full disk is worth a word", func(t *testing.T) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("this system has no /dev/full")
		}
		defer full.Close()
		var stderr bytes.Buffer
		require.Equal(t, exitTrouble, run(t.Context(), []string{"schema", "agent"}, nil, full, &stderr))
		require.Contains(t, stderr.String(), "no space left on device")
	})
}
