package schema

import "github.com/agentsuite/agentsuite-llb/suite/problem"

// definition is what a schema's definition cannot say of itself.
type definition struct {
	// rule is broken by a value that the definition, or a schema inside that has no rule of its own,
	// does not permit. An unknown member, one that is missing in any case, and a wrong JSON type always
	// break the rules of that name.
	rule *problem.Rule
	// expected replaces what the schema's keyword or description says of the permitted values.
	expected string
}

// definitions are keyed by the names in $defs, and by file names for schemas as a whole.
var definitions = map[string]definition{
	"identifier":      {rule: problem.JSONValue},
	"version":         {rule: problem.JSONValue},
	"digest":          {rule: problem.JSONValue},
	"contentPath":     {rule: problem.JSONValue},
	"documentPath":    {rule: problem.JSONValue},
	"environmentName": {rule: problem.JSONValue},
	"dottedName":      {rule: problem.JSONValue},

	"extensionCritical": {rule: problem.DraftExtension, expected: "false: no critical extension is known"},
	"operatingSystem":   {rule: problem.PlatformExact},
	"architecture":      {rule: problem.PlatformExact},
	"injectionName":     {rule: problem.EnvironmentInjection},
	"executionMode":     {rule: problem.ExecutionMode},

	"tool-provider.schema.json": {rule: problem.ProviderContract},
	"tool":                      {rule: problem.ToolDeclaration},
	"remote":                    {rule: problem.RemoteDeclaration},
	"variant":                   {rule: problem.VariantDeclaration},
	"inventoryEntry":            {rule: problem.InventoryShape},
	"mode":                      {rule: problem.InventoryMode, expected: "permission bits from 0 to 511 (octal 0777), without set-id and sticky bits"},
	"unwritableMode":            {rule: problem.InventoryMode},
	"environmentInput":          {rule: problem.SecretDelivery},

	"evals":                      {rule: problem.EvalLimit},
	"evaluationCases":            {rule: problem.EvalLimit},
	"evaluationLimits":           {rule: problem.EvalLimit},
	"eval-case.schema.json":      {rule: problem.EvalCase},
	"assertions":                 {rule: problem.EvalLimit},
	"assertion":                  {rule: problem.EvalAssertion},
	"assertionType":              {expected: "contains, notContains, regex, toolCalled, toolNotCalled, llmJudge or the identifier of an extension's type"},
	"extensionAssertionCritical": {expected: "false: an assertion of a type that this draft does not define cannot be critical"},

	"pinnedImage": {rule: problem.ImagePin},
}

// hidden are members whose values, and whatever is inside them, no message repeats: they are operands
// of evaluations, or places where somebody may have written a secret instead of its name.
var hidden = map[string]bool{
	"input": true, "value": true, "pattern": true, "tool": true, "rubric": true, "minScore": true, "judgeModel": true, "judgeVersion": true,
	"secretRefs": true, "secretRef": true, "endpointEnv": true, "endpointRef": true, "destinationRef": true, "bindingRef": true,
	"environment": true, "headers": true, "arguments": true, "description": true,
}

// otherDrafts are members that drafts other than this one define.
var otherDrafts = map[string]bool{
	"execution": true, "policy": true, "runtimeProfile": true, "toolSets": true,
	// Only a suite has capabilities; some drafts give them to models.
	"capabilities": true,
}
