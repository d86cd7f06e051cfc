package problem

// Rules of compositions and of the build profiles that they select.
var (
	CompositionMissing   = rule("composition-missing", Graph, "AS-COMPOSE-001", "8", "Every agent has a composition.")
	CompositionOrder     = rule("composition-order", Graph, "AS-COMPOSE-001", "10", "The tool providers of a composition are sorted by id and then version, each once.")
	CompositionAmbient   = rule("composition-ambient", Graph, "AS-COMPOSE-001", "10", "A composition resolves no tool provider that its agent does not require.")
	CompositionUnmet     = rule("composition-unmet", Graph, "AS-COMPOSE-001", "10", "A composition resolves every tool provider that its agent requires.")
	CompositionManifest  = rule("composition-manifest", Digest, "AS-COMPOSE-001", "10", "A composition's manifest digest is the one of the catalog's tool provider.")
	CompositionVariant   = rule("composition-variant", Digest, "AS-COMPOSE-001", "10", "A composition's variant digest is the one of the tool provider's variant for the platform.")
	CompositionPlatform  = rule("composition-platform", Platform, "AS-COMPOSE-001", "10", "Every tool provider of a composition has a variant for the composition's platform.")
	CompositionProfile   = rule("composition-profile", Platform, "AS-COMPOSE-001", "11", "A composition's build profile has a runtime base and a harness for the composition's platform.")
	CompositionRemote    = rule("composition-remote", ToolProvider, "AS-COMPOSE-001", "9.3", "An agent requires tool providers that have bundled variants; a remote declaration alone cannot be composed.")
	CompositionCollision = rule("composition-collision", ToolProvider, "AS-PROVIDER-001", "9.4", "Bundles that go into one image bring identical entries where they overlap, and none below another's file or link.")

	ProviderCompositionManifest = rule("provider-composition-manifest", Digest, "AS-PROVIDER-COMPOSE-001", "10.1", "A tool-provider composition's manifest digest is the one of the catalog's tool provider.")
	ProviderCompositionVariant  = rule("provider-composition-variant", Digest, "AS-PROVIDER-COMPOSE-001", "10.1", "A tool-provider composition's variant digest is the one of the tool provider's variant for the platform.")
	ProviderCompositionPlatform = rule("provider-composition-platform", Platform, "AS-PROVIDER-COMPOSE-001", "10.1", "The tool provider of a composition of its own has a variant for the composition's platform.")
	ProviderCompositionProfile  = rule("provider-composition-profile", Platform, "AS-PROVIDER-COMPOSE-001", "10.1", "A tool-provider composition's build profile has a runtime base for the composition's platform.")
	ProviderCompositionRemote   = rule("provider-composition-remote", ToolProvider, "AS-PROVIDER-COMPOSE-001", "10.1", "A tool-provider composition selects a tool provider that has bundled variants.")

	ProfilePlatform = rule("profile-platform", Platform, "AS-COMPOSE-001", "11", "A build profile has one runtime base and one harness for a platform.")
	ProfileDigest   = rule("profile-digest", Build, "AS-COMPOSE-001", "11", "An image reference has the digest of the descriptor beside it.")
)
