package content_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

func TestCopyFiles(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a/private"), 0o755))
	write := func(name, text string, mode fs.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	write("a/one", "same", 0o755)
	require.NoError(t, os.Link(filepath.Join(dir, "a/one"), filepath.Join(dir, "a/private/two")))
	require.NoError(t, os.Link(filepath.Join(dir, "a/one"), filepath.Join(dir, "three")))
	write("four", "other", 0o400)
	require.NoError(t, os.Symlink("four", filepath.Join(dir, "link")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "a/private"), 0o500))

	index, err := content.Open(t.Context(), dir, defaults())
	require.NoError(t, err)
	require.Empty(t, index.Problems)
	require.NoError(t, index.CopyFiles(t.Context(), dir, out, []string{"a/one", "a/private/two", "four", "three"}))
	copied, err := content.Open(t.Context(), out, defaults())
	require.NoError(t, err)
	require.Len(t, copied.Entries, len(index.Entries)-1)
	for _, e := range copied.Entries {
		original, _ := index.Entry(e.Path)
		require.Equal(t, original, e)
		info, err := os.Lstat(filepath.Join(out, e.Path))
		require.NoError(t, err)
		if e.Type == content.File {
			require.EqualValues(t, 1, info.Sys().(*syscall.Stat_t).Nlink, "%s is a file of its own", e.Path)
		}
	}

	for name, test := range map[string]struct {
		out   string
		paths []string
		spoil func()
		want  string
	}{
		"existing":    {out: out, want: "exists"},
		"symlink":     {paths: []string{"link"}, want: "copying link: it is no file of the content"},
		"directory":   {paths: []string{"a"}, want: "copying a: it is no file of the content"},
		"unknown":     {paths: []string{"../etc/passwd"}, want: "it is no file of the content"},
		"other bytes": {paths: []string{"four"}, spoil: func() { write("four", "OTHER", 0o400) }, want: "four changed while it was read"},
		"other size":  {paths: []string{"four"}, spoil: func() { write("four", "others", 0o400) }, want: "four changed while it was read"},
		"other type": {paths: []string{"four"}, spoil: func() {
			require.NoError(t, os.Remove(filepath.Join(dir, "four")))
			require.NoError(t, os.Symlink("three", filepath.Join(dir, "four")))
		}, want: "four changed while it was read"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			if test.out == "" {
				test.out = filepath.Join(parent, "out")
			}
			if test.spoil != nil {
				test.spoil()
			}
			require.ErrorContains(t, index.CopyFiles(t.Context(), dir, test.out, test.paths), test.want)
			left, err := os.ReadDir(parent)
			require.NoError(t, err)
			require.Empty(t, left)
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "four")))
			write("four", "other", 0o400)
		})
	}
}
