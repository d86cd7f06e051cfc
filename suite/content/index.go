// Package content turns every form in which a suite travels into one content index: an extracted
// directory, an OCI image layout as a directory or a tar, and the bare content layer. Whoever
// validates, packs or builds a suite reads the index and never asks which form it came from.
package content

import (
	"cmp"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Form is how a suite was handed over.
type Form string

// The forms of a suite.
const (
	FormDirectory      Form = "directory"
	FormOCILayout      Form = "oci-layout"
	FormOCILayoutTar   Form = "oci-layout-tar"
	FormContentTarGzip Form = "content-tar-gzip"
)

// Type is the type of a content entry.
type Type string

// The types that content may hold.
const (
	File      Type = "file"
	Directory Type = "directory"
	Symlink   Type = "symlink"
	Hardlink  Type = "hardlink"
)

// Entry is one entry of the content.
type Entry struct {
	// Path is the content path: relative, clean, slash-separated.
	Path string `json:"path"`
	Type Type   `json:"type"`
	// Mode holds the permission bits; a symlink's is 0777.
	Mode uint32 `json:"mode"`
	UID  int    `json:"uid,omitempty"`
	GID  int    `json:"gid,omitempty"`
	// Size is the length of a regular file in bytes, else 0.
	Size int64 `json:"size,omitempty"`
	// Digest is the SHA-256 of a regular file's bytes, else empty.
	Digest digest.Digest `json:"digest,omitempty"`
	// LinkTarget is a symlink's target as written, or the content path that a hardlink names. A
	// hardlink has the mode and owner of that file, which comes before it in the archive.
	LinkTarget string `json:"linkTarget,omitempty"`
}

// Index is everything about a suite's content that validation and planning need, read once.
type Index struct {
	Form Form `json:"form"`
	// SuiteDigest is the digest of the suite's OCI manifest: the one in the layout, or for content
	// without an envelope the one that packing this content makes. Empty where [Options] did not ask
	// for it and the form does not state it, and for content without an envelope that has problems.
	SuiteDigest digest.Digest `json:"suiteDigest,omitempty"`
	// Entries are sorted by path as bytes. The content root has none.
	Entries []Entry `json:"entries"`
	// Texts holds the bytes of every regular file that ends in .json (documents and tool schemas), .md
	// or .txt (prose), by path. A file that is larger than a document may be is not kept, which is no
	// problem by itself; nor is any prose kept when there is more of it than [Limits] allows.
	Texts map[string][]byte `json:"texts"`
	// Ignored are paths, below which everything is ignored too, that lie in an extracted directory but
	// are no content: build files, and what .dockerignore matches. Whoever copies from that directory
	// must leave them out.
	Ignored []string `json:"ignored,omitempty"`
	// Problems were found while reading. An index with problems is still as complete as possible, so
	// that validation can go on and report everything at once.
	Problems []problem.Problem `json:"problems,omitempty"`
}

// Entry looks up the entry at a content path.
func (x *Index) Entry(path string) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(x.Entries, path, func(e Entry, p string) int { return cmp.Compare(e.Path, p) })
	if !ok {
		return Entry{}, false
	}
	return x.Entries[i], true
}

// Below yields the entries whose path lies strictly below a directory, in order.
func (x *Index) Below(dir string) []Entry {
	prefix := dir + "/"
	first, _ := slices.BinarySearchFunc(x.Entries, prefix, func(e Entry, p string) int { return cmp.Compare(e.Path, p) })
	last := first
	for last < len(x.Entries) && len(x.Entries[last].Path) > len(prefix) && x.Entries[last].Path[:len(prefix)] == prefix {
		last++
	}
	return x.Entries[first:last]
}
