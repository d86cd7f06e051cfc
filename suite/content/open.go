package content

import (
	"context"
	"errors"
	"io"
)

// Options says what to do beside reading.
type Options struct {
	// Limits bounds the reading. Start from [DefaultLimits].
	Limits Limits
	// Digest asks for the suite digest of content without an OCI envelope, which takes packing it on
	// the fly. Every file is still read once.
	Digest bool
	// Extract is a directory that is created and filled with an archive's content. It must not exist,
	// its parent must. It appears only when no problem was found. Empty: extract nothing. A source
	// that is a directory of content needs no extraction, and gets none.
	Extract string
}

// Open reads a suite of any form: a directory of content, an OCI image layout as a directory or a
// tar, or a content layer.
//
// Whatever is wrong with the suite is in the index. An error is trouble with reading or writing, or
// the context's end.
func Open(ctx context.Context, path string, opts Options) (*Index, error) {
	return nil, errors.ErrUnsupported
}

// OpenReader reads a suite from an archive that comes as a stream, from standard input say: an OCI
// layout tar or a content layer. It never seeks and spools nothing.
func OpenReader(ctx context.Context, r io.Reader, opts Options) (*Index, error) {
	return nil, errors.ErrUnsupported
}
