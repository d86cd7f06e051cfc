// Package llb turns an image plan into LLB: pinned sources, file copies, merges, and the tools that run
// in the graph. Equal inputs give equal operations; names, groups and source positions are metadata of
// the vertices and never part of them.
package llb

import (
	"encoding/json"
	"fmt"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/solver/pb"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/llb/tool"
)

// Executable is the static binary that serves as frontend and as the tools in the graph.
type Executable struct {
	// State is the filesystem that holds the binary.
	State llb.State
	// Path is where the binary lies in it.
	Path string
	// Platform is the platform of the binary: that of the builder, whatever an image is for.
	Platform ocispecs.Platform
}

// Open indexes a suite source; the result holds [tool.IndexFile], and [tool.ContentDir] if the source is
// an archive.
func (x Executable) Open(source llb.State, opts ...llb.ConstraintsOpt) llb.State {
	run := x.run(tool.Open, internal("open the suite"), opts)
	run.AddMount(tool.SourceDir, source, llb.Readonly)
	return run.AddMount(tool.OutDir, llb.Scratch())
}

// Scan reads a pinned image's filesystem; the result holds [tool.ScanFile]. The image's identity is its
// digest, so BuildKit need not hash its content once more to cache the result.
func (x Executable) Scan(image llb.State, name string, opts ...llb.ConstraintsOpt) llb.State {
	run := x.run(tool.Scan, internal("scan "+name), opts)
	run.AddMount(tool.RootDir, image, llb.Readonly, llb.ContentCache(llb.MountContentCacheOff))
	return run.AddMount(tool.OutDir, llb.Scratch())
}

// ComposeInputs are the results and the request that compose reads. Harness is nil for a tool provider
// image.
type ComposeInputs struct {
	Suite, Base llb.State
	Harness     *llb.State
	Request     tool.Request
}

// Compose composes the scanned inputs of one image; the result holds [tool.InventoryFile] and
// [tool.ComposedFile].
func (x Executable) Compose(in ComposeInputs, opts ...llb.ConstraintsOpt) (llb.State, error) {
	request, err := json.Marshal(in.Request)
	if err != nil {
		return llb.State{}, fmt.Errorf("encoding the request to compose %s: %w", in.Request.Target, err)
	}
	name := fmt.Sprintf("[%s %s] compose the filesystem", in.Request.Target, in.Request.Platform)
	opts = withOptions(llb.ProgressGroup(name, "[internal] "+name, false), opts)
	run := x.run(tool.Compose, internal(name), opts)
	run.AddMount(tool.RequestDir, llb.Scratch().File(
		llb.Mkfile(tool.RequestFile, 0o444, request), withOptions(internal(name+": request"), opts)...), llb.Readonly)
	run.AddMount(tool.SuiteDir, in.Suite, llb.Readonly)
	run.AddMount(tool.BaseDir, in.Base, llb.Readonly)
	if in.Harness != nil {
		run.AddMount(tool.HarnessDir, *in.Harness, llb.Readonly)
	}
	return run.AddMount(tool.OutDir, llb.Scratch()), nil
}

func (x Executable) run(name string, custom llb.ConstraintsOpt, opts []llb.ConstraintsOpt) llb.ExecState {
	runOpts := []llb.RunOption{
		llb.Args([]string{x.Path, "tool", name}),
		llb.Network(pb.NetMode_NONE),
		llb.ReadonlyRootFS(),
		llb.Platform(x.Platform),
		custom,
	}
	for _, opt := range opts {
		runOpts = append(runOpts, opt)
	}
	return x.State.Run(runOpts...)
}

// internal names a vertex the way BuildKit's own frontends mark what is not the user's.
func internal(name string) llb.ConstraintsOpt {
	return llb.WithCustomName("[internal] " + name)
}

func withOptions(first llb.ConstraintsOpt, more []llb.ConstraintsOpt) []llb.ConstraintsOpt {
	return append([]llb.ConstraintsOpt{first}, more...)
}
