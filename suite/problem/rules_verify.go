package problem

// Rules of a built image, read back: what its config, its records and its filesystem say of each
// other, and of the suite and the images that it was built from where these are at hand.
var (
	VerifyBlobs = rule("verify-blobs", OCI, "ASI-FS-001", "14", "Every blob of an image is what its descriptor says, and its layers apply to one filesystem.")
	VerifyKind  = rule("verify-kind", Build, "ASI-BIND-001", "13", "An image has either a binding, as an agent image, or a tool provider composition, as a tool provider image.")

	VerifyBinding         = rule("verify-binding", JSON, "ASI-BIND-001", "13", "The binding is a binding record and nothing else.")
	VerifyBindingLabel    = rule("verify-binding-label", Digest, "ASI-BIND-001", "13", "The label org.agentsuite.binding.digest is the canonical digest of the binding.")
	VerifyBindingPlatform = rule("verify-binding-platform", Platform, "ASI-BIND-001", "13", "Binding, composition, inventory, config and index state one platform.")
	VerifyLabel           = rule("verify-label", Build, "ASI-BIND-001", "decision, images", "A label that repeats what a record says repeats it truly.")

	VerifyProvider         = rule("verify-provider", JSON, "ASI-PROVIDER-001", "12.1", "The embedded tool provider composition is one.")
	VerifyProviderLabel    = rule("verify-provider-label", Digest, "ASI-PROVIDER-001", "12.1", "The label org.agentsuite.tool-provider-composition.digest is the canonical digest of the embedded composition.")
	VerifyProviderPlatform = rule("verify-provider-platform", Platform, "ASI-PROVIDER-001", "12.1", "Tool provider composition, inventory, config and index state one platform.")

	VerifyDocument = rule("verify-document", JSON, "ASI-SRC-001", "13", "Every document that an image embeds is a valid one.")
	VerifySource   = rule("verify-source", Digest, "ASI-SRC-001", "13", "Every document that an image embeds is the one that the record before it names, and none is missing.")
	VerifySuite    = rule("verify-suite", Digest, "ASI-SRC-001", "13", "What an image embeds is what the suite has.")
	VerifyInputs   = rule("verify-inputs", Build, "ASI-SRC-001", "13", "The runtime base and the harness are those that the suite's build profile pins.")

	VerifyInventory       = rule("verify-inventory", JSON, "ASI-FS-001", "13", "The inventory is an inventory in canonical form, its entries sorted and distinct.")
	VerifyInventoryDigest = rule("verify-inventory-digest", Digest, "ASI-FS-001", "13", "The inventory has the digest and size that binding and labels state.")
	VerifyFilesystem      = rule("verify-filesystem", Build, "ASI-FS-001", "12", "The filesystem is exactly what the inventory lists.")
	VerifyMetadata        = rule("verify-metadata", Security, "ASI-FS-001", "decision, images", "/.agentsuite holds its records and nothing else; all of it belongs to root and nobody may write it.")
	VerifyBundle          = rule("verify-bundle", ToolProvider, "ASI-FS-001", "9.4", "Every entry of every bundle is in the filesystem as the variant's inventory says.")
	VerifyComponent       = rule("verify-component", Build, "ASI-FS-001", "13", "The component that the inventory names for an entry is one of the image that brings this entry.")
	VerifyWritable        = rule("verify-writable", Security, "ASI-FS-001", "12", "Nothing but what the runtime base brings lies at or below a writable path.")
	VerifyBase            = rule("verify-base", Build, "ASI-FS-001", "12", "The layers of the runtime base, or of a harness on top of it, are the first ones of the image, and their files are in it.")

	VerifyUser     = rule("verify-user", Security, "ASI-RUN-001", "12", "The image runs as a numeric user that is not root.")
	VerifyProcess  = rule("verify-process", Build, "ASI-RUN-001", "12", "The image's process is an executable of its filesystem, and of a tool provider image the variant's entrypoint with its arguments.")
	VerifyContract = rule("verify-contract", Security, "ASI-RUN-001", "12", "The runtime contract grants no capability and no new privilege, keeps the root filesystem read-only, and otherwise repeats the config and what the suite declares.")
	VerifyVolumes  = rule("verify-volumes", Build, "ASI-RUN-001", "12", "The volumes of the config are the writable paths of the bundles.")
)
