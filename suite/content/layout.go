package content

import (
	"archive/tar"
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// reading is what to do with the parts of a suite that is no directory of content.
type reading struct {
	limits Limits
	sink   io.Writer
	into   *destination
}

// stored is a layout whose files can be opened in any order.
type stored struct {
	reading
	// open opens a file and returns its size, or says what is wrong with it.
	open func(name string) (file io.ReadCloser, size int64, wrong string, err error)
	last *layer
}

func (s *stored) discard(except *layer) error {
	if s.last == nil || s.last == except {
		return nil
	}
	return s.last.extracted.discard()
}

func (s *stored) text(ctx context.Context, name string) (*blob, error) {
	file, size, wrong, err := s.open(name)
	if err != nil || wrong != "" {
		return &blob{wrong: wrong}, err
	}
	defer file.Close()
	if size > s.limits.JSON.DocumentBytes {
		return &blob{size: size}, nil
	}
	return readText(ctx, file, size)
}

func readText(ctx context.Context, r io.Reader, size int64) (*blob, error) {
	text := make([]byte, size)
	if _, err := io.ReadFull(&source{ctx: ctx, r: r}, text); err != nil {
		return nil, unexpected(err)
	}
	return &blob{size: size, digest: encoded(sha256.Sum256(text)), text: text}, nil
}

func (s *stored) layer(ctx context.Context, name string, size int64) (*blob, error) {
	file, found, wrong, err := s.open(name)
	if err != nil || wrong != "" {
		return &blob{wrong: wrong}, err
	}
	defer file.Close()
	if found != size {
		return &blob{size: found}, nil
	}
	l, err := readLayer(ctx, file, s.limits, s.sink, s.into)
	if err != nil {
		return nil, err
	}
	s.last = l
	return &blob{size: l.size, digest: l.digest, layer: l}, nil
}

// openIn opens a file of a layout directory, on the way to which there are directories only.
func openIn(root *os.Root, name string) (io.ReadCloser, int64, string, error) {
	for i, c := range name {
		if c != '/' {
			continue
		}
		switch stat, err := root.Lstat(name[:i]); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, 0, "is missing", nil
		case err != nil:
			return nil, 0, "", err
		case !stat.IsDir():
			return nil, 0, "lies below " + name[:i] + ", which is " + kindOf(stat.Mode()), nil
		}
	}
	stat, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, "is missing", nil
	case err != nil:
		return nil, 0, "", err
	case !stat.Mode().IsRegular():
		return nil, 0, "is " + kindOf(stat.Mode()), nil
	}
	file, err := openSame(root, name, stat)
	if err != nil {
		return nil, 0, "", err
	}
	return file, stat.Size(), "", nil
}

// layoutTar reads the entries of an OCI layout tar. Other than in a content layer, it matters little
// how they are written, since all that counts is verified by digests.
type layoutTar struct {
	findings
	limits Limits
	seen   map[string]bool
}

// each calls visit for every entry below the layout's root, with its name as the layout has it. wrong
// says what an entry is instead of a regular file.
func (t *layoutTar) each(src io.Reader, visit func(name string, hdr *tar.Header, data io.Reader, wrong string) error) error {
	tr := tar.NewReader(src)
	for count, last := 1, ""; ; count++ {
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return broken(last, err)
		}
		last = hdr.Name
		if count > t.limits.Entries {
			return t.stop(problem.OCILimit, "", "the layout has at least %d entries; the limit is %d", count, t.limits.Entries)
		}
		name, skip, err := t.name(hdr)
		if err != nil {
			return err
		}
		if skip {
			continue
		}
		if err := visit(name, hdr, tr, wrongType(hdr)); err != nil {
			return err
		}
	}
}

// name returns the name of an entry without what leads to the layout's root.
func (t *layoutTar) name(hdr *tar.Header) (name string, skip bool, err error) {
	if hdr.Typeflag == tar.TypeXGlobalHeader {
		return "", true, nil
	}
	name = strings.TrimPrefix(hdr.Name, "./")
	if hdr.Typeflag == tar.TypeDir {
		if name = strings.TrimSuffix(name, "/"); name == "" || name == "." {
			return "", true, nil
		}
	}
	if wrong := CheckPath(name); wrong != nil {
		return "", true, t.report(problem.PathUnsafe, hdr.Name, "%s is no path in an OCI layout: %v", problem.Quoted(hdr.Name), wrong)
	}
	if t.seen[name] && hdr.Typeflag != tar.TypeDir {
		return "", true, t.report(problem.PathDuplicate, name, "the path occurs twice; expected every path once")
	}
	name = strings.Clone(name) // it may be a small part of a large header
	t.seen[name] = true
	return name, false, nil
}

func wrongType(hdr *tar.Header) string {
	for key := range hdr.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "is " + refusedTypes[tar.TypeGNUSparse]
		}
	}
	switch typ := types[hdr.Typeflag]; typ {
	case File:
		return ""
	case "":
		return "is " + cmp.Or(refusedTypes[hdr.Typeflag], "of an unknown type")
	default:
		return "is a " + string(typ)
	}
}

// openTar makes a layout of a tar file, for which it only reads the headers. There is no layout if the
// archive cannot be read to its end.
func openTar(ctx context.Context, file io.ReaderAt, size int64, r reading) (*stored, []problem.Problem, error) {
	type part struct {
		offset, size int64
		wrong        string
	}
	parts := map[string]part{}
	t := &layoutTar{findings: findings{limit: r.limits.Problems}, limits: r.limits, seen: map[string]bool{}}
	whole := seekable{io.NewSectionReader(file, 0, size)}
	src := &source{ctx: ctx, r: whole}
	// Given a Seeker, the tar reader seeks over the data.
	err := t.each(struct {
		io.Reader
		io.Seeker
	}{src, whole}, func(name string, hdr *tar.Header, _ io.Reader, wrong string) error {
		offset, err := whole.Seek(0, io.SeekCurrent)
		parts[name] = part{offset, hdr.Size, wrong}
		return err
	})
	if complete, err := t.done(src, err); !complete || err != nil {
		return nil, t.problems, err
	}
	return &stored{reading: r, open: func(name string) (io.ReadCloser, int64, string, error) {
		p, ok := parts[name]
		if !ok {
			p.wrong = "is missing"
		}
		return io.NopCloser(io.NewSectionReader(file, p.offset, p.size)), p.size, p.wrong, nil
	}}, t.problems, nil
}

// seekable does not seek beyond the end of its data, where an archive that states absurd sizes leads.
type seekable struct{ *io.SectionReader }

func (s seekable) Seek(offset int64, whence int) (int64, error) {
	at, err := s.SectionReader.Seek(0, io.SeekCurrent)
	if err == nil && whence == io.SeekCurrent && offset > s.Size()-at {
		return at, io.ErrUnexpectedEOF
	}
	return s.SectionReader.Seek(offset, whence)
}

// done turns what ended the reading of a layout tar into a problem, or returns it if it is trouble. It
// tells whether all entries were seen.
func (t *layoutTar) done(src *source, err error) (complete bool, _ error) {
	var bad *tarError
	switch {
	case src.err != nil:
		return false, src.err
	case errors.As(err, &bad):
		_ = t.report(problem.ArchiveTar, bad.path, "%s", bad.message)
		return false, nil
	case errors.Is(err, errStop):
		return false, nil
	}
	return err == nil, err
}

// streamed is a layout whose files have all been read, since they came in an order of their own.
type streamed map[string]*blob

func (s streamed) text(_ context.Context, name string) (*blob, error) { return s.blob(name), nil }

func (s streamed) layer(_ context.Context, name string, _ int64) (*blob, error) {
	return s.blob(name), nil
}

func (s streamed) blob(name string) *blob {
	if b, ok := s[name]; ok {
		return b
	}
	return &blob{wrong: "is missing"}
}

func (s streamed) discard(except *layer) error {
	var errs []error
	for _, b := range s {
		if b.layer != nil && b.layer != except {
			errs = append(errs, b.layer.extracted.discard())
		}
	}
	return errors.Join(errs...)
}

// readStream reads a layout tar from its beginning to its end. What a blob is shows only in the
// manifest, which may come last. So whatever begins like gzip data is read as a content layer, and
// whatever is small enough for a document is kept, as long as both stay within what one suite may
// have; the rest is hashed.
func readStream(ctx context.Context, in io.Reader, r reading) (s streamed, _ []problem.Problem, err error) {
	s = streamed{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.discard(nil))
		}
	}()
	t := &layoutTar{findings: findings{limit: r.limits.Problems}, limits: r.limits, seen: map[string]bool{}}
	src := &source{ctx: ctx, r: in}
	var (
		kept    int64 // bytes of texts and of layers
		entries int
		hash    = newCopier()
	)
	err = t.each(src, func(name string, hdr *tar.Header, data io.Reader, wrong string) error {
		b := &blob{wrong: wrong, size: hdr.Size}
		s[name] = b
		if wrong != "" || name != markerFile && name != indexFile && !isBlobName(name) {
			return nil
		}
		buffered := bufio.NewReader(data)
		magic, err := buffered.Peek(len(gzipMagic))
		if err != nil && !errors.Is(err, io.EOF) {
			return broken(name, err)
		}
		full := kept > r.limits.MetadataBytes || entries > r.limits.Entries
		switch isLayer := string(magic) == gzipMagic; {
		case isLayer && !full:
			b.layer, err = readLayer(ctx, buffered, r.limits, nil, r.into)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return broken(name, err)
			}
			if err != nil {
				return err
			}
			b.digest = b.layer.digest
			b.text = []byte(gzipMagic) // as much as it takes to see that it is no document
			kept += b.layer.jsonBytes + b.layer.proseBytes
			entries += len(b.layer.entries)
		case !isLayer && !full && b.size <= r.limits.JSON.DocumentBytes:
			text, err := readText(ctx, buffered, b.size)
			if err != nil {
				return broken(name, err)
			}
			*b = *text
			kept += b.size
		default:
			b.skipped = full
			b.digest, _, err = hash.file(nil, buffered, b.size, false)
			if err != nil {
				return broken(name, err)
			}
		}
		return nil
	})
	complete, err := t.done(src, err)
	if err != nil || complete {
		return s, t.problems, err
	}
	return nil, t.problems, s.discard(nil)
}

func isBlobName(name string) bool { return path.Dir(name)+"/" == blobsDir }
