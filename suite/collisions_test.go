package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// collisionValidation makes what checkCollisions needs: providers with inventories, and compositions.
//
// A bundle is written as "a /opt/a b c: bin/x=1 lib/ link>target", which is the provider a, installed
// at /opt/a, with the dependencies b and c, a file whose bytes are "1", a directory and a symlink.
func collisionValidation(bundles []string, compositions ...string) *validation {
	v := newValidation(&content.Index{}, content.DefaultLimits())
	platform := Platforms()[0]
	v.catalog = &node[Catalog]{}
	v.providerByKey = map[ProviderKey]*node[ToolProvider]{}
	for _, line := range bundles {
		head, files, _ := strings.Cut(line, ":")
		words := strings.Fields(head)
		x := Variant{Platform: platform, InstallRoot: words[1]}
		for _, d := range words[2:] {
			x.Dependencies = append(x.Dependencies, Dependency{ID: d, Version: "1.0.0"})
		}
		for _, file := range strings.Fields(files) {
			e := InventoryEntry{Type: "file", Mode: 0o644}
			if name, bytes, ok := strings.Cut(file, "="); ok {
				e.Path, e.Digest, e.Size = name, digest.FromString(bytes), int64(len(bytes))
			} else if name, target, ok := strings.Cut(file, ">"); ok {
				e.Path, e.Type, e.Mode, e.LinkTarget = name, "symlink", 0o777, target
			} else {
				e.Path, e.Type, e.Mode = strings.TrimSuffix(file, "/"), "directory", 0o755
			}
			x.Files = append(x.Files, e)
		}
		n := &node[ToolProvider]{
			document: document{path: words[0] + ".json", text: []byte("{}"), limits: strictjson.DefaultLimits(), turn: &v.turn},
			doc:      ToolProvider{ID: words[0], Version: "1.0.0", Variants: []Variant{x}},
		}
		n.variantDigests = make([]digest.Digest, 1)
		v.providers = append(v.providers, n)
		v.providerByKey[ProviderKey{words[0], "1.0.0"}] = n
		v.catalog.doc.ToolProviders = append(v.catalog.doc.ToolProviders, CatalogEntry{ID: words[0], Version: "1.0.0"})
	}
	for i, line := range compositions {
		n := &node[Composition]{document: document{path: fmt.Sprintf("%d.json", i)}, doc: Composition{Platform: platform}}
		for _, id := range strings.Fields(line) {
			n.doc.ToolProviders = append(n.doc.ToolProviders, ResolvedProvider{ID: id, Version: "1.0.0"})
		}
		v.compositions = append(v.compositions, n)
	}
	v.checkDependencies()
	return v
}

func TestCollisions(t *testing.T) {
	for _, tc := range []struct {
		name         string
		bundles      []string
		compositions []string
		// want names the bundle that the problem is reported at, its entry, and what it collides with.
		want []string
	}{
		{"nothing in common", []string{"a /opt/a: x=1", "b /opt/b: x=2"}, []string{"a b"}, nil},
		{"the same bytes", []string{"a /opt: x=1", "b /opt: x=1"}, []string{"a b"}, nil},
		{"other bytes", []string{"a /opt: x=1", "b /opt: x=2"}, []string{"a b"}, []string{"b.json /opt/x a@1.0.0 0.json"}},
		{"other bytes, but never together", []string{"a /opt: x=1", "b /opt: x=2"}, []string{"a", "b"}, nil},
		{"together by a dependency", []string{"a /opt: x=1", "b /opt: x=2", "c /opt/c a: y=1"}, []string{"b", "c", "b c"}, []string{"b.json /opt/x a@1.0.0 2.json"}},
		{"in one composition of three", []string{"a /opt: x=1", "b /opt: x=2"}, []string{"a", "b a", "a b"}, []string{"b.json /opt/x a@1.0.0 1.json"}},
		{"a provider and its dependency", []string{"a /opt b: x=1", "b /opt: x=2"}, []string{"a"}, []string{"b.json /opt/x a@1.0.0 0.json"}},
		{"different roots, one destination", []string{"a /opt: lib/x=1", "b /opt/lib: x=2"}, []string{"a b"}, []string{"b.json /opt/lib/x a@1.0.0 0.json"}},
		{"file and directory", []string{"a /opt: x=1", "b /opt: x/"}, []string{"a b"}, []string{"b.json /opt/x a@1.0.0 0.json"}},
		{"the same directory", []string{"a /opt: x/ x/a=1", "b /opt: x/ x/b=1"}, []string{"a b"}, nil},
		{"the same symlink", []string{"a /opt: x>y", "b /opt: x>y"}, []string{"a b"}, nil},
		{"another target", []string{"a /opt: x>y", "b /opt: x>z"}, []string{"a b"}, []string{"b.json /opt/x a@1.0.0 0.json"}},
		{"below a file", []string{"a /opt: x=1", "b /opt: x/y=1"}, []string{"a b"}, []string{"b.json /opt/x/y a@1.0.0 0.json"}},
		{"below a symlink, the other way round", []string{"a /opt: x/y/z=1", "b /opt: x>y"}, []string{"a b"}, []string{"a.json /opt/x/y/z b@1.0.0 0.json"}},
		{"below a directory", []string{"a /opt: x/", "b /opt: x/y=1"}, []string{"a b"}, nil},
		{"beside a file whose name begins alike", []string{"a /opt: x=1", "b /opt: x-y=1 xy/z=1 x.d/=1"}, []string{"a b"}, nil},
		{"an install root below a file", []string{"a /opt: tool=1", "b /opt/tool: bin/x=1"}, []string{"a b"}, []string{"b.json /opt/tool/bin/x a@1.0.0 0.json"}},
		{"below a file that is there twice", []string{"a /opt: x=1", "b /opt: x=1", "c /opt: x/y=1"}, []string{"b c"}, []string{"c.json /opt/x/y b@1.0.0 0.json"}},
		{"below a file in a directory that differs", []string{"a /opt: d/x=1", "b /opt: d=1", "c /opt: d/x/y=1"}, []string{"a c"}, []string{"c.json /opt/d/x/y a@1.0.0 0.json"}},
		{"three that differ", []string{"a /opt: x=1", "b /opt: x=2", "c /opt: x=3"}, []string{"c b a"}, []string{"b.json /opt/x a@1.0.0 0.json", "c.json /opt/x a@1.0.0 0.json"}},
		{"two of three that differ", []string{"a /opt: x=1", "b /opt: x=2", "c /opt: x=2"}, []string{"b c", "c a"}, []string{"c.json /opt/x a@1.0.0 1.json"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := collisionValidation(tc.bundles, tc.compositions...)
			require.NoError(t, v.checkCollisions(t.Context()))
			v.found.limit()
			var got []string
			for _, p := range v.found.problems {
				words := strings.FieldsFunc(p.Message, func(r rune) bool { return r == ' ' || r == ',' || r == ';' })
				with := ""
				for _, w := range words {
					if strings.Contains(w, "@1.0.0") {
						with = w
					}
				}
				before, _, _ := strings.Cut(p.Message, " puts both")
				got = append(got, fmt.Sprintf("%s %s %s %s", p.Path, words[0], with, before[strings.LastIndexByte(before, ' ')+1:]))
			}
			require.Equal(t, tc.want, got, v.found.problems)
		})
	}
}

// Many versions of one provider that all bring the same paths must not cost the square of their number.
func TestCollisionsOfManyVersions(t *testing.T) {
	const versions, files = 200, 200
	var bundles, compositions []string
	for i := range versions {
		var b strings.Builder
		fmt.Fprintf(&b, "p%03d /opt/p:", i)
		for j := range files {
			fmt.Fprintf(&b, " f%03d=%d", j, i)
		}
		bundles = append(bundles, b.String())
		compositions = append(compositions, fmt.Sprintf("p%03d", i))
	}
	v := collisionValidation(bundles, compositions...)
	require.NoError(t, v.checkCollisions(t.Context()))
	require.Empty(t, v.found.problems)

	v = collisionValidation(bundles, append(compositions, "p007 p100")...)
	require.NoError(t, v.checkCollisions(t.Context()))
	require.Len(t, v.found.problems, files)
}
