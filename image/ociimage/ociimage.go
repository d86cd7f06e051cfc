// Package ociimage opens images where they lie — in an OCI image layout, in an image tar, in a
// registry — and applies their layers to one filesystem, without a daemon and without unpacking
// anything. Whatever it reads is hostile: blobs are checked against size and digest before a byte of
// them is parsed, and every amount is bounded.
package ociimage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Limits bounds what is read of an image.
type Limits struct {
	// ManifestBytes is the size of one index or manifest, ConfigBytes that of a config, or of all that are read
	// of one reference.
	ManifestBytes, ConfigBytes int64
	// Manifests is the number of descriptors in all indexes of one reference together.
	Manifests int
	// Layers is the number of layers of one image.
	Layers int
	// ExpandedBytes is the size of all layers of one image together, uncompressed.
	ExpandedBytes int64
	// Scan bounds the filesystem that the layers make.
	Scan image.ScanLimits
}

// DefaultLimits returns the limits that fit every image that people run: those of
// [image.DefaultScanLimits] for the filesystem, and layers of twice its size.
func DefaultLimits() Limits {
	scan := image.DefaultScanLimits()
	return Limits{
		ManifestBytes: 4 << 20, ConfigBytes: 8 << 20, Manifests: 1000, Layers: 1000,
		ExpandedBytes: 2 * scan.Bytes, Scan: scan,
	}
}

// Options are the circumstances of reading. The zero value is the usual one.
type Options struct {
	// Limits bounds the reading; nil means [DefaultLimits].
	Limits *Limits
	// TempDir is where blobs from a registry are spooled; empty means the system's place for that.
	TempDir string
}

// InvalidError says that an image is not what its descriptors, its format or the limits demand, as
// opposed to trouble with reaching it.
type InvalidError struct {
	// Name is the image, Blob the blob or part of it that is wrong.
	Name, Blob string
	// Reason is safe to print.
	Reason string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("image %s: %s: %s", e.Name, e.Blob, e.Reason)
}

// trouble is an error that says nothing about the image.
func (s *Source) trouble(what string, err error) error {
	return fmt.Errorf("image %s: reading %s: %w", s.name, what, err)
}

func (s *Source) invalid(blob, format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	if len(reason) > maxReasonBytes { // decoders repeat whatever they do not understand
		reason = strings.ToValidUTF8(reason[:maxReasonBytes], "") + "…"
	}
	return &InvalidError{Name: s.name, Blob: blob, Reason: problem.Printable(reason)}
}

const maxReasonBytes = 1 << 10

// Source is an opened reference: one image, or one for each of several platforms. Close it after use.
type Source struct {
	name    string
	limits  Limits
	tempDir string
	store   store
	// candidates are the image manifests that the reference leads to.
	candidates []ocispec.Descriptor
}

// Image is one image, its manifest and config read and verified.
type Image struct {
	// Platform is the one that the config states; it need not be one of [suite.Platforms].
	Platform suite.Platform
	// Stated is the platform that the index which led to the image states; nil if none did.
	Stated *suite.Platform
	// Descriptor is that of the manifest. An image that `docker save` of old wrote has no manifest; this
	// is one that says the same then.
	Descriptor ocispec.Descriptor
	Manifest   ocispec.Manifest
	Config     dockerspec.DockerOCIImage

	source *Source
}

// Name is how messages call the image: the reference that it was opened by.
func (i *Image) Name() string { return i.source.name }

// Open opens a reference. It is one of
//
//   - oci-layout://DIR, DIR, or FILE: an OCI image layout as a directory or a tar, or a tar that `docker
//     save` wrote; with :TAG or @DIGEST behind it if it holds several images;
//   - docker-image://REFERENCE, or REFERENCE: an image in a registry, with the credentials of the
//     Docker config. Loopback addresses are spoken to without TLS.
//
// A name that exists in the filesystem is a path. Attestations and artifacts beside images are passed
// over. An image that is not what it should be gives an *[InvalidError].
func Open(ctx context.Context, ref string, opts Options) (*Source, error) {
	at, err := parseLocation(ref)
	if err != nil {
		return nil, err
	}
	s, err := newSource(ctx, ref, at, opts)
	if err != nil {
		return nil, err
	}
	roots, err := s.store.roots(ctx, at)
	if err == nil {
		err = s.collect(ctx, roots, at)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newSource(ctx context.Context, name string, at location, opts Options) (_ *Source, err error) {
	s := &Source{name: name, limits: DefaultLimits(), tempDir: opts.TempDir}
	if opts.Limits != nil {
		s.limits = *opts.Limits
	}
	s.store, err = at.open(ctx, s)
	var invalid *InvalidError
	switch {
	case errors.As(err, &invalid):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("opening the image %s: %w", name, err)
	}
	return s, nil
}

// Close releases what the source holds; its images cannot be read after it.
func (s *Source) Close() error { return s.store.Close() }

// Images returns the image of every platform, sorted by platform. Two images of one platform are an
// error: the reference does not say which is meant.
func (s *Source) Images(ctx context.Context) ([]*Image, error) {
	var images []*Image
	seen := map[suite.Platform]bool{}
	left := s.limits.ConfigBytes // of all configs: each may take many times its size in memory
	for _, candidate := range s.candidates {
		i, err := s.load(ctx, candidate)
		if err != nil {
			return nil, err
		}
		if seen[i.Platform] {
			return nil, s.ambiguous(i.Platform)
		}
		seen[i.Platform] = true
		if left -= i.Manifest.Config.Size; left < 0 {
			return nil, s.invalid("the index", "the configs of its images have more than %d bytes together", s.limits.ConfigBytes)
		}
		images = append(images, i)
	}
	slices.SortStableFunc(images, func(a, b *Image) int { return strings.Compare(a.Platform.String(), b.Platform.String()) })
	return images, nil
}

// Image returns the image of one platform.
func (s *Source) Image(ctx context.Context, platform suite.Platform) (*Image, error) {
	var found *Image
	var others []string
	for _, candidate := range s.candidates {
		// Only the images that can be meant are read: a store may lack those of other platforms.
		if stated := candidate.Platform; stated != nil && platformOf(*stated) != platform {
			others = append(others, platformOf(*stated).String())
			continue
		}
		i, err := s.load(ctx, candidate)
		switch {
		case err != nil:
			return nil, err
		case i.Platform != platform && candidate.Platform == nil:
			others = append(others, i.Platform.String())
		case found != nil:
			return nil, s.ambiguous(platform)
		default:
			found = i
		}
	}
	if found == nil {
		slices.Sort(others)
		return nil, fmt.Errorf("image %s: there is none for %s, only for %s", s.name, platform, strings.Join(slices.Compact(others), ", "))
	}
	return found, nil
}

func (s *Source) ambiguous(platform suite.Platform) error {
	var digests []string
	for _, c := range s.candidates {
		digests = append(digests, string(c.Digest))
	}
	return fmt.Errorf("image %s: there are several for %s; name one by @DIGEST or :TAG, of %s", s.name, platform, strings.Join(digests, ", "))
}

func platformOf(p ocispec.Platform) suite.Platform {
	return suite.Platform{OS: p.OS, Architecture: p.Architecture}
}

// load reads manifest and config of a candidate.
func (s *Source) load(ctx context.Context, candidate ocispec.Descriptor) (*Image, error) {
	i := &Image{Descriptor: candidate, source: s}
	i.Descriptor.Platform = nil
	if candidate.Platform != nil {
		stated := platformOf(*candidate.Platform)
		i.Stated = &stated
	}
	what := "the manifest " + string(candidate.Digest)
	raw, err := s.read(ctx, candidate, s.limits.ManifestBytes, "the manifest")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &i.Manifest); err != nil {
		return nil, s.invalid(what, "it is no OCI image manifest: %v", err)
	}
	manifest := i.Manifest
	if manifest.MediaType != "" && manifest.MediaType != candidate.MediaType {
		return nil, s.invalid(what, "it states the media type %s, its descriptor %s", problem.Quoted(manifest.MediaType), problem.Quoted(candidate.MediaType))
	}
	if !isConfig(manifest.Config.MediaType) {
		return nil, s.invalid(what, "the config has the media type %s, which is no image's", problem.Quoted(manifest.Config.MediaType))
	}
	if n := len(manifest.Layers); n > s.limits.Layers {
		return nil, s.invalid(what, "there are %d layers, more than the %d that are read", n, s.limits.Layers)
	}
	if raw, err = s.read(ctx, manifest.Config, s.limits.ConfigBytes, "the config"); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &i.Config); err != nil {
		return nil, s.invalid("the config "+string(manifest.Config.Digest), "it is no image config: %v", err)
	}
	i.Platform = platformOf(i.Config.Platform)
	what = "the config " + string(manifest.Config.Digest)
	if len(i.Config.RootFS.DiffIDs) != len(manifest.Layers) {
		return nil, s.invalid(what, "it lists %d layers, the manifest %d", len(i.Config.RootFS.DiffIDs), len(manifest.Layers))
	}
	for _, id := range i.Config.RootFS.DiffIDs {
		if err := id.Validate(); err != nil {
			return nil, s.invalid(what, "the layer %s is not named by a digest: %v", problem.Quoted(string(id)), err)
		}
	}
	return i, nil
}

// digestOf parses a digest that a person wrote.
func digestOf(text string) (digest.Digest, error) {
	d, err := digest.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%s is no digest: %w", problem.Quoted(text), err)
	}
	return d, nil
}
