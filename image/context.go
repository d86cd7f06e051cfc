package image

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
)

// The schemes of the places that can serve an image by digest, and so may stand in for the registry that
// an image is pinned in: an OCI layout directory, and another repository.
const (
	ContextLayout     = "oci-layout"
	ContextRepository = "docker-image"
)

// Context is a named build context: where the image of a repository lies, never which image that is.
type Context struct {
	// Name is the name as it was given.
	Name string
	// Scheme and Value are the place: "oci-layout" and a directory or store, "docker-image" and a
	// repository, or the scheme of something that cannot serve an image by digest.
	Scheme, Value string

	repository string
	// digest and platform narrow the name down to some of the repository's images; empty for all.
	digest   digest.Digest
	platform string
}

// ParseContext reads the name and the place of a build context, as in --build-context NAME=PLACE. The name
// is an image reference, with a tag or digest or without, which may end in "::" and a platform.
func ParseContext(name, place string) (Context, error) {
	ref, platform, _ := strings.Cut(name, "::")
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return Context{}, fmt.Errorf("the context's name is no image reference: %w", err)
	}
	scheme, value, ok := strings.Cut(place, ":")
	if !ok {
		return Context{}, fmt.Errorf("%q has no scheme", place)
	}
	c := Context{
		Name: name, Scheme: scheme, Value: strings.TrimPrefix(value, "//"),
		repository: named.Name(), platform: platform,
	}
	if digested, ok := named.(reference.Digested); ok {
		c.digest = digested.Digest()
	}
	return c, nil
}

// Place is where the image lies, as [ParseContext] reads it.
func (c Context) Place() string { return c.Scheme + "://" + c.Value }

// Key is the name in the short form that builders agree on.
func (c Context) Key() string {
	ref, platform, found := strings.Cut(c.Name, "::")
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return c.Name
	}
	key := strings.TrimSuffix(reference.FamiliarString(named), ":latest")
	if found {
		key += "::" + platform
	}
	return key
}

// Names tells whether the context says where a pinned image lies.
func (c Context) Names(pin suite.BaseImage) bool {
	return c.repository == Repository(pin) &&
		(c.digest == "" || c.digest == pin.Image.Digest) &&
		(c.platform == "" || c.platform == pin.Platform.String())
}

// FindContext returns the context that names a pinned image most exactly: by digest, else by platform,
// else by repository alone. It is nil if none does.
func FindContext(contexts []Context, pin suite.BaseImage) *Context {
	var best *Context
	for i := range contexts {
		c := &contexts[i]
		if c.Names(pin) && (best == nil || c.specificity() > best.specificity()) {
			best = c
		}
	}
	return best
}

func (c Context) specificity() int {
	score := 0
	if c.digest != "" {
		score += 2
	}
	if c.platform != "" {
		score++
	}
	return score
}

// Repository is the part of a pinned image's reference before the digest.
func Repository(pin suite.BaseImage) string {
	name, _, _ := strings.Cut(pin.ImageRef, "@")
	return name
}
