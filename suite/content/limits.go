package content

import "github.com/agentsuite/agentsuite-llb/suite/strictjson"

// Limits bounds what reading a suite may cost, whatever its form (section 5.2). Every limit counts;
// none is switched off by zero, so start from [DefaultLimits]. The problem of an exceeded limit names
// the limit and the value that was found.
type Limits struct {
	// JSON bounds every single JSON document, those of the OCI envelope included.
	JSON strictjson.Limits
	// Entries is the number of content entries; for an OCI layout tar also the number of its entries.
	Entries int
	// ExpandedBytes is the size of all regular files of the content together.
	ExpandedBytes int64
	// MetadataBytes is what is kept in memory of files that end in .json and are small enough for a
	// document, all of them together.
	MetadataBytes int64
	// OCIDescriptors is the number of descriptors of an OCI index.
	OCIDescriptors int
	// OCIBytes is the size of all blobs that an OCI index and its manifest reference together.
	OCIBytes int64

	// The specification leaves the following open.

	// ProseBytes is what is kept in memory of files that end in .md or .txt, all of them together.
	// Prose beyond it is no problem; it is just not kept.
	ProseBytes int64
	// ArchiveBytes is the size of an uncompressed archive: what its files may have in all, and its
	// headers and padding beside.
	ArchiveBytes int64
	// BuildFileBytes is the size of a Dockerfile or a .dockerignore beside an extracted suite.
	BuildFileBytes int64
	// IgnorePatterns is the number of patterns in a .dockerignore.
	IgnorePatterns int
	// Problems is how many problems are listed before reading stops.
	Problems int
}

// DefaultLimits returns the limits of section 5.2, and where it has none, limits that no suite made by
// people comes near to.
func DefaultLimits() Limits {
	return Limits{
		JSON:           strictjson.DefaultLimits(),
		Entries:        100_000,
		ExpandedBytes:  4 << 30,
		MetadataBytes:  256 << 20,
		OCIDescriptors: 1_000,
		OCIBytes:       1 << 30,
		ProseBytes:     64 << 20,
		ArchiveBytes:   5 << 30,
		BuildFileBytes: 64 << 10,
		IgnorePatterns: 1_000,
		Problems:       1_000,
	}
}
