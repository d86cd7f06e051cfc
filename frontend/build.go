// Package frontend is BuildKit's side of the builder: it reads the options and the context of a build,
// has the suite opened and its images planned, and returns what to export.
package frontend

import (
	"context"
	"fmt"
	"time"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/agentsuite/agentsuite-llb/image"
	agentllb "github.com/agentsuite/agentsuite-llb/llb"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Build is the frontend as BuildKit runs it from its own image.
func Build(ctx context.Context, c client.Client) (*client.Result, error) {
	result, err := run(ctx, c, ownImage)
	return result, speak(err)
}

// BuildFromClient is the same frontend in the process of a client, which offers the binary for the
// tools in the graph as the local source [LocalExecutable].
func BuildFromClient(ctx context.Context, c client.Client) (*client.Result, error) {
	result, err := run(ctx, c, fromClient)
	return result, speak(err)
}

// build is one request to the frontend.
type build struct {
	docker      *dockerui.Client
	solver      solver
	options     options
	contexts    []image.Context
	executable  agentllb.Executable
	constraints []llb.ConstraintsOpt
	// warnings delivers lists of warnings, one after the other.
	warnings errgroup.Group
}

func run(ctx context.Context, c client.Client, find executableFunc) (*client.Result, error) {
	b, err := newBuild(ctx, c, find)
	if err != nil {
		return nil, err
	}
	if result, ok, err := b.docker.HandleSubrequest(ctx, b.requests()); ok || err != nil {
		return result, err
	}
	defer func() { _ = b.warnings.Wait() }()
	s, err := b.checkedSource(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkDigest(b.options.suiteDigest); err != nil {
		return nil, err
	}
	b.warn(ctx, s, append(b.buildWarnings(s), s.report.Warnings...))

	images := newImages(b, s)
	result, err := b.docker.Build(ctx, func(ctx context.Context, platform *ocispecs.Platform, _ int) (*dockerui.BuildResult, error) {
		return images.make(ctx, *platform)
	})
	if err != nil {
		return nil, newExcerpts(s.index, s.report).withExcerpts(err)
	}
	images.annotate(result)
	if err := images.attest(ctx, result); err != nil {
		return nil, err
	}
	return result.Finalize()
}

func newBuild(ctx context.Context, c client.Client, find executableFunc) (*build, error) {
	if err := checkDaemon(c.BuildOpts().LLBCaps); err != nil {
		return nil, err
	}
	docker, err := dockerui.NewClient(c)
	if err != nil {
		return nil, fmt.Errorf("reading the build's options: %w", err)
	}
	options, err := newOptions(docker)
	if err != nil {
		return nil, err
	}
	// dockerui builds for what it holds; without --platform that is nothing.
	docker.TargetPlatforms = options.platforms
	executable, err := find(ctx, c, docker.BuildPlatforms[0])
	if err != nil {
		return nil, err
	}
	b := &build{
		docker:     docker,
		solver:     newSolver(docker),
		options:    options,
		contexts:   namedContexts(docker.BuildOpts().Opts),
		executable: executable,
	}
	b.warnings.SetLimit(1)
	if options.noCache {
		b.constraints = append(b.constraints, llb.IgnoreCache)
	}
	return b, nil
}

// checkedSource opens the suite while the build file is looked at.
func (b *build) checkedSource(ctx context.Context) (s *source, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.checkBuildFile(ctx) })
	group.Go(func() (err error) {
		s, err = b.validSource(ctx)
		return err
	})
	return s, group.Wait()
}

// validSource opens the suite and returns its problems as the error.
func (b *build) validSource(ctx context.Context) (*source, error) {
	s, err := b.openSource(ctx)
	if err != nil {
		return nil, err
	}
	if s.report.Valid() {
		return s, nil
	}
	return nil, newExcerpts(s.index, s.report).withExcerpts(invalid(s.report))
}

// invalid is the error of an invalid suite.
func invalid(report *suite.Report) error {
	subject := "the suite"
	if report.Name != "" {
		subject = "suite " + problem.Printable(report.Name)
	}
	return fmt.Errorf("%s is not valid:\n%w", subject, report.Err())
}

// epoch compares the profile's source epoch with the one that the build carries, which exporters would
// follow.
func (b *build) epoch(profile suite.Loaded[suite.BuildProfile]) (*time.Time, error) {
	want := profile.Doc.SourceEpoch
	if got := b.options.epoch; got != nil && *got != fmt.Sprint(want) {
		return nil, fmt.Errorf("%s is %q, but build profile %s (%s) pins sourceEpoch %d; unset %s or set it to %d, since exporters would follow it",
			ArgEpoch, *got, profile.Doc.ID, profile.Path, want, ArgEpoch, want)
	}
	epoch := time.Unix(want, 0).UTC()
	return &epoch, nil
}
