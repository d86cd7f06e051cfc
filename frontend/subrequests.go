package frontend

import (
	"context"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/frontend/subrequests/lint"
	"github.com/moby/buildkit/frontend/subrequests/outline"
	"github.com/moby/buildkit/frontend/subrequests/targets"
	"github.com/moby/buildkit/solver/pb"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// requests answers what a client asks instead of building: --call=check, targets and outline.
func (b *build) requests() dockerui.RequestHandler {
	return dockerui.RequestHandler{
		Lint:        b.lint,
		ListTargets: b.targets,
		Outline:     b.outline,
	}
}

// lint runs the validator: problems are the error, findings of the linter are the warnings.
func (b *build) lint(ctx context.Context) (*lint.LintResults, error) {
	s, err := b.openSource(ctx)
	if err != nil {
		return nil, err
	}
	results := new(lint.LintResults)
	excerpts := newExcerpts(s.index, s.report)
	locate := func(place problem.Place) (sourceIndex int, ranges []*pb.Range) {
		source := excerpts.at(place)
		if source == nil {
			return -1, nil
		}
		results.Sources = append(results.Sources, source.Info)
		return len(results.Sources) - 1, source.Ranges
	}
	for _, w := range append(s.report.Warnings, b.syntaxWarnings()...) {
		index, ranges := locate(w.Place)
		results.AddWarning(w.Rule.Name, w.Rule.Description, w.Rule.URL(), w.String(), index, parserRanges(ranges))
	}
	if !s.report.Valid() {
		index, ranges := -1, []*pb.Range(nil)
		for _, p := range s.report.Problems {
			if index, ranges = locate(p.Place); index >= 0 {
				break
			}
		}
		if index < 0 {
			// The client shows the source that an error points to, so there must be one.
			results.Sources = append(results.Sources, &pb.SourceInfo{Filename: suite.ManifestPath, Language: "JSON"})
			index = len(results.Sources) - 1
		}
		results.Error = &lint.BuildError{Message: invalid(s.report).Error()}
		results.Error.Location.SourceIndex = int32(index) //nolint:gosec // one a finding, and those are bounded
		results.Error.Location.Ranges = ranges
	}
	return results, nil
}

func parserRanges(ranges []*pb.Range) []parser.Range {
	converted := make([]parser.Range, len(ranges))
	for i, r := range ranges {
		converted[i] = parser.Range{
			Start: parser.Position{Line: int(r.Start.Line), Character: int(r.Start.Character)},
			End:   parser.Position{Line: int(r.End.Line), Character: int(r.End.Character)},
		}
	}
	return converted
}

// targets lists the agents and tool providers that images can be built of.
func (b *build) targets(ctx context.Context) (*targets.List, error) {
	s, err := b.validSource(ctx)
	if err != nil {
		return nil, err
	}
	list := new(targets.List)
	for _, t := range s.graph.Targets() {
		list.Targets = append(list.Targets, targets.Target{
			Name:        t.Name,
			Default:     t.Default,
			Description: describe(t),
			Platform:    strings.Join(platformNames(t.Platforms), ","),
		})
	}
	return list, nil
}

// outline tells what the build of the selected target can be given.
func (b *build) outline(ctx context.Context) (*outline.Outline, error) {
	s, err := b.validSource(ctx)
	if err != nil {
		return nil, err
	}
	target, err := s.graph.Target(b.options.target)
	if err != nil {
		return nil, err
	}
	return &outline.Outline{
		Name:        target.Name,
		Description: describe(target),
		Args: []outline.Arg{
			{Name: ArgDigest, Description: "the suite digest that the build must have", Value: b.options.suiteDigest.String()},
			{Name: ArgMerge, Description: "false copies files instead of merging layers", Value: "true"},
		},
	}, nil
}

func describe(t suite.Target) string {
	words := []string{string(t.Kind) + " for " + strings.Join(platformNames(t.Platforms), ",")}
	if t.Description != "" {
		words = append(words, problem.Printable(t.Description))
	}
	return strings.Join(words, "; ")
}

func platformNames(platforms []suite.Platform) []string {
	names := make([]string, len(platforms))
	for i, p := range platforms {
		names[i] = p.String()
	}
	return names
}
