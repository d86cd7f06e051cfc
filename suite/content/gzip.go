package content

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipMagic begins every gzip member.
const gzipMagic = "\x1f\x8b"

// members inflates gzip data of one or more members. Its Read returns io.EOF only when the data is
// complete: every checksum right, and nothing behind the last member.
type members struct {
	src *bufio.Reader
	z   *gzip.Reader
	// count is the number of members begun.
	count int
	// timed is the first member that records a time; 0 if none does.
	timed int
	err   error
}

func newMembers(r io.Reader) *members {
	// The inflater reads single bytes from a bufio.Reader, so it stops exactly behind a member.
	return &members{src: bufio.NewReaderSize(r, bufferBytes)}
}

var errNotGzip = errors.New("it does not begin as gzip data does")

func (m *members) Read(p []byte) (n int, err error) {
	for m.err == nil && n == 0 {
		if m.z == nil {
			m.err = m.next()
			continue
		}
		n, err = m.z.Read(p)
		switch {
		case errors.Is(err, io.EOF):
			m.err = m.next()
		case err != nil:
			m.err = err
		}
	}
	if n > 0 {
		return n, nil // an error comes up again with the next call
	}
	return 0, m.err
}

// next begins the next member. At the end of the data it returns io.EOF.
func (m *members) next() (err error) {
	switch magic, err := m.src.Peek(len(gzipMagic)); {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case string(magic) != gzipMagic && m.count == 0:
		return errNotGzip
	case len(magic) == 0:
		return io.EOF
	case string(magic) != gzipMagic:
		return fmt.Errorf("bytes that are no gzip data follow its member %d", m.count)
	}
	if m.z == nil {
		m.z, err = gzip.NewReader(m.src)
	} else {
		err = m.z.Reset(m.src)
	}
	if err != nil {
		return unexpected(err)
	}
	m.z.Multistream(false)
	m.count++
	if !m.z.ModTime.IsZero() && m.timed == 0 {
		m.timed = m.count
	}
	return nil
}
