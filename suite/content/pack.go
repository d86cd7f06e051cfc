package content

import (
	"context"
	"errors"

	"github.com/opencontainers/go-digest"
)

// PackOptions says how to pack.
type PackOptions struct {
	// Limits bounds the reading of the source. Start from [DefaultLimits].
	Limits Limits
	// Check sees the index of what was packed before the result appears under its name. Its error is
	// Pack's, and nothing is left behind. It may be nil.
	Check func(*Index) error
}

// Pack writes the suite at src, of any form, to out and returns the digest of its OCI manifest. The
// same suite gives the same bytes on every machine. format is any form but [FormDirectory].
//
// Content that has problems is not packed: the error is then a [*problem.Error].
func Pack(ctx context.Context, src, out string, format Form, opts PackOptions) (digest.Digest, error) {
	return "", errors.ErrUnsupported
}
