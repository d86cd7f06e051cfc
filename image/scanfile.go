package image

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// scanMagic begins every scan file. The number changes whenever older readers would misunderstand.
const scanMagic = "agentsuite scan 1\n"

// scanHead is the part of a scan that is small. It is JSON, for whoever looks into a scan file; the
// entries behind it are not, because there can be hundreds of thousands.
type scanHead struct {
	Entries  int                  `json:"entries"`
	Files    map[string][]byte    `json:"files"`
	Objects  map[string]abi.Facts `json:"objects"`
	Problems []problem.Problem    `json:"problems,omitempty"`
	Warnings []problem.Warning    `json:"warnings,omitempty"`
}

// Bounds on what a reader of a scan file believes, so that a broken file cannot take all memory.
const (
	maxScanHead   = 1 << 30
	maxScanString = 1 << 20
)

// Encode writes the scan in the form that [DecodeScan] reads. Equal scans give equal bytes. The
// entries must be sorted by path; a path is written as what distinguishes it from the one before.
func (s *Scan) Encode(w io.Writer) error {
	head, err := json.Marshal(scanHead{
		Entries: len(s.Entries), Files: s.Files, Objects: s.Objects, Problems: s.Problems, Warnings: s.Warnings,
	})
	if err != nil {
		return fmt.Errorf("encoding a scan: %w", err)
	}
	out := bufio.NewWriterSize(w, 256<<10)
	buf := append([]byte(scanMagic), binary.AppendUvarint(nil, uint64(len(head)))...)
	buf = append(buf, head...)
	previous := ""
	for i := range s.Entries {
		e := &s.Entries[i]
		if buf, err = appendEntry(buf, e, previous); err != nil {
			return fmt.Errorf("encoding a scan: entry %q: %w", e.Path, err)
		}
		previous = e.Path
		if _, err := out.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
	}
	if _, err := out.Write(buf); err != nil {
		return err
	}
	return out.Flush()
}

// scanTypes are the letters of a scan file for the types of entries.
var scanTypes = map[content.Type]byte{content.File: 'f', content.Directory: 'd', content.Symlink: 'l'}

func appendEntry(buf []byte, e *Entry, previous string) ([]byte, error) {
	letter, ok := scanTypes[e.Type]
	if !ok {
		return nil, fmt.Errorf("the type %q is none of a root filesystem", e.Type)
	}
	if e.UID < 0 || e.GID < 0 || e.Size < 0 {
		return nil, errors.New("a negative owner or size")
	}
	buf = append(buf, letter)
	common := commonPrefix(previous, e.Path)
	buf = binary.AppendUvarint(buf, uint64(common))
	buf = appendString(buf, e.Path[common:])
	buf = binary.AppendUvarint(buf, uint64(e.Mode))
	buf = binary.AppendUvarint(buf, uint64(e.UID))
	buf = binary.AppendUvarint(buf, uint64(e.GID))
	switch e.Type {
	case content.File:
		encoded, ok := strings.CutPrefix(string(e.Digest), sha256Prefix)
		sum, err := hex.DecodeString(encoded)
		if !ok || err != nil || len(sum) != sha256Bytes {
			return nil, fmt.Errorf("%q is no SHA-256 digest", e.Digest)
		}
		buf = binary.AppendUvarint(buf, uint64(e.Size))
		buf = append(buf, sum...)
	case content.Symlink:
		buf = appendString(buf, e.LinkTarget)
	}
	return buf, nil
}

const (
	sha256Prefix = "sha256:"
	sha256Bytes  = 32
)

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func appendString(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

// DecodeScan reads what [Scan.Encode] wrote, and refuses everything else.
func DecodeScan(r io.Reader) (*Scan, error) {
	d := &scanDecoder{in: bufio.NewReaderSize(r, 256<<10)}
	s, err := d.scan()
	if err == nil {
		err = d.err
	}
	if err == nil {
		if _, err = d.in.ReadByte(); errors.Is(err, io.EOF) {
			return s, nil
		}
		if err == nil {
			err = errors.New("there are bytes behind its last entry")
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("reading a scan: %w", err)
}

// scanDecoder reads one value after the other until the first error.
type scanDecoder struct {
	in  *bufio.Reader
	buf []byte
	err error
}

func (d *scanDecoder) scan() (*Scan, error) {
	if magic := d.bytes(uint64(len(scanMagic))); d.err == nil && string(magic) != scanMagic {
		return nil, errors.New("it does not begin as a scan of this version does")
	}
	size := d.uint(maxScanHead)
	if d.err != nil {
		return nil, d.err
	}
	text, err := io.ReadAll(io.LimitReader(d.in, int64(size)))
	if err != nil {
		return nil, err
	}
	if uint64(len(text)) < size {
		return nil, io.ErrUnexpectedEOF
	}
	var head scanHead
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	// The count is only believed as far as entries really follow.
	s := &Scan{
		Entries: make([]Entry, 0, max(0, min(head.Entries, 1<<17))),
		Files:   head.Files, Objects: head.Objects, Problems: head.Problems, Warnings: head.Warnings,
	}
	previous := ""
	for range head.Entries {
		e := d.entry(previous)
		if d.err != nil {
			return nil, d.err
		}
		if e.Path <= previous {
			return nil, fmt.Errorf("entry %q is not sorted behind %q", e.Path, previous)
		}
		previous = e.Path
		s.Entries = append(s.Entries, e)
	}
	return s, nil
}

func (d *scanDecoder) entry(previous string) Entry {
	var e Entry
	switch letter := d.bytes(1); {
	case d.err != nil:
		return e
	case letter[0] == 'f':
		e.Type = content.File
	case letter[0] == 'd':
		e.Type = content.Directory
	case letter[0] == 'l':
		e.Type = content.Symlink
	default:
		d.err = fmt.Errorf("unknown type %q of an entry", letter[0])
		return e
	}
	common := d.uint(uint64(len(previous)))
	e.Path = previous[:common] + string(d.bytes(d.uint(maxScanString)))
	e.Mode = uint32(d.uint(0o7777))
	e.UID = int(d.uint(math.MaxUint32))
	e.GID = int(d.uint(math.MaxUint32))
	switch e.Type {
	case content.File:
		e.Size = int64(d.uint(math.MaxInt64))
		if sum := d.bytes(sha256Bytes); sum != nil {
			e.Digest = sha256Digest(sum)
		}
	case content.Symlink:
		e.LinkTarget = string(d.bytes(d.uint(maxScanString)))
	}
	return e
}

// sha256Digest renders a digest. It matters how fast, since every file has one.
func sha256Digest(sum []byte) digest.Digest {
	var text [len(sha256Prefix) + 2*sha256Bytes]byte
	hex.Encode(text[copy(text[:], sha256Prefix):], sum)
	return digest.Digest(text[:])
}

// uint reads a number; one above limit is an error. After an error it is 0.
func (d *scanDecoder) uint(limit uint64) uint64 {
	if d.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(d.in)
	if err == nil && n > limit {
		err = fmt.Errorf("the number %d is above %d", n, limit)
	}
	if err != nil {
		d.err = err
		return 0
	}
	return n
}

// bytes reads n bytes, which are valid until the next call. After an error it is nil.
func (d *scanDecoder) bytes(n uint64) []byte {
	if d.err != nil {
		return nil
	}
	if uint64(cap(d.buf)) < n {
		d.buf = make([]byte, n)
	}
	d.buf = d.buf[:n]
	if _, d.err = io.ReadFull(d.in, d.buf); d.err != nil {
		return nil
	}
	return d.buf
}
