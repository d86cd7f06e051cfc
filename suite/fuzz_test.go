package suite_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// FuzzGraph mutates the documents of a small suite, one at a time or two, and brings digests up to
// date, so that the mutations get past them. Validation must not panic, must say the same twice, and
// whatever it calls valid must be usable: every target can be selected for each of its platforms.
func FuzzGraph(f *testing.F) {
	bases := map[string]*fixture{}
	var names []string
	for _, name := range validFixtures(f) {
		bases[name] = loadFixture(f, "valid/"+name)
		bases[name].remember()
		names = append(names, name)
	}
	paths := func(base *fixture) []string {
		var list []string
		for path := range base.texts {
			if strings.HasSuffix(path, ".json") {
				list = append(list, path)
			}
		}
		slices.Sort(list)
		return list
	}
	// The broken fixtures are what mutations should find their way to: each is a seed, as the documents
	// in which it differs from the valid suite that it was made from.
	for i := range breakages {
		b := &breakages[i]
		base := bases[b.base]
		altered := base.broken(f, b)
		for k, path := range paths(base) {
			if text, ok := altered.texts[path]; ok && !bytes.Equal(text, base.texts[path]) && len(text) < 1<<16 {
				f.Add(uint8(slices.Index(names, b.base)), uint8(k), text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, base, document uint8, text []byte) {
		original := bases[names[int(base)%len(names)]]
		all := paths(original)
		path := all[int(document)%len(all)]
		mutated := original.clone()
		mutated.put(path, string(text))
		if !mutated.resealed(original.identities()) {
			return
		}
		x := mutated.index()
		g, report, err := suite.Validate(t.Context(), x, content.DefaultLimits())
		require.NoError(t, err)
		require.Equal(t, g == nil, len(report.Problems) > 0)
		first, err := json.Marshal(report)
		require.NoError(t, err)
		_, again, err := suite.Validate(t.Context(), x, content.DefaultLimits())
		require.NoError(t, err)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
		for _, p := range report.Problems {
			require.NotContains(t, p.String(), "\n")
			require.NotContains(t, p.String(), "\x1b")
			require.NotContains(t, p.Message, "%!")
		}
		if g == nil {
			return
		}
		require.Len(t, g.Agents, report.Agents)
		require.Len(t, g.ToolProviders, report.ToolProviders)
		require.Len(t, g.Compositions, report.Compositions)
		require.Len(t, g.ToolProviderCompositions, report.ToolProviderCompositions)
		for _, agent := range g.Agents {
			require.NotEmpty(t, agent.Digest)
		}
		for _, provider := range g.ToolProviders {
			require.NotEmpty(t, provider.Digest)
		}
		for _, target := range g.Targets() {
			require.NotEmpty(t, target.Platforms)
			for _, platform := range target.Platforms {
				s, err := g.Select(target.Name, platform)
				require.NoError(t, err)
				for _, b := range s.Bundles {
					require.Equal(t, platform, b.Variant.Platform)
				}
			}
		}
	})
}

// Every fixture of a broken suite is a seed of the fuzz target too, so it is run with the tests.
func TestFuzzSeedsComeFromFixtures(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(testdata, "invalid", "*"))
	require.NoError(t, err)
	require.Len(t, dirs, len(breakages), "testdata/invalid holds what breakages make; run with -update")
}
