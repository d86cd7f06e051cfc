package ociimage

import (
	"context"
	"errors"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/suite"
)

// Pinned opens the image that a build profile pins. where says where it lies, as the value of a build
// context does: oci-layout://DIR, docker-image://REPOSITORY, or nothing for the registry of its own
// reference. It never says which image that is: a tag or digest in it counts for nothing, the pinned
// manifest does. Close the image after use.
//
// The platform is the config's own; planning compares it to the pin's.
func Pinned(ctx context.Context, pin suite.BaseImage, where string, opts Options) (*Image, error) {
	if where == "" {
		where = schemeRegistry + pin.ImageRef
	}
	at, err := parseLocation(where)
	if err != nil {
		return nil, err
	}
	at.tag, at.digest = "", pin.Image.Digest
	s, err := newSource(ctx, fmt.Sprintf("%s in %s", pin.ImageRef, at), at, opts)
	if err != nil {
		return nil, err
	}
	i, err := s.load(ctx, ocispec.Descriptor{MediaType: pin.Image.MediaType, Digest: pin.Image.Digest, Size: pin.Image.Size})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the pinned image for %s cannot be read: %w", pin.Platform, err), s.Close())
	}
	return i, nil
}

// Close releases what the image's source holds.
func (i *Image) Close() error { return i.source.Close() }

// Manifest returns the descriptor of the manifest for a platform that a reference leads to, as a build
// profile pins it: an OCI image manifest.
func Manifest(ctx context.Context, ref string, platform suite.Platform, opts Options) (_ suite.Descriptor, err error) {
	s, err := Open(ctx, ref, opts)
	if err != nil {
		return suite.Descriptor{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	i, err := s.Image(ctx, platform)
	if err != nil {
		return suite.Descriptor{}, err
	}
	d := i.Descriptor
	if d.MediaType != ocispec.MediaTypeImageManifest {
		return suite.Descriptor{}, s.invalid("the manifest "+string(d.Digest),
			"its media type is %s; a build profile pins %s, so build the image with OCI media types", d.MediaType, ocispec.MediaTypeImageManifest)
	}
	return suite.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, nil
}
