package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

const programName = "agentsuite-llb"

func newRootCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   programName,
		Short: "Author, validate, build and verify AgentSuite suites",
		Long: `agentsuite-llb works on suites of AgentSuite 1.0.0-draft: it seals what you author, validates and packs it,
shows what its images will hold, builds them with BuildKit, and verifies them.

A suite is given as an extracted directory (with agentsuite.json in it), an OCI layout directory, an OCI layout tar,
or a content tar+gzip.

Exit status: 0 done and good; 1 what was looked at is invalid or differs; 2 usage, I/O or daemon trouble.
Results go to standard output, everything else to standard error.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetIn(s.in)
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	cmd.SetFlagErrorFunc(flagError)
	cmd.AddCommand(
		newValidateCommand(s),
		newSealCommand(s),
		newPackCommand(s),
		newPlanCommand(s),
		newLLBCommand(s),
		newBuildCommand(s),
		newVerifyCommand(s),
		newSchemaCommand(s),
		newVersionCommand(s),
		newToolCommand(),
	)
	return cmd
}

// usageError is a mistake in the arguments of a command, whose help tells how to do it right.
type usageError struct {
	error
	command string
}

func (e *usageError) Unwrap() error { return e.error }

func misuse(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	name := args[0]
	if meant, ok := problem.Suggest(name, names); ok {
		return misuse(cmd, "there is no command %s; did you mean %s?", problem.Quoted(name), meant)
	}
	if _, err := os.Lstat(name); err == nil {
		return misuse(cmd, "%s is no command; to look at a suite: %s validate %s", problem.Quoted(name), programName, problem.Printable(name))
	}
	return misuse(cmd, "there is no command %s; there are %s", problem.Quoted(name), strings.Join(names, ", "))
}

// flagError makes a usage error of what pflag found, with the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if meant, ok := problem.Suggest(unknown.GetSpecifiedName(), names); ok {
			return misuse(cmd, "%w; did you mean --%s?", err, meant)
		}
	}
	return misuse(cmd, "%w", err)
}

// oneArgument asks for exactly one argument and tells what it has to be.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return misuse(cmd, "%s is missing: %s", strings.Fields(cmd.Use)[1], what)
		case len(args) > 1:
			return misuse(cmd, "one argument is expected, but there are %d: %s", len(args), what)
		case args[0] == "":
			return misuse(cmd, "%s is empty: %s", strings.Fields(cmd.Use)[1], what)
		}
		return nil
	}
}
