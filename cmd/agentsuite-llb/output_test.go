package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/moby/buildkit/client"
	"github.com/stretchr/testify/require"
)

func TestParseOutput(t *testing.T) {
	for flag, want := range map[string]struct {
		entry client.ExportEntry
		file  string
	}{
		"-":                         {entry: client.ExportEntry{Type: "tar", Attrs: map[string]string{}}},
		"out/dir":                   {entry: client.ExportEntry{Type: "local", Attrs: map[string]string{}, OutputDir: "out/dir"}},
		"type=oci":                  {entry: client.ExportEntry{Type: "oci", Attrs: map[string]string{}}},
		"type=oci,dest=-":           {entry: client.ExportEntry{Type: "oci", Attrs: map[string]string{}}},
		"type=oci,dest=a.tar":       {entry: client.ExportEntry{Type: "oci", Attrs: map[string]string{}}, file: "a.tar"},
		"type=oci,tar=false,dest=a": {entry: client.ExportEntry{Type: "oci", Attrs: map[string]string{"tar": "false"}, OutputDir: "a"}},
		`"type=image","name=a,b"`:   {entry: client.ExportEntry{Type: "image", Attrs: map[string]string{"name": "a,b"}}},
		"TYPE=registry,name=a":      {entry: client.ExportEntry{Type: "image", Attrs: map[string]string{"name": "a", "push": "true"}}},
	} {
		t.Run(flag, func(t *testing.T) {
			entry, file, err := parseOutput(flag)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(want.entry, entry, cmpopts.IgnoreFields(client.ExportEntry{}, "Output")))
			if want.file == "" {
				require.Nil(t, file)
				return
			}
			require.Equal(t, want.file, file.path)
			require.NotNil(t, entry.Output)
		})
	}
	for flag, want := range map[string]string{
		"dest=x":               "type is missing",
		"type=zip,dest=x":      `there is no type "zip"`,
		"type=oci,dest":        `"dest" is not NAME=VALUE`,
		"type=image,dest=x":    "it has no dest",
		"type=local":           "dest is missing, the directory to write",
		"type=oci,tar=false":   "dest is missing, the directory to write",
		"\"type=oci,dest=open": "--output \"type=oci,dest=open: ",
	} {
		_, _, err := parseOutput(flag)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "--output "+flag+": ")
	}
}

func TestCacheOptions(t *testing.T) {
	entries, err := cacheOptions([]string{"a.b/c", "type=local,dest=x"})
	require.NoError(t, err)
	require.Equal(t, []client.CacheOptionsEntry{
		{Type: "registry", Attrs: map[string]string{"ref": "a.b/c"}}, {Type: "local", Attrs: map[string]string{"dest": "x"}},
	}, entries)
	for flag, want := range map[string]string{"dest=x": "type is missing, such as type=registry", "type=local,x": `"x" is not NAME=VALUE`} {
		_, err := cacheOptions([]string{flag})
		require.ErrorContains(t, err, want)
	}
}

// A file that is written in the end appears whole, and one that is given up leaves nothing.
func TestOutputFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	require.NoError(t, writeFile(name, []byte("old")))

	given := &outputFile{path: name}
	w, err := given.create()
	require.NoError(t, err)
	_, err = w.Write([]byte("half"))
	require.NoError(t, err)
	given.discard()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "old", string(text))

	require.NoError(t, writeFile(name, []byte("new")))
	text, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "new", string(text))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.ErrorContains(t, (&outputFile{path: name}).commit(), "the build wrote nothing to "+name)
}

// What is no regular file stays what it is: as root, -o type=oci,dest=/dev/null must not make a file of it.
func TestOutputFileKeepsWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink("pipe", link))
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that nobody waits for anybody
	require.NoError(t, err)
	defer reader.Close()
	for _, name := range []string{pipe, link} {
		require.NoError(t, writeFile(name, []byte("text")))
		text := make([]byte, 4)
		_, err = io.ReadFull(reader, text)
		require.NoError(t, err)
		require.Equal(t, "text", string(text))
	}
	given := &outputFile{path: link}
	_, err = given.create()
	require.NoError(t, err)
	given.discard()
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	info, err = os.Lstat(pipe)
	require.NoError(t, err)
	require.Equal(t, os.ModeNamedPipe, info.Mode().Type())
}

func TestOutputFileThroughASymlink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Symlink("file", link))
	require.NoError(t, writeFile(link, []byte("new")))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type(), "the link stays")
	info, err = os.Lstat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "a file that is private stays private")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "new", string(text))
}

func TestOutputFileLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	require.ErrorContains(t, writeFile(dir, nil), "is a directory; name the file to write")
	// The name is taken by a directory when the file is complete.
	given := &outputFile{path: filepath.Join(dir, "out")}
	w, err := given.create()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "out", "below"), 0o755))
	require.Error(t, given.commit())
	given.discard()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	// A name as long as names may be.
	require.NoError(t, writeFile(filepath.Join(t.TempDir(), strings.Repeat("x", 255)), nil))
}
