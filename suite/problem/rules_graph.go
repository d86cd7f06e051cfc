package problem

// Rules of the reference graph: documents against each other and against the content.
var (
	IDDocument = rule("id-document", Digest, "AS-ID-001", "6.1", "A reference's digest is the canonical digest of the document it names.")
	IDFile     = rule("id-file", Digest, "AS-ID-001", "6.2", "A file reference's digest is the digest of the file's bytes.")
	IDVariant  = rule("id-variant", Digest, "AS-ID-001", "6.3", "A variant's digest is its canonical digest with the digest member emptied.")

	GraphMissing   = rule("graph-missing", Graph, "AS-GRAPH-001", "7", "Every reference names a regular file of the content.")
	GraphDuplicate = rule("graph-duplicate", Graph, "AS-GRAPH-001", "7", "Identities and paths that must be unique are.")
	GraphIdentity  = rule("graph-identity", Graph, "AS-GRAPH-001", "7", "A referenced document states the identity that its reference states.")
	GraphUnknown   = rule("graph-unknown", Graph, "AS-GRAPH-001", "7", "A name of an agent, provider, variant or build profile is one that the suite defines.")
	GraphInvokes   = rule("graph-invokes", Graph, "AS-GRAPH-001", "8.1", "An agent invokes each of its targets by one edge, and never itself.")
	GraphExtension = rule("graph-extension", Graph, "AS-GRAPH-001", "decision, documents", "The names in a list of extensions are unique.")
	GraphAmbient   = rule("graph-ambient", Graph, "AS-GRAPH-001", "9.1", "Every tool provider of the catalog is referred to, or is explicitly retained.")

	CapabilityMissing  = rule("capability-missing", Graph, "AS-CAP-001", "7", "The suite declares every capability that its tool providers imply, sorted and once.")
	CapabilityReserved = rule("capability-reserved", Security, "AS-CAP-001", "7", "The suite declares no capability that its tool providers do not imply.")
)
