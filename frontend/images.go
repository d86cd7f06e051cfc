package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/solver/pb"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/image"
	agentllb "github.com/agentsuite/agentsuite-llb/llb"
	"github.com/agentsuite/agentsuite-llb/llb/tool"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// images builds the images of one target, one a platform.
type images struct {
	*build
	source *source

	mu     sync.Mutex
	built  []built
	warned map[problem.Warning]bool
}

// built is one finished image and what exporting it needs.
type built struct {
	id       string // as the result names the platform
	platform ocispecs.Platform
	plan     *image.Plan
	state    llb.State
	allowed  []llb.State
}

func newImages(b *build, s *source) *images {
	return &images{build: b, source: s, warned: map[problem.Warning]bool{}}
}

// make plans and solves the image of one platform.
func (im *images) make(ctx context.Context, requested ocispecs.Platform) (*dockerui.BuildResult, error) {
	platform, err := suitePlatform(requested)
	if err != nil {
		return nil, err
	}
	selection, err := im.source.graph.Select(im.options.target, platform)
	if err != nil {
		return nil, err
	}
	epoch, err := im.epoch(selection.Profile)
	if err != nil {
		return nil, err
	}
	pins, err := im.resolve(ctx, im.source, selection)
	if err != nil {
		return nil, err
	}
	in := image.Inputs{
		Selection:   selection,
		Index:       im.source.index,
		SuiteDigest: im.source.index.SuiteDigest,
		Base:        pins.base.source,
		Labels:      im.options.labels,
	}
	if pins.harness != nil {
		in.Harness = &pins.harness.source
	}
	allowed := slices.Concat(im.source.allowed, pins.states())
	composing, composed, err := im.compose(ctx, in, pins, allowed)
	if err != nil {
		return nil, err
	}
	plan, err := image.NewPlan(in, composed)
	if err != nil {
		return nil, err
	}
	im.warnOnce(ctx, plan.Warnings)
	sources := agentllb.Sources{Base: pins.base.state, Content: im.source.content, Composed: composing}
	if pins.harness != nil {
		sources.Harness = &pins.harness.state
	}
	state, err := agentllb.Image(plan, sources, agentllb.Options{Merge: im.merge(), Constraints: im.constraints})
	if err != nil {
		return nil, err
	}
	ref, err := im.solver.solve(ctx, state, allowed)
	if err != nil {
		return nil, fmt.Errorf("building %s for %s: %w", plan.Target, platform, err)
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	im.built = append(im.built, built{
		id:       platforms.FormatAll(platforms.Normalize(requested)),
		platform: requested,
		plan:     plan,
		state:    state,
		allowed:  allowed,
	})
	return &dockerui.BuildResult{
		Reference: ref,
		Image:     &plan.Config,
		BaseImage: &pins.bottom(plan).source.Config,
		Epoch:     epoch,
	}, nil
}

// compose scans the pinned images and composes the filesystem, in the graph.
func (im *images) compose(ctx context.Context, in image.Inputs, pins pins, allowed []llb.State) (llb.State, *image.Composed, error) {
	inputs := agentllb.ComposeInputs{
		Suite:   im.source.opened,
		Base:    im.scan(pins.base),
		Request: tool.NewRequest(in),
	}
	if pins.harness != nil {
		scan := im.scan(pins.harness)
		inputs.Harness = &scan
	}
	state, err := im.executable.Compose(inputs, im.constraints...)
	if err != nil {
		return llb.State{}, nil, err
	}
	ref, err := im.solver.evaluate(ctx, state, allowed)
	if err != nil {
		return llb.State{}, nil, fmt.Errorf("composing %s for %s: %w", in.Selection.Target, in.Selection.Platform, err)
	}
	composed := new(image.Composed)
	if err := json.NewDecoder(newRefReader(ctx, ref, tool.ComposedFile)).Decode(composed); err != nil {
		return llb.State{}, nil, fmt.Errorf("reading what composing %s found: %w", in.Selection.Target, err)
	}
	return state, composed, nil
}

func (im *images) scan(p *pinned) llb.State {
	return im.executable.Scan(p.state, p.name, append(slices.Clip(im.constraints), p.place)...)
}

func (im *images) warnOnce(ctx context.Context, warnings []problem.Warning) {
	im.mu.Lock()
	defer im.mu.Unlock()
	var fresh []problem.Warning
	for _, w := range warnings {
		if !im.warned[w] {
			im.warned[w] = true
			fresh = append(fresh, w)
		}
	}
	im.warn(ctx, im.source, fresh)
}

// annotate adds the manifest annotations of every image to a result.
func (im *images) annotate(result *dockerui.ResultBuilder) {
	for _, b := range im.built {
		platform := &b.platform
		if !im.docker.MultiPlatformRequested {
			platform = nil
		}
		for key, value := range b.plan.Annotations {
			result.AddMeta(exptypes.AnnotationManifestKey(platform, key), []byte(value))
		}
	}
}

// merge tells whether layers are merged: unless switched off, wherever the worker can.
func (b *build) merge() bool {
	return b.options.merge && b.mergeSupported()
}

func (b *build) mergeSupported() bool {
	caps := b.solver.client.BuildOpts().LLBCaps
	return caps.Supports(pb.CapMergeOp) == nil
}
