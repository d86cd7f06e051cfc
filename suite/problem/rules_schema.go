package problem

// Rules of one document's values that belong to another failure class than json.
var (
	PlatformExact = rule("platform-exact", Platform, "AS-DRAFT-001", "1, Appendix A", "A platform is linux with amd64 or arm64.")

	ExecutionMode      = rule("execution-mode", ToolProvider, "AS-DRAFT-001", "9.3", "The execution mode is shared-sandbox.")
	ProviderContract   = rule("provider-contract", ToolProvider, "AS-PROVIDER-001", "9", "A tool provider speaks a revision of mcp, has tools, and has variants, a remote declaration or both.")
	ToolDeclaration    = rule("tool-declaration", ToolProvider, "AS-PROVIDER-001", "9.2, 9.9", "A tool's effects, effect, approval and delegated authorization are declared as the draft defines them.")
	RemoteDeclaration  = rule("remote-declaration", ToolProvider, "AS-PROVIDER-001", "9.5", "A remote declaration has the supported transport and behaviour, positive timeouts and no header that the transport manages.")
	VariantDeclaration = rule("variant-declaration", ToolProvider, "AS-PROVIDER-001", "9.4", "A variant states a proper install root, literal arguments, exact network destinations and what it needs of its base.")
	InventoryShape     = rule("inventory-shape", ToolProvider, "AS-PROVIDER-001", "6.2, 9.4", "An inventory entry is owned by root and states exactly what its type has: size and digest, or a link target.")

	InventoryMode        = rule("inventory-mode", Security, "AS-PROVIDER-001", "9.4", "An inventory entry has no set-id or sticky bit, and no file is group- or world-writable.")
	EnvironmentInjection = rule("environment-injection", Security, "AS-SECRET-001", "16", "No environment name is one that makes a process load foreign code.")
	SecretDelivery       = rule("secret-delivery", Security, "AS-SECRET-001", "decision, documents", "A secret environment input states how it is delivered, and no other input does.")

	EvalLimit     = rule("eval-limit", Evaluation, "AS-EVAL-001", "8.2.1", "Evaluations stay within the bounds on their number, size and assertions.")
	EvalCase      = rule("eval-case", Evaluation, "AS-EVAL-001", "8.2.2", "A case has a proper id, a nonblank input, and passes that do not exceed its runs.")
	EvalAssertion = rule("eval-assertion", Evaluation, "AS-EVAL-001", "8.2.2", "An assertion has exactly the operands of its type, within their bounds; one of an unknown type is not critical.")

	ImagePin = rule("image-pin", Build, "AS-JSON-001", "11", "An image is pinned by a registry-qualified reference with a digest and no tag, and by the descriptor of its manifest.")
)
