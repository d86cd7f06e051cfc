package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func newValidateCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate PATH",
		Short: "Check a suite against everything the specification demands",
		Long: `Check a suite against everything that the specification demands of it, and tell all problems at once.

PATH is ` + suiteForms + `; - is an archive on standard input. A valid suite is one line on
standard output; of an invalid one, each problem says where it is, what was expected and what was found. Warnings,
on standard error, do not make a suite invalid.`,
		Example: `  agentsuite-llb validate ./suite
  agentsuite-llb validate --format json suite.tar | jq '.errors[].message'
  curl -s https://example.org/suite.tar | agentsuite-llb validate -`,
		Args: oneArgument("give the suite to validate, " + suiteForms + ", or - for standard input"),
	}
	format := addFormatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		index, err := s.openSuite(cmd.Context(), args[0], content.Options{})
		if err != nil {
			return err
		}
		_, report, err := suite.Validate(cmd.Context(), index, content.DefaultLimits())
		if err != nil {
			return err
		}
		if format.value == "json" {
			if err := s.printJSON(report); err != nil {
				return err
			}
		} else {
			s.printReport(index, report)
		}
		if !report.Valid() {
			return errInvalid
		}
		return nil
	}
	return cmd
}

func (s *streams) printReport(index *content.Index, report *suite.Report) {
	excerpts := suite.NewExcerpts(index, report.Problems, report.Warnings)
	s.results().printProblems(excerpts, report.Problems, nil)
	s.messages().printProblems(excerpts, nil, report.Warnings)
	if report.Omitted > 0 {
		s.note("%s not shown", problem.Counted(report.Omitted, "further finding"))
	}
	if report.Valid() {
		fmt.Fprintln(s.out, s.outStyle.paint(green, report.Summary()))
		return
	}
	s.note("%s", problem.Counted(len(report.Problems), "problem"))
}
