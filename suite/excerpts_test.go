package suite_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func TestExcerpts(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1", 18)
	index := &content.Index{Texts: map[string][]byte{
		"agents/a.json":         []byte("{\n\"x\": 1\n}"),
		"agents/escaped.json":   []byte("{\n\"x\": \"\\u0067" + token[1:] + "\"\n}"),
		"agents/cut.json":       []byte("{\n\"x\": \"" + token + "\n}"),
		"evals/a/cases/c1.json": []byte("{\n\"input\": \"operand\"\n}"),
		"elsewhere.json":        []byte("{\n\"mediaType\": \"" + suite.MediaTypeEvalCase + "\",\n\"input\": \"operand\"\n}"),
		"instructions/a.md":     []byte("Be kind.\nUse " + token + ".\n"),
		"instructions/b.md":     []byte("Be kind.\nAlways.\n"),
	}}
	at := func(path string) problem.Place { return problem.Place{Path: path, Line: 2, Column: 1} }
	e := suite.NewExcerpts(index,
		[]problem.Problem{problem.New(problem.SecretLiteral, at("agents/escaped.json"), "found")},
		[]problem.Warning{problem.NewWarning(problem.CredentialInProse, at("instructions/b.md"), "found")})
	require.Equal(t, index.Texts["agents/a.json"], e.Text(at("agents/a.json")))
	for path, why := range map[string]string{
		"agents/escaped.json":   "a document in which validation found a credential",
		"agents/cut.json":       "a document with a credential that cannot be read",
		"instructions/a.md":     "prose with a credential",
		"instructions/b.md":     "prose in which validation found a credential",
		"evals/a/cases/c1.json": "an evaluation",
		"elsewhere.json":        "an evaluation in the wrong place",
		"missing.json":          "what is not there",
	} {
		for range 2 {
			require.Nil(t, e.Text(at(path)), why)
		}
	}
	require.Nil(t, e.Text(problem.Place{Path: "agents/a.json"}), "no line")
	require.Nil(t, suite.NewExcerpts(nil, nil, nil).Text(at("agents/a.json")))
	var none *suite.Excerpts
	require.Nil(t, none.Text(at("agents/a.json")))
}

func TestExcerptLines(t *testing.T) {
	e := suite.NewExcerpts(&content.Index{Texts: map[string][]byte{
		"a.json": []byte("1\n2\r\n3\n\n5"),
		"b.json": []byte("one\n"),
	}}, nil, nil)
	lines := func(path string, line, around int) (int, string) {
		first, lines := e.Lines(problem.Place{Path: path, Line: line, Column: 1}, around)
		return first, string(bytes.Join(lines, []byte("|")))
	}
	for _, tc := range []struct {
		path                string
		line, around, first int
		lines               string
	}{
		{"a.json", 1, 0, 1, "1"},
		{"a.json", 2, 0, 2, "2"},
		{"b.json", 1, 0, 1, "one"},
		{"a.json", 5, 0, 5, "5"},
		{"a.json", 3, 1, 2, "2|3|"},
		{"a.json", 1, 9, 1, "1|2|3||5"},
		{"a.json", 6, 0, 0, ""},
		{"a.json", 1 << 40, 3, 0, ""},
		{"missing.json", 1, 0, 0, ""},
	} {
		first, got := lines(tc.path, tc.line, tc.around)
		require.Equal(t, tc.first, first, tc)
		require.Equal(t, tc.lines, got, tc)
	}
}
