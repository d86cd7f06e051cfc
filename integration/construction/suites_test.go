//go:build integration

package construction_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/seal"
)

// The repositories that the suites pin their images in.
const (
	baseName    = "registry.example/base"
	harnessName = "registry.example/harness"
	sourceEpoch = 1_767_225_600
)

// spec is a suite to author. Every agent has the harness and all tool providers, in their order.
type spec struct {
	agents    []string         // "agent" if empty
	platforms []suite.Platform // amd64 if empty
	providers []provider
	base      img
	harness   img // beside if it has no layers
	// instructions are those of every agent.
	instructions string
}

// provider is a tool provider with a variant for every platform.
type provider struct {
	id string
	// root is the install root; empty means /opt/<id>.
	root string
	// payload are the files of every variant; of is more of them for one platform.
	payload []ocitest.Entry
	of      map[suite.Platform][]ocitest.Entry
	// entrypoint lies in the payload; empty means the first executable file.
	entrypoint string
	// variant has members of every variant that are not the usual.
	variant map[string]any
	// needs are the ids of tool providers whose bundles come along.
	needs []string
}

// tool is a tool provider of one program and whatever more it is given.
func tool(id string, more ...ocitest.Entry) provider {
	return provider{id: id, payload: append([]ocitest.Entry{ocitest.File("bin/"+id, 0o755, id+"\n")}, more...)}
}

// at is the tool provider at another install root.
func (p provider) at(root string) provider {
	p.root = root
	return p
}

// with is the tool provider with members of its variants changed.
func (p provider) with(members map[string]any) provider {
	p.variant = members
	return p
}

func (p provider) installRoot() string {
	if p.root == "" {
		return "/opt/" + p.id
	}
	return p.root
}

// authored is a sealed suite and where its images lie.
type authored struct {
	spec          spec
	dir           string
	base, harness string
}

// author writes the suite into a new directory and seals it.
func (s spec) author(t *testing.T) authored {
	t.Helper()
	a := s.draft(t)
	require.NoError(t, a.seal(t))
	return a
}

// draft is the suite before it is sealed.
func (s spec) draft(t *testing.T) authored {
	t.Helper()
	s = s.completed(t)
	a := authored{spec: s, dir: t.TempDir(), base: s.base.layout(t, s.platforms...), harness: s.harness.layout(t, s.platforms...)}
	s.write(t, a.dir)
	return a
}

func (s spec) completed(t *testing.T) spec {
	t.Helper()
	if len(s.agents) == 0 {
		s.agents = []string{"agent"}
	}
	if len(s.platforms) == 0 {
		s.platforms = []suite.Platform{amd64}
	}
	if s.base.layers == nil {
		s.base = debian(t)
	}
	if s.harness.layers == nil {
		s.harness = beside(t)
	}
	if s.instructions == "" {
		s.instructions = "Do what is asked.\n"
	}
	return s
}

// seal computes what follows from the rest, as an author does after every change.
func (a authored) seal(t *testing.T) error {
	t.Helper()
	pin := func(repository, layout string) seal.Pin {
		return seal.Pin{Repository: repository, Manifest: func(ctx context.Context, p suite.Platform) (suite.Descriptor, error) {
			return ociimage.Manifest(ctx, "oci-layout://"+layout, p, ociimage.Options{})
		}}
	}
	_, err := seal.Seal(t.Context(), a.dir, seal.Options{
		Limits: content.DefaultLimits(), Pins: []seal.Pin{pin(baseName, a.base), pin(harnessName, a.harness)},
	})
	return err
}

type object = map[string]any

func (s spec) write(t *testing.T, dir string) {
	t.Helper()
	doc := func(name, mediaType string, members object) {
		members["schemaVersion"], members["mediaType"] = suite.SpecVersion, mediaType
		text, err := json.MarshalIndent(members, "", "  ")
		require.NoError(t, err)
		writeFile(t, dir, name, string(text)+"\n")
	}
	var agents, compositions, providerCompositions, catalog, required []object
	for _, p := range s.providers {
		at := "tool-providers/" + p.id
		catalog = append(catalog, object{"id": p.id, "version": "1.0.0", "path": at + "/tool-provider.json"})
		required = append(required, object{"id": p.id, "version": "1.0.0", "executionMode": suite.ExecutionModeSharedSandbox})
		writeFile(t, dir, at+"/in.json", `{"type": "object"}`)
		var variants []object
		for _, platform := range s.platforms {
			variants = append(variants, p.write(t, dir, platform))
			c := fmt.Sprintf("tool-provider-compositions/%s-%s.json", p.id, platform.Architecture)
			providerCompositions = append(providerCompositions, object{"id": p.id, "version": "1.0.0", "platform": platform, "path": c})
			doc(c, suite.MediaTypeToolProviderComposition, object{"id": p.id, "version": "1.0.0", "platform": platform, "buildProfile": "default"})
		}
		doc(at+"/tool-provider.json", suite.MediaTypeToolProvider, object{
			"id": p.id, "version": "1.0.0", "protocol": "mcp", "revision": "2025-11-25",
			"tools":    []object{{"name": p.id + "_tool", "description": "A tool.", "inputSchema": object{"path": at + "/in.json"}}},
			"variants": variants,
		})
	}
	for _, id := range s.agents {
		at := "agents/" + id + ".json"
		agents = append(agents, object{"id": id, "path": at})
		writeFile(t, dir, "instructions/"+id+".md", s.instructions)
		doc(at, suite.MediaTypeAgent, object{
			"id": id, "description": "An agent.", "instructions": object{"path": "instructions/" + id + ".md"},
			"model": object{"protocol": "any", "model": "any"}, "toolProviders": emptyNotNull(required),
		})
		for _, platform := range s.platforms {
			c := fmt.Sprintf("compositions/%s-%s.json", id, platform.Architecture)
			compositions = append(compositions, object{"agent": id, "platform": platform, "path": c})
			doc(c, suite.MediaTypeComposition, object{"agent": id, "platform": platform, "buildProfile": "default"})
		}
	}
	images := func(repository string) (pins []object) {
		for _, platform := range s.platforms {
			pins = append(pins, object{"platform": platform, "imageRef": repository})
		}
		return pins
	}
	doc("build-profiles/default.json", suite.MediaTypeBuildProfile, object{
		"id": "default", "runtimeBase": images(baseName), "harness": images(harnessName), "sourceEpoch": sourceEpoch,
	})
	doc("tool-providers/catalog.json", suite.MediaTypeToolProviderCatalog, object{"toolProviders": emptyNotNull(catalog)})
	doc("agentsuite.json", suite.MediaTypeManifest, object{
		"name": "construction", "agents": agents, "toolProviderCatalog": object{"id": "catalog", "path": "tool-providers/catalog.json"},
		"compositions": compositions, "toolProviderCompositions": emptyNotNull(providerCompositions),
		"buildProfiles": []object{{"id": "default", "path": "build-profiles/default.json"}},
	})
}

func emptyNotNull(list []object) []object { return append([]object{}, list...) }

// write writes the payload of one variant and returns the variant.
func (p provider) write(t *testing.T, dir string, platform suite.Platform) object {
	t.Helper()
	payload := path.Join("tool-providers", p.id, "linux-"+platform.Architecture)
	entries := append(slices.Clip(p.payload), p.of[platform]...)
	writeEntries(t, filepath.Join(dir, payload), entries)
	entrypoint := p.entrypoint
	if entrypoint == "" {
		first := slices.IndexFunc(entries, func(e ocitest.Entry) bool { return e.Typeflag == tar.TypeReg && e.Mode&0o111 != 0 })
		entrypoint = entries[first].Name
	}
	baseline := map[suite.Platform]string{amd64: "x86-64-v1", arm64: "armv8-a"}[platform]
	v := object{
		"platform": platform, "installRoot": p.installRoot(), "payloadRoot": payload,
		"entrypoint": path.Join(p.installRoot(), entrypoint), "runtime": object{"abi": "static", "cpuBaseline": baseline},
	}
	if len(p.needs) > 0 {
		var needs []object
		for _, id := range p.needs {
			needs = append(needs, object{"id": id, "version": "1.0.0"})
		}
		v["dependencies"] = needs
	}
	for name, value := range p.variant {
		v[name] = value
	}
	return v
}

// writeEntries unpacks entries below a directory that is made for them.
func writeEntries(t *testing.T, dir string, entries []ocitest.Entry) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	var directories []ocitest.Entry
	for _, e := range entries {
		name := filepath.Join(dir, e.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		switch e.Typeflag {
		case tar.TypeDir:
			require.NoError(t, os.MkdirAll(name, 0o755))
			directories = append(directories, e)
		case tar.TypeReg:
			require.NoError(t, os.WriteFile(name, []byte(e.Content), 0o644))
			require.NoError(t, os.Chmod(name, fs.FileMode(e.Mode)))
		case tar.TypeSymlink:
			require.NoError(t, os.Symlink(e.Linkname, name))
		case tar.TypeLink:
			require.NoError(t, os.Link(filepath.Join(dir, e.Linkname), name))
		default:
			t.Fatalf("%s: no payload has a %q", e.Name, e.Typeflag)
		}
	}
	for _, e := range slices.Backward(directories) {
		require.NoError(t, os.Chmod(filepath.Join(dir, e.Name), fs.FileMode(e.Mode)))
	}
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(t, os.WriteFile(at, []byte(text), 0o644))
}

// edit replaces text in a file of a suite; it must be there.
func (a authored) edit(t *testing.T, name, from, to string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(a.dir, name))
	require.NoError(t, err)
	require.Contains(t, string(data), from, name)
	writeFile(t, a.dir, name, strings.ReplaceAll(string(data), from, to))
}
