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

func TestWindowKeepsLineNumbersAndBounds(t *testing.T) {
	text := []byte("one\ntwo\nthree\nfour\nfive\nsix\n" + strings.Repeat("x", 10_000) + "\neight\nnine\nten\neleven\n")
	got := strings.Split(string(window(text, 7)), "\n")
	require.Len(t, got, 10)
	require.Equal(t, []string{"", "", "", "four", "five", "six"}, got[:6])
	require.Equal(t, strings.Repeat("x", excerptColumnBytes)+"…", got[6])
	require.Equal(t, []string{"eight", "nine", "ten"}, got[7:])
}

func TestWindowOfHostilePlaces(t *testing.T) {
	require.NotPanics(t, func() {
		window(nil, 1)
		window([]byte("a"), 1<<20)
		window([]byte("\xff\xfe"), 1)
	})
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
