package frontend

import (
	"context"
	"fmt"
	"slices"

	"github.com/moby/buildkit/client/llb"
	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	agentllb "github.com/agentsuite/agentsuite-llb/llb"
	"github.com/agentsuite/agentsuite-llb/llb/tool"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// source is the suite that a build is given: the context, indexed and validated.
type source struct {
	index  *content.Index
	graph  *suite.Graph // nil when the report has problems
	report *suite.Report
	// opened is the result of the open tool.
	opened llb.State
	// content is where the suite's files are copied from.
	content agentllb.Content
	// allowed are the states whose sources opening needs: the context and the frontend itself.
	allowed []llb.State
	// vertex is the operation that warnings about the suite belong to.
	vertex digest.Digest
}

// openSource indexes the main context in the graph and validates the suite in it.
func (b *build) openSource(ctx context.Context) (*source, error) {
	main, err := b.docker.MainContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the build context: %w", err)
	}
	s := &source{allowed: []llb.State{*main, b.executable.State}}
	known, err := b.readIndex(ctx, s, b.executable.Open(*main, b.constraints...))
	if err != nil {
		return nil, err
	}
	// Both take their time, the one here and the other in the daemon.
	var changed bool
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		changed, err = b.modesChanged(groupCtx, *main, s)
		return err
	})
	group.Go(func() error { return s.validate(groupCtx, known) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if changed {
		again := b.executable.Open(*main, append(slices.Clip(b.constraints), llb.IgnoreCache)...)
		if known, err = b.readIndex(ctx, s, again); err != nil {
			return nil, err
		}
		if err := s.validate(ctx, known); err != nil {
			return nil, err
		}
	}
	s.content = agentllb.NewContent(s.index, *main, s.opened)
	return s, nil
}

func (s *source) validate(ctx context.Context, known suite.Identities) (err error) {
	s.graph, s.report, err = suite.ValidateKnown(ctx, s.index, content.DefaultLimits(), known)
	return err
}

// readIndex runs the open tool and reads the index that it made, and what it knows of its documents.
func (b *build) readIndex(ctx context.Context, s *source, opened llb.State) (suite.Identities, error) {
	def, err := b.solver.define(ctx, opened)
	if err != nil {
		return nil, err
	}
	if s.vertex, err = def.Head(); err != nil {
		return nil, err
	}
	ref, err := b.solver.evaluate(ctx, opened, s.allowed)
	if err != nil {
		return nil, fmt.Errorf("reading the suite in the build context: %w", err)
	}
	if s.index, err = content.Decode(newRefReader(ctx, ref, tool.IndexFile)); err != nil {
		return nil, fmt.Errorf("reading the suite's index: %w", err)
	}
	known, err := tool.DecodeJSON[suite.Identities](newRefReader(ctx, ref, tool.IdentitiesFile))
	if err != nil {
		return nil, fmt.Errorf("reading the identities of the suite's documents: %w", err)
	}
	s.opened = opened
	return *known, nil
}

// checkDigest compares the suite's digest with the one that the build expects.
func (s *source) checkDigest(expected digest.Digest) error {
	if expected == "" || s.index.SuiteDigest == expected {
		return nil
	}
	return fmt.Errorf("the suite in the build context is %s, but --build-arg %s states %s; build the suite that was meant, or state its digest", s.index.SuiteDigest, ArgDigest, expected)
}

// place finds a value of a document in its text.
func (s *source) place(path, pointer string) problem.Place {
	doc, _ := strictjson.Parse(path, s.index.Texts[path], content.DefaultLimits().JSON)
	if doc == nil {
		return problem.Place{Path: path, Pointer: pointer}
	}
	return doc.Place(pointer)
}
