package testenv

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
)

// Image is an image in a registry.
type Image struct {
	// Name is the registry's host and the repository, without tag and digest.
	Name string
	// Digest is that of the manifest, or of the index if the image was built for several platforms.
	Digest digest.Digest
	// Size is that of the same manifest or index, in bytes.
	Size int64
}

// Ref pins the image.
func (i Image) Ref() string { return i.Name + "@" + i.Digest.String() }

// Push builds a Dockerfile, given as text, over the context directory dir and pushes the image to a repository of
// registry. Equal inputs give equal digests: all times are the epoch, and there is no provenance. Args are further ones of
// `buildx build`.
func Push(tb testing.TB, buildx *daemon.Buildx, registry *daemon.Registry, repository, dockerfile, dir string, args ...string) Image {
	tb.Helper()
	tmp := tb.TempDir()
	dockerfilePath, metadataPath := filepath.Join(tmp, "Dockerfile"), filepath.Join(tmp, "metadata.json")
	require.NoError(tb, os.WriteFile(dockerfilePath, []byte(dockerfile), 0o644))

	image := Image{Name: registry.Host + "/" + repository}
	args = append([]string{
		"build", "--file", dockerfilePath, "--metadata-file", metadataPath, "--provenance=false",
		"--build-arg", "SOURCE_DATE_EPOCH=0",
		"--output", "type=image,push=true,rewrite-timestamp=true,name=" + image.Name,
	}, args...)
	_, err := buildx.Run(tb.Context(), append(args, dir)...)
	require.NoError(tb, err)

	content, err := os.ReadFile(metadataPath)
	require.NoError(tb, err)
	var metadata struct {
		Descriptor ocispecs.Descriptor `json:"containerimage.descriptor"`
	}
	require.NoError(tb, json.Unmarshal(content, &metadata))
	require.NoError(tb, metadata.Descriptor.Digest.Validate())
	image.Digest, image.Size = metadata.Descriptor.Digest, metadata.Descriptor.Size
	return image
}

// DockerfileFrontend pushes BuildKit's own Dockerfile frontend, in the version of the daemon, as the image that a
// `# syntax=` line names. It declares the capabilities that its publisher's image declares.
func DockerfileFrontend(tb testing.TB, buildx *daemon.Buildx, registry *daemon.Registry) Image {
	tb.Helper()
	const dockerfile = `FROM scratch
LABEL moby.buildkit.frontend.network.none="true"
LABEL moby.buildkit.frontend.caps="moby.buildkit.frontend.inputs,moby.buildkit.frontend.subrequests,moby.buildkit.frontend.contexts,moby.buildkit.frontend.gitquerystring,moby.buildkit.frontend.contexts.zstd"
COPY dockerfile-frontend /bin/
ENTRYPOINT ["/bin/dockerfile-frontend"]
`
	return Push(tb, buildx, registry, "dockerfile", dockerfile, Tools(tb).BinDir())
}

// DebianBase pushes a Debian root file system of about 270 MB in 10,000 files as an image of one layer. The
// archive is what `make rootfs` makes.
func DebianBase(tb testing.TB, buildx *daemon.Buildx, registry *daemon.Registry) Image {
	tb.Helper()
	dir := filepath.Join(Tools(tb).Checkout, "build", "debian")
	require.FileExists(tb, filepath.Join(dir, "rootfs.tar"), "run `make rootfs` as root")
	return Push(tb, buildx, registry, "debian", "FROM scratch\nADD rootfs.tar /\nCMD [\"/bin/bash\"]\n", dir)
}
