package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dependencyGraph makes providers of lines such as "a: b c", each with one variant.
func dependencyGraph(lines ...string) *Graph {
	g := &Graph{ToolProviders: map[ProviderKey]Loaded[ToolProvider]{}}
	for _, line := range lines {
		id, dependencies, _ := strings.Cut(line, ":")
		variant := Variant{Platform: Platforms()[0]}
		for _, d := range strings.Fields(dependencies) {
			variant.Dependencies = append(variant.Dependencies, Dependency{ID: d, Version: "1.0.0"})
		}
		g.ToolProviders[ProviderKey{id, "1.0.0"}] = Loaded[ToolProvider]{Doc: ToolProvider{ID: id, Version: "1.0.0", Variants: []Variant{variant}}}
	}
	return g
}

func (g *Graph) closureOf(roots ...string) string {
	var bundles []Bundle
	for _, id := range roots {
		b, _ := g.bundle(ProviderKey{id, "1.0.0"}, Platforms()[0])
		bundles = append(bundles, b)
	}
	var names []string
	for _, b := range closure(bundles, g.bundle) {
		names = append(names, b.Provider.Doc.ID)
	}
	return strings.Join(names, " ")
}

func TestClosureIsDepthFirstInCompositionOrder(t *testing.T) {
	for _, tc := range []struct {
		name  string
		graph []string
		roots []string
		want  string
	}{
		{"nothing", nil, nil, ""},
		{"no dependencies", []string{"a:", "b:"}, []string{"a", "b"}, "a b"},
		{"as listed, not sorted", []string{"a: z y", "y:", "z:"}, []string{"a"}, "a z y"},
		{"depth before breadth", []string{"a: b c", "b: d", "c:", "d:"}, []string{"a"}, "a b d c"},
		{"a root's dependencies before the next root", []string{"a: c", "b:", "c:"}, []string{"a", "b"}, "a c b"},
		{"shared by two", []string{"a: c", "b: c", "c:"}, []string{"a", "b"}, "a c b"},
		{"a root that another depends on", []string{"a:", "b: a"}, []string{"b", "a"}, "b a"},
		{"a root that was met before", []string{"a: b", "b:", "c:"}, []string{"a", "b", "c"}, "a b c"},
		{"where it is met first, not deepest", []string{"a: b c", "b: c", "c: d", "d:"}, []string{"a"}, "a b c d"},
		{"what does not exist is left out", []string{"a: x b", "b:"}, []string{"a"}, "a b"},
		{"a cycle ends", []string{"a: b", "b: a"}, []string{"a"}, "a b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, dependencyGraph(tc.graph...).closureOf(tc.roots...))
		})
	}
}

func TestFindCycles(t *testing.T) {
	const long = 200_000
	chain := make([]bundleNode, long)
	for i := range chain[:long-1] {
		chain[i].edges = []int{i + 1}
	}
	findCycles(chain)
	for i := range chain[1:] {
		require.NotEqual(t, chain[i].component, chain[i+1].component)
	}
	chain[long-1].edges = []int{0}
	findCycles(chain)
	for i := range chain {
		require.Equal(t, chain[0].component, chain[i].component)
	}
}
