package ociimage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	orascontent "oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// store is what holds the blobs of a source. What it returns is not verified.
type store interface {
	// roots are the descriptors that a location means.
	roots(ctx context.Context, at location) ([]ocispec.Descriptor, error)
	// open returns the bytes of a blob. If they can be read again, the reader is an io.Seeker.
	open(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
	Close() error
}

// files are the files of an OCI image layout, in a directory or a tar.
type files interface {
	// open opens a regular file. The reader is an io.Seeker.
	open(name string) (io.ReadCloser, error)
	Close() error
}

// layout is an OCI image layout.
type layout struct {
	files
	source *Source
}

// Names in an OCI image layout.
const (
	layoutFile = ocispec.ImageLayoutFile
	indexFile  = ocispec.ImageIndexFile
	blobsDir   = ocispec.ImageBlobsDir
)

func (l *layout) roots(_ context.Context, at location) ([]ocispec.Descriptor, error) {
	raw, err := l.small(indexFile, l.source.limits.ManifestBytes)
	if err != nil {
		return nil, err
	}
	var index ocispec.Index
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, l.source.invalid(indexFile, "it is no OCI image index: %v", err)
	}
	return l.source.choose(index.Manifests, at)
}

func (l *layout) small(name string, limit int64) ([]byte, error) {
	r, err := l.files.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, l.source.invalid(name, "it is missing; an OCI image layout has one")
	}
	if err != nil {
		return nil, l.source.trouble(name, err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, l.source.trouble(name, err)
	}
	if int64(len(raw)) > limit {
		return nil, l.source.invalid(name, "it is larger than %d bytes", limit)
	}
	return raw, nil
}

func (l *layout) open(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	name := path.Join(blobsDir, d.Digest.Algorithm().String(), d.Digest.Encoded())
	r, err := l.files.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, l.source.invalid("the blob "+string(d.Digest), "it is not in the layout")
	}
	if err != nil {
		return nil, l.source.trouble(name, err)
	}
	return r, nil
}

// directory is a directory with files that may be hostile.
type directory struct{ root *os.Root }

func openDirectory(s *Source, name string) (store, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if _, err := root.Lstat(layoutFile); err != nil {
		root.Close()
		return nil, s.invalid(layoutFile, "it is missing, so the directory is no OCI image layout")
	}
	return &layout{files: directory{root}, source: s}, nil
}

func (d directory) Close() error { return d.root.Close() }

func (d directory) open(name string) (io.ReadCloser, error) {
	// A FIFO must not block.
	file, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// registry is a repository of a registry.
type registry struct {
	source     *Source
	repository *remote.Repository
}

func openRegistry(s *Source, at location) (store, error) {
	repository, err := remote.NewRepository(reference.TrimNamed(at.repository).String())
	if err != nil {
		return nil, err
	}
	docker, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the Docker config: %w", err)
	}
	repository.PlainHTTP = isLoopback(reference.Domain(at.repository))
	repository.Client = &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(docker)}
	return registry{s, repository}, nil
}

func (r registry) Close() error { return nil }

func (r registry) roots(ctx context.Context, at location) ([]ocispec.Descriptor, error) {
	name := at.tag
	if at.digest != "" {
		name = at.digest.String()
	}
	d, err := r.repository.Resolve(ctx, name)
	if err != nil {
		return nil, r.source.trouble("the manifest", err)
	}
	return []ocispec.Descriptor{{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}}, nil
}

func (r registry) open(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	fetch := r.repository.Blobs().Fetch
	if isManifest(d.MediaType) || isIndex(d.MediaType) {
		fetch = r.repository.Manifests().Fetch
	}
	body, err := fetch(ctx, d)
	if err != nil {
		return nil, r.source.trouble("the blob "+string(d.Digest), err)
	}
	// Some registries can be read from any place; asking them twice is still worse than spooling.
	return struct{ io.ReadCloser }{body}, nil
}

// blob is a verified blob, at its beginning.
type blob struct {
	io.Reader
	close func() error
}

func (b *blob) Close() error { return b.close() }

// verified returns a blob after all of it was checked against its descriptor. What cannot be read
// twice is spooled.
func (s *Source) verified(ctx context.Context, d ocispec.Descriptor, limit int64, what string) (_ *blob, err error) {
	what += " " + string(d.Digest)
	if err := s.checkDescriptor(d, limit, what); err != nil {
		return nil, err
	}
	r, err := s.store.open(ctx, d)
	if err != nil {
		return nil, err
	}
	verify := orascontent.NewVerifyReader(contextReader{ctx, r}, d)
	if seeker, ok := r.(io.Seeker); ok {
		if err := s.drain(ctx, io.Discard, verify, d, what); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		if _, err := seeker.Seek(0, io.SeekStart); err != nil {
			return nil, errors.Join(s.trouble(what, err), r.Close())
		}
		return &blob{io.LimitReader(r, d.Size), r.Close}, nil
	}
	defer r.Close()
	spool, err := newSpool(s.tempDir)
	if err != nil {
		return nil, err
	}
	if err := s.drain(ctx, spool, verify, d, what); err != nil {
		return nil, errors.Join(err, spool.Close())
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, spool.Close())
	}
	return &blob{spool, spool.Close}, nil
}

func (s *Source) drain(ctx context.Context, w io.Writer, verify *orascontent.VerifyReader, d ocispec.Descriptor, what string) error {
	_, err := io.Copy(w, verify)
	if err == nil {
		err = verify.Verify()
	}
	if err != nil {
		return s.verification(ctx, what, d, err)
	}
	return nil
}

// newSpool makes a file that is gone once it is closed, or once the process ends.
func newSpool(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "agentsuite-blob-")
	if err != nil {
		return nil, fmt.Errorf("spooling: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("spooling: %w", err), file.Close())
	}
	return file, nil
}
