// Package verify is the sandbox image validator of the specification (section 15.2): it reads a built
// image back and holds its config, its records and its filesystem against each other, and against the
// suite and the pinned images where these are at hand. It runs nothing of the image.
package verify

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// maxMetadataBytes is the size of everything below /.agentsuite together. The inventory is most of it:
// a million entries have 300 MB.
const maxMetadataBytes = 512 << 20

// maxDocumentBytes is the size of all documents that are read into memory, many times their size.
const maxDocumentBytes = 64 << 20

// Options are what an image is held against beyond itself. Everything may be absent.
type Options struct {
	// Suite is the suite that the image was built from, SuiteDigest the digest of its OCI manifest;
	// empty if that is not known.
	Suite       *suite.Graph
	SuiteDigest digest.Digest
	// Base and Harness are the pinned images that the image was built from.
	Base, Harness *ociimage.Image
}

// Image verifies one image. Everything that is wrong with it is in the report. An error says that the
// image, or one of the options, could not be read, or that ctx is done.
func Image(ctx context.Context, i *ociimage.Image, opts Options) (*Report, error) {
	v := &verification{
		image: i, opts: opts, found: &problem.Collector{},
		report: &Report{Image: i.Name(), Digest: i.Descriptor.Digest, Platform: i.Platform, Bundles: []string{}},
	}
	if err := v.run(ctx); err != nil {
		return nil, err
	}
	v.report.Problems, v.report.Warnings = v.found.Finish()
	return v.report, nil
}

// verification is the verifying of one image.
type verification struct {
	image  *ociimage.Image
	opts   Options
	report *Report
	found  *problem.Collector

	scan *image.Scan
	// kept are the bytes of the files below /.agentsuite.
	kept map[string][]byte
	// expected are the paths below /.agentsuite that records account for.
	expected map[string]bool
	// parsed is the size of the documents that were read.
	parsed int64
	records
	inventory *image.Inventory
	// base is the scan of the given runtime base, nil if none is given.
	base *image.Scan
}

func (v *verification) run(ctx context.Context) error {
	incomplete, err := v.read(ctx)
	if err != nil || incomplete {
		return err
	}
	v.checkKind()
	v.readRecords()
	v.checkLabels()
	v.checkSuite()
	if err := v.checkFilesystem(ctx); err != nil {
		return err
	}
	if err := v.checkABI(ctx); err != nil {
		return err
	}
	return v.checkRuntime()
}

// read flattens the image. It is incomplete if there is nothing to judge.
func (v *verification) read(ctx context.Context) (incomplete bool, err error) {
	rootfs, err := v.image.Flatten(ctx, ociimage.Keep{Path: isMetadata, Bytes: maxMetadataBytes})
	var invalid *ociimage.InvalidError
	switch {
	case errors.As(err, &invalid):
		v.problem(problem.VerifyBlobs, "", "%s: %s", invalid.Blob, invalid.Reason)
		return true, nil
	case err != nil:
		return false, err
	}
	for _, p := range rootfs.Scan.Problems {
		v.found.Add(p)
		incomplete = incomplete || p.Rule == problem.ImageLimit
	}
	v.found.Warn(rootfs.Scan.Warnings...)
	v.scan, v.kept, v.expected = rootfs.Scan, rootfs.Kept, map[string]bool{}
	return incomplete, nil
}

func isMetadata(p string) bool { return strings.HasPrefix(p, image.MetadataDir+"/") }

// problem reports a problem at a path of the image's filesystem, or about the image as a whole.
func (v *verification) problem(rule *problem.Rule, path, format string, args ...any) {
	v.found.Report(rule, problem.Place{Path: problem.Printable(path)}, format, args...)
}

// checkKind finds out whether the image is an agent's or a tool provider's.
func (v *verification) checkKind() {
	labels := v.image.Config.Config.Labels
	has := func(path, label string) bool {
		_, file := v.kept[path]
		_, labelled := labels[label]
		return file || labelled
	}
	agent := has(image.BindingPath, image.LabelBindingDigest)
	provider := has(image.ToolProviderCompositionPath, image.LabelToolProviderCompositionDigest)
	switch {
	case agent && provider:
		v.problem(problem.VerifyKind, "", "the image has a binding and a tool provider composition; it is built of one or the other")
	case agent:
		v.report.Kind = suite.AgentTarget
	case provider:
		v.report.Kind = suite.ToolProviderTarget
	default:
		v.problem(problem.VerifyKind, "", "the image has neither /%s nor /%s, so it is no sandbox image of an AgentSuite",
			image.BindingPath, image.ToolProviderCompositionPath)
	}
}

// Valid tells whether no image has a problem.
func (r Reports) Valid() bool {
	return !slices.ContainsFunc(r, func(r *Report) bool { return !r.Valid() })
}
