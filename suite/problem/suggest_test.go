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
