package suite_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func warnings(t *testing.T, f *fixture, rule *problem.LintRule) []string {
	_, report := f.validate(t)
	require.Empty(t, problemLines(report), "a warning never makes a suite invalid")
	var lines []string
	for _, w := range report.Warnings {
		if w.Rule == rule {
			lines = append(lines, w.String())
		}
	}
	return lines
}

func TestLint(t *testing.T) {
	token := "glpat-" + strings.Repeat("x7Q_", 5)
	for _, tc := range []struct {
		name, base string
		rule       *problem.LintRule
		alter      func(testing.TB, *fixture)
		want       []string
	}{
		{"no evaluations", "minimal", problem.AgentWithoutEvaluations, nil, []string{
			"agents/assistant.json:1:1: AgentWithoutEvaluations: agent assistant has no evaluations; add cases at evals/assistant"}},
		{"evaluations", "evaluations", problem.AgentWithoutEvaluations, nil, nil},

		{"no agent description", "minimal", problem.DescriptionMissing, replacing("agents/assistant.json", `"description": "Answers questions from what it knows.",`, ""), []string{
			"agents/assistant.json:1:1: DescriptionMissing: agent assistant has no description; say what it is for"}},
		{"blank tool description", "opa", problem.DescriptionMissing, replacing("tool-providers/opa/1.0.0/tool-provider.json", "Evaluates a document against a policy.", " "), []string{
			"tool-providers/opa/1.0.0/tool-provider.json:9:5: DescriptionMissing: tool evaluate_document has no description; a model has only its name to judge by"}},

		{"blank instructions", "minimal", problem.EmptyInstructions, putting("instructions/assistant.md", " \n\n"), []string{
			"agents/assistant.json:7:13: EmptyInstructions: instructions/assistant.md holds nothing but white space; tell the agent what to do"}},

		{"credentials in instructions", "minimal", problem.CredentialInProse, putting("instructions/assistant.md", "# Assistant\n\nUse "+token+" or\n"+token+".\n"), []string{
			"instructions/assistant.md:3:5: CredentialInProse: the text holds what looks like a GitLab token; replace it by a made-up word, and revoke it if it was real",
			"instructions/assistant.md:4:1: CredentialInProse: the text holds what looks like a GitLab token; replace it by a made-up word, and revoke it if it was real"}},
		{"a credential in a case", "evaluations", problem.CredentialInProse, replacing(poemPath, "about the sea.", "about "+token+"."), []string{
			"evals/writer/cases/poem.json:5:12: CredentialInProse: the text holds what looks like a GitLab token; replace it by a made-up word, and revoke it if it was real"}},

		{"a tool schema of no known type", "opa", problem.ToolSchemaInvalid, putting("tool-providers/opa/1.0.0/schemas/evaluate_document.input.json", `{"type": "text"}`), []string{
			`tool-providers/opa/1.0.0/tool-provider.json:13:17: ToolSchemaInvalid: tool-providers/opa/1.0.0/schemas/evaluate_document.input.json is no JSON Schema that compiles: type: ` + "value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', …"}},
		{"a tool schema that refers outside", "opa", problem.ToolSchemaInvalid, putting("tool-providers/opa/1.0.0/schemas/evaluate_document.output.json", `{"$ref": "https://schemas.example/a.json"}`), nil},
		{"another draft", "opa", problem.ToolSchemaInvalid, putting("tool-providers/opa/1.0.0/schemas/evaluate_document.input.json",
			`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/a"}}}`), nil},

		{"a variant without a composition", "kubernetes", problem.UnusedVariant, dropping(manifestPath, "{\n      \"agent\": \"operator\",\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"}"), []string{
			"tool-providers/gitops/2.0.0-rc.1/tool-provider.json:48:5: UnusedVariant: no composition uses the linux/arm64 variant of gitops@2.0.0-rc.1; add one, or remove the variant",
			"tool-providers/kubernetes/1.31.0/tool-provider.json:63:5: UnusedVariant: no composition uses the linux/arm64 variant of kubernetes@1.31.0; add one, or remove the variant"}},

		{"a directory that others can write to", "azure-cli", problem.PayloadDirectoryWritable, func(_ testing.TB, f *fixture) {
			f.chmod("tool-providers/azure-cli/2.60.0/linux-amd64/share", 0o777)
		}, []string{
			"tool-providers/azure-cli/2.60.0/tool-provider.json:27:22: PayloadDirectoryWritable: the payload directory tool-providers/azure-cli/2.60.0/linux-amd64/share has mode 0777 and is writable by others than root; no image can hold it, so make it 0755"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := loadFixture(t, "valid/"+tc.base)
			if tc.alter != nil {
				f = f.change(func(f *fixture) { tc.alter(t, f) })
			}
			got := warnings(t, f, tc.rule)
			for _, line := range got {
				require.NotContains(t, line, token)
			}
			if tc.name == "a tool schema that refers outside" {
				require.Len(t, got, 1)
				require.Contains(t, got[0], "https://schemas.example/a.json")
				return
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// Advice is given for suites that are invalid as well.
func TestLintOfAnInvalidSuite(t *testing.T) {
	f := loadFixture(t, "valid/minimal")
	f.put(profilePath, "{")
	_, report := f.validate(t)
	require.NotEmpty(t, report.Problems)
	require.Len(t, report.Warnings, 1)
}
