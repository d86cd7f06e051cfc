package frontend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/distribution/reference"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/pb"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	agentllb "github.com/agentsuite/agentsuite-llb/llb"
)

// BinaryPath is where the frontend's binary lies in its image.
const BinaryPath = "/frontend"

// LocalExecutable names the local source through which a client that runs the frontend in its own
// process offers the binary for the tools: a directory that holds it, under any name, and nothing else.
const LocalExecutable = "agentsuite-executable"

// definitionFile is where BuildKit mounts the LLB that the running frontend came from. It is not
// documented; resolveExecutable has another way when it is missing.
const definitionFile = "/run/config/buildkit/metadata/frontend.bin"

// maxDefinitionBytes bounds what is read of it; a definition of an image has a few hundred bytes.
const maxDefinitionBytes = 16 << 20

// An executableFunc finds the binary that the tools in the graph run.
type executableFunc func(ctx context.Context, c client.Client, build ocispecs.Platform) (agentllb.Executable, error)

// ownImage runs the tools from the image that this frontend itself runs from.
func ownImage(ctx context.Context, c client.Client, build ocispecs.Platform) (agentllb.Executable, error) {
	state, err := ownState(ctx, c, build)
	if err != nil {
		return agentllb.Executable{}, fmt.Errorf("finding the frontend's own image: %w", err)
	}
	return agentllb.Executable{State: state, Path: BinaryPath, Platform: build}, nil
}

func ownState(ctx context.Context, c client.Client, build ocispecs.Platform) (llb.State, error) {
	info, err := os.Stat(definitionFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ownReference(ctx, c, build)
	case err != nil:
		return llb.State{}, err
	case info.Size() > maxDefinitionBytes:
		return llb.State{}, fmt.Errorf("%s has %d bytes, more than %d", definitionFile, info.Size(), maxDefinitionBytes)
	}
	data, err := os.ReadFile(definitionFile)
	if err != nil {
		return llb.State{}, err
	}
	var def pb.Definition
	if err := def.UnmarshalVT(data); err != nil {
		return llb.State{}, fmt.Errorf("reading %s: %w", definitionFile, err)
	}
	op, err := llb.NewDefinitionOp(&def)
	if err != nil {
		return llb.State{}, fmt.Errorf("reading %s: %w", definitionFile, err)
	}
	return llb.NewState(op), nil
}

// ownReference is the fallback for daemons that do not mount the definition.
func ownReference(ctx context.Context, c client.Client, build ocispecs.Platform) (llb.State, error) {
	source := c.BuildOpts().Opts["source"]
	if source == "" {
		return llb.State{}, fmt.Errorf("the daemon names neither the frontend's definition nor its image; BuildKit %s or newer does", MinBuildKit)
	}
	ref, dgst, _, err := c.ResolveImageConfig(ctx, source, sourceresolver.Opt{
		LogName:  "[internal] resolve the frontend's own image",
		ImageOpt: &sourceresolver.ResolveImageOpt{Platform: &build},
	})
	if err != nil {
		return llb.State{}, err
	}
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return llb.State{}, err
	}
	pinned, err := reference.WithDigest(reference.TrimNamed(named), dgst)
	if err != nil {
		return llb.State{}, err
	}
	return llb.Image(pinned.String(), llb.Platform(build)), nil
}

// fromClient runs the tools from the binary that the client offers as [LocalExecutable]. It is copied
// once more so that its identity is its content rather than the session.
func fromClient(_ context.Context, c client.Client, build ocispecs.Platform) (agentllb.Executable, error) {
	local := llb.Local(LocalExecutable,
		llb.SessionID(c.BuildOpts().SessionID),
		llb.SharedKeyHint(LocalExecutable),
		llb.WithCustomName("[internal] load the frontend's binary"),
	)
	state := llb.Scratch().File(
		llb.Copy(local, "/*", BinaryPath, &llb.CopyInfo{AllowWildcard: true, Mode: &llb.ChmodOpt{Mode: 0o555}}),
		llb.WithCustomName("[internal] copy the frontend's binary"),
	)
	return agentllb.Executable{State: state, Path: BinaryPath, Platform: build}, nil
}
