package seal

import (
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// composition resolves what the composition's agent requires to exact manifests and variants for the
// composition's platform (section 10).
func (s *sealer) composition(d *draft) {
	root := d.doc.Root
	agent := s.agents[text(root, "agent")]
	if agent == nil {
		s.claim(d, "/toolProviders") // the fault is the agent's, or that of the name
		if member(root, "toolProviders") == nil {
			d.putArray(root, "toolProviders", nil, "buildProfile")
		}
		return
	}
	platform := platformOf(root)
	resolved := map[suite.ProviderKey]*value{}
	for _, record := range items(root, "toolProviders") {
		key := suite.ProviderKey{ID: text(record, "id"), Version: text(record, "version")}
		if resolved[key] == nil {
			resolved[key] = record
		}
	}

	indent := d.itemIndent(member(root, "toolProviders"))
	var records []string
	for _, r := range requirements(agent) {
		p := s.providers[r.key]
		if p == nil {
			s.claim(d, "/toolProviders") // the fault is the agent's requirement
			continue
		}
		variant := p.digestFor(platform)
		if variant == standIn {
			s.unknown[place{d.doc.Path, strictjson.Pointer("toolProviders", len(records), "variantDigest")}] = true
		}
		fields := []field{
			{"id", quote(r.key.ID)}, {"version", quote(r.key.Version)}, {"manifestDigest", quote(string(p.id))},
			{"variantDigest", quote(string(variant))}, {"executionMode", quote(r.executionMode)},
		}
		if record := resolved[r.key]; record != nil {
			d.update(record, fields)
			records = append(records, string(d.textOf(record)))
			continue
		}
		records = append(records, d.objectText(indent, fields))
	}
	d.putArray(root, "toolProviders", records, "buildProfile")
}

// requirement is one tool provider that an agent requires.
type requirement struct {
	key           suite.ProviderKey
	executionMode string
}

// requirements returns what an agent requires, in the order of a composition.
func requirements(agent *draft) []requirement {
	var list []requirement
	for _, v := range items(agent.doc.Root, "toolProviders") {
		if id := text(v, "id"); id != "" {
			list = append(list, requirement{suite.ProviderKey{ID: id, Version: text(v, "version")}, text(v, "executionMode")})
		}
	}
	slices.SortFunc(list, func(a, b requirement) int { return a.key.Compare(b.key) })
	return slices.CompactFunc(list, func(a, b requirement) bool { return a.key == b.key })
}

// toolProviderComposition binds the provider and the variant that a composition names (section 10.1).
func (s *sealer) toolProviderComposition(d *draft) {
	root := d.doc.Root
	manifest, variant := standIn, standIn
	if p := s.providers[suite.ProviderKey{ID: text(root, "id"), Version: text(root, "version")}]; p != nil {
		manifest, variant = p.id, p.digestFor(platformOf(root))
	}
	s.putDigest(d, root, "manifestDigest", manifest, nil, "version", "id")
	s.putDigest(d, root, "variantDigest", variant, nil, "platform")
}

// digestFor returns the identity of the provider's variant for a platform, or the stand-in.
func (p *provider) digestFor(platform suite.Platform) digest.Digest {
	if v := p.variantFor(platform); v != nil {
		return v.id
	}
	return standIn
}
