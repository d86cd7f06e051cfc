package ociimage

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	orascontent "oras.land/oras-go/v2/content"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Media types of Docker's own image formats, which hold the same as OCI's.
const (
	dockerManifestList = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifest     = "application/vnd.docker.distribution.manifest.v2+json"
	dockerConfig       = "application/vnd.docker.container.image.v1+json"
)

func isIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == dockerManifestList
}

func isManifest(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageManifest || mediaType == dockerManifest
}

func isConfig(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageConfig || mediaType == dockerConfig
}

// maxIndexDepth bounds indexes in indexes. Layouts that builders write have one below the layout's own.
const maxIndexDepth = 4

// annotationReferenceType marks what buildx puts into an index beside the images: attestations.
const annotationReferenceType = "vnd.docker.reference.type"

// collect walks the indexes below the roots and gathers the image manifests.
func (s *Source) collect(ctx context.Context, roots []ocispec.Descriptor, at location) error {
	budget := s.limits.Manifests
	seen := map[digest.Digest]bool{} // indexes, which need no second look
	var walk func(descriptors []ocispec.Descriptor, depth int) error
	walk = func(descriptors []ocispec.Descriptor, depth int) error {
		if budget -= len(descriptors); budget < 0 {
			return s.invalid("the index", "there are more than %d manifests", s.limits.Manifests)
		}
		for _, d := range descriptors {
			switch {
			case isIndex(d.MediaType) && seen[d.Digest]:
			case isIndex(d.MediaType):
				seen[d.Digest] = true
				if depth == maxIndexDepth {
					return s.invalid("the index "+string(d.Digest), "it lies below %d others; flatten them", depth)
				}
				raw, err := s.read(ctx, d, s.limits.ManifestBytes, "the index")
				if err != nil {
					return err
				}
				var index ocispec.Index
				if err := json.Unmarshal(raw, &index); err != nil {
					return s.invalid("the index "+string(d.Digest), "it is no OCI image index: %v", err)
				}
				if err := walk(index.Manifests, depth+1); err != nil {
					return err
				}
			case isManifest(d.MediaType) && d.ArtifactType == "" && d.Annotations[annotationReferenceType] == "":
				if !slices.ContainsFunc(s.candidates, func(c ocispec.Descriptor) bool { return c.Digest == d.Digest && d.Digest != "" }) {
					s.candidates = append(s.candidates, d)
				}
			}
		}
		return nil
	}
	if err := walk(roots, 0); err != nil {
		return err
	}
	if at.digest != "" && !slices.ContainsFunc(roots, func(d ocispec.Descriptor) bool { return d.Digest == at.digest }) {
		s.candidates = slices.DeleteFunc(s.candidates, func(d ocispec.Descriptor) bool { return d.Digest != at.digest })
		if len(s.candidates) == 0 {
			return s.invalid("the index", "it leads to no image %s", at.digest)
		}
	}
	if len(s.candidates) == 0 {
		return s.invalid("the index", "it leads to no image")
	}
	return nil
}

// choose picks the descriptors of a layout's index that a location means.
func (s *Source) choose(descriptors []ocispec.Descriptor, at location) ([]ocispec.Descriptor, error) {
	chosen := descriptors
	if at.tag != "" {
		var tags []string
		chosen = nil
		for _, d := range descriptors {
			for _, name := range []string{d.Annotations[ocispec.AnnotationRefName], d.Annotations["io.containerd.image.name"]} {
				if name == "" {
					continue
				}
				tags = append(tags, problem.Quoted(name))
				if name == at.tag || strings.HasSuffix(name, ":"+at.tag) {
					chosen = append(chosen, d)
					break
				}
			}
		}
		if chosen == nil {
			return nil, s.invalid("index.json", "it has no image with the tag %s; it has %s", problem.Quoted(at.tag), orNone(tags))
		}
	}
	if i := slices.IndexFunc(chosen, func(d ocispec.Descriptor) bool { return d.Digest == at.digest }); at.digest != "" && i >= 0 {
		return chosen[i : i+1], nil
	}
	// The digest may be that of an image in one of the indexes.
	return chosen, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none with a tag"
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// read returns a small blob, verified.
func (s *Source) read(ctx context.Context, d ocispec.Descriptor, limit int64, what string) ([]byte, error) {
	what += " " + string(d.Digest)
	if err := s.checkDescriptor(d, limit, what); err != nil {
		return nil, err
	}
	r, err := s.store.open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := orascontent.ReadAll(contextReader{ctx, r}, d)
	if err != nil {
		return nil, s.verification(ctx, what, d, err)
	}
	return raw, nil
}

func (s *Source) checkDescriptor(d ocispec.Descriptor, limit int64, what string) error {
	if err := d.Digest.Validate(); err != nil {
		return s.invalid(what, "its digest %s is none: %v", problem.Quoted(string(d.Digest)), err)
	}
	if d.Size < 0 || d.Size > limit {
		return s.invalid(what, "its size is stated as %d bytes; at most %d are read", d.Size, limit)
	}
	return nil
}

// verification tells a blob that is not what its descriptor says from trouble with reading it.
func (s *Source) verification(ctx context.Context, what string, d ocispec.Descriptor, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, orascontent.ErrMismatchedDigest):
		return s.invalid(what, "its bytes have another digest than the descriptor states")
	case errors.Is(err, orascontent.ErrTrailingData):
		return s.invalid(what, "it is longer than the %d bytes that the descriptor states", d.Size)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return s.invalid(what, "it is shorter than the %d bytes that the descriptor states", d.Size)
	}
	return s.trouble(what, err)
}

// contextReader stops at the end of a context.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
