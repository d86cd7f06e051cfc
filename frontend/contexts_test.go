package frontend

import (
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
)

var (
	pinDigest   = digest.FromString("base")
	otherDigest = digest.FromString("other")
	pin         = suite.BaseImage{
		Platform: suite.Platform{OS: "linux", Architecture: "arm64"},
		ImageRef: "registry.example:5000/agents/base@" + pinDigest.String(),
		Image:    suite.Descriptor{Digest: pinDigest},
	}
)

// A context says where a pinned image lies and never which image it is: whatever the context's own tag or
// digest, the location serves the pinned digest.
func TestLocate(t *testing.T) {
	const name = "registry.example:5000/agents/base"
	for _, test := range []struct {
		about   string
		opts    map[string]string
		ref     string // expected location
		store   string
		context string
		err     string
	}{
		{about: "none", ref: pin.ImageRef},
		{about: "another image", opts: map[string]string{"context:registry.example:5000/agents/other": "docker-image://x/y"}, ref: pin.ImageRef},
		{about: "repository", opts: map[string]string{"context:" + name: "docker-image://mirror.example/base:1"}, ref: "mirror.example/base@" + pinDigest.String(), context: name},
		{about: "repository by another digest", opts: map[string]string{"context:" + name: "docker-image://mirror.example/base@" + otherDigest.String()}, ref: "mirror.example/base@" + pinDigest.String(), context: name},
		{about: "layout", opts: map[string]string{"context:" + name: "oci-layout://store1:latest@" + otherDigest.String()}, ref: pin.ImageRef, store: "store1", context: name},
		{about: "tag in the key", opts: map[string]string{"context:" + name + ":v1": "oci-layout://store1"}, ref: pin.ImageRef, store: "store1", context: name + ":v1"},
		{about: "digest in the key", opts: map[string]string{"context:" + name + "@" + pinDigest.String(): "oci-layout://store1"}, ref: pin.ImageRef, store: "store1", context: name + "@" + pinDigest.String()},
		{about: "another digest in the key", opts: map[string]string{"context:" + name + "@" + otherDigest.String(): "oci-layout://store1"}, ref: pin.ImageRef},
		{about: "platform in the key", opts: map[string]string{"context:" + name + "::linux/arm64": "oci-layout://store1", "context:" + name: "oci-layout://store2"}, ref: pin.ImageRef, store: "store1", context: name + "::linux/arm64"},
		{about: "another platform in the key", opts: map[string]string{"context:" + name + "::linux/amd64": "oci-layout://store1"}, ref: pin.ImageRef},
		{about: "digest wins over platform", opts: map[string]string{"context:" + name + "::linux/arm64": "oci-layout://store1", "context:" + name + "@" + pinDigest.String(): "oci-layout://store2"}, ref: pin.ImageRef, store: "store2", context: name + "@" + pinDigest.String()},
		{about: "a directory", opts: map[string]string{"context:" + name: "local:dir"}, err: "cannot serve"},
		{about: "another target", opts: map[string]string{"context:" + name: "input:base"}, err: "cannot serve"},
		{about: "no reference", opts: map[string]string{"context:" + name: "docker-image://UPPER"}, err: "no image reference"},
	} {
		t.Run(test.about, func(t *testing.T) {
			location, err := locate(pin, namedContexts(test.opts), "session")
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				require.ErrorContains(t, err, "build context "+name)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.ref, location.Ref)
			require.Equal(t, test.store, location.Store)
			require.Equal(t, test.context, location.Context)
			require.Equal(t, pinDigest, location.Digest())
		})
	}
}

func TestNamedContextsAreOnlyImages(t *testing.T) {
	found := namedContexts(map[string]string{
		"context:context": "local:x", "context:dockerfile": "local:y", "context:Not A Reference": "local:z",
		"target": "clock", "context:base": "oci-layout://store",
	})
	require.Len(t, found, 1)
	require.Equal(t, "base", found[0].Name)
}

func TestUnusedContexts(t *testing.T) {
	graph := &suite.Graph{BuildProfiles: map[string]suite.Loaded[suite.BuildProfile]{
		"default": {Doc: suite.BuildProfile{RuntimeBase: []suite.BaseImage{pin}}},
	}}
	unused := unusedContexts(namedContexts(map[string]string{
		"context:registry.example:5000/agents/base": "oci-layout://store",
		"context:registry.example:5000/agent/base":  "oci-layout://store",
	}), graph)
	require.Len(t, unused, 1)
	require.Equal(t, "registry.example:5000/agent/base", unused[0].Name)
}
