package problem

// Rules of evaluations beyond what their schemas hold.
var (
	EvalPath       = rule("eval-path", Evaluation, "AS-EVAL-001", "8.2", "An agent's evaluation index lies at evals/<agent>/index.json.")
	EvalOwner      = rule("eval-owner", Evaluation, "AS-EVAL-001", "8.2.1", "An evaluation index names the agent that references it.")
	EvalCasePath   = rule("eval-case-path", Evaluation, "AS-EVAL-001", "8.2.1", "A case lies at evals/<agent>/cases/<case-id>.json, where the id is its own.")
	EvalCaseUnique = rule("eval-case-unique", Evaluation, "AS-EVAL-001", "8.2.1", "An index lists a case once.")
	EvalAssertions = rule("eval-assertions", Evaluation, "AS-EVAL-001", "8.2.2", "The assertions of a case have different ids.")
	EvalOwnerless  = rule("eval-ownerless", Evaluation, "AS-EVAL-001", "8.2", "An evaluation subtree is referenced by the agent that it is named after.")
	EvalStray      = rule("eval-stray", Evaluation, "AS-EVAL-001", "8.2", "An evaluation subtree holds its index, the cases that it lists, and their directories, and nothing else.")
)
