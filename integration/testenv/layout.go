package testenv

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
)

// Layout is what one build exported as an OCI layout.
type Layout struct {
	Dir string
	// Digest is that of the index, or of the manifest if there is but one image.
	Digest digest.Digest
	// Images are the images by platform, "os/architecture".
	Images map[string]LayoutImage
}

// LayoutImage is one image of a [Layout].
type LayoutImage struct {
	Descriptor ocispecs.Descriptor
	Manifest   ocispecs.Manifest
	Config     ocispecs.Image
	// Attestations is the manifest whose layers are the image's statements; nil if it has none.
	Attestations *ocispecs.Manifest
}

// attestationOf is the annotation by which the manifest of attestations names its image.
const attestationOf = "vnd.docker.reference.digest"

// ReadLayout reads a layout that holds the result of one build.
func ReadLayout(tb testing.TB, dir string) Layout {
	tb.Helper()
	l := Layout{Dir: dir, Images: map[string]LayoutImage{}}
	var index ocispecs.Index
	readJSON(tb, filepath.Join(dir, ocispecs.ImageIndexFile), &index)
	require.Len(tb, index.Manifests, 1)
	l.Digest = index.Manifests[0].Digest
	manifests := index.Manifests
	if manifests[0].MediaType == ocispecs.MediaTypeImageIndex {
		l.JSON(tb, l.Digest, &index)
		manifests = index.Manifests
	}
	attestations := map[digest.Digest]*ocispecs.Manifest{}
	for _, d := range manifests {
		if of, ok := d.Annotations[attestationOf]; ok {
			attestations[digest.Digest(of)] = new(ocispecs.Manifest)
			l.JSON(tb, d.Digest, attestations[digest.Digest(of)])
		}
	}
	for _, d := range manifests {
		if _, ok := d.Annotations[attestationOf]; ok {
			continue
		}
		image := LayoutImage{Descriptor: d, Attestations: attestations[d.Digest]}
		l.JSON(tb, d.Digest, &image.Manifest)
		l.JSON(tb, image.Manifest.Config.Digest, &image.Config)
		l.Images[image.Config.OS+"/"+image.Config.Architecture] = image
	}
	return l
}

// Digests are the digests of the image manifests by platform.
func (l Layout) Digests() map[string]digest.Digest {
	digests := map[string]digest.Digest{}
	for platform, image := range l.Images {
		digests[platform] = image.Descriptor.Digest
	}
	return digests
}

// Blob is the file of a blob.
func (l Layout) Blob(dgst digest.Digest) string {
	return filepath.Join(l.Dir, ocispecs.ImageBlobsDir, dgst.Algorithm().String(), dgst.Encoded())
}

// JSON reads a blob.
func (l Layout) JSON(tb testing.TB, dgst digest.Digest, into any) {
	tb.Helper()
	readJSON(tb, l.Blob(dgst), into)
}

func readJSON(tb testing.TB, path string, into any) {
	tb.Helper()
	data, err := os.ReadFile(path)
	require.NoError(tb, err)
	require.NoError(tb, json.Unmarshal(data, into), path)
}
