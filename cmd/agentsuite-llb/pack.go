package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

func newPackCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pack PATH -o OUT",
		Short: "Write a suite as an artifact, byte-identical on every machine",
		Long: `Write a valid suite as an OCI layout directory, an OCI layout tar or a content tar+gzip, byte-identical on every
machine, and print the digest of its OCI manifest.

Without --format the name of OUT decides: .tar is an OCI layout tar, .tar.gz and .tgz are a content tar+gzip, and
everything else is an OCI layout directory.`,
		Example: `  agentsuite-llb pack ./suite -o suite.tar
  agentsuite-llb pack ./suite -o out/layout --format oci-layout`,
		Args: oneArgument("give the suite to pack, " + suiteForms),
	}
	format := &choice{among: []string{string(content.FormOCILayout), string(content.FormOCILayoutTar), string(content.FormContentTarGzip)}}
	out := cmd.Flags().StringP("output", "o", "", "where to write; must not exist")
	cmd.Flags().Var(format, "format", "what to write (default: by the name of OUT)")
	complete(cmd, "format", format.among)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *out == "" {
			return misuse(cmd, "say where to write: -o OUT")
		}
		form := content.Form(format.value)
		if form == "" {
			form = formOf(*out)
		}
		if err := checkPath(args[0]); err != nil {
			return err
		}
		digest, err := content.Pack(cmd.Context(), args[0], *out, form, content.PackOptions{
			Limits: content.DefaultLimits(),
			Check: func(index *content.Index) error {
				s.index = index
				_, report, err := suite.Validate(cmd.Context(), index, content.DefaultLimits())
				if err != nil {
					return err
				}
				s.messages().printProblems(suite.NewExcerpts(index, report.Problems, report.Warnings), nil, report.Warnings)
				return report.Err()
			},
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(s.out, digest)
		return nil
	}
	return cmd
}

// formOf tells from a name what is meant to be written there.
func formOf(out string) content.Form {
	switch {
	case strings.HasSuffix(out, ".tar.gz"), strings.HasSuffix(out, ".tgz"):
		return content.FormContentTarGzip
	case strings.HasSuffix(out, ".tar"):
		return content.FormOCILayoutTar
	default:
		return content.FormOCILayout
	}
}
