package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/seal"
)

func newSealCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seal DIR",
		Short: "Compute every digest, inventory and composition of a suite and write them into its documents",
		Long: `Compute everything in a suite that follows from the rest, bottom-up, and write it into the documents: digests of files
and documents, inventories of payloads, variant digests, the resolved tool providers of compositions, capabilities.
Your formatting and everything else that you wrote stays as it is. What you have to decide is not made up: identities,
versions, platforms, profiles, and which documents the suite has.

Nothing is written unless the whole suite, as sealed, is valid. The paths of the documents that changed are printed.`,
		Example: `  agentsuite-llb seal ./suite
  agentsuite-llb seal --check ./suite
  agentsuite-llb seal ./suite --pin registry.example/base=oci-layout://build/base`,
		Args: oneArgument("give the directory of the suite, the one with agentsuite.json in it"),
	}
	check := cmd.Flags().Bool("check", false, "write nothing; exit 1 if a document would change, and print which")
	pins := cmd.Flags().StringArray("pin", nil, "let build profiles pin the images of a repository as an OCI layout has them: `REPOSITORY=oci-layout://DIR`")
	format := addFormatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts := seal.Options{Check: *check, Limits: content.DefaultLimits()}
		for _, pin := range *pins {
			p, err := parsePin(cmd, pin)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(opts.Pins, func(q seal.Pin) bool { return q.Repository == p.Repository }) {
				return misuse(cmd, "--pin names %s twice", problem.Quoted(p.Repository))
			}
			opts.Pins = append(opts.Pins, p)
		}
		if err := checkPath(args[0]); err != nil {
			return err
		}
		result, err := seal.Seal(cmd.Context(), args[0], opts)
		if result != nil {
			s.index = result.Index
		}
		if err != nil {
			return err
		}
		if format.value == "json" {
			if err := s.printJSON(newSealJSON(result)); err != nil {
				return err
			}
		} else {
			s.printSealed(result, *check)
		}
		if *check && len(result.Changed) > 0 {
			return errInvalid
		}
		return nil
	}
	return cmd
}

func (s *streams) printSealed(result *seal.Result, check bool) {
	for _, path := range result.Changed {
		fmt.Fprintln(s.out, problem.Printable(path))
	}
	for _, n := range result.Notes {
		s.note("note: %s: %s", problem.Printable(n.Path), n.Message)
	}
	if n := len(result.Report.Warnings); n > 0 {
		s.note("%s, which %s validate shows", problem.Counted(n, "warning"), programName)
	}
	switch n := len(result.Changed); {
	case n == 0:
		s.note("%s is sealed", result.Report.Name)
	case check:
		s.note("%s is not sealed: %s would change", result.Report.Name, problem.Counted(n, "document"))
	default:
		s.note("%s is sealed: %s written", result.Report.Name, problem.Counted(n, "document"))
	}
}

// sealJSON is the result of sealing for programs.
type sealJSON struct {
	Changed  []string          `json:"changed"`
	Notes    []seal.Note       `json:"notes"`
	Warnings []problem.Warning `json:"warnings"`
}

func newSealJSON(result *seal.Result) sealJSON {
	// Empty lists, not null.
	return sealJSON{
		Changed:  append([]string{}, result.Changed...),
		Notes:    append([]seal.Note{}, result.Notes...),
		Warnings: append([]problem.Warning{}, result.Report.Warnings...),
	}
}

// parsePin reads REPOSITORY=oci-layout://DIR.
func parsePin(cmd *cobra.Command, text string) (seal.Pin, error) {
	repository, address, ok := strings.Cut(text, "=")
	if !ok || repository == "" || !strings.HasPrefix(address, image.ContextLayout+"://") {
		return seal.Pin{}, misuse(cmd, "--pin %s is not of the form REPOSITORY=oci-layout://DIR, as in registry.example/base=oci-layout://build/base", problem.Quoted(text))
	}
	return seal.Pin{
		Repository: repository,
		Manifest: func(ctx context.Context, platform suite.Platform) (suite.Descriptor, error) {
			return ociimage.Manifest(ctx, address, platform, ociimage.Options{})
		},
	}, nil
}
