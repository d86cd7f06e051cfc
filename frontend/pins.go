package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/moby/buildkit/client/llb"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/agentsuite/agentsuite-llb/image"
	agentllb "github.com/agentsuite/agentsuite-llb/llb"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// pins are the located and resolved images of one selection; harness is nil for a tool provider image.
type pins struct {
	base, harness *pinned
}

// pinned is one pinned image, where it lies, and the config that its manifest commits to.
type pinned struct {
	name     string // for people: role and platform
	location agentllb.Location
	state    llb.State
	source   image.Source
	// place makes the lines that pin the image those of an operation on it.
	place llb.ConstraintsOpt
}

func (p pins) states() []llb.State {
	states := []llb.State{p.base.state}
	if p.harness != nil {
		states = append(states, p.harness.state)
	}
	return states
}

// bottom is the image whose layers a planned image begins with.
func (p pins) bottom(plan *image.Plan) *pinned {
	if slices.ContainsFunc(plan.Layers, func(l image.Layer) bool { return l.Kind == image.LayerHarnessStacked }) {
		return p.harness
	}
	return p.base
}

// resolve locates the images of a selection and reads their configs, both at once.
func (b *build) resolve(ctx context.Context, s *source, selection *suite.Selection) (pins, error) {
	var found pins
	profile := selection.Profile
	excerpts := newExcerpts(s.index, s.report)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		at := pinPlace(s, profile, "runtimeBase", profile.Doc.RuntimeBase, selection.RuntimeBase)
		found.base, err = b.resolvePin(ctx, "runtime base", selection.RuntimeBase, at, excerpts.locate(at))
		return err
	})
	if selection.Harness != nil {
		group.Go(func() (err error) {
			at := pinPlace(s, profile, "harness", profile.Doc.Harness, *selection.Harness)
			found.harness, err = b.resolvePin(ctx, "harness", *selection.Harness, at, excerpts.locate(at))
			return err
		})
	}
	return found, group.Wait()
}

func (b *build) resolvePin(ctx context.Context, role string, pin suite.BaseImage, at problem.Place, place llb.ConstraintsOpt) (*pinned, error) {
	location, err := locate(pin, b.contexts, b.docker.BuildOpts().SessionID)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s %s", role, pin.Platform)
	_, dgst, data, err := b.solver.client.ResolveImageConfig(ctx, location.Ref, location.Resolve("[internal] load the config of the "+name))
	if err != nil {
		// The daemon's error goes along as text: wrapped, its status would replace ours on the way out.
		return nil, problem.AsError([]problem.Problem{problem.New(problem.ImageUnreachable, at,
			"the %s %s cannot be fetched from %s; make it available there, or say where it lies with --build-context %s=oci-layout://DIR (%v)",
			name, pin.Image.Digest, where(location), image.Repository(pin), err)})
	}
	if dgst != pin.Image.Digest {
		return nil, problem.AsError([]problem.Problem{problem.New(problem.ImageDigest, at,
			"%s serves %s as the %s, the profile pins %s", where(location), dgst, name, pin.Image.Digest)})
	}
	var config dockerspec.DockerOCIImage
	if err := json.Unmarshal(data, &config); err != nil {
		return nil, fmt.Errorf("reading the config of the %s %s: %w", name, location.Ref, err)
	}
	return &pinned{
		name:     name,
		location: location,
		state:    location.State(llb.WithCustomNamef("[%s] %s", name, location.Ref), place),
		source:   image.Source{Pin: pin, Config: config},
		place:    place,
	}, nil
}

func where(l agentllb.Location) string {
	if l.Context != "" {
		return "build context " + l.Context
	}
	return l.Ref
}

// pinPlace is the place of a pinned image's reference in the build profile.
func pinPlace(s *source, profile suite.Loaded[suite.BuildProfile], member string, images []suite.BaseImage, pin suite.BaseImage) problem.Place {
	i := slices.IndexFunc(images, func(image suite.BaseImage) bool { return image.Platform == pin.Platform })
	return s.place(profile.Path, fmt.Sprintf("/%s/%d/imageRef", member, i))
}
