package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// streams is where a command reads and prints.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// outStyle and errStyle are how text looks there: coloured and with excerpts on a terminal, plain on a
	// pipe.
	outStyle, errStyle style
	// json tells that results are one JSON document.
	json bool
	// index is the suite that the command looks at, for excerpts; nil before it is read.
	index *content.Index
}

// results is where results are printed for people; messages is where everything else is.
func (s *streams) results() page  { return page{s.out, s.outStyle} }
func (s *streams) messages() page { return page{s.err, s.errStyle} }

// note prints a line that is no result.
func (s *streams) note(format string, args ...any) {
	fmt.Fprintf(s.err, format+"\n", args...)
}

// printJSON prints the one JSON document of a command.
func (s *streams) printJSON(document any) error {
	e := json.NewEncoder(s.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// failure is the JSON document of a command that has no result. It has the members of a validation, so
// that a program may look at valid before anything else.
type failure struct {
	Valid    bool              `json:"valid"`
	Report   any               `json:"report"`
	Errors   []problem.Problem `json:"errors"`
	Warnings []problem.Warning `json:"warnings"`
	// Error says what kept the command from its work; empty when problems did.
	Error string `json:"error,omitempty"`
}

// failed tells of the error that ended a command, which is a list of problems or trouble.
func (s *streams) failed(err error, problems []problem.Problem) {
	switch {
	case s.json:
		document := failure{Errors: problems, Warnings: []problem.Warning{}}
		if problems == nil {
			document.Errors, document.Error = []problem.Problem{}, problem.Printable(err.Error())
		}
		if err := s.printJSON(document); err != nil && !brokenPipe(err) {
			s.trouble(err)
		}
	case problems != nil:
		s.messages().printProblems(suite.NewExcerpts(s.index, problems, nil), problems, nil)
	default:
		s.trouble(err)
	}
}

// trouble prints an error for a person. Registries, daemons and names of files have their say in it, so it must
// control no terminal, and a line of theirs must not look like one of ours.
func (s *streams) trouble(err error) {
	lines := strings.Split(strings.ReplaceAll(err.Error(), "\t", "  "), "\n")
	for i, line := range lines {
		lines[i] = problem.Printable(strings.TrimSuffix(line, "\r"))
	}
	s.note("%s: %s", programName, strings.Join(lines, "\n  "))
	var usage *usageError
	if errors.As(err, &usage) {
		s.note("Run '%s --help' for what it takes.", usage.command)
	}
}
