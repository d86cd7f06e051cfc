package seal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteIsAllOrNothing(t *testing.T) {
	setUp := func(t *testing.T) (string, *os.Root) {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.json"), []byte("a"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sub/b.json"), []byte("b"), 0o664))
		require.NoError(t, os.Chmod(filepath.Join(dir, "sub/b.json"), 0o664))
		root, err := os.OpenRoot(dir)
		require.NoError(t, err)
		t.Cleanup(func() { root.Close() })
		return dir, root
	}
	names := func(t *testing.T, dir string) (names []string) {
		for _, d := range []string{dir, filepath.Join(dir, "sub")} {
			entries, err := os.ReadDir(d)
			require.NoError(t, err)
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
		return names
	}
	read := func(t *testing.T, path string) string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(data)
	}
	before := map[string][]byte{"a.json": []byte("a"), "sub/b.json": []byte("b")}
	after := map[string][]byte{"a.json": []byte("A"), "sub/b.json": []byte("B")}

	t.Run("all", func(t *testing.T) {
		dir, root := setUp(t)
		require.NoError(t, write(root, before, after))
		require.Equal(t, "A", read(t, filepath.Join(dir, "a.json")))
		require.Equal(t, "B", read(t, filepath.Join(dir, "sub/b.json")))
		require.Equal(t, []string{"a.json", "sub", "b.json"}, names(t, dir))
		info, err := os.Stat(filepath.Join(dir, "sub/b.json"))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o664), info.Mode())
	})
	for name, change := range map[string]func(t *testing.T, dir string){
		"changed meanwhile": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "sub/b.json"), []byte("mine"), 0o644))
		},
		"removed meanwhile": func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "sub/b.json"))) },
		"a link out of the suite": func(t *testing.T, dir string) {
			outside := filepath.Join(t.TempDir(), "b.json")
			require.NoError(t, os.WriteFile(outside, []byte("b"), 0o644))
			require.NoError(t, os.Remove(filepath.Join(dir, "sub/b.json")))
			require.NoError(t, os.Symlink(outside, filepath.Join(dir, "sub/b.json")))
		},
		"a link within the suite": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "sub/c.json"), []byte("b"), 0o644))
			require.NoError(t, os.Remove(filepath.Join(dir, "sub/b.json")))
			require.NoError(t, os.Symlink("c.json", filepath.Join(dir, "sub/b.json")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, root := setUp(t)
			change(t, dir)
			left := names(t, dir)
			require.Error(t, write(root, before, after))
			require.Equal(t, "a", read(t, filepath.Join(dir, "a.json")))
			require.Equal(t, left, names(t, dir), "no temporary file stays behind")
		})
	}
}
