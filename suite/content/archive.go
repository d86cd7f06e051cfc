package content

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// layer is a content layer that was read to its end.
type layer struct {
	*tree
	size   int64
	digest digest.Digest
	// extracted is where its content lies, if that was asked for. Whoever has the layer must commit or
	// discard it, and must not commit what has problems.
	extracted *staging
	// large tells that it was reported to be larger than the limit.
	large bool
}

// readLayer reads a content layer: a tar archive, compressed with gzip. It reads r to its end, whatever
// it finds, so that size and digest are those of the whole. The bytes of the layer also go to sink, and
// its content below into, unless these are nil.
func readLayer(ctx context.Context, r io.Reader, limits Limits, sink io.Writer, into *destination) (_ *layer, err error) {
	// Compressed data may have no end and still hold nothing, so it has the same limit.
	src := &source{ctx: ctx, r: r, sum: sha256.New(), sink: sink, limit: limits.ArchiveBytes}
	l := &layer{tree: newTree(limits)}
	if into != nil {
		if l.extracted, err = into.stage(limits.Entries); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, l.extracted.discard())
			}
		}()
	}

	gz := newMembers(src)
	inflated := readAhead(gz)
	a := &archive{
		tree: l.tree,
		in:   counted{r: inflated, limit: limits.ArchiveBytes},
		copy: newCopier(),
		to:   l.extracted,
	}
	err = a.read()
	inflated.Close()
	if err := l.blame(err, src, inflated.seen, gz.timed); err != nil {
		return nil, err
	}
	_ = l.finish() // there is nothing to stop any more
	switch err := src.drain(); {
	case errors.Is(err, errArchiveLimit):
		l.tooLarge()
	case err != nil:
		return nil, err
	}
	l.size, l.digest = src.n, summed(src.sum)
	if l.extracted != nil && len(l.problems) == 0 {
		return l, l.extracted.err
	}
	return l, nil
}

const noGzip = "the content layer is not complete gzip data: %v"

// blame turns what ended the reading of an archive into a problem, or returns it if it is trouble.
// inflating is the error of the gzip data that the archive's reader came to, and timed the first member
// that records a time. How far inflating went ahead of an archive that was not read to its end must
// not show.
func (l *layer) blame(err error, src *source, inflating error, timed int) error {
	var bad *tarError
	complete := err == nil
	switch {
	case src.err != nil:
		return src.err
	case err == nil, errors.Is(err, errStop):
	case errors.Is(err, errArchiveLimit):
		l.tooLarge()
	case inflating != nil && !errors.Is(inflating, io.EOF):
		// Whatever the archive seemed to lack, it is the gzip data that lacks it.
		_ = l.report(problem.ArchiveGzip, "", noGzip, inflating)
	case errors.As(err, &bad):
		_ = l.report(problem.ArchiveTar, bad.path, "%s", bad.message)
	default:
		return err
	}
	if timed == 1 || timed > 0 && complete {
		_ = l.report(problem.ArchiveGzip, "", "the header of gzip member %d records a time; expected 0, so that equal content gives equal bytes (gzip -n)", timed)
	}
	return nil
}

// tooLarge reports an archive beyond the limit, once.
func (l *layer) tooLarge() {
	if !l.large {
		l.large = true
		_ = l.report(problem.PathLimit, "", "the archive has more than %d bytes, which is the limit, compressed as well as uncompressed", l.limits.ArchiveBytes)
	}
}

// tarError is what is wrong with a tar archive as such.
type tarError struct{ path, message string }

func (e *tarError) Error() string { return e.message }

var errArchiveLimit = errors.New("the archive is larger than the limit")

// counted counts what is read, and fails beyond a limit.
type counted struct {
	r        io.Reader
	n, limit int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p[:min(int64(len(p)), c.limit+1-c.n)])
	if c.n += int64(n); c.n > c.limit {
		return 0, errArchiveLimit
	}
	return n, err
}

// archive reads the tar archive of a content layer into a tree.
type archive struct {
	tree *tree
	in   counted
	copy *copier
	to   *staging

	// Where every entry shares a fault because of how the archive was made, that is one problem, told
	// of the first.
	timed, dotted repeated
}

// repeated counts entries that share a fault, and remembers the first.
type repeated struct {
	count     int
	path, how string
}

func (r *repeated) add(path, how string) {
	if r.count++; r.count == 1 {
		r.path, r.how = strings.Clone(path), how
	}
}

// others is to be said behind what is said of the first.
func (r *repeated) others() string {
	if r.count > 1 {
		return " (so do other entries)"
	}
	return ""
}

func (a *archive) read() error {
	err := a.entries()
	if a.dotted.count > 0 {
		err = cmp.Or(a.tree.report(problem.PathUnsafe, a.dotted.path, `the entry %s begins with "./"%s; expected paths as they are below the content root (tar -C DIR -c NAME…, not tar -C DIR -c .)`,
			problem.Quoted(a.dotted.path), a.dotted.others()), err)
	}
	if a.timed.count > 0 {
		err = cmp.Or(a.tree.report(problem.PathTime, a.timed.path, "the entry %s%s; expected the Unix epoch as its only time (tar --mtime=@0)",
			a.timed.how, a.timed.others()), err)
	}
	return err
}

const blockBytes = 512

// entries reads one entry after the other. The standard library's reader takes some things for granted
// that must be checked here: that the end marker is there (an archive that just stops is complete to
// it), that only zeros follow, and that a header which describes the next entry is followed by one. It
// reads exactly what it needs, so counting the bytes of its last step tells them apart: the padding of
// an entry, which is less than a block, and two blocks.
func (a *archive) entries() error {
	tr := tar.NewReader(&a.in)
	for last := ""; ; {
		start := a.in.n
		hdr, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF) && a.in.n-start < 2*blockBytes:
			return &tarError{last, "the archive ends without the two zero blocks that mark its end; it is truncated"}
		case errors.Is(err, io.EOF) && a.in.n-start >= 3*blockBytes:
			return &tarError{last, "the archive ends with an extended header that no entry follows"}
		case errors.Is(err, io.EOF):
			return a.zeros()
		case err != nil:
			return broken(last, err)
		}
		if err := a.entry(hdr, tr); err != nil {
			return err
		}
		// Next would skip what is left of the entry's data together with its padding.
		if err := a.copy.discard(tr); err != nil {
			return broken(hdr.Name, err)
		}
		last = hdr.Name
	}
}

func broken(last string, err error) error {
	if errors.Is(err, errArchiveLimit) {
		return err
	}
	where := "at its beginning"
	if last != "" {
		where = "after the entry " + problem.Quoted(last)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &tarError{last, "the archive ends " + where + " without its end marker; it is truncated"}
	}
	return &tarError{last, "the archive cannot be read " + where + ": expected the header of a tar entry, or the end marker"}
}

// zeros reads what follows the end marker.
func (a *archive) zeros() error {
	for {
		n, err := a.in.Read(a.copy.buf)
		if bytes.Count(a.copy.buf[:n], []byte{0}) != n {
			return &tarError{"", "data follows the end of the archive; expected nothing but zero bytes"}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

var types = map[byte]Type{tar.TypeReg: File, tar.TypeDir: Directory, tar.TypeSymlink: Symlink, tar.TypeLink: Hardlink}

var refusedTypes = map[byte]string{
	tar.TypeChar:          "a character device",
	tar.TypeBlock:         "a block device",
	tar.TypeFifo:          "a FIFO",
	tar.TypeXGlobalHeader: "a global extended header",
	tar.TypeGNUSparse:     "a sparse file",
	tar.TypeCont:          "a contiguous file",
}

// entry takes in one entry and the data behind it.
func (a *archive) entry(hdr *tar.Header, data io.Reader) error {
	typ, ok := types[hdr.Typeflag]
	if !ok {
		what, known := refusedTypes[hdr.Typeflag]
		if !known {
			what = "of the unknown type " + problem.Quoted(string(rune(hdr.Typeflag)))
		}
		return a.refuse(hdr, what)
	}
	for key := range hdr.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return a.refuse(hdr, refusedTypes[tar.TypeGNUSparse])
		}
	}
	if typ != File && hdr.Size != 0 {
		// Some readers skip that many bytes and some do not, so they would see different archives.
		return &tarError{hdr.Name, "the entry is a " + string(typ) + " that states a size; expected 0"}
	}

	// Without the prefix everything else can be checked as if it had not been there.
	name, dotted := strings.CutPrefix(hdr.Name, "./")
	if dotted {
		a.dotted.add(hdr.Name, "")
		a.to = nil
		if name == "" {
			return nil
		}
		hdr.Name = name
		if typ == Hardlink {
			hdr.Linkname = strings.TrimPrefix(hdr.Linkname, "./")
		}
	}
	e := Entry{Path: hdr.Name, Type: typ, UID: hdr.Uid, GID: hdr.Gid}
	switch typ {
	case Directory:
		e.Path = strings.TrimSuffix(e.Path, "/")
	case Symlink, Hardlink:
		e.LinkTarget = hdr.Linkname
	case File:
		e.Size = hdr.Size
		if err := a.tree.grow(e.Path, e.Size); err != nil {
			return err
		}
	}
	added, err := a.tree.add(e, uint32(hdr.Mode&0o7777))
	err = cmp.Or(err, a.metadata(e.Path, hdr))
	if len(a.tree.problems) > 0 {
		a.to = nil // what has problems is not extracted
	}
	switch {
	case err != nil || !added:
		return err
	case typ == File:
		return a.file(e.Path, data)
	case typ == Directory:
		a.to.directory(e.Path, uint32(hdr.Mode&0o777))
	case typ == Symlink:
		a.to.symlink(e.Path, e.LinkTarget)
	case typ == Hardlink:
		a.to.hardlink(e.Path, e.LinkTarget)
	}
	return nil
}

func (a *archive) refuse(hdr *tar.Header, what string) error {
	err := a.tree.report(problem.PathType, hdr.Name, "the entry is %s; expected a regular file, a directory, a symlink or a hardlink", what)
	if err == nil && what == refusedTypes[tar.TypeGNUSparse] {
		// Its holes may expand to any size, and where its data ends takes expanding it.
		return errStop
	}
	return err
}

// metadata checks what an archive says of an entry beyond what the tree keeps.
func (a *archive) metadata(p string, hdr *tar.Header) error {
	if was := timeOf(hdr); was != "" {
		a.timed.add(p, was)
	}
	if attribute := attributeOf(hdr); attribute != "" {
		return a.tree.report(problem.PathAttribute, p, "the entry has the extended attribute %s; expected none (tar --no-xattrs --no-acls --no-selinux)", problem.Quoted(attribute))
	}
	if hdr.Mode < 0 || hdr.Mode > 0o177777 {
		return a.tree.report(problem.PathMode, p, "mode %#o is no file mode", hdr.Mode)
	}
	if hdr.Uid < 0 || hdr.Gid < 0 || int64(hdr.Uid) > math.MaxUint32 || int64(hdr.Gid) > math.MaxUint32 {
		return a.tree.report(problem.ArchiveTar, p, "the owner %d:%d is no pair of numbers that a system knows", hdr.Uid, hdr.Gid)
	}
	return nil
}

// attributeRecords begin the PAX records that hold extended attributes, access control lists
// included, by the writers that exist.
var attributeRecords = []string{"SCHILY.xattr.", "SCHILY.acl.", "LIBARCHIVE.xattr.", "RHT.security."}

// attributeOf returns the first record of an extended attribute by name, or nothing.
func attributeOf(hdr *tar.Header) (first string) {
	for key := range hdr.PAXRecords {
		for _, prefix := range attributeRecords {
			if strings.HasPrefix(key, prefix) && (first == "" || key < first) {
				first = key
			}
		}
	}
	return first
}

// timeOf says which time an entry records that it should not, or nothing.
func timeOf(hdr *tar.Header) string {
	switch mtime := hdr.PAXRecords["mtime"]; {
	case hdr.ModTime.Unix() != 0 || hdr.ModTime.Nanosecond() != 0:
		return "was modified at " + hdr.ModTime.UTC().Format("2006-01-02T15:04:05.999999999Z07:00")
	case strings.Trim(mtime, "-0.") != "":
		return "was modified at " + problem.Cut(mtime) + " seconds" // less than a nanosecond
	case !hdr.AccessTime.IsZero():
		return "records an access time"
	case !hdr.ChangeTime.IsZero():
		return "records a change time"
	}
	return ""
}

// file reads a regular file's bytes to its digest, and to where else they go.
func (a *archive) file(p string, data io.Reader) error {
	e := &a.tree.entries[a.tree.byPath[p]]
	kept, err := a.tree.keeps(p, e.Size)
	if err != nil {
		return err
	}
	out := a.to.file(p, e.Mode)
	var text []byte
	e.Digest, text, err = a.copy.file(out, data, e.Size, kept)
	out.Close()
	if err != nil {
		return broken(p, err)
	}
	if kept {
		a.tree.keep(p, text)
	}
	return nil
}
