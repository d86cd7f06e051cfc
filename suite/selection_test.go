package suite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
)

var (
	amd64 = suite.Platform{OS: "linux", Architecture: "amd64"}
	arm64 = suite.Platform{OS: "linux", Architecture: "arm64"}
)

func validGraph(t testing.TB, name string) *suite.Graph {
	g, report := loadFixture(t, "valid/"+name).validate(t)
	require.Empty(t, problemLines(report))
	return g
}

func TestTargets(t *testing.T) {
	both := []suite.Platform{amd64, arm64}
	require.Equal(t, []suite.Target{
		{Name: "coordinator", Kind: suite.AgentTarget, Description: "Splits work between the others and puts it together.", Platforms: both},
		{Name: "reviewer", Kind: suite.AgentTarget, Description: "Reads what was written and says what to change.", Platforms: both},
		{Name: "writer", Kind: suite.AgentTarget, Description: "Writes what it is asked for.", Platforms: both},
		{Name: "datetime@1.0.0", Kind: suite.ToolProviderTarget, Description: "tools: current_time", Platforms: both},
	}, validGraph(t, "coordinator-workers").Targets())

	require.Equal(t, []suite.Target{
		{Name: "operator", Kind: suite.AgentTarget, Description: "Looks after a cluster and changes nothing.", Platforms: both, Default: true},
		{Name: "kubernetes@1.31.0", Kind: suite.ToolProviderTarget, Description: "tools: list_workloads", Platforms: []suite.Platform{amd64}},
	}, validGraph(t, "kubernetes").Targets(), "a provider without a composition of its own is no target")
}

func TestSelectAgent(t *testing.T) {
	g := validGraph(t, "kubernetes")
	for _, target := range []string{"", "operator"} {
		s, err := g.Select(target, arm64)
		require.NoError(t, err)
		require.Equal(t, "operator", s.Target)
		require.Equal(t, "operator", s.Agent.Doc.ID)
		require.Equal(t, "compositions/operator-linux-arm64.json", s.Composition.Path)
		require.Nil(t, s.ToolProviderComposition)
		require.Equal(t, "default", s.Profile.Doc.ID)
		require.Equal(t, arm64, s.RuntimeBase.Platform)
		require.Equal(t, arm64, s.Harness.Platform)
		var bundles []string
		for _, b := range s.Bundles {
			require.Equal(t, arm64, b.Variant.Platform)
			bundles = append(bundles, b.Key().String())
		}
		require.Equal(t, []string{"gitops@2.0.0-rc.1", "kubernetes@1.31.0"}, bundles)
	}
}

func TestSelectToolProvider(t *testing.T) {
	s, err := validGraph(t, "kubernetes").Select("kubernetes@1.31.0", amd64)
	require.NoError(t, err)
	require.Equal(t, "tool-provider-compositions/kubernetes-linux-amd64.json", s.ToolProviderComposition.Path)
	require.Nil(t, s.Composition)
	require.Nil(t, s.Agent)
	require.Nil(t, s.Harness)
	require.Equal(t, amd64, s.RuntimeBase.Platform)
	require.Len(t, s.Bundles, 1)
}

func TestSelectErrors(t *testing.T) {
	workers, kubernetes := validGraph(t, "coordinator-workers"), validGraph(t, "kubernetes")
	for _, tc := range []struct {
		name     string
		graph    *suite.Graph
		target   string
		platform suite.Platform
		message  string
	}{
		{"none of several", workers, "", amd64, "suite coordinator-workers has several agents, so name a target: it has coordinator, reviewer, writer, datetime@1.0.0"},
		{"misspelt", workers, "wirter", amd64, `suite coordinator-workers has no target "wirter"; did you mean writer? it has coordinator, reviewer, writer, datetime@1.0.0`},
		{"without version", workers, "datetime", amd64, `suite coordinator-workers has no target "datetime"; did you mean datetime@1.0.0? it has coordinator, reviewer, writer, datetime@1.0.0`},
		{"nothing like it", workers, "x\x1b[2J", amd64, `suite coordinator-workers has no target "x\u001b[2J"; it has coordinator, reviewer, writer, datetime@1.0.0`},
		{"platform", kubernetes, "kubernetes@1.31.0", arm64, "tool provider kubernetes@1.31.0 has no composition for linux/arm64; it has one for linux/amd64"},
		{"agent's platform", validGraph(t, "minimal"), "", arm64, "agent assistant has no composition for linux/arm64; it has one for linux/amd64"},
		{"never composed", kubernetes, "gitops@2.0.0-rc.1", amd64, "tool provider gitops@2.0.0-rc.1 has no composition to build an image of; add one to toolProviderCompositions in agentsuite.json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := tc.graph.Select(tc.target, tc.platform)
			require.Nil(t, s)
			require.EqualError(t, err, tc.message)
		})
	}
	var unknown *suite.UnknownTargetError
	_, err := workers.Select("wirter", amd64)
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "writer", unknown.Suggestion)
	var missing *suite.NoCompositionError
	_, err = kubernetes.Select("kubernetes@1.31.0", arm64)
	require.ErrorAs(t, err, &missing)
	require.Equal(t, []suite.Platform{amd64}, missing.Existing)
}

func TestTarget(t *testing.T) {
	g := validGraph(t, "kubernetes")
	for name, want := range map[string]string{"": "operator", "operator": "operator", "kubernetes@1.31.0": "kubernetes@1.31.0"} {
		target, err := g.Target(name)
		require.NoError(t, err)
		require.Equal(t, want, target.Name)
	}
	_, err := g.Target("kubernets@1.31.0")
	require.ErrorContains(t, err, "did you mean kubernetes@1.31.0?")
	_, err = validGraph(t, "opa").Target("")
	require.ErrorContains(t, err, "name a target")
}
