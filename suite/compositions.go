package suite

import (
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// checkComposition checks the order of a composition's tool providers, which is part of its identity
// (section 10).
func (v *validation) checkComposition(n *node[Composition], f *findings) {
	var previous ProviderKey
	for i, p := range n.doc.ToolProviders {
		key := p.key()
		if key == (ProviderKey{}) {
			continue
		}
		switch at := strictjson.Pointer("toolProviders", i); {
		case key == previous:
			n.report(f, problem.CompositionOrder, at, "%s is resolved twice; keep one record", key)
		case previous != (ProviderKey{}) && key.Compare(previous) < 0:
			n.report(f, problem.CompositionOrder, at, "%s stands after %s; sort the records by id and then version", key, previous)
			return
		}
		previous = key
	}
}

// checkCompositions holds every agent composition against the agent, the tool providers and the build
// profile that it resolves, and every agent against having one.
func (v *validation) checkCompositions() {
	refs := v.manifest.doc.Compositions
	composed := map[string]bool{}
	checked := map[*node[Composition]]bool{}
	for i, ref := range refs {
		composed[ref.Agent] = true
		n := v.compositions[i]
		agent, known := v.agentByID[ref.Agent]
		if ref.Agent != "" && !known && v.manifest.sound("/agents") {
			v.manifest.report(&v.found, problem.GraphUnknown, strictjson.Pointer("compositions", i, "agent"),
				"the suite has no agent %s%s", ref.Agent, v.instead(ref.Agent, v.agentIDs))
		}
		if n.broken || checked[n] {
			continue
		}
		checked[n] = true
		if known && (n.doc.Agent != ref.Agent || agent.doc.ID != ref.Agent) {
			// One of the three names is wrong, which has been reported; what the agent requires is not known.
			agent = nil
		}
		v.checkRecords(n, agent)
		v.checkProfileFor(&n.document, problem.CompositionProfile, n.doc.BuildProfile, n.doc.Platform, true)
	}
	if !v.manifest.sound("/compositions") {
		return
	}
	for i, ref := range v.manifest.doc.Agents {
		if ref.ID != "" && !composed[ref.ID] {
			v.manifest.report(&v.found, problem.CompositionMissing, strictjson.Pointer("agents", i),
				"agent %s has no composition; list one for each platform that it is meant for, also when it has no tool providers", ref.ID)
		}
	}
}

// checkRecords holds the records of a composition against what its agent requires and the catalog
// has. The agent is nil when it is not known which one the composition is for.
func (v *validation) checkRecords(n *node[Composition], agent *node[Agent]) {
	var required map[ProviderKey]bool
	if agent != nil && agent.sound("/toolProviders") {
		required = make(map[ProviderKey]bool, len(agent.doc.ToolProviders))
		for _, r := range agent.doc.ToolProviders {
			required[r.key()] = true
		}
	}
	resolved := make(map[ProviderKey]bool, len(n.doc.ToolProviders))
	for _, p := range n.doc.ToolProviders {
		resolved[p.key()] = true
	}
	// unmet are the requirements without a record, by the provider's id. A record for another version than
	// the required one is one fault, not an ambient record and an unmet requirement.
	unmet := map[string][]ProviderKey{}
	if required != nil {
		for _, r := range agent.doc.ToolProviders {
			if key := r.key(); key != (ProviderKey{}) && !resolved[key] {
				unmet[key.ID] = append(unmet[key.ID], key)
			}
		}
	}
	for i, p := range n.doc.ToolProviders {
		key, at := p.key(), strictjson.Pointer("toolProviders", i)
		others := unmet[key.ID]
		switch {
		case key == (ProviderKey{}):
		case required == nil || required[key]:
			v.checkSelected(&n.document, at, key, n.doc.Platform, p.ManifestDigest, p.VariantDigest, required != nil, &agentRules)
		case len(others) > 0:
			unmet[key.ID] = others[1:]
			n.report(&v.found, problem.CompositionAmbient, at+"/version", "agent %s requires %s, the composition resolves %s; both must be the same", agent.doc.ID, others[0], key)
		default:
			n.report(&v.found, problem.CompositionAmbient, at, "agent %s does not require %s; remove the record, or add the requirement to %s", agent.doc.ID, key, agent.path)
		}
	}
	if !n.sound("/toolProviders") {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(unmet)) {
		for _, key := range slices.Compact(slices.SortedFunc(slices.Values(unmet[id]), ProviderKey.Compare)) {
			if v.composable(key) {
				n.report(&v.found, problem.CompositionUnmet, "/toolProviders", "agent %s requires %s, which the composition does not resolve; add a record for it", agent.doc.ID, key)
			}
		}
	}
}

// composable tells whether a required tool provider can be resolved at all. Where it cannot, the
// requirement is the fault, and has been reported.
func (v *validation) composable(key ProviderKey) bool {
	provider, known := v.providerByKey[key]
	return known && (!provider.sound("/variants") || len(provider.doc.Variants) > 0) || !known && !v.catalog.sound("/toolProviders")
}

// selectionRules are the rules under which a composition's choice of a variant is reported.
type selectionRules struct{ manifest, variant, platform, remote *problem.Rule }

var (
	agentRules    = selectionRules{problem.CompositionManifest, problem.CompositionVariant, problem.CompositionPlatform, problem.CompositionRemote}
	providerRules = selectionRules{problem.ProviderCompositionManifest, problem.ProviderCompositionVariant, problem.ProviderCompositionPlatform, problem.ProviderCompositionRemote}
)

// checkSelected holds the choice of a tool provider's variant, which lies at a pointer, against the
// catalog. What an agent requires has been reported at the agent where the catalog does not have it
// or has no variant of it.
func (v *validation) checkSelected(d *document, pointer string, key ProviderKey, platform Platform, manifest, variant digest.Digest, isRequired bool, rules *selectionRules) {
	provider, known := v.providerByKey[key]
	if !known {
		if !isRequired && v.catalog.sound("/toolProviders") {
			d.report(&v.found, problem.GraphUnknown, pointer, "the tool provider catalog has no %s%s", key, v.insteadOfProvider(key))
		}
		return
	}
	if provider.broken {
		return
	}
	v.checkDigestAs(rules.manifest, d, pointer+"/manifestDigest", manifest, &provider.document)
	if !provider.sound("/variants") || !platform.known() {
		return
	}
	variants := provider.doc.Variants
	selected := slices.IndexFunc(variants, func(x Variant) bool { return x.Platform == platform })
	switch {
	case len(variants) == 0:
		if !isRequired {
			d.report(&v.found, rules.remote, pointer, "%s is only declared remotely; a composition needs a bundled variant, which %s does not have", key, provider.path)
		}
	case selected < 0:
		d.report(&v.found, rules.platform, pointer, "%s has no variant for %s; it has %s", key, platform, joinPlatforms(variantPlatforms(variants)))
	default:
		v.checkVariantDigest(d, rules, pointer+"/variantDigest", variant, provider, selected)
	}
}

// checkVariantDigest accepts the digest that the variant states and the one that it has: where they
// differ, the variant itself is to blame.
func (v *validation) checkVariantDigest(d *document, rules *selectionRules, pointer string, stated digest.Digest, provider *node[ToolProvider], selected int) {
	x := provider.doc.Variants[selected]
	actual := provider.variantDigests[selected]
	if stated == "" || x.VariantDigest == "" || stated == x.VariantDigest || stated == actual {
		return
	}
	key := ProviderKey{provider.doc.ID, provider.doc.Version}
	for _, platform := range Platforms() {
		i := slices.IndexFunc(provider.doc.Variants, func(x Variant) bool { return x.Platform == platform })
		if i < 0 || i == selected {
			continue
		}
		if other := provider.doc.Variants[i]; other.VariantDigest == stated {
			d.report(&v.found, rules.platform, pointer, "the digest is that of the %s variant of %s; the composition is for %s", other.Platform, key, x.Platform)
			return
		}
	}
	is, says := shortDigests(x.VariantDigest, stated)
	d.report(&v.found, rules.variant, pointer, "the %s variant of %s is %s, the composition says %s; %s", x.Platform, key, is, says, sealHint)
}

func variantPlatforms(variants []Variant) []Platform {
	return eachOnce(variants, func(x *Variant) Platform { return x.Platform })
}

// checkProviderCompositions holds every tool-provider composition against the catalog and the build
// profiles (section 10.1).
func (v *validation) checkProviderCompositions() {
	for _, n := range unique(v.providerCompositions) {
		c := &n.doc
		if key := providerKey(c.ID, c.Version); key != (ProviderKey{}) {
			v.checkSelected(&n.document, "", key, c.Platform, c.ManifestDigest, c.VariantDigest, false, &providerRules)
		}
		v.checkProfileFor(&n.document, problem.ProviderCompositionProfile, c.BuildProfile, c.Platform, false)
	}
}
