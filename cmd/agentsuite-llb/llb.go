package main

import (
	"context"
	"errors"

	"github.com/distribution/reference"
	"github.com/moby/buildkit/client/llb"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/agentsuite/agentsuite-llb/frontend"
	"github.com/agentsuite/agentsuite-llb/image"
	agentllb "github.com/agentsuite/agentsuite-llb/llb"
	"github.com/agentsuite/agentsuite-llb/llb/tool"
	"github.com/agentsuite/agentsuite-llb/suite"
)

func newLLBCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "llb PATH",
		Short: "Print the LLB of an image, for buildctl",
		Long: `Print the marshalled LLB definition of one image on standard output, for "buildctl build" and "buildctl debug dump-llb".
The definition reads the suite from the local source "context"; an image that --build-context places in an OCI layout is
read from the store that has the directory's name, as it is given.`,
		Example: `  agentsuite-llb llb ./suite --frontend registry.example/frontend@sha256:… | buildctl build --local context=./suite --output type=oci,dest=image.tar
  agentsuite-llb llb ./suite --frontend registry.example/frontend@sha256:… | buildctl debug dump-llb
  agentsuite-llb llb ./suite --frontend … --build-context registry.example/base=oci-layout://base | buildctl build --local context=./suite --oci-layout base=base`,
		Args: oneArgument("give the directory of a suite"),
	}
	flags := cmd.Flags()
	self := flags.String("frontend", "", "the frontend image, by digest, that the tools in the graph run from")
	target := addTargetFlag(cmd)
	platform := flags.String("platform", "linux/amd64", "platform of the image")
	builder := flags.String("build-platform", "linux/amd64", "platform of the builder, which the tools run on")
	places := addContextFlag(cmd)
	copied := flags.Bool("copy", false, "copy the layers instead of merging them, for a builder without MergeOp")
	format := addFormatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := pinnedReference(*self); err != nil {
			return misuse(cmd, "--frontend: %w", err)
		}
		contexts, err := parseContexts(cmd, *places)
		if err != nil {
			return err
		}
		platforms, err := parsePlatforms(cmd, "platform", *platform)
		if err != nil {
			return err
		}
		builders, err := parsePlatforms(cmd, "build-platform", *builder)
		if err != nil {
			return err
		}
		if err := checkDirectory(args[0]); err != nil {
			return err
		}
		p := planner{contexts: contexts}
		plans, err := p.plans(cmd.Context(), s, args[0], *target, platforms)
		if err != nil {
			return err
		}
		build := ociPlatform(builders[0])
		executable := agentllb.Executable{State: llb.Image(*self, llb.Platform(build)), Path: frontend.BinaryPath, Platform: build}
		def, err := p.define(cmd.Context(), plans[0], executable, !*copied)
		if err != nil {
			return err
		}
		if format.value == "text" {
			return llb.WriteTo(def, s.out)
		}
		text, err := protojson.MarshalOptions{Multiline: true}.Marshal(def.ToPB())
		if err != nil {
			return err
		}
		_, err = s.out.Write(append(text, '\n'))
		return err
	}
	return cmd
}

// define is the definition of a planned image. Equal plans have equal definitions.
func (p planner) define(ctx context.Context, plan planned, executable agentllb.Executable, merge bool) (*llb.Definition, error) {
	source := llb.Local("context")
	opened := executable.Open(source)
	base, err := p.state(plan.inputs.Base.Pin)
	if err != nil {
		return nil, err
	}
	inputs := agentllb.ComposeInputs{
		Suite:   opened,
		Base:    executable.Scan(base, "runtime base"),
		Request: tool.NewRequest(plan.inputs),
	}
	sources := agentllb.Sources{Base: base, Content: agentllb.NewContent(plan.inputs.Index, source, opened)}
	if harness := plan.inputs.Harness; harness != nil {
		state, err := p.state(harness.Pin)
		if err != nil {
			return nil, err
		}
		scan := executable.Scan(state, "harness")
		sources.Harness, inputs.Harness = &state, &scan
	}
	if sources.Composed, err = executable.Compose(inputs); err != nil {
		return nil, err
	}
	state, err := agentllb.Image(plan.Plan, sources, agentllb.Options{Merge: merge})
	if err != nil {
		return nil, err
	}
	return state.Marshal(ctx, llb.LocalUniqueID(plan.SuiteDigest.String()))
}

// state is a pinned image where it lies for a builder.
func (p planner) state(pin suite.BaseImage) (llb.State, error) {
	location := agentllb.Pinned(pin)
	switch context := image.FindContext(p.contexts, pin); {
	case context == nil:
	case context.Scheme == image.ContextLayout:
		location = location.InLayout(context.Name, context.Value, "")
	default:
		named, err := reference.ParseNormalizedNamed(context.Value)
		if err != nil {
			return llb.State{}, err
		}
		if location, err = location.InRepository(context.Name, named); err != nil {
			return llb.State{}, err
		}
	}
	return location.State(), nil
}

func ociPlatform(p suite.Platform) ocispecs.Platform {
	return ocispecs.Platform{OS: p.OS, Architecture: p.Architecture}
}

// pinnedReference checks that an image is named by digest.
func pinnedReference(ref string) error {
	if ref == "" {
		return errors.New("the frontend image is missing; its binary runs the steps that read many bytes")
	}
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return err
	}
	if _, ok := named.(reference.Digested); !ok {
		return errors.New("the frontend image is named by a tag; name it by digest, as NAME@sha256:…")
	}
	return nil
}
