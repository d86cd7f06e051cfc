package problem_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func TestQuoted(t *testing.T) {
	require.Equal(t, `"a"`, problem.Quoted("a"))
	require.Equal(t, `"a\u001b[0m\u000a"`, problem.Quoted("a\x1b[0m\n"))
	require.Equal(t, `"`+strings.Repeat("ü", 80)+`"`, problem.Quoted(strings.Repeat("ü", 80)))
	require.Equal(t, `"`+strings.Repeat("ü", 80)+`…"`, problem.Quoted(strings.Repeat("ü", 81)))
}

// A credential is not shown, not even in part where a text is cut.
func TestQuotedHidesCredentials(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2c3", 6)
	require.Equal(t, `"(a GitHub token, not shown)"`, problem.Quoted(token))
	quoted := problem.Quoted(strings.Repeat("x", 60) + " " + token)
	require.NotContains(t, quoted, "ghp_")
	require.NotContains(t, problem.Quoted(strings.Repeat("x", 79)+" "+token), "ghp")
}

// Whatever a message is made of, and wherever it is about, no credential is shown.
func TestProblemsHideCredentials(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2c3", 6)
	at := problem.Place{Path: "agents/" + token + ".json", Pointer: "/" + token, Line: 1, Column: 1}
	for _, found := range []fmt.Stringer{
		problem.New(problem.GraphMissing, at, "there is no %s", token),
		problem.NewWarning(problem.DescriptionMissing, at, "there is no %s", token),
	} {
		text, err := json.Marshal(found)
		require.NoError(t, err)
		for _, shown := range []string{found.String(), string(text)} {
			require.NotContains(t, shown, "ghp_")
			require.Contains(t, shown, "there is no (a GitHub token, not shown)")
		}
	}
	require.Equal(t, "agents/(a GitHub token, not shown).json:1:1", at.String())
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ünïcode, 日本語": "plain, ünïcode, 日本語",
		"tab\tand\nline":      `tab\u0009and\u000aline`,
		"\u202eright to left": `\u202eright to left`,
		"a\u200fb\u061c":      `a\u200fb\u061c`,
		"no \xff UTF-8":       `no \xff UTF-8`,
		"replaced \ufffd":     "replaced \ufffd",
	} {
		require.Equal(t, want, problem.Printable(text))
	}
}

func TestCounted(t *testing.T) {
	for want, noun := range map[string]string{"0 entries": "entry", "1 entry": "entry", "2 entries": "entry", "3 problems": "problem"} {
		require.Equal(t, want, problem.Counted(int(want[0]-'0'), noun))
	}
}

func TestJoin(t *testing.T) {
	require.Empty(t, problem.Join(nil, "or"))
	require.Equal(t, "a", problem.Join([]string{"a"}, "or"))
	require.Equal(t, "a and b", problem.Join([]string{"a", "b"}, "and"))
	require.Equal(t, "a, b or c", problem.Join([]string{"a", "b", "c"}, "or"))
}
