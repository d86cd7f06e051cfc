// Package seal makes authoring bearable: it computes every digest, inventory, variant identity,
// resolved composition and capability of an extracted suite, bottom-up, and writes them into the
// author's documents without disturbing anything else in them.
//
// What an author has to decide is never made up: identities, versions, platforms, profiles, and which
// documents belong to the suite.
package seal

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Options says what to do beside sealing.
type Options struct {
	// Check leaves the documents alone; the result says which would change.
	Check bool
	// Pins are the images that build profiles are to pin anew.
	Pins []Pin
	// Limits bounds the reading of the suite. Start from [content.DefaultLimits].
	Limits content.Limits
}

// Pin makes every runtime base and harness whose imageRef has a repository refer to an image that the
// author holds. Everything that is pinned otherwise stays as it is.
type Pin struct {
	// Repository is the registry and repository that an imageRef must have, without tag and digest.
	Repository string
	// Manifest returns the descriptor of the image's manifest for a platform.
	Manifest func(context.Context, suite.Platform) (suite.Descriptor, error)
}

// Result is what sealing did, or in check mode would do.
type Result struct {
	// Changed are the content paths of the documents whose text changes, sorted. Of a sealed suite it is
	// empty.
	Changed []string
	// Notes tell the author what sealing leaves alone but should not be overlooked. They are sorted by
	// path.
	Notes []Note
	// Report is the validation of the sealed suite. Its places are those on disk.
	Report *suite.Report
	// Index is the content as it was read, before anything was written.
	Index *content.Index
}

// Note is something about one file that an author may have overlooked.
type Note struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Seal seals the extracted suite in a directory. Sealing a sealed suite changes nothing.
//
// Either all documents are written or none: every one is written beside its place and renamed only
// when the whole suite, as sealed, is valid. Whatever prevents that is returned as a *[problem.Error],
// at its place in the documents as they lie on disk, together with a result that has only the index.
// Any other error is trouble with reading, writing or a pin, or the end of ctx.
func Seal(ctx context.Context, dir string, opts Options) (*Result, error) {
	root, err := openSuite(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	index, err := content.Open(ctx, dir, content.Options{Limits: opts.Limits})
	if err != nil {
		return nil, err
	}
	s := newSealer(index, opts.Limits)
	if err := s.suite(ctx, opts.Pins); err != nil {
		return nil, err
	}
	result, err := s.result(ctx)
	if err != nil || opts.Check {
		return result, err
	}
	return result, write(root, index.Texts, s.changes())
}

// openSuite opens a directory and makes sure that it is an extracted suite, the only form with
// documents that can be written.
func openSuite(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if _, err := root.Lstat(ocispec.ImageLayoutFile); err == nil {
		root.Close()
		return nil, fmt.Errorf("%s is an OCI layout, whose content is sealed already: seal the directory that it was packed from", dir)
	}
	if _, err := root.Lstat(suite.ManifestPath); err != nil {
		root.Close()
		return nil, fmt.Errorf("%s is no suite: %w", dir, err)
	}
	return root, nil
}

// result validates the suite as it will be, so that nothing is written that is not valid.
func (s *sealer) result(ctx context.Context) (*Result, error) {
	s.checkBytes()
	_, report, err := suite.Validate(ctx, s.sealedIndex(), s.limits)
	if err != nil {
		return nil, err
	}
	problems := s.problems
	for _, p := range report.Problems {
		if !s.known(p) {
			problems = append(problems, s.onDisk(p))
		}
	}
	if len(problems) == 0 {
		// The validator saw no fault in what could not be computed. Better no seal than a wrong one.
		for _, places := range []map[place]bool{s.unknown, s.owned} {
			for at := range places {
				problems = append(problems, s.problem(problem.GraphMissing, s.drafts[at.path], at.pointer, "this cannot be sealed, because what it depends on cannot be read"))
			}
		}
	}
	if len(problems) > 0 {
		return &Result{Index: s.index}, problem.AsError(problems)
	}
	for i, w := range report.Warnings {
		w.Place = s.placeOnDisk(w.Place)
		report.Warnings[i] = w
	}
	return &Result{Changed: slices.Sorted(maps.Keys(s.changes())), Notes: s.notes(), Report: report, Index: s.index}, nil
}
