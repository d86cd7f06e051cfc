package suite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

const testdata = "../testdata"

// tree is a suite in memory, which tests change before they validate it.
type tree map[string]content.Entry

// texts holds the bytes of the files of a tree.
type texts map[string][]byte

type fixture struct {
	entries tree
	texts   texts
	// known holds identities that need not be computed again.
	known map[knownFile]identities
}

// load reads a suite from testdata. Modes are those that git keeps: a file is executable or not.
func loadFixture(t testing.TB, name string) *fixture {
	f := &fixture{entries: tree{}, texts: texts{}}
	dir := filepath.Join(testdata, name)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			f.mkdir(name)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			f.link(name, content.Symlink, target)
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f.put(name, string(data))
			if info.Mode()&0o100 != 0 {
				f.chmod(name, 0o755)
			}
		}
		return nil
	}))
	return f
}

func (f *fixture) clone() *fixture {
	return &fixture{entries: maps.Clone(f.entries), texts: maps.Clone(f.texts), known: f.known}
}

// put writes a file and the directories above it, keeping the mode of one that exists.
func (f *fixture) put(path, text string) {
	mode := uint32(0o644)
	if old, ok := f.entries[path]; ok && old.Type == content.File {
		mode = old.Mode
	}
	f.parents(path)
	f.entries[path] = content.Entry{Path: path, Type: content.File, Mode: mode, Size: int64(len(text)), Digest: digest.FromString(text)}
	f.texts[path] = []byte(text)
}

func (f *fixture) link(path string, kind content.Type, target string) {
	f.parents(path)
	mode := uint32(0o777)
	if kind == content.Hardlink {
		mode = 0o644
	}
	f.entries[path] = content.Entry{Path: path, Type: kind, Mode: mode, LinkTarget: target}
}

func (f *fixture) mkdir(path string) {
	f.parents(path)
	f.entries[path] = content.Entry{Path: path, Type: content.Directory, Mode: 0o755}
}

func (f *fixture) parents(path string) {
	for dir, ok := parentOf(path); ok; dir, ok = parentOf(dir) {
		if _, exists := f.entries[dir]; !exists {
			f.entries[dir] = content.Entry{Path: dir, Type: content.Directory, Mode: 0o755}
		}
	}
}

func parentOf(path string) (string, bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", false
	}
	return path[:i], true
}

func (f *fixture) chmod(path string, mode uint32) {
	e := f.entries[path]
	e.Mode = mode
	f.entries[path] = e
}

// remove takes away an entry and everything below it.
func (f *fixture) remove(path string) {
	for name := range f.entries {
		if name == path || strings.HasPrefix(name, path+"/") {
			delete(f.entries, name)
			delete(f.texts, name)
		}
	}
}

// replace changes a text that must occur exactly once in a file.
func (f *fixture) replace(t testing.TB, path, old, now string) {
	text, ok := f.texts[path]
	require.True(t, ok, "%s does not exist", path)
	require.Equal(t, 1, bytes.Count(text, []byte(old)), "%q in %s", old, path)
	f.put(path, strings.Replace(string(text), old, now, 1))
}

// insert puts a text in front of the first occurrence of another.
func (f *fixture) insert(t testing.TB, path, before, text string) {
	i := bytes.Index(f.texts[path], []byte(before))
	require.GreaterOrEqual(t, i, 0, "%q in %s", before, path)
	old := string(f.texts[path])
	f.put(path, old[:i]+text+old[i:])
}

// replaceAll changes every occurrence of a text in a file.
func (f *fixture) replaceAll(path, old, now string) {
	f.put(path, strings.ReplaceAll(string(f.texts[path]), old, now))
}

// listPayload adds a file of a payload's bin directory to the inventory of every variant.
func (f *fixture) listPayload(path, name, text string) {
	f.replaceAll(path, `"files": [`, `"files": [
        {"path": "bin/`+name+`", "type": "file", "mode": 420, "uid": 0, "gid": 0, "size": `+strconv.Itoa(len(text))+`, "digest": "`+digest.FromString(text).String()+`"},`)
}

// index is what reading the suite would have given.
func (f *fixture) index() *content.Index {
	x := &content.Index{Form: content.FormDirectory, Texts: map[string][]byte{}}
	for _, path := range slices.Sorted(maps.Keys(f.entries)) {
		x.Entries = append(x.Entries, f.entries[path])
		if text, ok := f.texts[path]; ok && (strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".txt")) {
			x.Texts[path] = text
		}
	}
	return x
}

func (f *fixture) validate(t testing.TB) (*suite.Graph, *suite.Report) {
	g, report, err := suite.Validate(context.Background(), f.index(), content.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, g == nil, len(report.Problems) > 0, "a graph exists exactly when there are no problems")
	return g, report
}

// write stores the suite in a directory.
func (f *fixture) write(t testing.TB, dir string) {
	for _, path := range slices.Sorted(maps.Keys(f.entries)) {
		e, name := f.entries[path], filepath.Join(dir, filepath.FromSlash(path))
		switch e.Type {
		case content.Directory:
			require.NoError(t, os.MkdirAll(name, 0o700))
			require.NoError(t, os.Chmod(name, os.FileMode(e.Mode)))
		case content.Symlink:
			require.NoError(t, os.Symlink(e.LinkTarget, name))
		case content.File:
			require.NoError(t, os.WriteFile(name, f.texts[path], 0o600))
			require.NoError(t, os.Chmod(name, os.FileMode(e.Mode)))
		default:
			t.Fatalf("no directory in git can hold %s, a %s", path, e.Type)
		}
	}
}

// identities maps what a suite binds by digest to the digest that it has: files and documents by
// path, variants by path and index.
type identities map[string]digest.Digest

func (f *fixture) identities() identities {
	ids := identities{}
	for path, text := range f.texts {
		own, ok := f.known[knownFile{path, f.entries[path].Digest}]
		if !ok {
			own = identitiesOf(path, text)
		}
		maps.Copy(ids, own)
	}
	return ids
}

// knownFile is a file with certain bytes.
type knownFile struct {
	path  string
	bytes digest.Digest
}

// remember keeps the identities of every file for as long as its bytes stay what they are.
func (f *fixture) remember() {
	f.known = make(map[knownFile]identities, len(f.texts))
	for path, text := range f.texts {
		f.known[knownFile{path, f.entries[path].Digest}] = identitiesOf(path, text)
	}
}

func identitiesOf(path string, text []byte) identities {
	ids := identities{"file " + path: digest.FromBytes(text)}
	doc, problems := strictjson.Parse(path, text, strictjson.DefaultLimits())
	if len(problems) > 0 {
		return ids
	}
	if d, err := suite.DocumentDigest(text); err == nil {
		ids["document "+path] = d
	}
	if variants, ok := doc.Root.Member("variants"); ok {
		for i := range variants.Items {
			if d, err := suite.VariantDigest(doc, i); err == nil {
				ids["variant "+path+strictjson.Pointer(i)] = d
			}
		}
	}
	return ids
}

// reseal brings digests up to date after a change and touches nothing else: wherever a digest that
// something had before is stated, the one that it has now is put.
func (f *fixture) reseal(before identities) {
	if !f.resealed(before) {
		panic("a document of the suite depends on its own digest")
	}
}

// resealed tells whether that came to an end, which it does not where digests depend on themselves.
func (f *fixture) resealed(before identities) bool {
	const enough = 50
	for range enough {
		now := f.identities()
		replacements := []string{}
		for name, old := range before {
			if d, ok := now[name]; ok && d != old {
				replacements = append(replacements, string(old), string(d))
			}
		}
		if len(replacements) == 0 {
			return true
		}
		replacer := strings.NewReplacer(replacements...)
		for path, text := range f.texts {
			if strings.HasSuffix(path, ".json") {
				f.put(path, replacer.Replace(string(text)))
			}
		}
		before = now
	}
	return false
}

// change alters a suite and reseals it.
func (f *fixture) change(alter func(f *fixture)) *fixture {
	changed := f.clone()
	before := changed.identities()
	alter(changed)
	changed.reseal(before)
	return changed
}

// problemLines renders a report as the expectation files hold it: problems, then warnings.
func problemLines(report *suite.Report) string {
	var b strings.Builder
	for _, p := range report.Problems {
		b.WriteString(p.String() + "\n    rule " + p.Rule.ID + ", pointer " + quoted(p.Pointer) + "\n")
	}
	return b.String()
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}
