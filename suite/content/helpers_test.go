package content_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func defaults() content.Options { return content.Options{Limits: content.DefaultLimits()} }

// member is an entry of a tar archive for tests. What is left out is what a careful producer writes.
type member struct {
	name, body, link string
	typ              byte // a regular file by default, a directory if the name ends in a slash
	mode             int64
	uid, gid         int
	mtime            time.Time
	pax              map[string]string
	format           tar.Format
	raw              func(*tar.Header)
}

func (m member) header() *tar.Header {
	h := &tar.Header{
		Name: m.name, Linkname: m.link, Typeflag: m.typ, Mode: m.mode, Uid: m.uid, Gid: m.gid, Size: int64(len(m.body)),
		ModTime: m.mtime, PAXRecords: m.pax, Format: m.format,
	}
	if m.typ == 0 {
		h.Typeflag = tar.TypeReg
		if strings.HasSuffix(m.name, "/") {
			h.Typeflag = tar.TypeDir
		}
	}
	if m.mode == 0 {
		h.Mode = map[byte]int64{tar.TypeDir: 0o755, tar.TypeSymlink: 0o777}[h.Typeflag]
		if h.Mode == 0 {
			h.Mode = 0o644
		}
	}
	if m.raw != nil {
		m.raw(h)
	}
	return h
}

func tarOf(tb testing.TB, members ...member) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		require.NoError(tb, w.WriteHeader(m.header()), m.name)
		_, err := w.Write([]byte(m.body))
		require.NoError(tb, err, m.name)
	}
	require.NoError(tb, w.Close())
	return b.Bytes()
}

func gzipOf(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.Bytes()
}

func layerOf(tb testing.TB, members ...member) []byte {
	tb.Helper()
	return gzipOf(tb, tarOf(tb, members...))
}

// files are the files of an OCI layout by name.
type files map[string]string

// object is a JSON object to be changed by tests.
type object = map[string]any

func jsonOf(tb testing.TB, v any) string {
	tb.Helper()
	data, err := json.Marshal(v)
	require.NoError(tb, err)
	return string(data)
}

// envelope is an OCI layout around a layer, in parts that tests may change before it is put together.
type envelope struct {
	files            files
	index, manifest  object
	selected, config object
	layer            object
}

func newEnvelope(layer []byte) *envelope {
	e := &envelope{files: files{"oci-layout": `{"imageLayoutVersion":"1.0.0"}`}}
	e.config = e.blob("application/vnd.oci.empty.v1+json", "{}")
	e.layer = e.blob("application/vnd.agentsuite.content.v1.tar+gzip", string(layer))
	e.manifest = object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"artifactType": "application/vnd.agentsuite.suite.v1", "config": e.config, "layers": []any{e.layer},
	}
	e.selected = object{"mediaType": "application/vnd.oci.image.manifest.v1+json"}
	e.index = object{"schemaVersion": 2, "manifests": []any{e.selected}}
	return e
}

// blob adds a blob and returns its descriptor.
func (e *envelope) blob(mediaType, data string) object {
	d := digest.FromString(data)
	e.files["blobs/sha256/"+d.Encoded()] = data
	return object{"mediaType": mediaType, "digest": d.String(), "size": len(data)}
}

// build puts manifest and index together. What the selecting descriptor states already stays.
func (e *envelope) build(tb testing.TB) files {
	tb.Helper()
	for member, value := range e.blob("", jsonOf(tb, e.manifest)) {
		if _, ok := e.selected[member]; !ok {
			e.selected[member] = value
		}
	}
	if _, ok := e.files["index.json"]; !ok {
		e.files["index.json"] = jsonOf(tb, e.index)
	}
	return e.files
}

// names are sorted as every tar should be, index and marker last.
func (f files) names() []string { return slices.Sorted(maps.Keys(f)) }

func (f files) directory(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, data := range f {
		write(tb, filepath.Join(dir, filepath.FromSlash(name)), data)
	}
	return dir
}

func (f files) tar(tb testing.TB) []byte {
	tb.Helper()
	var members []member
	for _, name := range f.names() {
		members = append(members, member{name: name, body: f[name]})
	}
	return tarOf(tb, members...)
}

func write(tb testing.TB, path, data string) {
	tb.Helper()
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(tb, os.WriteFile(path, []byte(data), 0o644))
}

func file(tb testing.TB, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "suite")
	write(tb, path, string(data))
	return path
}

func open(tb testing.TB, path string, opts content.Options) *content.Index {
	tb.Helper()
	index, err := content.Open(tb.Context(), path, opts)
	require.NoError(tb, err)
	return index
}

func stream(tb testing.TB, data []byte, opts content.Options) *content.Index {
	tb.Helper()
	index, err := content.OpenReader(tb.Context(), bytes.NewReader(data), opts)
	require.NoError(tb, err)
	return index
}

func noProblems(tb testing.TB, index *content.Index) {
	tb.Helper()
	require.NoError(tb, problem.AsError(index.Problems))
}

// problemsOf renders problems as lines "rule path: message".
func problemsOf(index *content.Index) []string {
	var lines []string
	for _, p := range index.Problems {
		lines = append(lines, p.Rule.ID+" "+p.Path+": "+p.Message)
	}
	return lines
}

// snapshot lists everything below a directory with type, mode and content.
func snapshot(tb testing.TB, dir string) []string {
	tb.Helper()
	var lines []string
	require.NoError(tb, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		stat, err := entry.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		line := stat.Mode().String() + " " + filepath.ToSlash(rel)
		switch {
		case stat.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " = " + string(data)
		case stat.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + target
		}
		lines = append(lines, line)
		return nil
	}))
	return lines
}

func requireEqual(tb testing.TB, want, got any, opts ...cmp.Option) {
	tb.Helper()
	opts = append(opts, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b *problem.Rule) bool { return a == b }))
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		require.Fail(tb, "not as expected (-want +got):\n"+diff)
	}
}
