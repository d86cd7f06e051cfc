package main

import (
	"context"

	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// ociLayoutScheme begins the address of an OCI layout directory, as in the contexts of docker buildx.
const ociLayoutScheme = "oci-layout://"

// layoutManifest returns the descriptor of the manifest that an OCI layout has for a platform.
func layoutManifest(ctx context.Context, dir string, platform suite.Platform) (suite.Descriptor, error) {
	source, err := ociimage.Open(ctx, ociLayoutScheme+dir, ociimage.Options{})
	if err != nil {
		return suite.Descriptor{}, err
	}
	defer source.Close()
	image, err := source.Image(ctx, platform)
	if err != nil {
		return suite.Descriptor{}, err
	}
	d := image.Descriptor
	return suite.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, nil
}
