package seal

import (
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// provider is a tool provider document of the catalog.
type provider struct {
	*draft
	key      suite.ProviderKey
	variants []*variant
	// entries counts the payload entries of all variants.
	entries int
	// id is the document's identity, once the provider is sealed.
	id digest.Digest
}

// variant is one variant of a provider while its identity is computed.
type variant struct {
	*value
	provider *provider
	index    int
	platform suite.Platform

	state sealing
	id    digest.Digest
}

// sealing tells how far a variant is.
type sealing uint8

const (
	waiting sealing = iota
	underway
	done
)

func (v *variant) String() string { return v.provider.key.String() + " for " + v.platform.String() }

func (v *variant) pointer(tokens ...any) string {
	return strictjson.Pointer(append([]any{"variants", v.index}, tokens...)...)
}

// variantFor returns the provider's variant for a platform, or nil.
func (p *provider) variantFor(platform suite.Platform) *variant {
	i := slices.IndexFunc(p.variants, func(v *variant) bool { return v.platform == platform })
	if i < 0 {
		return nil
	}
	return p.variants[i]
}

// catalog seals the catalog and every tool provider in it.
func (s *sealer) catalog(d *draft) {
	entries := items(d.doc.Root, "toolProviders")
	var providers []*provider
	for _, entry := range entries {
		p := s.referencedDraft(entry, suite.MediaTypeToolProvider)
		if p == nil {
			continue
		}
		key := suite.ProviderKey{ID: text(p.doc.Root, "id"), Version: text(p.doc.Root, "version")}
		if s.providers[key] == nil {
			s.providers[key] = newProvider(p, key)
			providers = append(providers, s.providers[key])
		}
	}
	for _, p := range providers {
		for i, tool := range items(p.doc.Root, "tools") {
			s.bindFile(p.draft, member(tool, "inputSchema"), "tools", i, "inputSchema")
			s.bindFile(p.draft, member(tool, "outputSchema"), "tools", i, "outputSchema")
		}
		for _, v := range p.variants {
			s.variant(v)
		}
	}
	for _, p := range providers {
		p.id = documentDigest(p.draft)
	}
	for i, entry := range entries {
		s.bindDocument(d, entry, suite.MediaTypeToolProvider, "toolProviders", i)
	}
}

func newProvider(d *draft, key suite.ProviderKey) *provider {
	p := &provider{draft: d, key: key}
	for i, v := range items(d.doc.Root, "variants") {
		if v != nil {
			p.variants = append(p.variants, &variant{value: v, provider: p, index: i, platform: platformOf(v)})
		}
	}
	return p
}

// variant computes the inventory and the identity of a variant, those that it depends on first, because
// its identity commits to theirs.
func (s *sealer) variant(v *variant) {
	if v.state != waiting {
		return
	}
	v.state = underway
	s.inventory(v)
	for i, dependency := range items(v.value, "dependencies") {
		if text(dependency, "id") == "" {
			continue
		}
		s.dependency(v, i, dependency)
	}
	v.id = s.variantDigest(v)
	s.putDigest(v.provider.draft, v.value, "variantDigest", v.id, []any{"variants", v.index}, "platform")
	v.state = done
}

// dependency binds one dependency of a variant. Variants that depend on each other in a circle have no
// digests; the validator names the circle.
func (s *sealer) dependency(v *variant, i int, dependency *value) {
	id := standIn
	key := suite.ProviderKey{ID: text(dependency, "id"), Version: text(dependency, "version")}
	if p := s.providers[key]; p != nil {
		if on := p.variantFor(v.platform); on != nil {
			s.variant(on)
			if on.state == done {
				id = on.id
			}
		}
	}
	s.putDigest(v.provider.draft, dependency, "variantDigest", id, []any{"variants", v.index, "dependencies", i}, "version")
}

// variantDigest computes the identity of a variant as it is sealed.
func (s *sealer) variantDigest(v *variant) digest.Digest {
	p := v.provider
	p.putString(v.value, "variantDigest", string(standIn), "platform")
	// A provider with nothing but this variant, so that the one rule for identities is asked.
	text := slices.Concat([]byte(`{"variants":[`), p.textOf(v.value), []byte(`]}`))
	doc, problems := strictjson.Parse(p.doc.Path, text, s.limits.JSON)
	if doc == nil || len(problems) > 0 {
		for _, found := range problems {
			s.own(found.Rule, p.draft, v.pointer("files"), "with its complete inventory, %s", found.Message)
		}
		return standIn
	}
	id, err := suite.VariantDigest(doc, 0)
	if err != nil {
		return standIn
	}
	return id
}
