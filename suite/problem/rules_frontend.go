package problem

// Lint rules about how a build is started, which only a frontend can see.
var (
	UnpinnedSyntax = lint("UnpinnedSyntax", "The frontend image is named by digest, so that the same build always runs the same builder.")
	UnusedContext  = lint("UnusedContext", "A named build context names one of the suite's pinned images.")
	CopiedLayers   = lint("CopiedLayers", "The builder supports MergeOp; where it does not, layers are copied and their digests may differ.")
)

// Rules of the pinned images that a build fetches.
var (
	ImageUnreachable = rule("image-unreachable", Build, "ASI-SRC-001", "11", "A pinned image can be fetched, by its digest, from where the profile or a build context says it lies.")
	ImageDigest      = rule("image-digest", Build, "ASI-SRC-001", "11", "The image that is fetched is the pinned manifest.")
)
