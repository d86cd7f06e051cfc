package ociimage

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Names of whiteouts (OCI image specification, layer.md). Names that begin with the second prefix are
// bookkeeping of AUFS that never reaches a filesystem, except for the opaque marker.
const (
	whiteoutPrefix     = ".wh."
	whiteoutMetaPrefix = whiteoutPrefix + whiteoutPrefix
	whiteoutOpaque     = whiteoutMetaPrefix + ".opq"
)

// maxZstdWindow is what zstd at its highest level needs.
const maxZstdWindow = 128 << 20

// decompressed undoes the compression that the first bytes tell of, as container runtimes do: media
// types of layers are not always right about it.
func decompressed(r io.Reader) (io.Reader, func(), error) {
	buffered := bufio.NewReaderSize(r, 128<<10)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { z.Close() }, nil
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}), len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}):
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return buffered, func() {}, nil
}

// isLayer tells whether a media type is one of a layer that is a tar, compressed or not.
func isLayer(mediaType string) bool {
	base, _, _ := strings.Cut(mediaType, "+")
	switch base {
	case ocispec.MediaTypeImageLayer, "application/vnd.oci.image.layer.nondistributable.v1.tar",
		"application/vnd.docker.image.rootfs.diff.tar", "application/vnd.docker.image.rootfs.diff.tar.gzip",
		"application/vnd.docker.image.rootfs.diff.tar.zstd",
		"application/vnd.docker.image.rootfs.foreign.diff.tar", "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip":
		return !strings.Contains(mediaType, "encrypted")
	}
	return false
}

// limitedReader counts and hashes what a layer expands to.
type limitedReader struct {
	ctx  context.Context
	r    io.Reader
	left *int64
	hash hash.Hash
}

var errExpanded = errors.New("expanded bytes")

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.ctx.Err() != nil {
		return 0, context.Cause(l.ctx)
	}
	n, err := l.r.Read(p)
	if *l.left -= int64(n); *l.left < 0 {
		return 0, errExpanded
	}
	l.hash.Write(p[:n])
	return n, err
}

// walkLayer verifies a layer and calls visit for every entry of it, in order.
func (i *Image) walkLayer(ctx context.Context, n int, left *int64, visit func(entry int, header *tar.Header, r io.Reader) error) (err error) {
	s, d, id := i.source, i.Manifest.Layers[n], i.Config.RootFS.DiffIDs[n]
	what := fmt.Sprintf("layer %d, %s", n+1, d.Digest)
	if !isLayer(d.MediaType) {
		return s.invalid(what, "the media type %s is no tar's", problem.Quoted(d.MediaType))
	}
	b, err := s.verified(ctx, d, s.limits.ExpandedBytes, fmt.Sprintf("layer %d,", n+1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	fail := func(err error) error {
		var disk *fs.PathError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errExpanded):
			return s.invalid(what, "the image expands to more than %d bytes", s.limits.ExpandedBytes)
		case errors.As(err, &disk):
			return s.trouble(what, err)
		}
		return s.invalid(what, "%v", err)
	}
	expanded, done, err := decompressed(b)
	if err != nil {
		return fail(err)
	}
	defer done()
	limited := &limitedReader{ctx: ctx, r: expanded, left: left, hash: id.Algorithm().Hash()}
	archive := tar.NewReader(limited)
	for entry := 0; ; entry++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fail(err)
		}
		if err := visit(entry, header, archive); err != nil {
			return fail(fmt.Errorf("entry %s: %w", problem.Quoted(header.Name), err))
		}
	}
	// The rest counts for the digest.
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return fail(err)
	}
	if got := digest.NewDigest(id.Algorithm(), limited.hash); got != id {
		return s.invalid(what, "it expands to %s, the config states %s", got, id)
	}
	return nil
}

// applier applies the layers of an image to a tree.
type applier struct {
	*tree
	image *Image
	// most tells of which files the bytes are kept, as far as the names of entries tell: files of at most so
	// many, 0 for none. held is how many bytes of all files may still be kept.
	most func(path string) int64
	held int64
	// expanded is how many bytes files may still have, holes included; facts is what their facts may still weigh.
	expanded, facts int64
	spool           *os.File
	hash            hash.Hash
	buf             []byte
}

func (a *applier) apply(entry int, header *tar.Header, r io.Reader) error {
	if err := a.step(); err != nil {
		return err
	}
	if limit := a.image.source.limits.Scan.Entries; a.nodes > limit {
		return fmt.Errorf("the filesystem has more than %d entries before it", limit)
	}
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := a.name(header.Name)
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, whiteoutMetaPrefix) && name != whiteoutOpaque {
		return nil
	}
	if base := path.Base(name); strings.HasPrefix(base, whiteoutPrefix) {
		return a.applyWhiteout(path.Dir(name), base)
	}
	if !isID(header.Uid) || !isID(header.Gid) {
		return fmt.Errorf("its owner %d:%d is none", header.Uid, header.Gid)
	}
	file := &inode{
		mode: uint32(header.Mode) & 0o7777, uid: header.Uid, gid: header.Gid,
		origin: origin{a.layer, entry}, capable: isCapable(header),
	}
	switch header.Typeflag {
	case tar.TypeDir:
		file.kind = fs.ModeDir
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		// A sparse file's holes are not in the archive.
		if a.expanded -= header.Size; a.expanded < 0 {
			return errExpanded
		}
		if err := a.content(file, name, r); err != nil {
			return err
		}
	case tar.TypeSymlink:
		file.kind, file.mode, file.target = fs.ModeSymlink, 0o777, strings.Clone(header.Linkname)
		if n := len(header.Linkname); n > a.image.source.limits.Scan.PathBytes {
			return fmt.Errorf("its target is %d bytes long", n)
		}
	case tar.TypeLink:
		return a.applyLink(name, header)
	case tar.TypeChar:
		file.kind = fs.ModeDevice | fs.ModeCharDevice
	case tar.TypeBlock:
		file.kind = fs.ModeDevice
	case tar.TypeFifo:
		file.kind = fs.ModeNamedPipe
	default:
		return fmt.Errorf("its type %q is none of a layer", header.Typeflag)
	}
	return a.add(name, file)
}

// isCapable tells whether an unpacker gives a file capabilities.
func isCapable(header *tar.Header) bool {
	return header.PAXRecords["SCHILY.xattr.security.capability"] != ""
}

func isID(id int) bool { return id >= 0 && id < math.MaxUint32 }

// name turns the name of an entry into a clean path below the root.
func (a *applier) name(name string) (string, error) {
	if len(name) > a.image.source.limits.Scan.PathBytes {
		return "", fmt.Errorf("its path is %d bytes long; at most %d are read", len(name), a.image.source.limits.Scan.PathBytes)
	}
	if strings.ContainsRune(name, 0) {
		return "", errors.New("its path contains NUL")
	}
	// Some producers begin every name with a slash. What is left may be a small part of a large header.
	clean := strings.Clone(path.Clean(strings.TrimLeft(name, "/")))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errors.New("its path leads out of the image")
	}
	return clean, nil
}

func (a *applier) applyWhiteout(dir, base string) error {
	switch hidden := strings.TrimPrefix(base, whiteoutPrefix); {
	case base == whiteoutOpaque:
		return a.opaque(dir)
	case strings.HasPrefix(base, whiteoutMetaPrefix):
		return nil
	case hidden == "", hidden == ".", hidden == "..":
		return errors.New("it is a whiteout of no name")
	default:
		return a.whiteout(path.Join(dir, hidden))
	}
}

func (a *applier) applyLink(name string, header *tar.Header) error {
	target, err := a.name(header.Linkname)
	if err != nil {
		return fmt.Errorf("it is a hardlink to %s: %w", problem.Quoted(header.Linkname), err)
	}
	shared, err := a.link(name, target)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it is a hardlink to %s, which is not there", problem.Quoted(header.Linkname))
	}
	if err != nil {
		return err
	}
	// Unpackers set the attributes of the entry, and all names of a file have them in common.
	shared.uid, shared.gid = header.Uid, header.Gid
	shared.capable = isCapable(header) // a new owner takes them away
	if shared.kind != fs.ModeSymlink {
		shared.mode = uint32(header.Mode) & 0o7777
	}
	return nil
}

// content reads a regular file: its digest, its facts, and its bytes where they are kept.
func (a *applier) content(file *inode, name string, r io.Reader) error {
	a.hash.Reset()
	head := make([]byte, 256)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	head = head[:n]
	a.hash.Write(head)
	native := bytes.HasPrefix(head, []byte("\x7fELF"))
	var kept *bytes.Buffer
	writers := []io.Writer{a.hash}
	if native {
		if err := a.rewind(head); err != nil {
			return err
		}
		writers = append(writers, a.spool)
	}
	if most := a.most(name); most > 0 {
		kept = bytes.NewBuffer(bytes.Clone(head))
		// One byte more shows that there are too many.
		writers = append(writers, &cappedWriter{kept, min(most+1, a.held+1)})
	}
	rest, err := io.CopyBuffer(io.MultiWriter(writers...), struct{ io.Reader }{r}, a.buf)
	if err != nil {
		return err
	}
	file.size = int64(n) + rest
	file.digest = digest.NewDigest(digest.SHA256, a.hash)
	if kept != nil {
		if a.held -= int64(kept.Len()); a.held < 0 {
			return errors.New("the files to keep, of all layers together, are larger than any image needs them to be")
		}
		file.bytes = kept.Bytes()
	}
	switch {
	case native:
		file.facts, err = abi.Read(a.spool, file.size)
	case bytes.HasPrefix(head, []byte("#!")):
		file.facts, err = abi.Read(bytes.NewReader(head), file.size)
	}
	if file.facts != nil {
		if a.facts -= file.facts.Weight(); a.facts < 0 {
			return errors.New("what native files state of themselves takes more than any image needs")
		}
	}
	return err
}

// rewind empties the spool and begins it with the head of a file.
func (a *applier) rewind(head []byte) (err error) {
	if a.spool == nil {
		if a.spool, err = newSpool(a.image.source.tempDir); err != nil {
			return err
		}
	}
	if err := a.spool.Truncate(0); err != nil {
		return err
	}
	if _, err := a.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = a.spool.Write(head)
	return err
}

// cappedWriter keeps the first bytes of what is written to it.
type cappedWriter struct {
	w    *bytes.Buffer
	most int64
}

func (c *cappedWriter) Write(p []byte) (int, error) {
	if room := c.most - int64(c.w.Len()); room > 0 {
		c.w.Write(p[:min(room, int64(len(p)))])
	}
	return len(p), nil
}
