package problem

// Lint rules of suites. Each has a page of its name in docs/rules.
var (
	ToolSchemaInvalid       = lint("ToolSchemaInvalid", "A tool's input and output schemas are JSON Schemas that compile.")
	UnusedVariant           = lint("UnusedVariant", "A variant is part of at least one image of the suite.")
	AgentWithoutEvaluations = lint("AgentWithoutEvaluations", "An agent has evaluation cases.")
	CredentialInProse       = lint("CredentialInProse", "Instructions and evaluation cases hold nothing that has the shape of a credential.")
	DescriptionMissing      = lint("DescriptionMissing", "Agents and tools say in a description what they are for.")
	EmptyInstructions       = lint("EmptyInstructions", "An agent's instructions say something.")
)
