package suite_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
)

func indented(t *testing.T, v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	return string(text)
}

func TestReportJSON(t *testing.T) {
	_, report := loadFixture(t, "valid/kubernetes").validate(t)
	text := indented(t, report)
	var compositions []suite.CompositionSelection
	for _, s := range report.CompositionSelections {
		compositions = append(compositions, s)
		require.NotEmpty(t, s.Digest)
	}
	require.Len(t, compositions, 2)
	require.JSONEq(t, `{
  "valid": true,
  "report": {
    "name": "kubernetes", "agents": 1, "toolProviders": 2, "toolProviderCompositions": 1, "compositions": 2,
    "capabilities": ["bundled-stdio-mcp"],
    "agentPlatforms": [
      {"agent": "operator", "platforms": [{"os": "linux", "architecture": "amd64"}, {"os": "linux", "architecture": "arm64"}]}
    ],
    "compositionSelections": [
      {"agent": "operator", "platform": {"os": "linux", "architecture": "amd64"}, "buildProfile": "default",
       "path": "compositions/operator-linux-amd64.json", "digest": "`+string(compositions[0].Digest)+`"},
      {"agent": "operator", "platform": {"os": "linux", "architecture": "arm64"}, "buildProfile": "default",
       "path": "compositions/operator-linux-arm64.json", "digest": "`+string(compositions[1].Digest)+`"}
    ]
  },
  "errors": [],
  "warnings": [
    {"rule": "AgentWithoutEvaluations", "path": "agents/operator.json", "pointer": "", "line": 1, "column": 1,
     "message": "agent operator has no evaluations; add cases at evals/operator",
     "url": "https://github.com/agentsuite/agentsuite-llb/blob/main/docs/rules/AgentWithoutEvaluations.md"}
  ]
}`, text)
}

func TestReportJSONOfNothing(t *testing.T) {
	_, report := (&fixture{entries: tree{}, texts: texts{}}).validate(t)
	// Empty lists are arrays and not null, which the comparison tells apart.
	require.JSONEq(t, `{
  "valid": false,
  "report": {
    "name": "",
    "agents": 0,
    "toolProviders": 0,
    "toolProviderCompositions": 0,
    "compositions": 0,
    "capabilities": [],
    "agentPlatforms": [],
    "compositionSelections": []
  },
  "errors": [
    {
      "category": "graph",
      "requirement": "AS-GRAPH-001",
      "rule": "graph-missing",
      "path": "agentsuite.json",
      "pointer": "",
      "line": 0,
      "column": 0,
      "message": "the content has no agentsuite.json, with which a suite begins"
    }
  ],
  "warnings": []
}`, indented(t, report))
	require.Error(t, report.Err())
}

func TestSummary(t *testing.T) {
	_, report := loadFixture(t, "valid/coordinator-workers").validate(t)
	require.Equal(t, "coordinator-workers conformant: 3 agents, 1 tool providers, 2 tool-provider compositions, 6 compositions; capabilities: bundled-stdio-mcp", report.Summary())
	require.NoError(t, report.Err())
	_, report = loadFixture(t, "valid/minimal").validate(t)
	require.Equal(t, "minimal conformant: 1 agents, 0 tool providers, 0 tool-provider compositions, 1 compositions; capabilities: none", report.Summary())
}
