package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/verify"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// imageForms says what an image may be given as.
const imageForms = "an OCI layout directory or tar, a tar of docker save, or a registry reference"

func newVerifyCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify IMAGE",
		Short: "Check a sandbox image against everything the specification demands",
		Long: `Read a built image back and check its config, its records below /.agentsuite and its whole filesystem against each
other. Nothing of the image is run. IMAGE is ` + imageForms + `;
of an image for several platforms every one is checked.

With --suite the records are checked against the suite that the image was built from as well; and with --build-context,
the filesystem against the pinned images that lie there.`,
		Example: `  agentsuite-llb verify writer.tar
  agentsuite-llb verify registry.example/writer@sha256:… --format json
  agentsuite-llb verify writer.tar --suite ./suite --build-context registry.example/base=oci-layout://build/base`,
		Args: oneArgument("give the image to verify, " + imageForms),
	}
	platforms := cmd.Flags().StringSlice("platform", nil, "platforms to verify (default: all that the image is for)")
	suitePath := cmd.Flags().String("suite", "", "the suite that the image was built from, in any form")
	places := addContextFlag(cmd)
	format := addFormatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wanted, err := parsePlatforms(cmd, "platform", *platforms...)
		if err != nil {
			return err
		}
		v := verifier{}
		if v.contexts, err = parseContexts(cmd, *places); err != nil {
			return err
		}
		if len(v.contexts) > 0 && *suitePath == "" {
			return misuse(cmd, "--build-context says where the images lie that a suite pins, so give the suite: --suite PATH")
		}
		if *suitePath != "" {
			index, graph, _, err := s.validSuite(cmd.Context(), *suitePath, content.Options{Digest: true})
			if err != nil {
				return err
			}
			v.suite, v.suiteDigest = graph, index.SuiteDigest
		}
		reports, err := v.verify(cmd.Context(), args[0], wanted)
		if err != nil {
			return err
		}
		if format.value == "json" {
			if err := s.printJSON(reports); err != nil {
				return err
			}
		} else {
			s.printVerified(reports)
		}
		if !reports.Valid() {
			return errInvalid
		}
		return nil
	}
	return cmd
}

func (s *streams) printVerified(reports verify.Reports) {
	problems := 0
	for _, report := range reports {
		if len(reports) > 1 && len(report.Problems)+len(report.Warnings) > 0 {
			s.note("%s:", report.Platform)
		}
		// Places are in the image's filesystem, so there are no excerpts.
		s.results().printProblems(nil, report.Problems, nil)
		s.messages().printProblems(nil, nil, report.Warnings)
		if report.Valid() {
			fmt.Fprintln(s.out, s.outStyle.paint(green, report.Summary()))
		}
		problems += len(report.Problems)
	}
	if problems > 0 {
		s.note("%s", problem.Counted(problems, "problem"))
	}
}

// verifier is what images are held against.
type verifier struct {
	contexts    contexts
	suite       *suite.Graph
	suiteDigest digest.Digest
}

func (v verifier) verify(ctx context.Context, ref string, platforms []suite.Platform) (_ verify.Reports, err error) {
	source, err := ociimage.Open(ctx, ref, ociimage.Options{})
	if err != nil {
		return nil, invalidImage(err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	images, err := imagesFor(ctx, source, platforms)
	if err != nil {
		return nil, invalidImage(err)
	}
	var reports verify.Reports
	for _, i := range images {
		report, err := v.verifyOne(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("verifying the image for %s: %w", i.Platform, err)
		}
		reports = append(reports, report)
	}
	return reports, nil
}

func imagesFor(ctx context.Context, source *ociimage.Source, platforms []suite.Platform) ([]*ociimage.Image, error) {
	if len(platforms) == 0 {
		return source.Images(ctx)
	}
	images := make([]*ociimage.Image, len(platforms))
	for n, platform := range platforms {
		i, err := source.Image(ctx, platform)
		if err != nil {
			return nil, err
		}
		images[n] = i
	}
	return images, nil
}

func (v verifier) verifyOne(ctx context.Context, i *ociimage.Image) (_ *verify.Report, err error) {
	opts := verify.Options{Suite: v.suite, SuiteDigest: v.suiteDigest}
	if len(v.contexts) > 0 {
		base, harness := v.pins(i)
		if opts.Base, err = v.pinned(ctx, base); err != nil {
			return nil, err
		}
		if opts.Base != nil {
			defer opts.Base.Close()
		}
		if opts.Harness, err = v.pinned(ctx, harness); err != nil {
			return nil, err
		}
		if opts.Harness != nil {
			defer opts.Harness.Close()
		}
	}
	return verify.Image(ctx, i, opts)
}

// pins returns what the suite pins for the target that an image's labels name; nothing where they name
// none of it, which verifying reports.
func (v verifier) pins(i *ociimage.Image) (base, harness *suite.BaseImage) {
	labels := i.Config.Config.Labels
	target := labels[image.LabelAgent]
	if target == "" {
		target = labels[image.LabelToolProvider]
	}
	selection, err := v.suite.Select(target, i.Platform)
	if err != nil {
		return nil, nil
	}
	return &selection.RuntimeBase, selection.Harness
}

// pinned opens a pinned image, if a context says where it lies.
func (v verifier) pinned(ctx context.Context, pin *suite.BaseImage) (*ociimage.Image, error) {
	if pin == nil {
		return nil, nil
	}
	place := v.contexts.place(*pin)
	if place == "" {
		return nil, nil
	}
	return ociimage.Pinned(ctx, *pin, place, ociimage.Options{})
}

// invalidImage makes a problem of an image that cannot be read because of what it is.
func invalidImage(err error) error {
	var invalid *ociimage.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	return problem.AsError([]problem.Problem{problem.New(problem.VerifyBlobs, problem.Place{}, "%s: %s", invalid.Blob, invalid.Reason)})
}
