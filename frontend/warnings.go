package frontend

import (
	"context"
	"strings"

	"github.com/moby/buildkit/frontend/gateway/client"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// warn shows warnings beside the progress of a build, in their order and without keeping the build waiting.
// A warning that cannot be delivered is no reason to fail the build.
func (b *build) warn(ctx context.Context, s *source, warnings []problem.Warning) {
	ctx = context.WithoutCancel(ctx) // what wants to warn may have ended before it is done
	b.warnings.Go(func() error {
		excerpts := newExcerpts(s.index, s.report)
		for _, w := range warnings {
			opts := client.WarnOpts{
				Level:  1,
				Detail: [][]byte{[]byte(w.Rule.Description)},
				URL:    w.Rule.URL(),
			}
			if at := excerpts.at(w.Place); at != nil {
				opts.SourceInfo, opts.Range = at.Info, at.Ranges
			}
			_ = b.solver.client.Warn(ctx, s.vertex, w.String(), opts)
		}
		return nil
	})
}

// buildWarnings are what only a frontend can see: how it was named, and what it was given.
func (b *build) buildWarnings(s *source) []problem.Warning {
	warnings := b.syntaxWarnings()
	for _, context := range unusedContexts(b.contexts, s.graph) {
		warnings = append(warnings, problem.NewWarning(problem.UnusedContext, problem.Place{},
			"build context %s names none of the images that the suite pins; it is not used", context.Name))
	}
	switch {
	case !b.options.merge:
		warnings = append(warnings, problem.NewWarning(problem.CopiedLayers, problem.Place{},
			"--build-arg %s=false: layers are copied, not merged; the image is equivalent, but its digests are others", ArgMerge))
	case !b.mergeSupported():
		warnings = append(warnings, problem.NewWarning(problem.CopiedLayers, problem.Place{},
			"this builder has no MergeOp: layers are copied; the image is equivalent, but its digests are others; a docker-container builder or the containerd image store has it"))
	}
	return warnings
}

// syntaxWarnings warn when the frontend's own image was named by a tag.
func (b *build) syntaxWarnings() []problem.Warning {
	ref := b.docker.BuildOpts().Opts["source"]
	if ref == "" || strings.Contains(ref, "@") {
		return nil
	}
	return []problem.Warning{problem.NewWarning(problem.UnpinnedSyntax, problem.Place{},
		"the frontend is named %s, which can change; name it by digest, as NAME@sha256:…", problem.Quoted(ref))}
}
