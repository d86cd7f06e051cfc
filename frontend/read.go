package frontend

import (
	"context"
	"io"

	"github.com/moby/buildkit/frontend/gateway/client"
)

// chunkBytes is what one request reads: a message of the gateway holds 16 MiB at most.
const chunkBytes = 8 << 20

// refReader reads a file of a reference from its beginning to its end.
type refReader struct {
	ctx    context.Context //nolint:containedctx // an io.Reader has no other way to carry one
	ref    client.Reference
	name   string
	offset int
	chunk  []byte
	done   bool
}

func newRefReader(ctx context.Context, ref client.Reference, name string) io.Reader {
	return &refReader{ctx: ctx, ref: ref, name: name}
}

// Read implements io.Reader.
func (r *refReader) Read(p []byte) (int, error) {
	for len(r.chunk) == 0 {
		if r.done {
			return 0, io.EOF
		}
		chunk, err := r.ref.ReadFile(r.ctx, client.ReadRequest{
			Filename: r.name,
			Range:    &client.FileRange{Offset: r.offset, Length: chunkBytes},
		})
		if err != nil {
			return 0, err
		}
		r.chunk, r.offset, r.done = chunk, r.offset+len(chunk), len(chunk) < chunkBytes
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}
