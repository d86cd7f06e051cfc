package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/schemas"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func newSchemaCommand(s *streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of a document, for editors",
		Long: `Print the JSON Schema (2020-12) of a document of a suite or a sandbox image, for editors and other validators.
NAME is the schema's name or the document's media type. Without NAME, list the names.`,
		Example: `  agentsuite-llb schema
  agentsuite-llb schema agent > agent.schema.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse(cmd, "one schema is printed at a time, but there are %d names", len(args))
			}
			return nil
		},
		ValidArgs: schemas.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := fmt.Fprintln(s.out, strings.Join(schemas.Names(), "\n"))
				return err
			}
			name := args[0]
			if known, ok := schemas.ForMediaType(name); ok {
				name = known
			}
			text, ok := schemas.Get(name)
			if !ok {
				if meant, ok := problem.Suggest(name, schemas.Names()); ok {
					return misuse(cmd, "there is no schema %s; did you mean %s?", problem.Quoted(name), meant)
				}
				return misuse(cmd, "there is no schema %s; there are %s", problem.Quoted(name), strings.Join(schemas.Names(), ", "))
			}
			_, err := s.out.Write(text)
			return err
		},
	}
}
