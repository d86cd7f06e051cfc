package problem

// Rules of what a sandbox image is composed of, and of its final filesystem.
var (
	ImageEntryType       = rule("image-entry-type", Build, "ASI-FS-001", "12", "A runtime base and a harness hold directories, regular files and symlinks only.")
	ImageEntryName       = rule("image-entry-name", Build, "ASI-FS-001", "12", "The names in a runtime base and a harness are UTF-8.")
	ImageLimit           = rule("image-limit", Build, "ASI-FS-001", "decision, images", "A runtime base and a harness stay within the limits on entries, bytes and path length.")
	ImageReserved        = rule("image-reserved", Build, "ASI-FS-001", "12", "A runtime base and a harness bring nothing at or below /.agentsuite.")
	ImageCollision       = rule("image-collision", Build, "ASI-FS-001", "12", "What runtime base and harness both bring at a path is identical.")
	ImageConfig          = rule("image-config", Build, "ASI-RUN-001", "12", "A pinned image's config is for the platform of its pin and can be derived from.")
	ImageProcess         = rule("image-process", Build, "ASI-RUN-001", "12", "The harness's config states an entrypoint or a command.")
	ImageUser            = rule("image-user", Build, "ASI-RUN-001", "12", "A user or group that an image's config names is in the final filesystem's databases.")
	ImageWritable        = rule("image-writable", Build, "ASI-FS-001", "12", "Nothing but what the runtime base brings lies at or below a writable path.")
	BundleCollision      = rule("bundle-collision", ToolProvider, "ASI-FS-001", "9.4", "What a bundle and another input both bring at a path is identical.")
	BundleThroughSymlink = rule("bundle-through-symlink", ToolProvider, "ASI-FS-001", "12", "No destination lies below a path that another input brings as something other than a directory.")
	BundleReserved       = rule("bundle-reserved", ToolProvider, "ASI-FS-001", "12", "No destination lies at or below /.agentsuite, /proc, /sys or /dev.")
	BundleName           = rule("bundle-name", ToolProvider, "ASI-FS-001", "decision, images", "No destination is longer than 3,840 bytes, and no name in one, or in the place of a provider's metadata, than 255: no filesystem could hold it.")
	BundleWhiteout       = rule("bundle-whiteout", ToolProvider, "ASI-FS-001", "12", "No name in a destination begins with .wh., by which layers remove what lies below them.")
	BundleWritable       = rule("bundle-writable", ToolProvider, "ASI-FS-001", "12", "No bundle brings anything at or below a writable path.")
	WritableReserved     = rule("writable-reserved", ToolProvider, "ASI-FS-001", "12", "No writable path hides what every sandbox has: /.agentsuite, /proc, /sys and /dev.")
	DirectoryUnlisted    = rule("directory-unlisted", ToolProvider, "ASI-FS-001", "decision, images", "A payload directory that the inventory does not list has mode 0755 and holds an inventoried entry.")
	DirectoryWritable    = rule("directory-writable", Security, "ASI-FS-001", "12", "No payload directory is group- or world-writable.")
	LabelReserved        = rule("label-reserved", Build, "ASI-BIND-001", "decision, images", "No label of the person who builds begins with org.agentsuite.")

	ABIMachine     = rule("abi-machine", Build, "ASI-ABI-001", "11", "A native file of a bundle is for the image's architecture.")
	ABIMalformed   = rule("abi-malformed", Build, "ASI-ABI-001", "11", "An executable file of a bundle that begins like a native file is one.")
	ABILoader      = rule("abi-loader", Build, "ASI-ABI-001", "11", "An executable's loader is of the declared family and exists in the final filesystem.")
	ABILibrary     = rule("abi-library", Build, "ASI-ABI-001", "11", "Every library that a native file needs is found in the final filesystem.")
	ABISymbols     = rule("abi-symbol-version", Build, "ASI-ABI-001", "11", "Every symbol version that a native file needs is one that the found library defines.")
	ABIInterpreter = rule("abi-interpreter", Build, "ASI-ABI-001", "11", "A script's interpreter exists in the final filesystem.")
	ABIBaseline    = rule("abi-cpu-baseline", Build, "ASI-ABI-001", "11", "A native file needs no CPU level above the declared baseline.")
	ABIBasePath    = rule("abi-base-path", Build, "ASI-ABI-001", "9.4", "Every required base path is in the runtime base.")
)

// Lint rules of images.
var (
	PayloadDirectoryWritable = lint("PayloadDirectoryWritable", "A payload directory that is group- or world-writable cannot go into an image.")
	SetIDFile                = lint("SetIDFile", "A set-id file in a pinned image gives privileges that a sandbox never grants.")
	FileCapabilities         = lint("FileCapabilities", "A file with capabilities in a pinned image gives privileges that a sandbox never grants.")
	RootUser                 = lint("RootUser", "A pinned image that is configured to run as root, or as nobody in particular, runs as 65532:65532.")
	SBOMFormat               = lint("SBOMFormat", "An SBOM of an unknown media type is not attached to the image.")
)
