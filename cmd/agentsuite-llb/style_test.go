package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func TestStyleOfATerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as a terminal is
	require.NoError(t, err)
	defer null.Close()
	env := func(name, value string) func(string) string {
		return func(n string) string {
			if n == name {
				return value
			}
			return ""
		}
	}
	require.Equal(t, style{excerpts: true, colour: true}, newStyle(null, env("TERM", "xterm")))
	require.Equal(t, style{excerpts: true}, newStyle(null, env("NO_COLOR", "1")))
	require.Equal(t, style{excerpts: true}, newStyle(null, env("TERM", "dumb")))
	require.Equal(t, style{}, newStyle(&strings.Builder{}, env("TERM", "xterm")))
	file, err := os.Create(t.TempDir() + "/out")
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, style{}, newStyle(file, env("TERM", "xterm")))
}

func TestPrintProblems(t *testing.T) {
	index := &content.Index{Texts: map[string][]byte{
		"agents/writer.json":   []byte("{\n\t\"id\": \"wríter\",\r\n\t\"x\": 1\n}"),
		"agents/secret.json":   []byte("{\n  \"token\": \"ghp_x\"\n}"),
		"evals/w/cases/a.json": []byte("{\n  \"value\": \"operand\"\n}"),
		"prose.md":             []byte("a key"),
	}}
	at := func(path string, line, column int) problem.Place {
		return problem.Place{Path: path, Line: line, Column: column}
	}
	problems := []problem.Problem{
		problem.New(problem.JSONUnknownMember, at("agents/writer.json", 3, 2), "unknown"),
		problem.New(problem.GraphUnknown, at("agents/writer.json", 2, 17), "at the end"),
		problem.New(problem.SecretLiteral, at("agents/secret.json", 2, 12), "a credential"),
		problem.New(problem.JSONUnknownMember, at("agents/secret.json", 1, 1), "beside it"),
		problem.New(problem.EvalCase, at("evals/w/cases/a.json", 2, 3), "a case"),
		problem.New(problem.OCIIndex, problem.Place{}, "the whole"),
		problem.New(problem.PathMode, problem.Place{Path: "bin/x"}, "an entry"),
		problem.New(problem.JSONSyntax, at("agents/writer.json", 99, 1), "beyond the text"),
	}
	warnings := []problem.Warning{{Rule: problem.CredentialInProse, Place: at("prose.md", 1, 1), Message: "looks like one"}}
	printed := func(s style) string {
		var out strings.Builder
		page{&out, s}.printProblems(suite.NewExcerpts(index, problems, warnings), problems, warnings)
		return out.String()
	}
	url := problem.CredentialInProse.URL()

	t.Run("on a pipe", func(t *testing.T) {
		require.Equal(t, `agents/writer.json:3:2: json (AS-JSON-001): unknown
agents/writer.json:2:17: graph (AS-GRAPH-001): at the end
agents/secret.json:2:12: security (AS-SECRET-001): a credential
agents/secret.json:1:1: json (AS-JSON-001): beside it
evals/w/cases/a.json:2:3: evaluation (AS-EVAL-001): a case
oci (AS-OCI-001): the whole
bin/x: path (AS-PATH-001): an entry
agents/writer.json:99:1: json (AS-JSON-001): beyond the text
prose.md:1:1: warning (CredentialInProse): looks like one (`+url+`)
`, printed(style{}))
	})
	t.Run("on a terminal", func(t *testing.T) {
		require.Equal(t, `agents/writer.json:3:2: json (AS-JSON-001): unknown
    3 │  "x": 1
      │  ^
agents/writer.json:2:17: graph (AS-GRAPH-001): at the end
    2 │  "id": "wríter",
      │                ^
agents/secret.json:2:12: security (AS-SECRET-001): a credential
agents/secret.json:1:1: json (AS-JSON-001): beside it
evals/w/cases/a.json:2:3: evaluation (AS-EVAL-001): a case
oci (AS-OCI-001): the whole
bin/x: path (AS-PATH-001): an entry
agents/writer.json:99:1: json (AS-JSON-001): beyond the text
prose.md:1:1: warning (CredentialInProse): looks like one (`+url+`)
`, printed(style{excerpts: true}))
	})
	t.Run("in colour", func(t *testing.T) {
		require.Contains(t, printed(style{colour: true}), "\x1b[1magents/writer.json:3:2\x1b[0m: \x1b[31mjson (AS-JSON-001)\x1b[0m: unknown\n")
	})
}

func TestExcerptOfALongLine(t *testing.T) {
	line := strings.Repeat("a", 300) + "X" + strings.Repeat("b", 300)
	before, cut := excerpt([]byte(line), 300)
	runes := []rune(cut)
	require.Equal(t, 'X', runes[before])
	require.Equal(t, '…', runes[0])
	require.Equal(t, '…', runes[len(runes)-1])
	require.LessOrEqual(t, len(runes), excerptWidth+1)

	before, cut = excerpt([]byte("\x1b[31m\u202eevil"), 5)
	require.Equal(t, `\u001b[31m\u202eevil`, cut, "nothing of a suite controls the terminal")
	require.Equal(t, len(`\u001b[31m`), before)
	before, cut = excerpt([]byte(strings.Repeat("ü", 1<<20)), 1<<20)
	require.Equal(t, "…"+strings.Repeat("ü", 99)+"…", cut)
	require.Equal(t, 51, before)
	before, cut = excerpt([]byte("short"), 99)
	require.Equal(t, "short", cut)
	require.Equal(t, 5, before)
}
