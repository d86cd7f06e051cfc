package problem_test

import (
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

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ünïcode, 日本語": "plain, ünïcode, 日本語",
		"tab\tand\nline":      `tab\u0009and\u000aline`,
		"\u202eright to left": `\u202eright to left`,
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
