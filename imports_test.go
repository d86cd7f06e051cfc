// Package architecture_test holds the repository to its order: which package may know of which.
package architecture_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/agentsuite/agentsuite-llb/"

// order lists the packages of the product from the lowest to the highest. A package imports those of the lines
// above its own, and nothing of this module besides; two on one line do not know each other. A name that ends in
// "/" stands for everything below it.
var order = [][]string{
	{"schemas", "suite/secret"},
	{"suite/problem"},
	{"suite/strictjson"},
	{"suite/schema", "suite/content"},
	{"suite"},
	{"suite/seal", "image/abi"},
	{"image"},
	{"image/ociimage"},
	{"image/verify"},
	{"llb/tool"},
	{"llb"},
	{"frontend"},
	{"cmd/"},
}

// reserved names what only some packages may import, by the beginning of the import path: a suite, an image and a
// plan are what they are without BuildKit, and nothing runs a program or speaks HTTP by itself.
var reserved = map[string][]string{
	"github.com/moby/buildkit/":           {"llb", "frontend", "cmd/"},
	"github.com/moby/buildkit/client/llb": {"llb", "frontend", "cmd/agentsuite-llb"},
	"github.com/containerd/":              {"frontend", "cmd/"},
	"oras.land/":                          {"image/ociimage"},
	"github.com/spf13/":                   {"cmd/"},
	"github.com/stretchr/testify/":        {}, // of tests and what only tests import
	"github.com/google/go-cmp/":           {},
	"net/http":                            {},
	"os/exec":                             {},
	"plugin":                              {},
}

// forTests are packages that only tests import; they may use what they like.
var forTests = []string{"schemas/schematest", "image/abi/elftest", "image/ociimage/ocitest"}

func TestImports(t *testing.T) {
	for file, imports := range productFiles(t) {
		dir := path.Dir(file)
		rank := rankOf(dir)
		require.GreaterOrEqual(t, rank, 0, "%s: add the package %s to the order", file, dir)
		for _, imported := range imports {
			if ours, ok := strings.CutPrefix(imported, module); ok {
				require.False(t, within(ours, forTests), "%s imports %s, which is for tests", file, ours)
				below := rankOf(ours)
				require.True(t, below >= 0 && below < rank, "%s imports %s, which is not below it", file, ours)
			}
			for prefix, allowed := range reserved {
				if strings.HasPrefix(imported, prefix) {
					require.True(t, within(dir, allowed), "%s imports %s, which only %v may", file, imported, allowed)
				}
			}
		}
	}
}

// productFiles are the imports of every file that goes into a program or a library, by the file's path.
func productFiles(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	require.NoError(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "build" || name == "examples" || name == "integration" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return fs.SkipDir
		case d.IsDir() && within(filepath.ToSlash(name), forTests):
			return fs.SkipDir
		case filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		at := filepath.ToSlash(name)
		files[at] = []string{}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			files[at] = append(files[at], imported)
		}
		return nil
	}))
	require.NotEmpty(t, files)
	return files
}

func rankOf(dir string) int {
	for rank, packages := range order {
		if within(dir, packages) {
			return rank
		}
	}
	return -1
}

// within tells whether a package is one of those that a list names.
func within(dir string, packages []string) bool {
	for _, name := range packages {
		if dir == name || strings.HasSuffix(name, "/") && strings.HasPrefix(dir, name) {
			return true
		}
	}
	return false
}
