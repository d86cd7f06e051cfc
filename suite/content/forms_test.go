package content_test

import (
	"archive/tar"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// sample is a small suite as its members in an archive.
var sample = []member{
	{name: "agentsuite.json", body: `{"name":"sample"}`},
	{name: "instructions/"},
	{name: "instructions/writer.md", body: "Write.\n"},
	{name: "metadata/"},
	{name: "metadata/notes.txt", body: "Notes.\n"},
	{name: "tools/"},
	{name: "tools/Größe", body: "not ASCII"},
	{name: "tools/bin/"},
	{name: "tools/bin/run", body: "\x7fELF", mode: 0o755},
	{name: "tools/lib", typ: tar.TypeSymlink, link: "bin/../bin"},
	{name: "tools/run", typ: tar.TypeSymlink, link: "./bin/run"},
	{name: "tools/secret", body: "for the owner", mode: 0o400},
}

func sampleEntries() []content.Entry {
	file := func(path, body string, mode uint32) content.Entry {
		return content.Entry{Path: path, Type: content.File, Mode: mode, Size: int64(len(body)), Digest: digest.FromString(body)}
	}
	dir := func(path string) content.Entry {
		return content.Entry{Path: path, Type: content.Directory, Mode: 0o755}
	}
	link := func(path, target string) content.Entry {
		return content.Entry{Path: path, Type: content.Symlink, Mode: 0o777, LinkTarget: target}
	}
	return []content.Entry{
		file("agentsuite.json", `{"name":"sample"}`, 0o644),
		dir("instructions"),
		file("instructions/writer.md", "Write.\n", 0o644),
		dir("metadata"),
		file("metadata/notes.txt", "Notes.\n", 0o644),
		dir("tools"),
		file("tools/Größe", "not ASCII", 0o644),
		dir("tools/bin"),
		file("tools/bin/run", "\x7fELF", 0o755),
		link("tools/lib", "bin/../bin"),
		link("tools/run", "./bin/run"),
		file("tools/secret", "for the owner", 0o400),
	}
}

func sampleDirectory(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, m := range sample {
		path := filepath.Join(dir, m.name)
		switch h := m.header(); h.Typeflag {
		case tar.TypeDir:
			require.NoError(tb, os.MkdirAll(path, 0o755))
		case tar.TypeSymlink:
			require.NoError(tb, os.Symlink(m.link, path))
		default:
			write(tb, path, m.body)
			require.NoError(tb, os.Chmod(path, os.FileMode(h.Mode)))
		}
	}
	return dir
}

// forms are all ways to hand over one content. Every one gives the path of it, or its bytes as a stream.
func forms(tb testing.TB) map[string]func(content.Options) *content.Index {
	layer := layerOf(tb, sample...)
	layout := newEnvelope(layer).build(tb)
	return map[string]func(content.Options) *content.Index{
		"directory":               func(o content.Options) *content.Index { return open(tb, sampleDirectory(tb), o) },
		"OCI layout":              func(o content.Options) *content.Index { return open(tb, layout.directory(tb), o) },
		"OCI layout tar":          func(o content.Options) *content.Index { return open(tb, file(tb, layout.tar(tb)), o) },
		"OCI layout tar, stream":  func(o content.Options) *content.Index { return stream(tb, layout.tar(tb), o) },
		"content archive":         func(o content.Options) *content.Index { return open(tb, file(tb, layer), o) },
		"content archive, stream": func(o content.Options) *content.Index { return stream(tb, layer, o) },
	}
}

func TestEveryFormGivesTheSameIndex(t *testing.T) {
	want := &content.Index{
		Entries: sampleEntries(),
		Texts: map[string][]byte{
			"agentsuite.json":        []byte(`{"name":"sample"}`),
			"instructions/writer.md": []byte("Write.\n"),
			"metadata/notes.txt":     []byte("Notes.\n"),
		},
	}
	for name, form := range forms(t) {
		t.Run(name, func(t *testing.T) {
			requireEqual(t, want, form(defaults()), cmpopts.IgnoreFields(content.Index{}, "Form", "SuiteDigest"))
		})
	}
}

func TestEveryFormIsTold(t *testing.T) {
	all := forms(t)
	for name, want := range map[string]content.Form{
		"directory": content.FormDirectory, "OCI layout": content.FormOCILayout,
		"OCI layout tar": content.FormOCILayoutTar, "OCI layout tar, stream": content.FormOCILayoutTar,
		"content archive": content.FormContentTarGzip, "content archive, stream": content.FormContentTarGzip,
	} {
		require.Equal(t, want, all[name](defaults()).Form, name)
	}
}

func TestSuiteDigest(t *testing.T) {
	dir := sampleDirectory(t)
	layout := filepath.Join(t.TempDir(), "layout")
	packed, err := content.Pack(t.Context(), dir, layout, content.FormOCILayout, content.PackOptions{Limits: content.DefaultLimits()})
	require.NoError(t, err)

	with := defaults()
	with.Digest = true
	require.Equal(t, packed, open(t, dir, with).SuiteDigest, "a directory's is the one that packing gives it")
	require.Empty(t, open(t, dir, defaults()).SuiteDigest, "it takes packing, which is done when asked for")
	require.Equal(t, packed, open(t, layout, defaults()).SuiteDigest, "a layout states it")

	archive := filepath.Join(t.TempDir(), "content")
	same, err := content.Pack(t.Context(), dir, archive, content.FormContentTarGzip, content.PackOptions{Limits: content.DefaultLimits()})
	require.NoError(t, err)
	require.Equal(t, packed, same)
	require.Equal(t, packed, open(t, archive, with).SuiteDigest)
	require.Empty(t, open(t, archive, defaults()).SuiteDigest)
}

func TestExtract(t *testing.T) {
	want := snapshot(t, sampleDirectory(t))
	for name, form := range forms(t) {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			opts := defaults()
			opts.Extract = filepath.Join(parent, "content")
			noProblems(t, form(opts))
			if name == "directory" {
				require.Empty(t, snapshot(t, parent), "a directory needs no extraction")
				return
			}
			require.Equal(t, want, snapshot(t, opts.Extract))
			names, err := os.ReadDir(parent)
			require.NoError(t, err)
			require.Len(t, names, 1, "nothing temporary is left")
		})
	}
}

// Directories that the archive does not list, that it lists late, and that let nobody in.
func TestExtractDirectories(t *testing.T) {
	opts := defaults()
	opts.Extract = filepath.Join(t.TempDir(), "content")
	noProblems(t, stream(t, layerOf(t,
		member{name: "a/b/c", body: "deep"},
		member{name: "a/", mode: 0o500},
		member{name: "a/b/", mode: 0o700},
		member{name: "a/b/link", typ: tar.TypeLink, link: "a/b/c"},
	), opts))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(opts.Extract, "a"), 0o700) })
	require.Equal(t, []string{"dr-x------ a", "drwx------ a/b", "-rw-r--r-- a/b/c = deep", "-rw-r--r-- a/b/link = deep"}, snapshot(t, opts.Extract))
	c, err := os.Stat(filepath.Join(opts.Extract, "a/b/c"))
	require.NoError(t, err)
	link, err := os.Stat(filepath.Join(opts.Extract, "a/b/link"))
	require.NoError(t, err)
	require.True(t, os.SameFile(c, link))

	root, err := os.Stat(opts.Extract)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), root.Mode().Perm())
}

func TestExtractRefusesWhatExists(t *testing.T) {
	opts := defaults()
	opts.Extract = t.TempDir()
	_, err := content.Open(t.Context(), file(t, layerOf(t, sample...)), opts)
	require.ErrorIs(t, err, os.ErrExist)
	require.Empty(t, snapshot(t, opts.Extract))
}

func TestTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		path string
		opts func(*content.Options)
		want string
	}{
		"nothing there":         {path: filepath.Join(t.TempDir(), "none"), want: "no such file"},
		"extract without room":  {path: file(t, layerOf(t, sample...)), opts: func(o *content.Options) { o.Extract = "/nowhere/content" }, want: "no such file"},
		"extract without name":  {path: file(t, layerOf(t, sample...)), opts: func(o *content.Options) { o.Extract = ".." }, want: "does not exist yet"},
		"extract a long name":   {path: file(t, layerOf(t, member{name: longName(300)})), opts: func(o *content.Options) { o.Extract = filepath.Join(t.TempDir(), "x") }, want: "name too long"},
		"extract too many dirs": {path: file(t, layerOf(t, member{name: "a/b/c/d/e"})), opts: func(o *content.Options) { o.Extract = filepath.Join(t.TempDir(), "x"); o.Limits.Entries = 3 }, want: "more than 3 directories"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := defaults()
			if test.opts != nil {
				test.opts(&opts)
			}
			_, err := content.Open(t.Context(), test.path, opts)
			require.ErrorContains(t, err, test.want)
			if opts.Extract != "" {
				names, _ := os.ReadDir(filepath.Dir(opts.Extract))
				for _, entry := range names {
					require.NotContains(t, entry.Name(), ".tmp")
				}
			}
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	layout := newEnvelope(layerOf(t, sample...)).build(t)
	for name, path := range map[string]string{
		"directory": sampleDirectory(t), "layout": layout.directory(t),
		"layout tar": file(t, layout.tar(t)), "archive": file(t, layerOf(t, sample...)),
	} {
		_, err := content.Open(ctx, path, defaults())
		require.ErrorIs(t, err, context.Canceled, name)
	}
}

func longName(n int) string {
	name := make([]byte, n)
	for i := range name {
		name[i] = 'n'
	}
	return string(name)
}
