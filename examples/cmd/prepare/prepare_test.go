package main

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/examples/images/rootfs"
)

// Compiling for one platform shows all that compiling for two would.
func onePlatform(t *testing.T) platform {
	t.Helper()
	i := slices.IndexFunc(platforms, func(p platform) bool { return p.os == runtime.GOOS && p.arch == runtime.GOARCH })
	if i < 0 {
		return platforms[0]
	}
	return platforms[i]
}

// tree maps the paths below dir to what reproducible means: modes and bytes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		relative, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		entries[relative] = info.Mode().String()
		if !d.IsDir() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			entries[relative] += string(data)
		}
		return nil
	}))
	return entries
}

// Not parallel: it changes the umask and the environment of the process.
func TestPrepareIsReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles both examples twice")
	}
	p := onePlatform(t)
	module, err := filepath.Abs("../..")
	require.NoError(t, err)
	first := filepath.Join(t.TempDir(), "first")
	require.NoError(t, prepare(t.Context(), module, first, []platform{p}))

	// Another checkout, by another person with other habits.
	checkout := filepath.Join(t.TempDir(), "elsewhere", "checkout")
	for _, part := range []string{"datetime", "harness"} {
		require.NoError(t, os.CopyFS(filepath.Join(checkout, part), os.DirFS(filepath.Join(module, part))))
	}
	for _, part := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(module, part))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(checkout, part), data, 0o600))
	}
	defer syscall.Umask(syscall.Umask(0o077))
	for name, value := range map[string]string{
		"GOFLAGS": "-buildvcs=true -tags=other", "GOAMD64": "v3", "GOARM64": "v8.2", "CGO_ENABLED": "1", "SOURCE_DATE_EPOCH": "1",
	} {
		t.Setenv(name, value)
	}
	second := filepath.Join(t.TempDir(), "second")
	require.NoError(t, prepare(t.Context(), checkout, second, []platform{p}))
	// A second run replaces what the first one made, and leaves nothing else.
	require.NoError(t, os.WriteFile(filepath.Join(second, "datetime/stale.json"), nil, 0o644))
	require.NoError(t, prepare(t.Context(), checkout, second, []platform{p}))

	want, got := tree(t, first), tree(t, second)
	// The root is the caller's; everything in it is ours.
	delete(want, ".")
	delete(got, ".")
	for path := range want {
		require.Equal(t, want[path], got[path], path)
	}
	require.Len(t, got, len(want))

	platformDir := p.os + "-" + p.arch
	for _, executable := range []string{
		filepath.Join("datetime/tool-providers/datetime/1.0.0", platformDir, "bin/datetime"),
		filepath.Join("images/harness", p.os+"_"+p.arch, "harness"),
	} {
		require.Equal(t, "-rwxr-xr-x", want[executable][:10])
		file, err := elf.Open(filepath.Join(first, executable))
		require.NoError(t, err)
		require.NoError(t, file.Close())
		for _, program := range file.Progs {
			require.NotContains(t, []elf.ProgType{elf.PT_INTERP, elf.PT_DYNAMIC}, program.Type, "%s is not static", executable)
		}
	}
}

func TestReplaceDir(t *testing.T) {
	t.Parallel()
	write := func(name, text string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	}
	for name, tc := range map[string]struct {
		before map[string]string // what the directory holds; nil means that it does not exist
		fill   func(dir string) error
		after  map[string]string
		err    string
	}{
		"made anew": {nil, write("witness", "new"), map[string]string{"witness": "new"}, ""},
		"replaced":  {map[string]string{"witness": "old", "stale": ""}, write("witness", "new"), map[string]string{"witness": "new"}, ""},
		"somebody else's": {map[string]string{"thesis": "dear"}, write("witness", "new"), map[string]string{"thesis": "dear"},
			"was not made by this command, as it holds no witness"},
		"kept when filling fails": {map[string]string{"witness": "old"},
			func(string) error { return errors.New("disk on fire") }, map[string]string{"witness": "old"}, "disk on fire"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir := filepath.Join(parent, "dir")
			for file, text := range tc.before {
				require.NoError(t, os.MkdirAll(dir, 0o755))
				require.NoError(t, write(file, text)(dir))
			}
			err := replaceDir(dir, "witness", tc.fill)
			if tc.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.err)
			}
			after := map[string]string{}
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, file := range files {
				text, err := os.ReadFile(filepath.Join(dir, file.Name()))
				require.NoError(t, err)
				after[file.Name()] = string(text)
			}
			require.Equal(t, tc.after, after)
			beside, err := os.ReadDir(parent)
			require.NoError(t, err)
			require.Len(t, beside, 1, "something is left beside the directory")
		})
	}
}

// The suite's build profile, the bake file and the runtime base each write the
// epoch down; images are reproducible only while they agree.
func TestEverythingHasOneEpoch(t *testing.T) {
	t.Parallel()
	var profile struct{ SourceEpoch int64 }
	data, err := os.ReadFile("../../datetime/suite/build-profiles/default.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &profile))
	require.Equal(t, int64(rootfs.Epoch), profile.SourceEpoch)

	bake, err := os.ReadFile("../../../docker-bake.hcl")
	require.NoError(t, err)
	match := regexp.MustCompile(`variable "SOURCE_DATE_EPOCH" \{\s+default\s+= "(\d+)"`).FindSubmatch(bake)
	require.NotNil(t, match)
	require.Equal(t, strconv.Itoa(rootfs.Epoch), string(match[1]))
}
