package suite

import (
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// DocumentDigest returns the identity of a document's text: SHA-256 over its RFC 8785 form (section
// 6.1). White space and member order do not change it. The text must be one that [strictjson.Parse]
// has no problem with, because the canonical form of anything else means nothing.
func DocumentDigest(text []byte) (digest.Digest, error) {
	id, err := strictjson.CanonicalDigest(text)
	if err != nil {
		return "", fmt.Errorf("canonicalising the document: %w", err)
	}
	return id, nil
}

// variantDigestMember is the member that a variant's own identity leaves out.
const variantDigestMember = "variantDigest"

// VariantDigest returns the identity of the i-th variant of a tool provider document: the digest of
// the variant as it is written, with the value of variantDigest emptied (section 6.3). The member
// must be present. Validation and sealing both rely on it.
func VariantDigest(provider *strictjson.Document, i int) (digest.Digest, error) {
	return provider.DigestBlanked(strictjson.Pointer("variants", i), variantDigestMember)
}

// shortHex is how many hexadecimal digits of a digest a message shows: enough to compare by eye.
const shortHex = 12

// shortDigests renders digests for a message, cut short unless that would make two different ones look
// alike.
func shortDigests(a, b digest.Digest) (string, string) {
	if shortDigest(a) == shortDigest(b) {
		return string(a), string(b)
	}
	return shortDigest(a), shortDigest(b)
}

func shortDigest(d digest.Digest) string {
	if n := len("sha256:") + shortHex; len(d) > n {
		return string(d[:n]) + "…"
	}
	return string(d)
}
