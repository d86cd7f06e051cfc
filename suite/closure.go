package suite

import "slices"

// closure follows the dependencies of bundles depth first: every root in the given order, each
// followed by its dependencies in the order in which its variant lists them, each bundle once, where
// it is met first. Whatever resolve does not know is left out. Sections 9.4 and 10 define it.
func closure(roots []Bundle, resolve func(ProviderKey, Platform) (Bundle, bool)) []Bundle {
	type identity struct {
		provider ProviderKey
		platform Platform
	}
	seen := make(map[identity]bool, len(roots))
	var bundles []Bundle
	pending := slices.Clone(roots)
	slices.Reverse(pending)
	for len(pending) > 0 {
		b := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		id := identity{b.Key(), b.Variant.Platform}
		if seen[id] {
			continue
		}
		seen[id] = true
		bundles = append(bundles, b)
		for _, d := range slices.Backward(b.Variant.Dependencies) {
			if next, ok := resolve(ProviderKey{d.ID, d.Version}, b.Variant.Platform); ok {
				pending = append(pending, next)
			}
		}
	}
	return bundles
}

// Closure returns bundles and all that they depend on, in the order in which an image gets them
// (sections 9.4 and 10). Dependencies that the graph does not have are left out.
func (g *Graph) Closure(bundles []Bundle) []Bundle { return closure(bundles, g.bundle) }

// bundle finds the variant of a provider for a platform.
func (g *Graph) bundle(key ProviderKey, platform Platform) (Bundle, bool) {
	provider, ok := g.ToolProviders[key]
	if !ok {
		return Bundle{}, false
	}
	return bundleOf(provider, platform)
}

func bundleOf(provider Loaded[ToolProvider], platform Platform) (Bundle, bool) {
	i := slices.IndexFunc(provider.Doc.Variants, func(v Variant) bool { return v.Platform == platform })
	if i < 0 {
		return Bundle{}, false
	}
	return Bundle{Provider: provider, Variant: &provider.Doc.Variants[i]}, true
}
