package tool

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

const minimal = "../../testdata/valid/minimal"

// newMounts is a place with the mounts of one tool.
func newMounts(t *testing.T) mounts {
	t.Helper()
	m := mounts(t.TempDir())
	require.NoError(t, os.MkdirAll(m.path(OutDir), 0o755))
	require.NoError(t, os.MkdirAll(m.path("in"), 0o755))
	return m
}

func (m mounts) mount(t *testing.T, dir, from string) {
	t.Helper()
	require.NoError(t, os.CopyFS(m.path(dir), os.DirFS(from)))
}

func result[T any](t *testing.T, m mounts, name string, decode func(io.Reader) (*T, error)) *T {
	t.Helper()
	value, err := read(m.path(OutDir), name, decode)
	require.NoError(t, err)
	return value
}

func opened(t *testing.T, source string) mounts {
	t.Helper()
	m := newMounts(t)
	m.mount(t, SourceDir, source)
	require.NoError(t, m.run(t.Context(), []string{Open}))
	return m
}

func TestOpenGivesOneIndexForEveryForm(t *testing.T) {
	dir := result(t, opened(t, minimal), IndexFile, content.Decode)
	require.Equal(t, content.FormDirectory, dir.Form)
	require.Empty(t, dir.Problems)

	packed := filepath.Join(t.TempDir(), "layout")
	packedDigest, err := content.Pack(t.Context(), minimal, packed, content.FormOCILayout, content.PackOptions{Limits: content.DefaultLimits()})
	require.NoError(t, err)
	m := opened(t, packed)
	layout := result(t, m, IndexFile, content.Decode)
	require.Equal(t, packedDigest, layout.SuiteDigest)
	require.Equal(t, packedDigest, dir.SuiteDigest)
	require.Equal(t, dir.Texts, layout.Texts)
	require.FileExists(t, m.path(OutDir, ContentDir, suite.ManifestPath), "an archive's files are there to copy from")
}

// A tool succeeds whatever it finds, so that the frontend can say where.
func TestOpenReportsWhatItFinds(t *testing.T) {
	source := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(source, suite.ManifestPath), []byte("{"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(source, "Dockerfile"), []byte("FROM scratch\n"), 0o644))
	m := opened(t, source)
	index := result(t, m, IndexFile, content.Decode)
	require.NotEmpty(t, index.Problems)
	require.Equal(t, "{", string(index.Texts[suite.ManifestPath]), "what can be validated is there to validate")
}

func TestScan(t *testing.T) {
	m := newMounts(t)
	require.NoError(t, os.MkdirAll(m.path(RootDir, "etc"), 0o755))
	require.NoError(t, os.WriteFile(m.path(RootDir, "etc/passwd"), []byte("root:x:0:0::/:\n"), 0o644))
	require.NoError(t, m.run(t.Context(), []string{Scan}))
	scan := result(t, m, ScanFile, image.DecodeScan)
	require.Len(t, scan.Entries, 2)
	require.Equal(t, digest.FromString("root:x:0:0::/:\n"), scan.Entries[1].Digest)
}

// composable has everything that compose reads mounted.
func composable(t *testing.T, change func(*Request)) mounts {
	t.Helper()
	source := opened(t, minimal)
	index := result(t, source, IndexFile, content.Decode)
	graph, report, err := suite.Validate(t.Context(), index, content.DefaultLimits())
	require.NoError(t, err)
	require.NoError(t, report.Err())
	selection, err := graph.Select("", suite.Platforms()[0])
	require.NoError(t, err)

	scanned := newMounts(t)
	require.NoError(t, os.MkdirAll(scanned.path(RootDir), 0o755))
	require.NoError(t, scanned.run(t.Context(), []string{Scan}))

	platform := ocispec.Platform{OS: "linux", Architecture: "amd64"}
	config := dockerspec.DockerOCIImage{Image: ocispec.Image{Platform: platform}, Config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispec.ImageConfig{Entrypoint: []string{"/harness"}, User: "1:1"}}}
	request := NewRequest(image.Inputs{
		Selection: selection, Index: index,
		Base:    image.Source{Pin: selection.RuntimeBase, Config: config},
		Harness: &image.Source{Pin: *selection.Harness, Config: config},
	})
	if change != nil {
		change(&request)
	}
	m := newMounts(t)
	m.mount(t, SuiteDir, source.path(OutDir))
	m.mount(t, BaseDir, scanned.path(OutDir))
	m.mount(t, HarnessDir, scanned.path(OutDir))
	require.NoError(t, os.MkdirAll(m.path(RequestDir), 0o755))
	data, err := json.Marshal(request)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(m.path(RequestDir, RequestFile), data, 0o444))
	return m
}

func TestCompose(t *testing.T) {
	m := composable(t, nil)
	require.NoError(t, m.run(t.Context(), []string{Compose}))
	composed := result(t, m, ComposedFile, DecodeJSON[image.Composed])
	require.Empty(t, composed.Problems)
	require.Equal(t, image.User{UID: 1, GID: 1}, composed.User)
	inventory, err := os.ReadFile(m.path(OutDir, InventoryFile))
	require.NoError(t, err)
	require.Equal(t, composed.Inventory.Digest, digest.FromBytes(inventory))
	require.Equal(t, composed.Inventory.Size, int64(len(inventory)))
}

func TestComposeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"another target":       {func(r *Request) { r.Target = "other" }, `no target "other"`},
		"other directories":    {func(r *Request) { r.Directories = digest.FromString("") }, "directories of other modes"},
		"an agent, no harness": {func(r *Request) { r.Harness = nil }, "planned with a harness"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composable(t, test.change)
			require.ErrorContains(t, m.run(t.Context(), []string{Compose}), test.want)
			require.NoFileExists(t, m.path(OutDir, InventoryFile))
		})
	}
}

func TestRunNamesTheTools(t *testing.T) {
	for _, args := range [][]string{nil, {"opne"}, {Open, Scan}} {
		require.ErrorContains(t, Run(t.Context(), args), "open, scan", "%v", args)
	}
}
