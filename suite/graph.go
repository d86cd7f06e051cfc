package suite

import (
	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// Loaded is a document of the graph together with where it came from.
type Loaded[T any] struct {
	// Path is the document's content path.
	Path string
	// Digest is the document's canonical identity.
	Digest digest.Digest
	Doc    T
}

// Graph is the closed reference graph of a valid suite. Only [Validate] makes one, so whoever holds a
// Graph may rely on every rule of the specification's section 15.1.
type Graph struct {
	// Index is the content that the graph was read from.
	Index    *content.Index
	Manifest Loaded[Manifest]
	Catalog  Loaded[Catalog]
	// The documents below are keyed by identity.
	Agents                   map[string]Loaded[Agent]
	ToolProviders            map[ProviderKey]Loaded[ToolProvider]
	BuildProfiles            map[string]Loaded[BuildProfile]
	Compositions             map[CompositionKey]Loaded[Composition]
	ToolProviderCompositions map[ToolProviderCompositionKey]Loaded[ToolProviderComposition]
	// Identities are those of all documents, evaluations included.
	Identities Identities
}

// Identities are canonical identities of documents by content path.
type Identities map[string]digest.Digest

// CompositionKey identifies an agent composition: one agent on one platform.
type CompositionKey struct {
	Agent    string
	Platform Platform
}

// ToolProviderCompositionKey identifies a tool provider composition.
type ToolProviderCompositionKey struct {
	Provider ProviderKey
	Platform Platform
}

// Bundle is a variant that goes into an image, with the provider it belongs to.
type Bundle struct {
	Provider Loaded[ToolProvider]
	Variant  *Variant
}

// Key is the identity of the bundle's provider.
func (b Bundle) Key() ProviderKey {
	return ProviderKey{ID: b.Provider.Doc.ID, Version: b.Provider.Doc.Version}
}

// graph makes the graph of a suite that has no problems.
func (v *validation) graph() *Graph {
	g := &Graph{
		Index: v.index, Manifest: v.manifest.loaded(), Catalog: v.catalog.loaded(), Identities: v.identities,
		Agents:                   make(map[string]Loaded[Agent], len(v.agents)),
		ToolProviders:            make(map[ProviderKey]Loaded[ToolProvider], len(v.providers)),
		BuildProfiles:            make(map[string]Loaded[BuildProfile], len(v.profiles)),
		Compositions:             make(map[CompositionKey]Loaded[Composition], len(v.compositions)),
		ToolProviderCompositions: make(map[ToolProviderCompositionKey]Loaded[ToolProviderComposition], len(v.providerCompositions)),
	}
	for id, n := range v.agentByID {
		g.Agents[id] = n.loaded()
	}
	for key, n := range v.providerByKey {
		g.ToolProviders[key] = n.loaded()
	}
	for id, n := range v.profileByID {
		g.BuildProfiles[id] = n.loaded()
	}
	for i, ref := range v.manifest.doc.Compositions {
		g.Compositions[ref.key()] = v.compositions[i].loaded()
	}
	for i, ref := range v.manifest.doc.ToolProviderCompositions {
		g.ToolProviderCompositions[ref.key()] = v.providerCompositions[i].loaded()
	}
	return g
}
