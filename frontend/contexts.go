package frontend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"github.com/agentsuite/agentsuite-llb/image"
	agentllb "github.com/agentsuite/agentsuite-llb/llb"
	"github.com/agentsuite/agentsuite-llb/suite"
)

const contextPrefix = "context:"

// namedContexts reads the named contexts of a build from its options. A name that is no image reference
// cannot name a pinned image and is left out; so are the names of the build's own sources.
func namedContexts(opts map[string]string) []image.Context {
	var contexts []image.Context
	for _, key := range slices.Sorted(maps.Keys(opts)) {
		name, ok := strings.CutPrefix(key, contextPrefix)
		if !ok || name == "context" || name == "dockerfile" {
			continue
		}
		if context, err := image.ParseContext(name, opts[key]); err == nil {
			contexts = append(contexts, context)
		}
	}
	return contexts
}

// locate finds where a pinned image is fetched from: its own registry, or the context that names it. A
// context decides where, never which.
func locate(pin suite.BaseImage, contexts []image.Context, session string) (agentllb.Location, error) {
	location := agentllb.Pinned(pin)
	context := image.FindContext(contexts, pin)
	if context == nil {
		return location, nil
	}
	switch context.Scheme {
	case image.ContextRepository:
		repository, err := reference.ParseNormalizedNamed(context.Value)
		if err != nil {
			return agentllb.Location{}, fmt.Errorf("build context %s: %q is no image reference: %w", context.Name, context.Value, err)
		}
		return location.InRepository(context.Name, repository)
	case image.ContextLayout:
		// A client names the store, and the image that the layout's index has; the pin says which one is meant.
		store, err := reference.Parse(context.Value)
		if err != nil {
			return agentllb.Location{}, fmt.Errorf("build context %s: %q is no OCI layout reference: %w", context.Name, context.Value, err)
		}
		named, ok := store.(reference.Named)
		if !ok {
			return agentllb.Location{}, fmt.Errorf("build context %s: %q names no OCI layout store", context.Name, context.Value)
		}
		return location.InLayout(context.Name, named.Name(), session), nil
	}
	return agentllb.Location{}, fmt.Errorf("build context %s is %s, which cannot serve %s by digest; use oci-layout://DIR or docker-image://REPOSITORY", context.Name, context.Scheme, location.Digest())
}

// unusedContexts lists the named contexts that name none of a suite's pinned images: most likely a typing
// error that would send the build to a registry.
func unusedContexts(contexts []image.Context, graph *suite.Graph) []image.Context {
	var pins []suite.BaseImage
	for _, profile := range graph.BuildProfiles {
		pins = append(append(pins, profile.Doc.RuntimeBase...), profile.Doc.Harness...)
	}
	return slices.DeleteFunc(slices.Clone(contexts), func(context image.Context) bool { return slices.ContainsFunc(pins, context.Names) })
}
