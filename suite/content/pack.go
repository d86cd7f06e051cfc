package content

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// PackOptions says how to pack.
type PackOptions struct {
	// Limits bounds the reading of the source. Start from [DefaultLimits].
	Limits Limits
	// Check sees the index of what was packed before the result appears under its name. Its error is
	// Pack's, and nothing is left behind. It may be nil.
	Check func(*Index) error
}

// Pack writes the suite at src, of any form, to out, which must not exist, and returns the digest of
// its OCI manifest. format is any form but [FormDirectory].
//
// Only a directory is serialised, and the same content gives the same bytes on every machine: entries
// sorted by path, directories 0755, everything owned by 0:0, times at the epoch. A content layer that
// exists is carried as it is, and so is the manifest of a layout, so their digests stay what they are.
// Blobs that the manifest does not reference are left behind.
//
// Content that has problems is not packed: the error is then a [*problem.Error].
func Pack(ctx context.Context, src, out string, format Form, opts PackOptions) (_ digest.Digest, err error) {
	write, ok := formats[format]
	if !ok {
		return "", fmt.Errorf("packing as %q: expected one of %s, %s and %s", format, FormOCILayout, FormOCILayoutTar, FormContentTarGzip)
	}
	to, err := openDestination(out)
	if err != nil {
		return "", err
	}
	defer to.Close()
	if err := to.vacant(); err != nil {
		return "", err
	}

	layer, err := to.file()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, layer.discard()) }()
	o := &opening{ctx: ctx, digest: true, reading: reading{limits: opts.Limits, sink: layer}}
	if err := o.path(src); err != nil {
		return "", err
	}
	if err := problem.AsError(o.index.Problems); err != nil {
		return "", err
	}
	if o.index.Form == FormDirectory {
		// What is checked is what was packed, not what it was packed from.
		for i := range o.index.Entries {
			if e := &o.index.Entries[i]; e.Type == Directory {
				e.Mode = directoryMode
			}
		}
	}
	if opts.Check != nil {
		if err := opts.Check(o.index); err != nil {
			return "", err
		}
	}
	if err := write(ctx, to, layer, o.manifest, o.layer); err != nil {
		return "", fmt.Errorf("writing %s: %w", out, err)
	}
	return o.index.SuiteDigest, nil
}

var formats = map[Form]func(ctx context.Context, to *destination, layer *pending, manifest []byte, content part) error{
	FormContentTarGzip: func(_ context.Context, to *destination, layer *pending, _ []byte, _ part) error {
		return layer.rename(to.name)
	},
	FormOCILayout:    writeLayout,
	FormOCILayoutTar: writeLayoutTar,
}

// manifestOf makes the OCI manifest of a suite from what its content layer is. Everything that the
// manifest says otherwise is the same for all suites.
func manifestOf(layer part) []byte {
	return marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: ArtifactType,
		Config:       ocispec.Descriptor{MediaType: ocispec.MediaTypeEmptyJSON, Digest: emptyDigest, Size: int64(len(emptyConfig))},
		Layers:       []ocispec.Descriptor{{MediaType: LayerMediaType, Digest: layer.digest, Size: layer.size}},
	})
}

// small are the files of a layout but for the content layer, by name.
func small(manifest []byte) map[string][]byte {
	sum := digest.FromBytes(manifest)
	return map[string][]byte{
		markerFile: marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion}),
		indexFile: marshal(ocispec.Index{
			Versioned: specs.Versioned{SchemaVersion: 2},
			MediaType: ocispec.MediaTypeImageIndex,
			Manifests: []ocispec.Descriptor{{MediaType: ocispec.MediaTypeImageManifest, Digest: sum, Size: int64(len(manifest)), ArtifactType: ArtifactType}},
		}),
		blobName(sum):         manifest,
		blobName(emptyDigest): []byte(emptyConfig),
	}
}

// marshal writes what cannot fail to be written.
func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// writeLayout writes an OCI layout as a directory.
func writeLayout(_ context.Context, to *destination, layer *pending, manifest []byte, content part) (err error) {
	name, root, err := to.directory()
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, root.Close()); err != nil {
			err = errors.Join(err, to.parent.RemoveAll(name))
		}
	}()
	if err := root.MkdirAll(path.Clean(blobsDir), 0o755); err != nil {
		return err
	}
	for file, data := range small(manifest) {
		if err := root.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	if err := layer.rename(path.Join(name, blobName(content.digest))); err != nil {
		return err
	}
	return to.parent.Rename(name, to.name)
}

// writeLayoutTar writes an OCI layout as a tar, in the same manner as content is.
func writeLayoutTar(ctx context.Context, to *destination, layer *pending, manifest []byte, content part) (err error) {
	out, err := to.file()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.discard()) }()
	w := tar.NewWriter(out)
	files := small(manifest)
	names := append(slices.Collect(maps.Keys(files)), blobName(content.digest), ocispec.ImageBlobsDir+"/", blobsDir)
	slices.Sort(names)
	for _, name := range names {
		data, ok := files[name]
		header := &tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(data))}
		switch {
		case strings.HasSuffix(name, "/"):
			header.Mode, header.Typeflag = 0o755, tar.TypeDir
		case !ok:
			header.Size = content.size
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if header.Typeflag == tar.TypeDir || ok {
			if _, err := w.Write(data); err != nil {
				return err
			}
			continue
		}
		if _, err := layer.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, _, err := newCopier().file(w, &source{ctx: ctx, r: layer.file}, content.size, false); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.rename(to.name)
}

// pending is a file that has a temporary name until it is complete.
type pending struct {
	to   *destination
	name string
	file *os.File
	done bool
}

func (d *destination) file() (*pending, error) {
	name := d.temporary()
	file, err := d.parent.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &pending{to: d, name: name, file: file}, nil
}

func (p *pending) Write(b []byte) (int, error) { return p.file.Write(b) }

// rename gives the file its name, a path below the destination's parent. It must be the last write.
func (p *pending) rename(name string) error {
	if err := p.file.Close(); err != nil {
		return err
	}
	if err := p.to.parent.Rename(p.name, name); err != nil {
		return err
	}
	p.done = true
	return nil
}

// discard removes the file, unless it has been renamed.
func (p *pending) discard() error {
	if p.done {
		return nil
	}
	_ = p.file.Close() // it may be closed, and what was written is not wanted
	return p.to.parent.Remove(p.name)
}
