package frontend

import (
	"errors"
	"strings"
	"testing"

	"github.com/moby/buildkit/solver/errdefs"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func excerptsOf(texts map[string]string) *excerpts {
	index := &content.Index{Texts: map[string][]byte{}}
	for path, text := range texts {
		index.Texts[path] = []byte(text)
	}
	return newExcerpts(index, new(suite.Report))
}

func TestWindowKeepsLineNumbersAndBounds(t *testing.T) {
	e := excerptsOf(map[string]string{"a.json": "one\ntwo\nthree\nfour\nfive\nsix\n" + strings.Repeat("x", 10_000) + "\neight\nnine\nten\neleven\n"})
	got := strings.Split(string(e.at(problem.Place{Path: "a.json", Line: 7, Column: 1}).Info.Data), "\n")
	require.Len(t, got, 10)
	require.Equal(t, []string{"", "", "", "four", "five", "six"}, got[:6])
	require.Equal(t, strings.Repeat("x", excerptColumnBytes)+"…", got[6])
	require.Equal(t, []string{"eight", "nine", "ten"}, got[7:])
}

// A client prints the lines and the name of the document as they come.
func TestExcerptsControlNoTerminal(t *testing.T) {
	path := "a\x1b]0;owned\a.json"
	at := excerptsOf(map[string]string{path: "\xff\xfe\n{\"a\": \"\x1b[31m\u202e\u009b\",\r\n\t1}"}).at(problem.Place{Path: path, Line: 2, Column: 1})
	require.Equal(t, `a\u001b]0;owned\u0007.json`, at.Info.Filename)
	require.Equal(t, `\xff\xfe`+"\n"+`{"a": "\u001b[31m\u202e\u009b",`+"\n  1}", string(at.Info.Data))
}

func TestExcerptsOfHostilePlaces(t *testing.T) {
	e := excerptsOf(map[string]string{"a": "a", "empty": ""})
	for _, line := range []int{-1, 0, 2, 1 << 20} {
		require.Nil(t, e.at(problem.Place{Path: "a", Line: line, Column: 1}))
	}
	require.NotNil(t, e.at(problem.Place{Path: "empty", Line: 1, Column: 99}))
}

// The lines before those that are shown travel too, if empty, so a document of very many lines must not make
// an error that no message has room for.
func TestExcerptsAreBounded(t *testing.T) {
	e := excerptsOf(map[string]string{"a.json": strings.Repeat("\n", 600_000)})
	size := 0
	for range 100 {
		if source := e.at(problem.Place{Path: "a.json", Line: 300_000, Column: 1}); source != nil {
			size += len(source.Info.Data)
		}
	}
	require.NotZero(t, size)
	require.LessOrEqual(t, size, maxExcerptBytes+1000)
}

func TestExcerptsHideWhatNoDiagnosticRepeats(t *testing.T) {
	index := &content.Index{Texts: map[string][]byte{
		"agents/a.json":     []byte("{\n\"x\": 1\n}"),
		"instructions/a.md": []byte("Be kind.\nUse ghp_" + strings.Repeat("a1", 18) + ".\n"),
	}}
	at := func(path string) problem.Place { return problem.Place{Path: path, Line: 2, Column: 1} }
	e := newExcerpts(index, new(suite.Report))
	require.NotNil(t, e.at(at("agents/a.json")))
	require.Nil(t, e.at(at("instructions/a.md")), "what looks like a credential is not shown")
}

func TestWithExcerptsIsBounded(t *testing.T) {
	index := &content.Index{Texts: map[string][]byte{"a.json": []byte(strings.Repeat("{}\n", 100))}}
	var problems []problem.Problem
	for line := 1; line <= 50; line++ {
		problems = append(problems, problem.New(problem.JSONSyntax, problem.Place{Path: "a.json", Line: line, Column: 1}, "problem %d", line))
	}
	err := newExcerpts(index, &suite.Report{Problems: problems}).withExcerpts(problem.AsError(problems))
	require.Len(t, errdefs.Sources(err), maxExcerpts)
	require.ErrorContains(t, err, "problem 50", "every problem is named")

	plain := errors.New("no problem")
	require.Same(t, plain, newExcerpts(index, new(suite.Report)).withExcerpts(plain))
}
