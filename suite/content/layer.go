package content

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
)

// compressionLevel is part of every suite digest that is computed from content, so it must never
// change. Packing happens on every build of an extracted suite whose content changed: on executables
// and libraries, level 2 takes half the time of level 6 (200 MB/s against 105 on one core) for a
// tenth more bytes (0.336 of the size against 0.304); level 9 would save a fortieth more at a tenth
// of the speed.
const compressionLevel = 2

// directoryMode is the mode of every directory that is packed: what somebody's umask makes of them is no
// content.
const directoryMode = 0o755

// layerWriter writes a content layer. The bytes depend on nothing but the entries and files: names and
// times beyond the content are left out, and the compressor is a pinned module, not the toolchain's.
type layerWriter struct {
	tar    *tar.Writer
	gzip   *gzip.Writer
	behind *behind
	out    sized
}

// sized counts and hashes what passes to w, which may be nil.
type sized struct {
	w   io.Writer
	n   int64
	sum hash.Hash
}

func (s *sized) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	s.sum.Write(p)
	if s.w == nil {
		return len(p), nil
	}
	return s.w.Write(p)
}

// newLayerWriter begins a layer. Close it, also after an error.
func newLayerWriter(sink io.Writer) *layerWriter {
	l := &layerWriter{out: sized{w: sink, sum: sha256.New()}}
	l.gzip, _ = gzip.NewWriterLevel(&l.out, compressionLevel) // fails only for levels that do not exist
	l.behind = writeBehind(l.gzip)
	l.tar = tar.NewWriter(l.behind)
	return l
}

// begin writes the header of an entry. Entries come sorted; a file's bytes follow through Write.
func (l *layerWriter) begin(e Entry) error {
	// Without a format, the writer takes PAX only for what USTAR cannot say.
	header := &tar.Header{Name: e.Path, Mode: int64(e.Mode), Size: e.Size}
	switch e.Type {
	case File:
		header.Typeflag = tar.TypeReg
	case Directory:
		header.Typeflag, header.Name, header.Mode = tar.TypeDir, e.Path+"/", directoryMode
	case Symlink:
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.LinkTarget
	}
	return l.tar.WriteHeader(header)
}

func (l *layerWriter) Write(p []byte) (int, error) { return l.tar.Write(p) }

// finish completes the layer and returns what it is.
func (l *layerWriter) finish() (size int64, sum digest.Digest, err error) {
	err = errors.Join(l.tar.Close(), l.behind.Close())
	if err == nil {
		err = l.gzip.Close()
	}
	return l.out.n, summed(l.out.sum), err
}

// Close ends the goroutine that compresses, if finish did not.
func (l *layerWriter) Close() { _ = l.behind.Close() }
