package content

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
)

// An encoded index is encodedMagic and one zstd frame. The frame holds, in this order: form, suite
// digest, entries, texts, ignored paths, problems (as JSON). Numbers are unsigned varints, texts have
// their length before them, lists their number. Paths, which come sorted, are the number of bytes that
// they have in common with the path before and the rest.
//
// Both sides are always the same build, so there are no versions to tell apart.
const encodedMagic = "agentsuite index\n"

// maxEncoded bounds the frame, compressed or not: all texts that may be kept, and for every entry twice
// the longest path.
const maxEncoded = 1 << 30

var typeCodes = []Type{File, Directory, Symlink, Hardlink}

// hasDigest marks the code of an entry whose digest follows.
const hasDigest = 0x80

// Encode writes the index compactly. Equal indexes give equal bytes.
func (x *Index) Encode(w io.Writer) error {
	var e encoder
	e.text(string(x.Form))
	e.text(string(x.SuiteDigest))
	e.number(int64(len(x.Entries)))
	for _, entry := range x.Entries {
		if err := e.entry(entry); err != nil {
			return err
		}
	}
	e.last = ""
	e.number(int64(len(x.Texts)))
	for _, p := range slices.Sorted(maps.Keys(x.Texts)) {
		e.path(p)
		e.text(string(x.Texts[p]))
	}
	e.last = ""
	e.number(int64(len(x.Ignored)))
	for _, p := range x.Ignored {
		e.path(p)
	}
	problems, err := json.Marshal(x.Problems)
	if err != nil {
		return err
	}
	e.text(string(problems))

	// One goroutine, so that the frame does not depend on how many there could be.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	_, err = w.Write(z.EncodeAll(e.buf, []byte(encodedMagic)))
	return err
}

type encoder struct {
	buf  []byte
	last string
}

func (e *encoder) number(n int64) { e.buf = binary.AppendUvarint(e.buf, uint64(n)) }

func (e *encoder) text(s string) {
	e.number(int64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) path(p string) {
	common := 0
	for common < min(len(p), len(e.last)) && p[common] == e.last[common] {
		common++
	}
	e.number(int64(common))
	e.text(p[common:])
	e.last = p
}

func (e *encoder) entry(entry Entry) error {
	code := slices.Index(typeCodes, entry.Type)
	if code < 0 {
		return fmt.Errorf("encoding %s: unknown type %q", entry.Path, entry.Type)
	}
	if entry.Digest != "" {
		code |= hasDigest
	}
	e.path(entry.Path)
	e.number(int64(code))
	e.number(int64(entry.Mode))
	e.number(int64(entry.UID))
	e.number(int64(entry.GID))
	switch entry.Type {
	case File:
		e.number(entry.Size)
		if entry.Digest != "" {
			sum, err := hex.DecodeString(entry.Digest.Encoded())
			if err != nil || len(sum) != digestBytes {
				return fmt.Errorf("encoding %s: malformed digest %q", entry.Path, entry.Digest)
			}
			e.buf = append(e.buf, sum...)
		}
	case Symlink, Hardlink:
		e.text(entry.LinkTarget)
	}
	return nil
}

const digestBytes = 32

// Decode reads what Encode wrote. It is bounded by what an index within [DefaultLimits] can need.
func Decode(r io.Reader) (*Index, error) {
	x, err := decode(r)
	if err != nil {
		return nil, fmt.Errorf("decoding a content index: %w", err)
	}
	return x, nil
}

func decode(r io.Reader) (*Index, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxEncoded))
	if err != nil {
		return nil, err
	}
	if len(data) < len(encodedMagic) || string(data[:len(encodedMagic)]) != encodedMagic {
		return nil, errors.New("it does not begin as one")
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxEncoded))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	frame, err := z.DecodeAll(data[len(encodedMagic):], nil)
	if err != nil {
		return nil, err
	}

	d := &decoder{buf: frame}
	x := &Index{Form: Form(d.text()), SuiteDigest: digest.Digest(d.text())}
	x.Entries = make([]Entry, 0, d.count())
	for range cap(x.Entries) {
		x.Entries = append(x.Entries, d.entry())
	}
	d.last = ""
	n := d.count()
	x.Texts = make(map[string][]byte, n)
	for range n {
		p := d.path()
		x.Texts[p] = d.bytes()
	}
	d.last = ""
	for range d.count() {
		x.Ignored = append(x.Ignored, d.path())
	}
	problems := d.bytes()
	if d.bad || len(d.buf) > 0 {
		return nil, errors.New("it is malformed")
	}
	if err := json.Unmarshal(problems, &x.Problems); err != nil {
		return nil, err
	}
	if !slices.IsSortedFunc(x.Entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) }) {
		return nil, errors.New("its entries are not sorted")
	}
	return x, nil
}

// decoder takes values off the front of its buffer. After the first that is not there, it returns
// nothing but zero values.
type decoder struct {
	buf  []byte
	last string
	bad  bool
}

func (d *decoder) number() int64 {
	n, size := binary.Uvarint(d.buf)
	if size <= 0 || n > math.MaxInt64 {
		d.fail()
		return 0
	}
	d.buf = d.buf[size:]
	return int64(n)
}

func (d *decoder) fail() { d.bad, d.buf = true, nil }

// count is the number of things that follow, of which each takes a byte at least.
func (d *decoder) count() int {
	n := d.number()
	if n > int64(len(d.buf)) {
		d.fail()
		return 0
	}
	return int(n)
}

// bytes returns a part of the buffer. Its capacity ends with it, so nobody can append into the rest.
func (d *decoder) bytes() []byte { return d.take(d.number()) }

func (d *decoder) take(n int64) []byte {
	if n > int64(len(d.buf)) {
		d.fail()
		return nil
	}
	b := d.buf[:n:n]
	d.buf = d.buf[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) path() string {
	common, rest := d.number(), d.bytes()
	if common > int64(len(d.last)) {
		d.fail()
		return ""
	}
	d.last = d.last[:common] + string(rest)
	return d.last
}

func (d *decoder) entry() Entry {
	e := Entry{Path: d.path()}
	code := d.number()
	if code&^hasDigest >= int64(len(typeCodes)) {
		d.fail()
		return e
	}
	e.Type = typeCodes[code&^hasDigest]
	e.Mode, e.UID, e.GID = uint32(d.number()), int(d.number()), int(d.number())
	switch e.Type {
	case File:
		e.Size = d.number()
		if code&hasDigest != 0 {
			if sum := d.take(digestBytes); sum != nil {
				e.Digest = encoded([digestBytes]byte(sum))
			}
		}
	case Symlink, Hardlink:
		e.LinkTarget = d.text()
	}
	return e
}
