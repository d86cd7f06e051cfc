package content

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Options says what to do beside reading.
type Options struct {
	// Limits bounds the reading. Start from [DefaultLimits].
	Limits Limits
	// Digest asks for the suite digest of content without an OCI envelope, which for a directory takes
	// packing it on the fly. Every file is still read once.
	Digest bool
	// Extract is a directory that is created and filled with an archive's content. It must not exist,
	// its parent must. It appears only when no problem was found. Empty: extract nothing. A source
	// that is a directory of content needs no extraction, and gets none.
	Extract string
}

// Open reads a suite of any form: a directory of content, an OCI image layout as a directory or a
// tar, or a content layer.
//
// Whatever is wrong with the suite is in the index. An error is trouble with reading or writing, or
// the context's end.
func Open(ctx context.Context, path string, opts Options) (*Index, error) {
	return opts.open(ctx, func(o *opening) error { return o.path(path) })
}

// OpenReader reads a suite from an archive that comes as a stream, from standard input say: an OCI
// layout tar or a content layer. It never seeks and spools nothing.
func OpenReader(ctx context.Context, r io.Reader, opts Options) (*Index, error) {
	return opts.open(ctx, func(o *opening) error { return o.stream(r) })
}

func (opts Options) open(ctx context.Context, read func(*opening) error) (_ *Index, err error) {
	o := &opening{ctx: ctx, digest: opts.Digest, reading: reading{limits: opts.Limits}}
	if opts.Extract != "" {
		if o.into, err = openDestination(opts.Extract); err != nil {
			return nil, err
		}
		defer o.into.Close()
		if err := o.into.vacant(); err != nil {
			return nil, err
		}
	}
	if err := read(o); err != nil {
		return nil, err
	}
	if o.extracted != nil {
		if err := o.extracted.commit(); err != nil {
			return nil, err
		}
	}
	return o.index, nil
}

// opening is the reading of one suite.
type opening struct {
	reading
	ctx    context.Context
	digest bool

	index *Index
	// manifest is the suite's OCI manifest, given or made, and layer what it says of the content. They
	// are set if there is a suite digest.
	manifest []byte
	layer    part
	// extracted is what is to become of the content of an archive.
	extracted *staging
}

// part is a blob that a manifest references.
type part struct {
	digest digest.Digest
	size   int64
}

func (o *opening) path(path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading %s: %w", path, err)
		}
	}()
	stat, err := os.Stat(path)
	if err != nil {
		return err
	}
	if stat.IsDir() {
		root, err := os.OpenRoot(path)
		if err != nil {
			return err
		}
		defer root.Close()
		switch marker, err := root.Lstat(markerFile); {
		case errors.Is(err, fs.ErrNotExist), err == nil && marker.IsDir():
			return o.directory(root)
		case err != nil:
			return err
		}
		return o.envelope(FormOCILayout, &stored{reading: o.reading, open: func(name string) (io.ReadCloser, int64, string, error) {
			return openIn(root, name)
		}}, nil)
	}
	if !stat.Mode().IsRegular() {
		file, done, err := openStream(o.ctx, path, stat)
		if err != nil {
			return err
		}
		defer file.Close()
		defer done()
		return o.stream(file)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	magic := make([]byte, len(gzipMagic))
	if _, err := file.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(magic) == gzipMagic {
		return o.archive(file)
	}
	layout, problems, err := openTar(o.ctx, file, stat.Size(), o.reading)
	if err != nil {
		return err
	}
	if layout == nil {
		o.done(FormOCILayoutTar, nil, problems)
		return nil
	}
	return o.envelope(FormOCILayoutTar, layout, problems)
}

func (o *opening) stream(r io.Reader) error {
	buffered := bufio.NewReader(&source{ctx: o.ctx, r: r})
	magic, err := buffered.Peek(len(gzipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(magic) == gzipMagic {
		return o.archive(buffered)
	}
	layout, problems, err := readStream(o.ctx, buffered, o.reading)
	if err != nil {
		return err
	}
	if layout == nil {
		o.done(FormOCILayoutTar, nil, problems)
		return nil
	}
	return o.envelope(FormOCILayoutTar, layout, problems)
}

func (o *opening) done(form Form, t *tree, problems []problem.Problem) {
	o.index = &Index{Form: form, Entries: []Entry{}, Texts: map[string][]byte{}, Problems: problem.Sort(problems)}
	if t != nil && len(t.entries) > 0 {
		o.index.Entries, o.index.Texts = t.entries, t.texts
	}
}

func (o *opening) directory(root *os.Root) error {
	if !o.digest {
		d, err := readDirectory(o.ctx, root, o.limits, nil)
		if err != nil {
			return err
		}
		o.done(FormDirectory, d.tree, d.problems)
		o.index.Ignored = d.ignored
		return nil
	}
	writer := newLayerWriter(o.sink)
	defer writer.Close()
	d, err := readDirectory(o.ctx, root, o.limits, writer)
	if err != nil {
		return errors.Join(err, writer.behind.Close())
	}
	o.done(FormDirectory, d.tree, d.problems)
	o.index.Ignored = d.ignored
	if len(d.problems) > 0 {
		return nil
	}
	size, sum, err := writer.finish()
	if err != nil {
		return err
	}
	o.wrap(part{sum, size})
	return nil
}

// archive reads a bare content layer. Packing would carry it as it is, so its digest needs no packing.
func (o *opening) archive(r io.Reader) error {
	l, err := readLayer(o.ctx, r, o.limits, o.sink, o.into)
	if err != nil {
		return err
	}
	o.done(FormContentTarGzip, l.tree, l.problems)
	if len(l.problems) > 0 {
		return l.extracted.discard()
	}
	o.extracted = l.extracted
	if o.digest {
		o.wrap(part{l.digest, l.size})
	}
	return nil
}

// wrap gives content the manifest that packing gives it.
func (o *opening) wrap(layer part) {
	o.layer, o.manifest = layer, manifestOf(layer)
	o.index.SuiteDigest = digest.FromBytes(o.manifest)
}

func (o *opening) envelope(form Form, files layout, problems []problem.Problem) error {
	v := &envelope{findings: findings{o.limits.Problems, problems}, ctx: o.ctx, limits: o.limits, files: files}
	err := v.read()
	if errors.Is(err, errStop) {
		err = nil
	}
	var good *layer
	if len(v.problems) == 0 {
		good = v.content
	}
	if err := errors.Join(err, files.discard(good)); err != nil {
		return err
	}
	var t *tree
	if v.content != nil {
		t = v.content.tree
	}
	o.done(form, t, v.problems)
	o.index.SuiteDigest = v.manifestDigest
	if good != nil {
		o.extracted = good.extracted
		o.manifest, o.layer = v.manifest, part{good.digest, good.size}
	}
	return nil
}
