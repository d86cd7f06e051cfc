package ociimage

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// maxTarEntries bounds an image tar, which has an entry a blob.
const maxTarEntries = 100_000

// tarFiles are the files of a tar, read where they lie.
type tarFiles struct {
	file *os.File
	// members are the regular files by clean path, links the symlinks.
	members map[string]member
	links   map[string]string
}

type member struct{ offset, size int64 }

func indexTar(ctx context.Context, file *os.File) (*tarFiles, error) {
	t := &tarFiles{file: file, members: map[string]member{}, links: map[string]string{}}
	archive := tar.NewReader(file) // seeks over the contents
	for n := 0; ; n++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if n == maxTarEntries {
			return nil, fmt.Errorf("it has more than %d entries", maxTarEntries)
		}
		name := strings.Clone(path.Clean(header.Name)) // it may be a small part of a large header
		switch header.Typeflag {
		case tar.TypeReg:
			offset, err := file.Seek(0, io.SeekCurrent)
			if err != nil {
				return nil, err
			}
			t.members[name] = member{offset, header.Size}
		case tar.TypeSymlink:
			t.links[name] = strings.Clone(path.Join(path.Dir(name), header.Linkname))
		}
	}
}

func (t *tarFiles) Close() error { return t.file.Close() }

func (t *tarFiles) find(name string) (member, error) {
	name = path.Clean(name)
	if m, ok := t.members[name]; ok {
		return m, nil
	}
	// docker save of old links equal layers to each other.
	if m, ok := t.members[t.links[name]]; ok {
		return m, nil
	}
	return member{}, fs.ErrNotExist
}

func (t *tarFiles) open(name string) (io.ReadCloser, error) {
	m, err := t.find(name)
	if err != nil {
		return nil, err
	}
	return sectionCloser{io.NewSectionReader(t.file, m.offset, m.size)}, nil
}

type sectionCloser struct{ *io.SectionReader }

func (sectionCloser) Close() error { return nil }

// openTar opens an OCI image layout in a tar, or what `docker save` wrote before it wrote layouts.
func openTar(ctx context.Context, s *Source, name string) (_ store, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is neither a directory nor a regular file"))
	}
	t, err := indexTar(ctx, file)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, s.invalid("the file", "it is no tar archive: %v", err)
	}
	l := &layout{files: t, source: s}
	if _, err := t.find(layoutFile); err == nil {
		return l, nil
	}
	if _, err := t.find(savedFile); err != nil {
		return nil, s.invalid("the file", "it holds neither an OCI image layout nor what docker save writes")
	}
	return &saved{layout: l, tar: t, memory: map[digest.Digest][]byte{}, names: map[digest.Digest]string{}}, nil
}

// savedFile lists the images of a tar by `docker save`.
const savedFile = "manifest.json"

// saved is a tar that `docker save` of old wrote. Its images have configs and layers, but no
// manifests; those are made up.
type saved struct {
	*layout
	tar *tarFiles
	// memory holds configs and manifests, of kept bytes together: all of an archive have the limit of one.
	memory map[digest.Digest][]byte
	kept   int64
	// names are where configs and layers lie.
	names map[digest.Digest]string
}

type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func (v *saved) roots(_ context.Context, at location) ([]ocispec.Descriptor, error) {
	raw, err := v.small(savedFile, v.source.limits.ManifestBytes)
	if err != nil {
		return nil, err
	}
	var images []savedImage
	if err := json.Unmarshal(raw, &images); err != nil {
		return nil, v.source.invalid(savedFile, "it is no list of images: %v", err)
	}
	if len(images) > v.source.limits.Manifests {
		return nil, v.source.invalid(savedFile, "there are more than %d images", v.source.limits.Manifests)
	}
	var roots []ocispec.Descriptor
	var tags []string
	for _, i := range images {
		for _, tag := range i.RepoTags {
			tags = append(tags, problem.Quoted(tag))
		}
		if at.tag != "" && !slices.ContainsFunc(i.RepoTags, func(t string) bool { return strings.HasSuffix(t, ":"+at.tag) }) {
			continue
		}
		d, err := v.manifest(i)
		if err != nil {
			return nil, err
		}
		roots = append(roots, d)
	}
	if len(roots) == 0 && at.tag != "" {
		return nil, v.source.invalid(savedFile, "it has no image with the tag %s; it has %s", problem.Quoted(at.tag), orNone(tags))
	}
	return roots, nil
}

// manifest makes the manifest that an image does not have. A layer is described by what the config says
// of it: it is not compressed.
func (v *saved) manifest(i savedImage) (ocispec.Descriptor, error) {
	raw, err := v.small(i.Config, v.source.limits.ConfigBytes-v.kept)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	var config ocispec.Image
	if err := json.Unmarshal(raw, &config); err != nil {
		return ocispec.Descriptor{}, v.source.invalid(i.Config, "it is no image config: %v", err)
	}
	if len(config.RootFS.DiffIDs) != len(i.Layers) {
		return ocispec.Descriptor{}, v.source.invalid(i.Config, "it lists %d layers, %s lists %d", len(config.RootFS.DiffIDs), savedFile, len(i.Layers))
	}
	manifest := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: v.keep(ocispec.MediaTypeImageConfig, raw),
	}
	for n, name := range i.Layers {
		m, err := v.tar.find(name)
		if err != nil {
			return ocispec.Descriptor{}, v.source.invalid(name, "it is missing; %s lists it", savedFile)
		}
		id := config.RootFS.DiffIDs[n]
		v.names[id] = name
		manifest.Layers = append(manifest.Layers, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayer, Digest: id, Size: m.size})
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return v.keep(ocispec.MediaTypeImageManifest, text), nil
}

func (v *saved) keep(mediaType string, raw []byte) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	v.memory[d.Digest] = raw
	v.kept += d.Size
	return d
}

func (v *saved) open(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if raw, ok := v.memory[d.Digest]; ok {
		return sectionCloser{io.NewSectionReader(bytes.NewReader(raw), 0, int64(len(raw)))}, nil
	}
	if name, ok := v.names[d.Digest]; ok {
		return v.tar.open(name)
	}
	return v.layout.open(ctx, d)
}
