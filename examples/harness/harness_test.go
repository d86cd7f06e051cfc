package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const secretValue = `hunter2"<&\token`

func oneProvider(behaviour string, tools ...object) imageFixture {
	return imageFixture{providers: []providerFixture{{id: "probe", behaviour: []string{behaviour}, tools: tools}}}
}

func TestShowPrintsTheAgentAndWhatItCanCall(t *testing.T) {
	t.Parallel()
	root := writeImage(t, imageFixture{providers: []providerFixture{
		{id: "alpha", behaviour: []string{"good"}, tools: []object{
			{"name": "echo", "description": "Says it\nagain\x1b[31m."},
			{"name": "fail", "approval": "required"},
		}},
		{id: "beta", behaviour: []string{"good"}, tools: []object{echoTool()}},
	}})
	got := harnessRun(t, root, nil)
	require.Zero(t, got.status, got.stderr)
	require.Empty(t, got.stderr)
	require.Equal(t, fmt.Sprintf(`agent tester on %s
  alpha@1.0.0/echo  Says it again [31m.
  alpha@1.0.0/fail (never called: it requires approval, which this harness cannot ask for)
  beta@1.0.0/echo
`, platformHere()), got.stdout)
}

func TestShowOfAnAgentWithoutTools(t *testing.T) {
	t.Parallel()
	got := harnessRun(t, writeImage(t, imageFixture{}), nil)
	require.Equal(t, outcome{stdout: "agent tester on " + platformHere() + "\n"}, got)
}

func TestCall(t *testing.T) {
	t.Parallel()
	tools := func() []object {
		return []object{
			{"name": "echo", "inputSchema": textOnly, "outputSchema": textOnly},
			{"name": "prose"}, {"name": "fail"},
		}
	}
	for name, tc := range map[string]struct {
		args   []string
		status int
		stdout string
		stderr string // a part of it; nothing means that it is empty
	}{
		"structured result":          {[]string{"echo", `{"text": "one two"}`}, 0, `{"text":"one two"}`, ""},
		"by its full name":           {[]string{"probe@1.0.0/echo", `{"text": "x"}`}, 0, `{"text":"x"}`, ""},
		"content without structure":  {[]string{"prose"}, 0, `{"content":[{"type":"text","text":"plain words, "}]}`, ""},
		"the tool's own failure":     {[]string{"fail"}, 1, "", `probe@1.0.0/fail failed: "no \x1b[31mluck with "`},
		"arguments break the schema": {[]string{"echo", `{"text": 1}`}, 1, "", "do not satisfy its input schema"},
		"arguments are missing":      {[]string{"echo"}, 1, "", "do not satisfy its input schema"},
		"arguments are no object":    {[]string{"echo", `[1]`}, 2, "", "must be one JSON object"},
		"arguments are null":         {[]string{"echo", `null`}, 2, "", "must be one JSON object"},
		"arguments are no JSON":      {[]string{"echo", `{`}, 2, "", "must be one JSON object"},
		"unknown tool": {[]string{"rm"}, 1, "",
			`agent tester declares no tool "rm"; it declares probe@1.0.0/echo, probe@1.0.0/prose, probe@1.0.0/fail`},
		"another version":    {[]string{"probe@2.0.0/echo"}, 1, "", `declares no tool "probe@2.0.0/echo"`},
		"no tool named":      {nil, 2, "", "accepts between 1 and 2 arg(s)"},
		"too many arguments": {[]string{"echo", "{}", "{}"}, 2, "", "accepts between 1 and 2 arg(s)"},
		"unknown flag":       {[]string{"echo", "--frob"}, 2, "", "unknown flag: --frob"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := writeImage(t, oneProvider("good", tools()...))
			got := harnessRun(t, root, nil, append([]string{"call"}, tc.args...)...)
			require.Equal(t, tc.status, got.status, got.stderr)
			require.Equal(t, tc.stdout, strings.TrimSuffix(got.stdout, "\n"))
			if tc.stderr == "" {
				require.Empty(t, got.stderr)
			}
			require.Contains(t, got.stderr, tc.stderr)
		})
	}
}

func TestUnknownCommandIsAUsageError(t *testing.T) {
	t.Parallel()
	got := harnessRun(t, writeImage(t, imageFixture{}), nil, "serve")
	require.Equal(t, 2, got.status)
	require.Contains(t, got.stderr, `unknown command "serve"`)
}

func TestAmbiguousToolMustBeNamedInFull(t *testing.T) {
	t.Parallel()
	root := writeImage(t, imageFixture{providers: []providerFixture{
		{id: "alpha", behaviour: []string{"good"}, tools: []object{echoTool()}},
		{id: "beta", behaviour: []string{"good"}, tools: []object{echoTool()}},
	}})
	got := harnessRun(t, root, nil, "call", "echo")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stderr, `several tools are called "echo"; name one of alpha@1.0.0/echo, beta@1.0.0/echo`)

	got = harnessRun(t, root, nil, "call", "beta@1.0.0/echo", `{"n": 1}`)
	require.Equal(t, outcome{stdout: `{"n":1}` + "\n"}, got)
}

// A refused tool's provider is not even started: the behaviour would crash.
func TestToolsThatNeedWhatTheHarnessLacksAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool object
		want string
	}{
		"approval required": {object{"name": "echo", "approval": "required"}, "requires approval"},
		"unknown approval":  {object{"name": "echo", "approval": "maybe"}, `its approval "maybe" is unknown`},
		"delegated authorization": {object{
			"name": "echo", "effect": "read-only", "approval": "policy-controlled",
			"delegatedAuthorization": object{"service": "search", "scope": "read"},
		}, "delegated authorization"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := harnessRun(t, writeImage(t, oneProvider("crash", tc.tool)), nil, "call", "echo")
			require.Equal(t, 1, got.status)
			require.Contains(t, got.stderr, "probe@1.0.0/echo is not called: ")
			require.Contains(t, got.stderr, tc.want)
			require.NotContains(t, got.stderr, "starting")
		})
	}
}

func TestUndeclaredToolIsReportedAndNeverCallable(t *testing.T) {
	t.Parallel()
	root := writeImage(t, oneProvider("undeclared", echoTool()))
	for _, name := range []string{"back_door", "probe@1.0.0/back_door"} {
		got := harnessRun(t, root, nil, "call", name)
		require.Equal(t, 1, got.status)
		require.Contains(t, got.stderr, "declares no tool "+fmt.Sprintf("%q", name))
	}
	for _, args := range [][]string{nil, {"call", "echo"}} {
		got := harnessRun(t, root, nil, args...)
		require.Zero(t, got.status, got.stderr)
		require.NotContains(t, got.stdout, "back_door")
		require.Contains(t, got.stderr, "probe@1.0.0 offers tools that its manifest does not declare; they cannot be called: ")
		require.Contains(t, got.stderr, "back_door")
	}
}

func TestProviderThatBreaksItsContractIsRefused(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string]string{
		"empty":   "it does not offer what its manifest declares: echo",
		"endless": "listing its tools: more than 4096 tools",
		"old":     `it speaks the MCP revision "2024-11-05", its manifest declares "2025-11-25"`,
		"crash":   `it closed its output instead of answering; its standard error ends with "cannot log in with"`,
		"babble":  "starting",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			root := writeImage(t, oneProvider(behaviour, echoTool()))
			for _, args := range [][]string{nil, {"call", "echo"}} {
				got := harnessRun(t, root, nil, args...)
				require.Equal(t, 1, got.status)
				require.Empty(t, got.stdout)
				require.Contains(t, got.stderr, "tool provider probe@1.0.0: starting: ")
				require.Contains(t, got.stderr, want)
			}
		})
	}
}

func TestAllFailingProvidersAreReported(t *testing.T) {
	t.Parallel()
	root := writeImage(t, imageFixture{providers: []providerFixture{
		{id: "alpha", behaviour: []string{"crash"}, tools: []object{echoTool()}},
		{id: "beta", behaviour: []string{"good"}, tools: []object{echoTool()}},
		{id: "gamma", behaviour: []string{"empty"}, tools: []object{echoTool()}},
	}})
	got := harnessRun(t, root, nil)
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stderr, "alpha@1.0.0: starting")
	require.Contains(t, got.stderr, "gamma@1.0.0: starting")
	require.NotContains(t, got.stderr, "beta")
}

// The provider ignores its input and has started a child; reading the pipe to
// its end proves that neither is left.
func TestHangingProviderIsKilledWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "alive")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	gone := make(chan error, 1)
	go func() {
		pipe, err := os.Open(fifo)
		if err == nil {
			_, err = io.Copy(io.Discard, pipe)
			_ = pipe.Close()
		}
		gone <- err
	}()
	root := writeImage(t, imageFixture{providers: []providerFixture{
		{id: "probe", behaviour: []string{"hang", fifo}, tools: []object{echoTool()}},
	}})
	got := harnessRun(t, root, nil, "--timeout", "1s")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stderr, "tool provider probe@1.0.0: starting: not ready within 1s")
	require.NoError(t, <-gone)
}

func TestCallThatIsNeverAnsweredEnds(t *testing.T) {
	t.Parallel()
	root := writeImage(t, oneProvider("good", object{"name": "stuck"}))
	got := harnessRun(t, root, nil, "--timeout", "1s", "call", "stuck")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stderr, "tool provider probe@1.0.0: calling stuck: no answer within 1s")
}

func TestResultMustSatisfyItsOutputSchema(t *testing.T) {
	t.Parallel()
	root := writeImage(t, oneProvider("good",
		object{"name": "echo", "outputSchema": textOnly}, object{"name": "prose", "outputSchema": textOnly}))
	got := harnessRun(t, root, nil, "call", "echo", `{"number": 1}`)
	require.Equal(t, 1, got.status)
	require.Empty(t, got.stdout)
	require.Contains(t, got.stderr, "probe@1.0.0/echo: its result does not satisfy its output schema")

	got = harnessRun(t, root, nil, "call", "prose")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stderr, "answered without the structured result that it declares")
}

func withEnvironment(behaviour string, inputs []object, tools ...object) imageFixture {
	image := oneProvider(behaviour, tools...)
	image.providers[0].variant = object{"searchPath": []string{"/opt/probe/bin", "/usr/bin"}, "environment": inputs}
	return image
}

func TestProviderSeesOnlyWhatItDeclares(t *testing.T) {
	t.Parallel()
	root := writeImage(t, withEnvironment("good", []object{
		{"name": "REGION", "required": true}, {"name": "UNSET"}, {"name": "PATH"},
	}, object{"name": "environment"}))
	got := harnessRun(t, root, map[string]string{"REGION": "north", "PATH": "/host", "HOME": "/root"}, "call", "environment")
	require.Zero(t, got.status, got.stderr)
	require.JSONEq(t, `{"environment":["REGION=north","PATH=/opt/probe/bin:/usr/bin"]}`, got.stdout)

	// Without any declaration, nothing passes; nil would mean everything.
	root = writeImage(t, oneProvider("good", object{"name": "environment"}))
	got = harnessRun(t, root, map[string]string{"REGION": "north"}, "call", "environment")
	require.JSONEq(t, `{"environment":[]}`, got.stdout, got.stderr)
}

func TestMissingRequiredVariableIsNamed(t *testing.T) {
	t.Parallel()
	root := writeImage(t, withEnvironment("good", []object{{"name": "REGION", "required": true}}, echoTool()))
	got := harnessRun(t, root, nil)
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stderr, "tool provider probe@1.0.0: the environment variable REGION is required and not set")
}

func TestSecretsAreNeverEchoed(t *testing.T) {
	t.Parallel()
	inputs := []object{{"name": "API_TOKEN", "secret": true, "delivery": "env"}}
	environment := map[string]string{"API_TOKEN": secretValue}
	for name, tc := range map[string]struct {
		behaviour string
		args      []string
	}{
		"in what a crash leaves":      {"crash", nil},
		"in a tool's failure":         {"good", []string{"call", "fail"}},
		"in a structured result":      {"good", []string{"call", "environment"}},
		"in a result's content":       {"good", []string{"call", "prose"}},
		"in what a dying tool writes": {"good", []string{"call", "die"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := writeImage(t, withEnvironment(tc.behaviour, inputs,
				object{"name": "fail"}, object{"name": "environment"}, object{"name": "prose"}, object{"name": "die"}))
			got := harnessRun(t, root, environment, tc.args...)
			require.NotContains(t, got.stdout+got.stderr, "hunter2")
			require.Contains(t, got.stdout+got.stderr, "[secret]")
		})
	}
}

func TestFileSecretIsAPathAndNothingElse(t *testing.T) {
	t.Parallel()
	inputs := []object{{"name": "API_TOKEN", "secret": true, "delivery": "file"}}
	root := writeImage(t, withEnvironment("good", inputs, object{"name": "environment"}))
	got := harnessRun(t, root, map[string]string{"API_TOKEN": "/run/secrets/token"}, "call", "environment")
	require.Contains(t, got.stdout, "API_TOKEN=/run/secrets/token", got.stderr)

	got = harnessRun(t, root, map[string]string{"API_TOKEN": secretValue}, "call", "environment")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stderr, "the environment variable API_TOKEN must hold the absolute path of a mounted secret")
	require.NotContains(t, got.stderr, "hunter2")
}

func TestLongStderrKeepsItsEnd(t *testing.T) {
	t.Parallel()
	var tail tailWriter
	line := []byte(strings.Repeat("x", 1000) + "\n")
	for range 2 * maxStderrTail / len(line) {
		n, err := tail.Write(line)
		require.NoError(t, err)
		require.Equal(t, len(line), n)
	}
	_, err := tail.Write([]byte(strings.Repeat("y", 2*maxStderrTail) + "the end"))
	require.NoError(t, err)
	require.Len(t, tail.String(), maxStderrTail)
	require.True(t, strings.HasSuffix(tail.String(), "the end"))
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestResultThatCannotBePrintedIsAFailure(t *testing.T) {
	t.Parallel()
	root := writeImage(t, oneProvider("good", echoTool()))
	for _, args := range [][]string{{"--root", root}, {"--root", root, "call", "echo"}} {
		var stderr strings.Builder
		status := run(t.Context(), args, func(string) (string, bool) { return "", false }, brokenPipe{}, &stderr)
		require.Equal(t, 1, status)
		require.Contains(t, stderr.String(), "broken pipe")
	}
}
