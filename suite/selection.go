package suite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// TargetKind tells what a target's image holds.
type TargetKind string

// The kinds of targets.
const (
	AgentTarget        TargetKind = "agent"
	ToolProviderTarget TargetKind = "tool-provider"
)

// Target is something that an image can be built of.
type Target struct {
	// Name is what --target takes: an agent's id, or id@version of a tool provider.
	Name string
	Kind TargetKind
	// Description is the agent's own; of a tool provider it names the tools.
	Description string
	// Platforms are those that a composition exists for, in the order of [Platforms].
	Platforms []Platform
	// Default is set on the target that is meant when none is named: the only agent of the suite.
	Default bool
}

// Targets lists what images can be built of the suite: the agents, sorted, then the tool providers
// that have a composition, sorted.
func (g *Graph) Targets() []Target {
	var targets []Target
	for _, id := range slices.Sorted(maps.Keys(g.Agents)) {
		targets = append(targets, Target{
			Name: id, Kind: AgentTarget,
			Description: g.Agents[id].Doc.Description,
			Platforms:   g.agentPlatforms(id),
			Default:     len(g.Agents) == 1,
		})
	}
	for _, key := range slices.SortedFunc(maps.Keys(g.ToolProviders), ProviderKey.Compare) {
		platforms := g.providerPlatforms(key)
		if len(platforms) == 0 {
			continue
		}
		tools := g.ToolProviders[key].Doc.Tools
		names := make([]string, len(tools))
		for i, t := range tools {
			names[i] = t.Name
		}
		targets = append(targets, Target{
			Name: key.String(), Kind: ToolProviderTarget,
			Description: "tools: " + strings.Join(names, ", "),
			Platforms:   platforms,
		})
	}
	return targets
}

// Target finds a target by name; empty means the only agent. The error is an *[UnknownTargetError].
func (g *Graph) Target(name string) (Target, error) {
	for _, t := range g.Targets() {
		if t.Name == name || name == "" && t.Default {
			return t, nil
		}
	}
	return Target{}, g.unknownTarget(name)
}

func (g *Graph) agentPlatforms(id string) []Platform {
	return slices.DeleteFunc(Platforms(), func(p Platform) bool {
		_, ok := g.Compositions[CompositionKey{id, p}]
		return !ok
	})
}

func (g *Graph) providerPlatforms(key ProviderKey) []Platform {
	return slices.DeleteFunc(Platforms(), func(p Platform) bool {
		_, ok := g.ToolProviderCompositions[ToolProviderCompositionKey{key, p}]
		return !ok
	})
}

// UnknownTargetError says that the suite has no target of a name, or that none was named and several
// agents could have been meant (Target is empty then).
type UnknownTargetError struct {
	Suite  string
	Target string
	// Existing are the names of all targets, agents first.
	Existing []string
	// Suggestion is the target that was probably meant; empty when none is close.
	Suggestion string
}

func (e *UnknownTargetError) Error() string {
	existing := "it has " + strings.Join(e.Existing, ", ")
	switch {
	case e.Target == "":
		return fmt.Sprintf("suite %s has several agents, so name a target: %s", e.Suite, existing)
	case e.Suggestion != "":
		return fmt.Sprintf("suite %s has no target %s; did you mean %s? %s", e.Suite, problem.Quoted(e.Target), e.Suggestion, existing)
	default:
		return fmt.Sprintf("suite %s has no target %s; %s", e.Suite, problem.Quoted(e.Target), existing)
	}
}

// NoCompositionError says that a target exists, but has no composition for a platform.
type NoCompositionError struct {
	Target   string
	Kind     TargetKind
	Platform Platform
	// Existing are the platforms that the target has a composition for. Only a tool provider can have
	// none.
	Existing []Platform
}

func (e *NoCompositionError) Error() string {
	what := "agent"
	list := "compositions"
	if e.Kind == ToolProviderTarget {
		what, list = "tool provider", "toolProviderCompositions"
	}
	if len(e.Existing) == 0 {
		return fmt.Sprintf("%s %s has no composition to build an image of; add one to %s in %s", what, e.Target, list, ManifestPath)
	}
	return fmt.Sprintf("%s %s has no composition for %s; it has one for %s", what, e.Target, e.Platform, joinPlatforms(e.Existing))
}

// joinPlatforms lists platforms for a message, each once.
func joinPlatforms(platforms []Platform) string {
	var names []string
	for _, p := range platforms {
		if name := p.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Selection is everything of a graph that one image is made of.
type Selection struct {
	// Target is what was asked for: an agent's id, or id@version of a tool provider.
	Target   string
	Platform Platform
	// Exactly one of the next two is set, and Agent with the first.
	Composition             *Loaded[Composition]
	ToolProviderComposition *Loaded[ToolProviderComposition]
	Agent                   *Loaded[Agent]
	Profile                 Loaded[BuildProfile]
	RuntimeBase             BaseImage
	// Harness is nil for a tool provider image.
	Harness *BaseImage
	// Bundles is the dependency closure: composition order, each followed depth first by its
	// dependencies, each bundle once. For a tool provider image its own bundle is the first.
	Bundles []Bundle
}

// Select picks everything that one image is made of. The target is an agent's id, or id@version of a
// tool provider; empty means the only agent. The error is an *[UnknownTargetError] or a
// *[NoCompositionError].
func (g *Graph) Select(target string, platform Platform) (*Selection, error) {
	if target == "" && len(g.Agents) == 1 {
		for id := range g.Agents {
			target = id
		}
	}
	if agent, ok := g.Agents[target]; ok {
		return g.selectAgent(agent, platform)
	}
	if provider, ok := g.providerByName(target); ok {
		return g.selectProvider(provider, platform)
	}
	return nil, g.unknownTarget(target)
}

func (g *Graph) selectAgent(agent Loaded[Agent], platform Platform) (*Selection, error) {
	composition, ok := g.Compositions[CompositionKey{agent.Doc.ID, platform}]
	if !ok {
		return nil, &NoCompositionError{Target: agent.Doc.ID, Kind: AgentTarget, Platform: platform, Existing: g.agentPlatforms(agent.Doc.ID)}
	}
	roots := make([]Bundle, 0, len(composition.Doc.ToolProviders))
	for _, p := range composition.Doc.ToolProviders {
		if b, ok := g.bundle(ProviderKey{p.ID, p.Version}, platform); ok {
			roots = append(roots, b)
		}
	}
	profile := g.BuildProfiles[composition.Doc.BuildProfile]
	return &Selection{
		Target: agent.Doc.ID, Platform: platform,
		Composition: &composition, Agent: &agent,
		Profile:     profile,
		RuntimeBase: *imageFor(profile.Doc.RuntimeBase, platform),
		Harness:     imageFor(profile.Doc.Harness, platform),
		Bundles:     g.Closure(roots),
	}, nil
}

func (g *Graph) selectProvider(provider Loaded[ToolProvider], platform Platform) (*Selection, error) {
	key := ProviderKey{provider.Doc.ID, provider.Doc.Version}
	composition, ok := g.ToolProviderCompositions[ToolProviderCompositionKey{key, platform}]
	if !ok {
		return nil, &NoCompositionError{Target: key.String(), Kind: ToolProviderTarget, Platform: platform, Existing: g.providerPlatforms(key)}
	}
	var roots []Bundle
	if b, ok := bundleOf(provider, platform); ok {
		roots = append(roots, b)
	}
	profile := g.BuildProfiles[composition.Doc.BuildProfile]
	return &Selection{
		Target: key.String(), Platform: platform,
		ToolProviderComposition: &composition,
		Profile:                 profile,
		RuntimeBase:             *imageFor(profile.Doc.RuntimeBase, platform),
		Bundles:                 g.Closure(roots),
	}, nil
}

func (g *Graph) providerByName(name string) (Loaded[ToolProvider], bool) {
	id, version, _ := strings.Cut(name, "@")
	provider, ok := g.ToolProviders[ProviderKey{id, version}]
	return provider, ok
}

// imageFor finds the image of a platform. Every selection of a valid suite has one.
func imageFor(images []BaseImage, platform Platform) *BaseImage {
	i := slices.IndexFunc(images, func(b BaseImage) bool { return b.Platform == platform })
	if i < 0 {
		return nil
	}
	return &images[i]
}

func (g *Graph) unknownTarget(target string) error {
	e := &UnknownTargetError{Suite: g.Manifest.Doc.Name, Target: target}
	for _, t := range g.Targets() {
		e.Existing = append(e.Existing, t.Name)
	}
	if target != "" {
		e.Suggestion = suggestTarget(target, e.Existing)
	}
	return e
}

// suggestTarget knows, beyond spelling, that the version of a tool provider is easily left out.
func suggestTarget(target string, existing []string) string {
	i := slices.IndexFunc(existing, func(name string) bool { return strings.HasPrefix(name, target+"@") })
	if i >= 0 {
		return existing[i]
	}
	suggestion, _ := problem.Suggest(target, existing)
	return suggestion
}
