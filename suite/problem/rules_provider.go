package problem

// Rules of tool providers: tools, variants with their payloads, dependencies, and remote declarations.
var (
	ProviderTools       = rule("provider-tools", ToolProvider, "AS-PROVIDER-001", "9.2", "The tools of a provider have different names.")
	ProviderPlatforms   = rule("provider-platforms", ToolProvider, "AS-PROVIDER-001", "decision, documents", "A tool provider has one variant for a platform.")
	ProviderEntrypoint  = rule("provider-entrypoint", ToolProvider, "AS-PROVIDER-001", "9.4", "A variant's entrypoint is an executable file of its inventory, below the install root.")
	ProviderEnvironment = rule("provider-environment", ToolProvider, "AS-PROVIDER-001", "decision, documents", "A variant names an environment variable once.")
	ProviderHeaders     = rule("provider-headers", ToolProvider, "AS-PROVIDER-001", "9.5", "A remote declaration names a header once, without regard to case.")

	DependencyUnique   = rule("dependency-unique", ToolProvider, "AS-PROVIDER-001", "decision, documents", "A variant names a dependency once, and never its own provider.")
	DependencyUnknown  = rule("dependency-unknown", ToolProvider, "AS-PROVIDER-001", "9.4", "A dependency is a tool provider of the catalog.")
	DependencyPlatform = rule("dependency-platform", ToolProvider, "AS-PROVIDER-001", "9.4", "A dependency has a variant for the platform of the variant that needs it.")
	DependencyDigest   = rule("dependency-digest", Digest, "AS-PROVIDER-001", "9.4", "A dependency's digest is the one of the provider's variant for the platform.")
	DependencyCycle    = rule("dependency-cycle", ToolProvider, "AS-PROVIDER-001", "9.4", "Bundle dependencies make no cycle.")

	PayloadMissing    = rule("payload-missing", ToolProvider, "AS-PROVIDER-001", "9.4", "Every inventory entry is in the payload.")
	PayloadUnlisted   = rule("payload-unlisted", ToolProvider, "AS-PROVIDER-001", "9.4", "Every payload entry that is not a directory is in the inventory.")
	PayloadDifference = rule("payload-difference", ToolProvider, "AS-PROVIDER-001", "9.4", "An inventory entry equals the payload's in type, mode, owner and link target.")
	PayloadDigest     = rule("payload-digest", Digest, "AS-PROVIDER-001", "9.4", "An inventory entry states the size and digest of the payload's file.")
	PayloadLink       = rule("payload-link", ToolProvider, "AS-PROVIDER-001", "decision, documents", "A link of a payload stays below the payload root.")
	InventoryUnique   = rule("inventory-unique", ToolProvider, "AS-PROVIDER-001", "decision, documents", "An inventory lists a path once.")
)
