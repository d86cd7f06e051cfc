package seal_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/seal"
)

var update = flag.Bool("update", false, "write the sealed documents of the fixtures anew")

// Every directory of testdata is a case: suite is what an author wrote, sealed holds the documents that
// sealing changes, as they are then.
func TestSeal(t *testing.T) {
	cases, err := filepath.Glob("testdata/*/suite")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, source := range cases {
		want := filepath.Join(filepath.Dir(source), "sealed")
		t.Run(filepath.Base(filepath.Dir(source)), func(t *testing.T) {
			dir := author(t, source)
			before := tree(t, dir)

			checked := mustSeal(t, dir, seal.Options{Check: true})
			require.Empty(t, cmp.Diff(before, tree(t, dir)), "checking writes nothing")
			result := mustSeal(t, dir, seal.Options{})
			require.Equal(t, result.Changed, checked.Changed)
			require.Empty(t, validate(t, dir).Problems)

			after := tree(t, dir)
			sealed := map[string]string{}
			for path := range after {
				if after[path] != before[path] {
					sealed[path] = after[path]
				}
			}
			require.Equal(t, result.Changed, slices.Sorted(maps.Keys(sealed)))
			if *update {
				require.NoError(t, os.RemoveAll(want))
				for path, text := range sealed {
					write(t, filepath.Join(want, path), text)
				}
			}
			require.Empty(t, cmp.Diff(tree(t, want), sealed))

			again := mustSeal(t, dir, seal.Options{})
			require.Empty(t, again.Changed)
			require.Empty(t, cmp.Diff(after, tree(t, dir)))
		})
	}
}

func TestSealTellsOfDocumentsThatNothingReferences(t *testing.T) {
	result := mustSeal(t, author(t, "testdata/workshop/suite"), seal.Options{})
	require.Equal(t, []seal.Note{{
		Path:    "drafts/next.json",
		Message: "nothing in the suite references this document (application/vnd.agentsuite.agent.v1+json); add a reference with its path, or remove it",
	}}, result.Notes)
}

// Whatever sealing computes can be missing: one member, or all of them.
func TestSealRestoresWhatIsMissing(t *testing.T) {
	dir := author(t, "testdata/workshop/suite")
	mustSeal(t, dir, seal.Options{})
	sealed := tree(t, dir)
	identities := canonical(t, sealed)

	// without removes members of the sealed suite and returns the documents that it changed.
	without := func(t *testing.T, computed func(path string, pointer []string) bool) (changed []string) {
		for path, text := range sealed {
			if !isDocument(path) {
				continue
			}
			var document any
			require.NoError(t, json.Unmarshal([]byte(text), &document))
			if strip(document, nil, func(pointer []string) bool { return computed(path, pointer) }) > 0 {
				text = marshal(t, document)
				changed = append(changed, path)
			}
			write(t, filepath.Join(dir, path), text)
		}
		slices.Sort(changed)
		require.NotEmpty(t, changed)
		return changed
	}
	for path, text := range sealed {
		if !isDocument(path) {
			continue
		}
		var document any
		require.NoError(t, json.Unmarshal([]byte(text), &document))
		strip(document, nil, func(pointer []string) bool {
			if isComputed(path, pointer) {
				t.Run(path+"/"+strings.Join(pointer, "/"), func(t *testing.T) {
					changed := without(t, func(p string, q []string) bool { return p == path && slices.Equal(q, pointer) })
					// Were the document not what it was, whatever references it would change too.
					require.Equal(t, changed, mustSeal(t, dir, seal.Options{Check: true}).Changed)
				})
			}
			return false
		})
	}
	t.Run("everything", func(t *testing.T) {
		changed := without(t, isComputed)
		require.Equal(t, changed, mustSeal(t, dir, seal.Options{}).Changed)
		require.Empty(t, cmp.Diff(identities, canonical(t, tree(t, dir))))
	})
}

// isComputed tells of the members of the workshop's documents that sealing computes. A whole list of files
// is not among them: its order and its components are the author's.
func isComputed(path string, pointer []string) bool {
	switch pointer[len(pointer)-1] {
	case "digest":
		return !strings.HasPrefix(path, "build-profiles/")
	case "variantDigest", "manifestDigest", "capabilities":
		return true
	case "toolProviders":
		return strings.HasPrefix(path, "compositions/")
	case "type", "mode", "uid", "gid", "size", "linkTarget":
		return slices.Contains(pointer, "files")
	}
	return false
}

func TestSealChangesExactlyWhatAChangeConcerns(t *testing.T) {
	const (
		manifest    = "agentsuite.json"
		catalog     = "tool-providers/catalog.json"
		opa         = "tool-providers/opa/1.0.0/tool-provider.json"
		runtime     = "tool-providers/runtime/2.1.0/tool-provider.json"
		writerAMD   = "compositions/writer-linux-amd64.json"
		writerARM   = "compositions/writer-linux-arm64.json"
		ofOPA       = "tool-provider-compositions/opa-linux-amd64.json"
		writer      = "agents/writer.json"
		profile     = "build-profiles/default.json"
		evalIndex   = "evals/writer/index.json"
		instruction = "instructions/writer.md"
	)
	tests := map[string]struct {
		change func(t *testing.T, dir string)
		want   []string
	}{
		"a byte of a payload": {
			appendTo("tool-providers/opa/1.0.0/linux-amd64/bin/opa", "!"),
			[]string{manifest, writerAMD, writerARM, ofOPA, catalog, opa},
		},
		"a byte of a payload that others depend on": {
			appendTo("tool-providers/runtime/2.1.0/linux-arm64/lib/config.json", "\n"),
			[]string{manifest, writerAMD, writerARM, ofOPA, catalog, opa, runtime},
		},
		"a payload's mode": {
			func(t *testing.T, dir string) {
				require.NoError(t, os.Chmod(filepath.Join(dir, "tool-providers/opa/1.0.0/linux-arm64/bin/opa-mcp"), 0o555))
			},
			[]string{manifest, writerAMD, writerARM, ofOPA, catalog, opa},
		},
		"a new payload file": {
			func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, "tool-providers/opa/1.0.0/linux-amd64/share/license"), "free\n")
			},
			[]string{manifest, writerAMD, writerARM, ofOPA, catalog, opa},
		},
		"a tool's schema":      {appendTo("tool-providers/opa/1.0.0/schemas/evaluate_document.output.json", "\n"), []string{manifest, writerAMD, writerARM, ofOPA, catalog, opa}},
		"instructions":         {appendTo(instruction, "Be brief.\n"), []string{manifest, writer}},
		"an evaluation case":   {replaceIn("evals/writer/cases/greeting.json", "Greet me.", "Greet them."), []string{manifest, writer, evalIndex}},
		"white space":          {appendTo(evalIndex, "\n\n"), nil},
		"an agent's prose":     {replaceIn(writer, "Writes, and", "Writes and"), []string{manifest}},
		"the profile's epoch":  {replaceIn(profile, "1767225600", "1767225601"), []string{manifest}},
		"a requirement less":   {replaceIn(writer, `{ "id": "runtime", "version": "2.1.0", "executionMode": "shared-sandbox" },`, ""), []string{manifest, writerAMD, writerARM}},
		"nothing":              {func(*testing.T, string) {}, nil},
		"an unreferenced file": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "metadata/notes.txt"), "x") }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := author(t, "testdata/workshop/suite")
			mustSeal(t, dir, seal.Options{})
			test.change(t, dir)
			before := tree(t, dir)
			result := mustSeal(t, dir, seal.Options{})
			slices.Sort(test.want)
			require.Equal(t, test.want, result.Changed)
			for path, text := range tree(t, dir) {
				require.Equal(t, slices.Contains(test.want, path), before[path] != text, path)
			}
		})
	}
}

// A directory is listed only where an image would lose something without it.
func TestSealListsDirectoriesThatCount(t *testing.T) {
	dir := author(t, "testdata/workshop/suite")
	payload := filepath.Join(dir, "tool-providers/opa/1.0.0/linux-arm64")
	for name, mode := range map[string]fs.FileMode{
		"empty": 0o755, "nest/empty": 0o755, "private": 0o700, "lax": 0o775, "plain": 0o755, "plain.d": 0o755,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(payload, name), 0o755))
		if !strings.HasSuffix(name, "empty") {
			write(t, filepath.Join(payload, name, "file"), "x")
		}
		chmod(t, payload, name, mode)
	}
	mustSeal(t, dir, seal.Options{})
	var provider suite.ToolProvider
	require.NoError(t, json.Unmarshal([]byte(tree(t, dir)["tool-providers/opa/1.0.0/tool-provider.json"]), &provider))
	listed := map[string]uint32{}
	for _, e := range provider.Variants[1].Files {
		if e.Type == "directory" {
			listed[e.Path] = e.Mode
		}
	}
	require.Equal(t, map[string]uint32{"empty": 0o755, "nest": 0o755, "nest/empty": 0o755, "private": 0o700}, listed)
}

func TestSealWritesNothingOfAnInvalidSuite(t *testing.T) {
	const provider = "tool-providers/opa/1.0.0/tool-provider.json"
	tests := map[string]struct {
		change func(t *testing.T, dir string)
		// want are the rules and places of all problems.
		want []string
	}{
		"a syntax error":       {replaceIn("agents/writer.json", `"id": "writer",`, `"id": "writer"`), []string{"json-syntax agents/writer.json:5:2"}},
		"no instructions":      {remove("instructions/writer.md"), []string{"graph-missing agents/writer.json:7:11"}},
		"no document":          {remove("compositions/reviewer-linux-amd64.json"), []string{"graph-missing agentsuite.json:17:89"}},
		"no payload":           {remove("tool-providers/opa/1.0.0/linux-arm64"), []string{"payload-missing " + provider + ":37:22"}},
		"an unknown member":    {replaceIn(provider, `"abi": "static", "cpuBaseline": "armv8-a"`, `"abi": "static", "cpuBaseline": "armv8-a", "libc": 1`), []string{"json-unknown-member " + provider + ":39:62"}},
		"a lax mode":           {func(t *testing.T, dir string) { chmod(t, dir, "tool-providers/opa/1.0.0/linux-amd64/bin/opa", 0o775) }, []string{"path-mode tool-providers/opa/1.0.0/linux-amd64/bin/opa"}},
		"an unpinned image":    {replaceIn("build-profiles/default.json", "registry.example/base@sha256:"+strings.Repeat("a", 64), "registry.example/base"), []string{"image-pin build-profiles/default.json:8:19"}},
		"an unknown provider":  {replaceIn("agents/writer.json", `"id": "opa"`, `"id": "opaque"`), []string{"graph-unknown agents/writer.json:12:3"}},
		"no such variant":      {replaceIn("tool-provider-compositions/opa-linux-amd64.json", `"amd64"`, `"riscv64"`), []string{"platform-exact tool-provider-compositions/opa-linux-amd64.json:6:47"}},
		"a circle":             {replaceIn("tool-providers/runtime/2.1.0/tool-provider.json", `"files": []`, `"files": [], "dependencies": [{"id": "opa", "version": "1.0.0"}]`), []string{"dependency-cycle"}},
		"two faults at once":   {both(remove("instructions/writer.md"), replaceIn("compositions/writer-linux-amd64.json", `"default"`, `"standard"`)), []string{"graph-missing agents/writer.json:7:11", "graph-unknown compositions/writer-linux-amd64.json:6:19"}},
		"another kind of file": {replaceIn("agentsuite.json", `"path": "agents/writer.json"`, `"path": "tool-providers/catalog.json"`), []string{"json-value tool-providers/catalog.json:3:16"}},
		"the manifest itself":  {replaceIn("agentsuite.json", `"path": "agents/writer.json"`, `"path": "agentsuite.json"`), []string{"json-value agentsuite.json:3:16"}},
		"a document bound by its bytes": {
			replaceIn("agents/writer.json", `"path": "instructions/writer.md"`, `"path": "agents/reviewer.json"`),
			[]string{"id-file agents/writer.json:7:11"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := author(t, "testdata/workshop/suite")
			test.change(t, dir)
			before := tree(t, dir)
			result, err := seal.Seal(t.Context(), dir, options(seal.Options{}))
			var invalid *problem.Error
			require.ErrorAs(t, err, &invalid)
			var got []string
			for _, p := range invalid.Problems {
				t.Log(p)
				require.NotContains(t, p.Message, "sha256:0000", "a stand-in is nobody's business")
				got = append(got, strings.TrimSuffix(p.Rule.ID+" "+p.Place.String(), " "))
			}
			require.Len(t, got, len(test.want), "%v", got)
			for i, want := range test.want {
				require.True(t, strings.HasPrefix(got[i], want), "%v", got)
			}
			require.NotNil(t, result.Index)
			require.Empty(t, cmp.Diff(before, tree(t, dir)))
		})
	}
}

// Many variants that share one large payload must not make sealing write, or even hold, what no document
// may have.
func TestSealBoundsInventories(t *testing.T) {
	dir := author(t, "testdata/workshop/suite")
	for i := range 40 {
		write(t, filepath.Join(dir, "tool-providers/opa/1.0.0/linux-amd64/share", strings.Repeat("x", i+1)), "")
	}
	opts := options(seal.Options{Check: true})
	opts.Limits.JSON.DocumentMembers = 200
	_, err := seal.Seal(t.Context(), dir, opts)
	var invalid *problem.Error
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Problems, 2)
	require.Equal(t, problem.JSONLimit, invalid.Problems[0].Rule)
	require.Equal(t, "/variants/0/payloadRoot", invalid.Problems[0].Pointer)
	require.Equal(t, "/variants/1/payloadRoot", invalid.Problems[1].Pointer)
}

func TestSealRefusesWhatIsNoExtractedSuite(t *testing.T) {
	layout := t.TempDir()
	write(t, filepath.Join(layout, "oci-layout"), `{"imageLayoutVersion":"1.0.0"}`)
	file := filepath.Join(t.TempDir(), "suite.tar")
	write(t, file, "")
	for name, test := range map[string]struct{ dir, want string }{
		"an OCI layout": {layout, "is an OCI layout"},
		"an empty one":  {t.TempDir(), "is no suite"},
		"a file":        {file, "not a directory"},
		"nothing":       {filepath.Join(layout, "x"), "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := seal.Seal(t.Context(), test.dir, options(seal.Options{}))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestSealPins(t *testing.T) {
	pinned := func(name string) func(context.Context, suite.Platform) (suite.Descriptor, error) {
		return func(_ context.Context, p suite.Platform) (suite.Descriptor, error) {
			return suite.Descriptor{
				MediaType: "application/vnd.oci.image.manifest.v1+json",
				Digest:    digest.FromString(name + p.String()), Size: int64(len(name)),
			}, nil
		}
	}
	base := seal.Pin{Repository: "registry.example/base", Manifest: pinned("base")}
	harness := seal.Pin{Repository: "registry.example/harness", Manifest: pinned("harness")}

	t.Run("what is not pinned yet", func(t *testing.T) {
		dir := author(t, "../../examples/datetime/suite")
		for _, a := range []string{"amd64", "arm64"} {
			path := filepath.Join(dir, "tool-providers/datetime/1.0.0/linux-"+a, "bin/datetime")
			write(t, path, a)
			require.NoError(t, os.Chmod(path, 0o755))
		}
		pins := []seal.Pin{
			{Repository: "registry.example/agentsuite/runtime-base", Manifest: pinned("base")},
			{Repository: "registry.example/agentsuite/harness", Manifest: pinned("harness")},
		}
		mustSeal(t, dir, seal.Options{Pins: pins})
		require.Empty(t, validate(t, dir).Problems)
		text := tree(t, dir)["build-profiles/default.json"]
		require.Contains(t, text, `      "imageRef": "registry.example/agentsuite/runtime-base@`+string(digest.FromString("baselinux/arm64"))+`",
      "image": {
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": "`+string(digest.FromString("baselinux/arm64"))+`",
        "size": 4
      }`)
		require.Empty(t, mustSeal(t, dir, seal.Options{Pins: pins}).Changed)
		require.Empty(t, mustSeal(t, dir, seal.Options{}).Changed, "what is pinned stays pinned")
	})
	t.Run("what is pinned to something else", func(t *testing.T) {
		dir := author(t, "testdata/workshop/suite")
		mustSeal(t, dir, seal.Options{})
		before := tree(t, dir)
		result := mustSeal(t, dir, seal.Options{Pins: []seal.Pin{base}})
		require.Equal(t, []string{"agentsuite.json", "build-profiles/default.json"}, result.Changed)
		after := tree(t, dir)["build-profiles/default.json"]
		require.Contains(t, after, string(digest.FromString("baselinux/amd64")))
		require.Equal(t, strings.Count(before["build-profiles/default.json"], strings.Repeat("c", 64)), strings.Count(after, strings.Repeat("c", 64)))
	})
	t.Run("a repository that no profile has", func(t *testing.T) {
		dir := author(t, "testdata/workshop/suite")
		before := tree(t, dir)
		_, err := seal.Seal(t.Context(), dir, options(seal.Options{Pins: []seal.Pin{base, harness, {Repository: "registry.example/bass", Manifest: pinned("")}}}))
		var unused *seal.UnusedPinError
		require.ErrorAs(t, err, &unused)
		require.Equal(t, []string{"registry.example/base", "registry.example/harness"}, unused.Existing)
		require.Empty(t, cmp.Diff(before, tree(t, dir)))
	})
	t.Run("an image that cannot be read", func(t *testing.T) {
		trouble := errors.New("no image for the platform")
		_, err := seal.Seal(t.Context(), author(t, "testdata/workshop/suite"), options(seal.Options{Pins: []seal.Pin{{
			Repository: "registry.example/base",
			Manifest:   func(context.Context, suite.Platform) (suite.Descriptor, error) { return suite.Descriptor{}, trouble },
		}}}))
		require.ErrorIs(t, err, trouble)
		require.ErrorContains(t, err, "pinning registry.example/base of build profile default for linux/amd64")
	})
}

func TestSealEndsWithItsContext(t *testing.T) {
	dir := author(t, "testdata/workshop/suite")
	before := tree(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := seal.Seal(ctx, dir, options(seal.Options{}))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, cmp.Diff(before, tree(t, dir)))
}

func options(opts seal.Options) seal.Options {
	opts.Limits = content.DefaultLimits()
	return opts
}

func mustSeal(t *testing.T, dir string, opts seal.Options) *seal.Result {
	t.Helper()
	result, err := seal.Seal(t.Context(), dir, options(opts))
	require.NoError(t, err)
	return result
}

func validate(t *testing.T, dir string) *suite.Report {
	t.Helper()
	index, err := content.Open(t.Context(), dir, content.Options{Limits: content.DefaultLimits()})
	require.NoError(t, err)
	_, report, err := suite.Validate(t.Context(), index, content.DefaultLimits())
	require.NoError(t, err)
	return report
}

// author copies a suite to where it can be changed, with the modes that git keeps.
func author(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(source)))
	copyModes(t, source, dir)
	return dir
}

// copyModes gives a copy the modes that a checkout has whatever its umask: 0644 or 0755, and makes the
// symlinks and the empty directory that the workshop has.
func copyModes(t *testing.T, source, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(source, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		target := filepath.Join(dir, strings.TrimPrefix(path, source))
		info, err := e.Info()
		require.NoError(t, err)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			require.NoError(t, err)
			require.NoError(t, os.RemoveAll(target))
			require.NoError(t, os.Symlink(link, target))
		case info.IsDir() || info.Mode()&0o100 != 0:
			require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o755))
			require.NoError(t, os.Chmod(target, 0o755))
		default:
			require.NoError(t, os.Chmod(target, 0o644))
		}
		return nil
	}))
}

// tree reads all files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		if e.Type()&fs.ModeSymlink != 0 {
			link, err := os.Readlink(path)
			files[name] = "-> " + link
			return err
		}
		data, err := os.ReadFile(path)
		files[name] = string(data)
		return err
	}))
	return files
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func chmod(t *testing.T, dir, path string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.Chmod(filepath.Join(dir, path), mode))
}

func appendTo(path, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		name := filepath.Join(dir, path)
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, append(data, text...), info.Mode()))
	}
}

func replaceIn(path, old, with string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		name := filepath.Join(dir, path)
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Contains(t, string(data), old)
		require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(data), old, with, 1)), 0o644))
	}
}

func remove(path string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		name := filepath.Join(dir, path)
		_, err := os.Stat(name)
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(name))
	}
}

func both(a, b func(*testing.T, string)) func(*testing.T, string) {
	return func(t *testing.T, dir string) { a(t, dir); b(t, dir) }
}

// isDocument tells which files of the workshop sealing may write.
func isDocument(path string) bool {
	return strings.HasSuffix(path, ".json") && !strings.Contains(path, "/schemas/") && !strings.Contains(path, "/lib/") &&
		!strings.HasPrefix(path, "drafts/")
}

// strip removes members, from the inside out, and counts them.
func strip(v any, pointer []string, remove func(pointer []string) bool) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := append(slices.Clone(pointer), name)
			n += strip(v[name], at, remove)
			if remove(at) {
				delete(v, name)
				n++
			}
		}
	case []any:
		for i, item := range v {
			n += strip(item, append(slices.Clone(pointer), string(rune('0'+i))), remove)
		}
	}
	return n
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	return string(data)
}

// canonical returns the identities of all documents, whatever their formatting.
func canonical(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	identities := map[string]string{}
	for path, text := range files {
		if isDocument(path) {
			id, err := suite.DocumentDigest([]byte(text))
			require.NoError(t, err)
			identities[path] = string(id)
		}
	}
	return identities
}
