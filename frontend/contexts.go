package frontend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"

	agentllb "github.com/agentsuite/agentsuite-llb/llb"
	"github.com/agentsuite/agentsuite-llb/suite"
)

const contextPrefix = "context:"

// namedContext is one --build-context that says where a pinned image lies.
type namedContext struct {
	// name is the key as it was given.
	name string
	// repository is the key's repository, normalized; digest and platform narrow it down when given.
	repository string
	digest     digest.Digest
	platform   string
	// value is the context itself, scheme included.
	value string
}

// namedContexts reads the named contexts of a build from its options. Keys that are no image reference
// cannot name a pinned image and are left out; so is the name of the main context.
func namedContexts(opts map[string]string) []namedContext {
	var contexts []namedContext
	for _, key := range slices.Sorted(maps.Keys(opts)) {
		name, ok := strings.CutPrefix(key, contextPrefix)
		if !ok || name == "context" || name == "dockerfile" {
			continue
		}
		ref, platform, _ := strings.Cut(name, "::")
		named, err := reference.ParseNormalizedNamed(ref)
		if err != nil {
			continue
		}
		context := namedContext{name: name, repository: named.Name(), platform: platform, value: opts[key]}
		if digested, ok := named.(reference.Digested); ok {
			context.digest = digested.Digest()
		}
		contexts = append(contexts, context)
	}
	return contexts
}

// specificity orders contexts that name the same image: a digest says most, then a platform.
func (c namedContext) specificity() int {
	score := 0
	if c.digest != "" {
		score += 2
	}
	if c.platform != "" {
		score++
	}
	return score
}

func (c namedContext) names(pin suite.BaseImage) bool {
	return c.repository == repository(pin) &&
		(c.digest == "" || c.digest == pin.Image.Digest) &&
		(c.platform == "" || c.platform == pin.Platform.String())
}

// repository is the part of a pin's reference before the digest.
func repository(pin suite.BaseImage) string {
	name, _, _ := strings.Cut(pin.ImageRef, "@")
	return name
}

// locate finds where a pinned image is fetched from: its own registry, or the context that names it. A
// context decides where, never which.
func locate(pin suite.BaseImage, contexts []namedContext, session string) (agentllb.Location, error) {
	location := agentllb.Pinned(pin)
	var best *namedContext
	for i := range contexts {
		if contexts[i].names(pin) && (best == nil || contexts[i].specificity() > best.specificity()) {
			best = &contexts[i]
		}
	}
	if best == nil {
		return location, nil
	}
	scheme, rest, _ := strings.Cut(best.value, ":")
	rest = strings.TrimPrefix(rest, "//")
	switch scheme {
	case "docker-image":
		repository, err := reference.ParseNormalizedNamed(rest)
		if err != nil {
			return agentllb.Location{}, fmt.Errorf("build context %s: %q is no image reference: %w", best.name, rest, err)
		}
		return location.InRepository(best.name, repository)
	case "oci-layout":
		store, err := reference.Parse(rest)
		if err != nil {
			return agentllb.Location{}, fmt.Errorf("build context %s: %q is no OCI layout reference: %w", best.name, rest, err)
		}
		named, ok := store.(reference.Named)
		if !ok {
			return agentllb.Location{}, fmt.Errorf("build context %s: %q names no OCI layout store", best.name, rest)
		}
		return location.InLayout(best.name, named.Name(), session), nil
	}
	return agentllb.Location{}, fmt.Errorf("build context %s is %s, which cannot serve %s by digest; use oci-layout://DIR or docker-image://REPOSITORY", best.name, scheme, location.Digest())
}

// unusedContexts lists the named contexts that name none of a suite's pinned images: most likely a typing
// error that would send the build to a registry.
func unusedContexts(contexts []namedContext, graph *suite.Graph) []namedContext {
	var pins []suite.BaseImage
	for _, id := range slices.Sorted(maps.Keys(graph.BuildProfiles)) {
		profile := graph.BuildProfiles[id].Doc
		pins = append(append(pins, profile.RuntimeBase...), profile.Harness...)
	}
	var unused []namedContext
	for _, context := range contexts {
		if !slices.ContainsFunc(pins, func(pin suite.BaseImage) bool { return context.names(pin) }) {
			unused = append(unused, context)
		}
	}
	return unused
}
