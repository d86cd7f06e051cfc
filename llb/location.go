package llb

import (
	"fmt"

	"github.com/distribution/reference"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/suite"
)

// Location is where a pinned image is fetched from. It never changes which image that is: every location
// serves the pinned manifest digest or fails.
type Location struct {
	// Ref is repository@digest: the pinned reference, or the repository of a docker-image context with
	// the pinned digest.
	Ref string
	// Context is the name of the build context that redirects the image; empty for its own registry.
	Context string
	// Store and Session name the OCI layout that a client's session offers; Store is empty for a
	// registry.
	Store, Session string
	// Platform is the platform that the image is pinned for.
	Platform ocispecs.Platform
}

// Pinned is the location that a build profile states for an image.
func Pinned(pin suite.BaseImage) Location {
	return Location{Ref: pin.ImageRef, Platform: ocispecs.Platform{OS: pin.Platform.OS, Architecture: pin.Platform.Architecture}}
}

// InRepository is the same image, fetched from another repository.
func (l Location) InRepository(context string, repository reference.Named) (Location, error) {
	ref, err := reference.WithDigest(reference.TrimNamed(repository), l.Digest())
	if err != nil {
		return Location{}, fmt.Errorf("build context %s: %w", context, err)
	}
	l.Context, l.Ref = context, ref.String()
	return l, nil
}

// InLayout is the same image, fetched from an OCI layout of the client's session.
func (l Location) InLayout(context, store, session string) Location {
	l.Context, l.Store, l.Session = context, store, session
	return l
}

// Digest is the pinned manifest digest.
func (l Location) Digest() digest.Digest {
	ref, err := reference.Parse(l.Ref)
	if err != nil {
		return ""
	}
	digested, ok := ref.(reference.Digested)
	if !ok {
		return ""
	}
	return digested.Digest()
}

// State is the image's filesystem.
func (l Location) State(opts ...llb.ConstraintsOpt) llb.State {
	opts = append([]llb.ConstraintsOpt{llb.Platform(l.Platform)}, opts...)
	if l.Store != "" {
		layoutOpts := []llb.OCILayoutOption{llb.OCIStore(l.Session, l.Store)}
		for _, opt := range opts {
			layoutOpts = append(layoutOpts, opt)
		}
		return llb.OCILayout(l.Ref, layoutOpts...)
	}
	var imageOpts []llb.ImageOption
	for _, opt := range opts {
		imageOpts = append(imageOpts, opt)
	}
	return llb.Image(l.Ref, imageOpts...)
}

// Resolve says how the image's config is resolved at this location.
func (l Location) Resolve(logName string) sourceresolver.Opt {
	opt := sourceresolver.Opt{LogName: logName}
	if l.Store != "" {
		opt.OCILayoutOpt = &sourceresolver.ResolveOCILayoutOpt{
			Platform: &l.Platform,
			Store:    sourceresolver.ResolveImageConfigOptStore{SessionID: l.Session, StoreID: l.Store},
		}
		return opt
	}
	opt.ImageOpt = &sourceresolver.ResolveImageOpt{Platform: &l.Platform}
	return opt
}
