package suite

import (
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// Hints that tell an author how what sealing computes is brought up to date.
const (
	sealHint       = `run "agentsuite-llb seal" to refresh digests`
	recordHint     = `run "agentsuite-llb seal" to record what is there`
	capabilityHint = `run "agentsuite-llb seal" to derive them`
)

// checkIdentities holds every reference of the suite manifest and of the catalog against the document
// that it names, and makes the documents known by the identities in the references.
func (v *validation) checkIdentities() {
	manifest, catalog := &v.manifest.document, &v.catalog.document
	m := &v.manifest.doc
	v.checkDigest(manifest, "/toolProviderCatalog/digest", m.ToolProviderCatalog.Digest, catalog)

	v.agentByID = make(map[string]*node[Agent], len(m.Agents))
	for _, i := range v.checkAgentPaths() {
		ref, n := m.Agents[i], v.agents[i]
		v.checkDigest(manifest, strictjson.Pointer("agents", i, "digest"), ref.Digest, &n.document)
		v.checkMember(manifest, strictjson.Pointer("agents", i, "id"), "id", ref.ID, n.doc.ID, n.path)
	}
	for i, ref := range m.Agents {
		know(v.agentByID, ref.ID, v.agents[i])
	}
	repetitions(m.Agents, func(r ManifestReference) string { return r.ID }, func(first, again int) {
		manifest.report(&v.found, problem.GraphDuplicate, strictjson.Pointer("agents", again, "id"),
			"agent %s is listed twice; the first is agents[%d]", m.Agents[again].ID, first)
	})
	v.profileByID = make(map[string]*node[BuildProfile], len(m.BuildProfiles))
	for i, ref := range m.BuildProfiles {
		n := v.profiles[i]
		v.checkDigest(manifest, strictjson.Pointer("buildProfiles", i, "digest"), ref.Digest, &n.document)
		v.checkMember(manifest, strictjson.Pointer("buildProfiles", i, "id"), "id", ref.ID, n.doc.ID, n.path)
		know(v.profileByID, ref.ID, n)
	}
	repetitions(m.BuildProfiles, func(r ManifestReference) string { return r.ID }, func(first, again int) {
		manifest.report(&v.found, problem.GraphDuplicate, strictjson.Pointer("buildProfiles", again, "id"),
			"build profile %s is listed twice; the first is buildProfiles[%d]", m.BuildProfiles[again].ID, first)
	})

	for i, ref := range m.Compositions {
		n, at := v.compositions[i], func(member string) string { return strictjson.Pointer("compositions", i, member) }
		v.checkDigest(manifest, at("digest"), ref.Digest, &n.document)
		v.checkMember(manifest, at("agent"), "agent", ref.Agent, n.doc.Agent, n.path)
		v.checkPlatform(manifest, at("platform"), ref.Platform, n.doc.Platform, n.path)
	}
	repetitions(m.Compositions, CompositionReference.key, func(first, again int) {
		ref := m.Compositions[again]
		manifest.report(&v.found, problem.GraphDuplicate, strictjson.Pointer("compositions", again),
			"agent %s has two compositions for %s; the first is compositions[%d]", ref.Agent, ref.Platform, first)
	})

	for i, ref := range m.ToolProviderCompositions {
		n, at := v.providerCompositions[i], func(member string) string { return strictjson.Pointer("toolProviderCompositions", i, member) }
		v.checkDigest(manifest, at("digest"), ref.Digest, &n.document)
		v.checkMember(manifest, at("id"), "id", ref.ID, n.doc.ID, n.path)
		v.checkMember(manifest, at("version"), "version", ref.Version, n.doc.Version, n.path)
		v.checkPlatform(manifest, at("platform"), ref.Platform, n.doc.Platform, n.path)
	}
	repetitions(m.ToolProviderCompositions, ToolProviderCompositionReference.key, func(first, again int) {
		ref := m.ToolProviderCompositions[again]
		manifest.report(&v.found, problem.GraphDuplicate, strictjson.Pointer("toolProviderCompositions", again),
			"tool provider %s@%s has two compositions for %s; the first is toolProviderCompositions[%d]", ref.ID, ref.Version, ref.Platform, first)
	})

	entries := v.catalog.doc.ToolProviders
	v.providerByKey = make(map[ProviderKey]*node[ToolProvider], len(entries))
	for i, entry := range entries {
		n, at := v.providers[i], func(member string) string { return strictjson.Pointer("toolProviders", i, member) }
		v.checkDigest(catalog, at("digest"), entry.Digest, &n.document)
		v.checkMember(catalog, at("id"), "id", entry.ID, n.doc.ID, n.path)
		v.checkMember(catalog, at("version"), "version", entry.Version, n.doc.Version, n.path)
		know(v.providerByKey, entry.key(), n)
	}
	v.sortKnown()
	repetitions(entries, CatalogEntry.key, func(first, again int) {
		catalog.report(&v.found, problem.GraphDuplicate, strictjson.Pointer("toolProviders", again),
			"tool provider %s is listed twice; the first is toolProviders[%d]", entries[again].key(), first)
	})
}

// sortKnown lists what is known in order, for proposals.
func (v *validation) sortKnown() {
	v.agentIDs = slices.Sorted(maps.Keys(v.agentByID))
	v.profileIDs = slices.Sorted(maps.Keys(v.profileByID))
	v.providerKeys = slices.SortedFunc(maps.Keys(v.providerByKey), ProviderKey.Compare)
}

// checkAgentPaths refuses one document for two agents. It returns the references that are left to be
// held against theirs: one that claims another agent's document has nothing else wrong.
func (v *validation) checkAgentPaths() []int {
	refs := v.manifest.doc.Agents
	claimed := map[int]bool{}
	repetitions(refs, func(r ManifestReference) string { return r.Path }, func(first, again int) {
		if refs[first].ID != refs[again].ID {
			claimed[again] = true
			v.manifest.report(&v.found, problem.GraphDuplicate, strictjson.Pointer("agents", again, "path"),
				"%s is already the document of agent %s; each agent has its own", refs[again].Path, refs[first].ID)
		}
	})
	var rest []int
	for i := range refs {
		if !claimed[i] {
			rest = append(rest, i)
		}
	}
	return rest
}

// know registers a document under an identity. The first of two that claim one keeps it.
func know[K comparable, T any](known map[K]*node[T], key K, n *node[T]) {
	var zero K
	if _, taken := known[key]; key != zero && !taken {
		known[key] = n
	}
}

// checkDigest holds the digest that a reference states against the document that it names.
func (v *validation) checkDigest(from *document, pointer string, stated digest.Digest, named *document) {
	v.checkDigestAs(problem.IDDocument, from, pointer, stated, named)
}

func (v *validation) checkDigestAs(rule *problem.Rule, from *document, pointer string, stated digest.Digest, named *document) {
	if stated == "" || named.broken || named.digest == "" || stated == named.digest {
		return
	}
	is, says := shortDigests(named.digest, stated)
	from.report(&v.found, rule, pointer, "%s is %s, the reference says %s; %s", named.path, is, says, sealHint)
}

// checkMember holds a part of an identity that a reference states against what the document states.
// An empty value is one that is not known.
func (v *validation) checkMember(from *document, pointer, member, stated, found, path string) {
	if stated != "" && found != "" && stated != found {
		from.report(&v.found, problem.GraphIdentity, pointer, "%s states the %s %s, the reference says %s; both must be the same",
			path, member, problem.Quoted(found), problem.Quoted(stated))
	}
}

func (v *validation) checkPlatform(from *document, pointer string, stated, found Platform, path string) {
	if stated.known() && found.known() && stated != found {
		from.report(&v.found, problem.GraphIdentity, pointer, "%s states the platform %s, the reference says %s; both must be the same", path, found, stated)
	}
}

// known tells whether both parts of a platform could be read.
func (p Platform) known() bool { return p.OS != "" && p.Architecture != "" }

func (r CompositionReference) key() CompositionKey {
	if r.Agent == "" || !r.Platform.known() {
		return CompositionKey{}
	}
	return CompositionKey{r.Agent, r.Platform}
}

func (r ToolProviderCompositionReference) key() ToolProviderCompositionKey {
	provider := providerKey(r.ID, r.Version)
	if provider == (ProviderKey{}) || !r.Platform.known() {
		return ToolProviderCompositionKey{}
	}
	return ToolProviderCompositionKey{provider, r.Platform}
}

func (e CatalogEntry) key() ProviderKey { return providerKey(e.ID, e.Version) }

func (r ProviderRequirement) key() ProviderKey { return providerKey(r.ID, r.Version) }

func (r ResolvedProvider) key() ProviderKey { return providerKey(r.ID, r.Version) }

func (d Dependency) key() ProviderKey { return providerKey(d.ID, d.Version) }

// providerKey is the zero key unless both parts are known.
func providerKey(id, version string) ProviderKey {
	if id == "" || version == "" {
		return ProviderKey{}
	}
	return ProviderKey{id, version}
}
