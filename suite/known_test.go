package suite_test

import (
	"maps"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// Known identities spare work and change nothing.
func TestKnownIdentities(t *testing.T) {
	for _, name := range validFixtures(t) {
		t.Run(name, func(t *testing.T) {
			x := loadFixture(t, "valid/"+name).index()
			graph, report, err := suite.Validate(t.Context(), x, content.DefaultLimits())
			require.NoError(t, err)
			for path := range graph.Identities {
				want, err := suite.DocumentDigest(x.Texts[path])
				require.NoError(t, err)
				require.Equal(t, want, graph.Identities[path], path)
			}
			again, reportAgain, err := suite.ValidateKnown(t.Context(), x, content.DefaultLimits(), graph.Identities)
			require.NoError(t, err)
			require.Equal(t, graph, again)
			require.Equal(t, report, reportAgain)
		})
	}
}

// What is known is not computed: a wrong identity is believed, and so is what a variant states. A document whose identity
// is known is not held against its schema.
func TestKnownIdentitiesAreBelieved(t *testing.T) {
	f := loadFixture(t, "valid/opa")
	graph, _ := f.validate(t)
	known := maps.Clone(graph.Identities)
	known[profilePath] = digest.FromString("something else")
	path := "tool-providers/opa/1.0.0/tool-provider.json"
	f.replace(t, path, digestAfter(t, f, path, `"variantDigest"`), digest.FromString("a variant").String())
	f.replace(t, manifestPath, `"name"`, `"extra": 1, "name"`)
	_, report, err := suite.ValidateKnown(t.Context(), f.index(), content.DefaultLimits(), known)
	require.NoError(t, err)
	require.Contains(t, broken(report), "id-document agentsuite.json/buildProfiles/0/digest")
	require.NotContains(t, broken(report), "json-unknown-member agentsuite.json/extra")
	require.NotContains(t, broken(report), "id-variant "+path+"/variants/0/variantDigest")
}
