package content

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
)

// bufferBytes is the unit of reading and hashing: large enough to make calls cheap, small enough that
// a cancelled context is noticed at once.
const bufferBytes = 256 << 10

// source is the reader below everything that reads a file or a stream. It ends with the context, and
// it remembers its own trouble, so that the trouble is never taken for a fault of the suite.
type source struct {
	ctx context.Context
	r   io.Reader
	// sum, when set, takes in all bytes read; so does sink.
	sum  hash.Hash
	sink io.Writer
	// limit, when set, ends the reading with errArchiveLimit, which is no trouble but a fault of the suite.
	limit int64
	n     int64
	err   error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	if s.limit > 0 && s.n > s.limit {
		return 0, errArchiveLimit
	}
	n, err := s.r.Read(p)
	s.n += int64(n)
	if s.sum != nil {
		s.sum.Write(p[:n])
	}
	if s.sink != nil {
		if _, werr := s.sink.Write(p[:n]); werr != nil {
			s.err = werr
			return n, werr
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if s.ctx.Err() != nil {
			err = s.ctx.Err() // which is what ended the reading
		}
		s.err = err
	}
	return n, err
}

// drain reads the source to its end, so that sum covers all of it.
func (s *source) drain() error {
	return newCopier().discard(s)
}

// copier reads files, one after the other, with what that takes allocated once.
type copier struct {
	sum hash.Hash
	buf []byte
}

func newCopier() *copier {
	return &copier{sum: sha256.New(), buf: make([]byte, bufferBytes)}
}

// file reads the size bytes of a file, and returns their digest and, if they are to be kept, the bytes.
// They also go to out, unless it is nil. It is io.ErrUnexpectedEOF if there are fewer.
func (c *copier) file(out io.Writer, in io.Reader, size int64, keep bool) (_ digest.Digest, text []byte, err error) {
	if keep {
		text = make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return "", nil, unexpected(err)
		}
		if out != nil {
			if _, err := out.Write(text); err != nil {
				return "", nil, err
			}
		}
		return encoded(sha256.Sum256(text)), text, nil
	}
	c.sum.Reset()
	for size > 0 {
		n, err := in.Read(c.buf[:min(size, bufferBytes)])
		c.sum.Write(c.buf[:n])
		size -= int64(n)
		if out != nil {
			if _, err := out.Write(c.buf[:n]); err != nil {
				return "", nil, err
			}
		}
		if err != nil && size > 0 {
			return "", nil, unexpected(err)
		}
	}
	return summed(c.sum), nil, nil
}

// unexpected turns the end of the data into what it is in the middle of something.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// discard reads to the end.
func (c *copier) discard(in io.Reader) error {
	for {
		if _, err := in.Read(c.buf); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// summed returns the digest that a SHA-256 hash stands for.
func summed(h hash.Hash) digest.Digest {
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return encoded(sum)
}

func encoded(sum [sha256.Size]byte) digest.Digest {
	const prefix = "sha256:"
	var text [len(prefix) + 2*sha256.Size]byte
	copy(text[:], prefix)
	hex.Encode(text[len(prefix):], sum[:])
	return digest.Digest(text[:])
}

// buffers is how many buffers lie between the two sides of an ahead or a behind.
const buffers = 4

// ahead reads its reader in a goroutine of its own, so that inflating one part of an archive and
// hashing another happen at once. Close it, also after an error.
type ahead struct {
	full, free chan []byte
	quit       chan struct{}
	done       sync.WaitGroup
	err        error // the reader's, valid once full is closed
	seen       error // err, once Read has returned it
	buf, rest  []byte
}

func readAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan []byte, buffers), free: make(chan []byte, buffers), quit: make(chan struct{})}
	for range buffers {
		a.free <- make([]byte, bufferBytes)
	}
	a.done.Go(func() {
		defer close(a.full)
		for a.err == nil {
			select {
			case <-a.quit:
				return
			case buf := <-a.free:
				buf, a.err = fill(r, buf[:bufferBytes])
				a.full <- buf // never blocks: there are no more buffers than it has room for
			}
		}
	})
	return a
}

// fill reads until the buffer is full, and returns the part that is. Unlike io.ReadFull, it returns the
// reader's error as it is.
func fill(r io.Reader, buf []byte) (_ []byte, err error) {
	n := 0
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return buf[:n], err
}

func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.buf != nil {
			a.free <- a.buf
			a.buf = nil
		}
		buf, ok := <-a.full
		if !ok {
			a.seen = a.err
			return 0, a.err
		}
		a.buf, a.rest = buf, buf
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close ends the goroutine and waits for it. Whatever it read from may be used afterwards.
func (a *ahead) Close() {
	close(a.quit)
	a.done.Wait()
}

// behind writes to its writer in a goroutine of its own, in parts of one size, so that what is written
// does not depend on how it was handed in. Close it, also after an error.
type behind struct {
	full, free chan []byte
	done       sync.WaitGroup
	failed     atomic.Bool
	err        error // the writer's, valid after Close
	buf        []byte
}

func writeBehind(w io.Writer) *behind {
	b := &behind{full: make(chan []byte, buffers), free: make(chan []byte, buffers)}
	for range buffers {
		b.free <- make([]byte, 0, bufferBytes)
	}
	b.done.Go(func() {
		for buf := range b.full {
			if b.err == nil {
				_, b.err = w.Write(buf)
				b.failed.Store(b.err != nil)
			}
			b.free <- buf[:0]
		}
	})
	return b
}

var errBehind = errors.New("writing has failed")

func (b *behind) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if b.failed.Load() {
			return n, errBehind // Close tells the reason
		}
		if b.buf == nil {
			b.buf = <-b.free
		}
		m := copy(b.buf[len(b.buf):cap(b.buf)], p)
		b.buf, p, n = b.buf[:len(b.buf)+m], p[m:], n+m
		if len(b.buf) == cap(b.buf) {
			b.full <- b.buf
			b.buf = nil
		}
	}
	return n, nil
}

// Close writes what is left, ends the goroutine and returns the writer's error. Closing twice is fine.
func (b *behind) Close() error {
	if b.full != nil {
		if len(b.buf) > 0 {
			b.full <- b.buf
		}
		close(b.full)
		b.done.Wait()
		b.full = nil
	}
	return b.err
}
