package problem_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func TestSuggest(t *testing.T) {
	known := []string{"instructions", "model", "invokes", "id", "evals"}
	for name, want := range map[string]string{
		"instuctions":              "instructions",
		"INSTRUCTIONS":             "instructions",
		"modell":                   "model",
		"invoke":                   "invokes",
		"eval":                     "evals",
		"ID":                       "id",
		"idx":                      "id",
		"zzz":                      "",
		"":                         "",
		"x":                        "",
		"instructionsinstructions": "",
		strings.Repeat("m", 1<<20): "",
	} {
		got, ok := problem.Suggest(name, known)
		require.Equal(t, want, got, "%.40s", name)
		require.Equal(t, want != "", ok)
	}
	_, ok := problem.Suggest("id", nil)
	require.False(t, ok)
}

func TestQuoted(t *testing.T) {
	require.Equal(t, `"a"`, problem.Quoted("a"))
	require.Equal(t, `"a\u001b[0m\u000a"`, problem.Quoted("a\x1b[0m\n"))
	require.Equal(t, `"`+strings.Repeat("ü", 80)+`"`, problem.Quoted(strings.Repeat("ü", 80)))
	require.Equal(t, `"`+strings.Repeat("ü", 80)+`…"`, problem.Quoted(strings.Repeat("ü", 81)))
}
