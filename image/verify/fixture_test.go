package verify_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi/elftest"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/image/verify"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/seal"
)

var (
	amd64     = suite.Platforms()[0]
	file      = ocitest.File
	directory = ocitest.Directory
	symlink   = ocitest.Symlink
)

const loader = "/lib64/ld-linux-x86-64.so.2"

func elf(f elftest.File) string { return string(f.Bytes()) }

// baseEntries are the runtime base: as much of a Debian as loaders and scripts need.
func baseEntries() []ocitest.Entry {
	return []ocitest.Entry{
		directory("usr", 0o755), directory("usr/bin", 0o755), directory("usr/lib", 0o755), directory("usr/lib64", 0o755),
		symlink("bin", "usr/bin"), symlink("lib", "usr/lib"), symlink("lib64", "usr/lib64"),
		directory("etc", 0o755), file("etc/passwd", 0o644, "root:x:0:0::/:\nagent:x:1000:1000::/:\n"), file("etc/group", 0o644, "root:x:0:\n"),
		file("etc/ca.crt", 0o644, "certificates"), directory("opt", 0o751), directory("tmp", 0o1777), directory("var", 0o755), directory("var/cache", 0o755),
		file("usr/bin/sh", 0o755, elf(elftest.File{Loader: loader, Needed: []string{"libc.so.6"}})),
		file("usr/lib64/ld-linux-x86-64.so.2", 0o755, elf(elftest.File{Library: true, Soname: "ld-linux-x86-64.so.2"})),
		file("usr/lib/libc.so.6", 0o755, elf(elftest.File{Library: true, Soname: "libc.so.6", Defines: []string{"GLIBC_2.2.5", "GLIBC_2.34"}})),
	}
}

// harnessEntries are what the harness has beside, or on top of, the runtime base.
func harnessEntries() []ocitest.Entry {
	return []ocitest.Entry{
		directory("usr", 0o755), directory("usr/local", 0o755), directory("usr/local/bin", 0o755),
		file("usr/local/bin/harness", 0o755, elf(elftest.File{ISA: 1})),
	}
}

var harnessConfig = dockerspec.DockerOCIImage{Config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispec.ImageConfig{
	User: "agent", Env: []string{"PATH=/usr/local/bin:/usr/bin", "A=1"}, Entrypoint: []string{"harness"}, Cmd: []string{"run"}, WorkingDir: "/tmp",
}}}

// payloads are the bundles' files.
var payloads = map[string]map[string]string{
	"tools": {
		"bin/tools":      elf(elftest.File{Loader: loader, Needed: []string{"libown.so", "libc.so.6"}, RunPath: []string{"$ORIGIN/../lib"}}),
		"lib/libown.so":  elf(elftest.File{Library: true, Soname: "libown.so", Needed: []string{"libc.so.6"}, Versions: []elftest.Versions{{Library: "libc.so.6", Names: []string{"GLIBC_2.34"}}}}),
		"share/data.txt": "data",
	},
	"runtime": {"bin/helper": "#!/bin/sh\n"},
}

type object = map[string]any

// suiteDocuments are the documents of the suite, to be sealed.
func suiteDocuments() map[string]object {
	platform := object{"os": "linux", "architecture": "amd64"}
	header := func(mediaType string, members object) object {
		members["schemaVersion"], members["mediaType"] = suite.SpecVersion, mediaType
		return members
	}
	provider := func(id, entrypoint string, variant object) object {
		dir := "tool-providers/" + id
		maps.Copy(variant, object{
			"platform": platform, "installRoot": "/opt/" + id, "payloadRoot": dir + "/payload", "entrypoint": "/opt/" + id + "/" + entrypoint,
		})
		return header(suite.MediaTypeToolProvider, object{
			"id": id, "version": "1.0.0", "protocol": "mcp", "revision": "2025-11-25",
			"tools": []any{object{
				"name": id + "_call", "inputSchema": object{"path": dir + "/in.json"}, "outputSchema": object{"path": dir + "/out.json"},
			}},
			"variants": []any{variant},
		})
	}
	return map[string]object{
		"agentsuite.json": header(suite.MediaTypeManifest, object{
			"name": "example", "agents": []any{object{"id": "writer", "path": "agents/writer.json"}},
			"toolProviderCatalog":      object{"id": "catalog", "path": "tool-providers/catalog.json"},
			"compositions":             []any{object{"agent": "writer", "platform": platform, "path": "compositions/writer.json"}},
			"toolProviderCompositions": []any{object{"id": "tools", "version": "1.0.0", "platform": platform, "path": "compositions/tools.json"}},
			"buildProfiles":            []any{object{"id": "default", "path": "profile.json"}},
		}),
		"agents/writer.json": header(suite.MediaTypeAgent, object{
			"id": "writer", "description": "Writes.", "instructions": object{"path": "instructions/writer.md"},
			"model":         object{"protocol": "chat", "model": "example", "endpointEnv": "MODEL_ENDPOINT", "secretRefs": []any{"key"}},
			"toolProviders": []any{object{"id": "tools", "version": "1.0.0", "executionMode": "shared-sandbox"}},
		}),
		"tool-providers/catalog.json": header(suite.MediaTypeToolProviderCatalog, object{"toolProviders": []any{
			object{"id": "tools", "version": "1.0.0", "path": "tool-providers/tools/provider.json"},
			object{"id": "runtime", "version": "1.0.0", "path": "tool-providers/runtime/provider.json"},
		}}),
		"tool-providers/tools/provider.json": provider("tools", "bin/tools", object{
			"arguments": []any{"serve"}, "writablePaths": []any{"/var/cache/tools"},
			"environment":  []any{object{"name": "LANGUAGE"}, object{"name": "TOKEN", "required": true, "secret": true, "delivery": "env"}},
			"network":      []any{object{"scheme": "https", "host": "example.org", "port": 443}},
			"runtime":      object{"abi": "gnu", "cpuBaseline": "x86-64-v1", "requiredBasePaths": []any{"/etc/ca.crt"}},
			"dependencies": []any{object{"id": "runtime", "version": "1.0.0"}},
		}),
		"tool-providers/runtime/provider.json": provider("runtime", "bin/helper", object{"runtime": object{"abi": "static", "cpuBaseline": "x86-64-v1"}}),
		"compositions/writer.json":             header(suite.MediaTypeComposition, object{"agent": "writer", "platform": platform, "buildProfile": "default"}),
		"compositions/tools.json": header(suite.MediaTypeToolProviderComposition, object{
			"id": "tools", "version": "1.0.0", "platform": platform, "buildProfile": "default",
		}),
		"profile.json": header(suite.MediaTypeBuildProfile, object{
			"id":          "default",
			"runtimeBase": []any{object{"platform": platform, "imageRef": "registry.example/base"}},
			"harness":     []any{object{"platform": platform, "imageRef": "registry.example/harness"}},
			"sourceEpoch": 1,
		}),
	}
}

// world is a suite with its pinned images, before anything is spoilt.
type world struct {
	t       testing.TB
	stacked bool
	// change changes the documents of the suite before they are sealed.
	change func(map[string]object)

	dir           string
	layout        *ocitest.Layout
	base, harness ocispec.Descriptor
	layoutDir     string
	graph         *suite.Graph
	index         *content.Index
	// prototypes are the images that were built already, by target.
	prototypes map[string]*built
}

func newWorld(t testing.TB, stacked bool, change func(map[string]object)) *world {
	w := &world{t: t, stacked: stacked, layout: ocitest.NewLayout(), dir: t.TempDir(), change: change, prototypes: map[string]*built{}}
	baseLayer := ocitest.NewLayer(t, baseEntries()...)
	w.base = w.layout.Image(t, amd64, dockerspec.DockerOCIImage{}, baseLayer)
	layers := []ocitest.Layer{ocitest.NewLayer(t, harnessEntries()...)}
	if stacked {
		layers = append([]ocitest.Layer{baseLayer}, layers...)
	}
	w.harness = w.layout.Image(t, amd64, harnessConfig, layers...)
	w.layoutDir = w.layout.WriteDir(t)
	w.writeSuite()
	pin := func(repository string, d ocispec.Descriptor) seal.Pin {
		return seal.Pin{Repository: repository, Manifest: func(context.Context, suite.Platform) (suite.Descriptor, error) {
			return suite.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, nil
		}}
	}
	_, err := seal.Seal(t.Context(), w.dir, seal.Options{
		Limits: content.DefaultLimits(), Pins: []seal.Pin{pin("registry.example/base", w.base), pin("registry.example/harness", w.harness)},
	})
	require.NoError(t, err)
	w.index, err = content.Open(t.Context(), w.dir, content.Options{Limits: content.DefaultLimits(), Digest: true})
	require.NoError(t, err)
	graph, report, err := suite.Validate(t.Context(), w.index, content.DefaultLimits())
	require.NoError(t, err)
	require.NoError(t, report.Err())
	w.graph = graph
	return w
}

func (w *world) writeSuite() {
	write := func(name, text string, mode os.FileMode) {
		at := filepath.Join(w.dir, name)
		require.NoError(w.t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(w.t, os.WriteFile(at, []byte(text), mode))
		require.NoError(w.t, os.Chmod(at, mode))
	}
	documents := suiteDocuments()
	if w.change != nil {
		w.change(documents)
	}
	for name, doc := range documents {
		text, err := json.MarshalIndent(doc, "", "  ")
		require.NoError(w.t, err)
		write(name, string(text), 0o644)
	}
	write("instructions/writer.md", "Write.\n", 0o644)
	for id, payload := range payloads {
		write("tool-providers/"+id+"/in.json", `{"type":"object"}`, 0o644)
		write("tool-providers/"+id+"/out.json", `{"type":"string"}`, 0o644)
		for name, text := range payload {
			mode := os.FileMode(0o644)
			if strings.HasPrefix(name, "bin/") {
				mode = 0o755
			}
			write("tool-providers/"+id+"/payload/"+name, text, mode)
		}
	}
	require.NoError(w.t, os.Symlink("data.txt", filepath.Join(w.dir, "tool-providers/tools/payload/share/link")))
	require.NoError(w.t, os.Link(filepath.Join(w.dir, "tool-providers/tools/payload/share/data.txt"), filepath.Join(w.dir, "tool-providers/tools/payload/share/second.txt")))
}

// pinned opens one of the pinned images.
func (w *world) pinned(d ocispec.Descriptor) *ociimage.Image {
	i, err := ociimage.Pinned(w.t.Context(), suite.BaseImage{
		Platform: amd64, ImageRef: "registry.example/pinned@" + string(d.Digest),
		Image: suite.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size},
	}, w.layoutDir, ociimage.Options{})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, i.Close()) })
	return i
}

// built is an image as the builder makes it, in parts that a test can spoil.
type built struct {
	t      testing.TB
	lower  []ocitest.Layer
	layers [][]ocitest.Entry
	config dockerspec.DockerOCIImage
	// components are those of the plan's inventory, by path.
	components map[string]string
	// platform is that of the config and of the index.
	platform, stated suite.Platform
}

// build returns an image of a target that nobody has spoilt.
func (w *world) build(target string) *built {
	if w.prototypes[target] == nil {
		w.prototypes[target] = w.make(target)
	}
	b := *w.prototypes[target]
	b.t = w.t
	b.layers = slices.Clone(b.layers)
	for i := range b.layers {
		b.layers[i] = slices.Clone(b.layers[i])
	}
	b.components = maps.Clone(b.components)
	b.config.Config.Labels = maps.Clone(b.config.Config.Labels)
	b.config.Config.Entrypoint = slices.Clone(b.config.Config.Entrypoint)
	return &b
}

// make does by hand what the builder makes BuildKit do.
func (w *world) make(target string) *built {
	t := w.t
	sel, err := w.graph.Select(target, amd64)
	require.NoError(t, err)
	in := image.Inputs{Selection: sel, Index: w.index, SuiteDigest: w.index.SuiteDigest}
	scan := func(d ocispec.Descriptor) *image.Scan {
		rootfs, err := w.pinned(d).Flatten(t.Context(), ociimage.Keep{})
		require.NoError(t, err)
		return rootfs.Scan
	}
	in.Base = image.Source{Pin: sel.RuntimeBase, Config: w.pinned(w.base).Config}
	scans := image.Scans{Base: scan(w.base)}
	if sel.Harness != nil {
		in.Harness = &image.Source{Pin: *sel.Harness, Config: w.pinned(w.harness).Config}
		scans.Harness = scan(w.harness)
	}
	in.Objects, err = image.ScanContent(t.Context(), w.dir, w.index)
	require.NoError(t, err)
	recipe, err := image.NewRecipe(in)
	require.NoError(t, err)
	composed, inventory, err := image.Compose(t.Context(), recipe, scans)
	require.NoError(t, err)
	plan, err := image.NewPlan(in, composed)
	require.NoError(t, err)

	b := &built{t: t, config: plan.Config, components: map[string]string{}, platform: amd64, stated: amd64}
	var listed image.Inventory
	require.NoError(t, json.Unmarshal(inventory, &listed))
	for _, e := range listed.Entries {
		b.components[e.Path] = e.Component
	}
	for _, l := range plan.Layers {
		switch l.Kind {
		case image.LayerRuntimeBase:
			b.lower = append(b.lower, ocitest.NewLayer(t, baseEntries()...))
		case image.LayerHarnessStacked:
			if len(b.lower) == 0 {
				b.lower = append(b.lower, ocitest.NewLayer(t, baseEntries()...))
			}
			b.lower = append(b.lower, ocitest.NewLayer(t, harnessEntries()...))
		case image.LayerHarnessBeside:
			b.layers = append(b.layers, harnessEntries())
		default:
			b.layers = append(b.layers, w.layer(l, inventory))
		}
	}
	return b
}

// layer makes a generated layer.
func (w *world) layer(l image.Layer, inventory []byte) []ocitest.Entry {
	var entries []ocitest.Entry
	made := map[string]bool{".": true}
	var parents func(p string)
	parents = func(p string) {
		if dir := path.Dir(p); !made[dir] {
			parents(dir)
			made[dir] = true
			entries = append(entries, directory(dir, 0o755))
		}
	}
	for _, b := range l.Bundles {
		for _, e := range w.index.Below(b.PayloadRoot) {
			at := path.Join(strings.TrimPrefix(b.InstallRoot, "/"), strings.TrimPrefix(e.Path, b.PayloadRoot+"/"))
			parents(at)
			switch e.Type {
			case content.Directory:
				made[at] = true
				entries = append(entries, directory(at, 0o755))
			case content.Symlink:
				entries = append(entries, symlink(at, e.LinkTarget))
			default:
				raw, err := os.ReadFile(filepath.Join(w.dir, e.Path))
				require.NoError(w.t, err)
				entries = append(entries, file(at, int64(e.Mode), string(raw)))
			}
		}
	}
	for _, e := range slices.Concat(l.Directories, l.Restored) {
		entries = append(entries, directory(e.Path, int64(e.Mode)).Owned(e.UID, e.GID))
	}
	for _, f := range l.Files {
		text := f.Text
		switch {
		case f.Content != "":
			raw, err := os.ReadFile(filepath.Join(w.dir, f.Content))
			require.NoError(w.t, err)
			text = string(raw)
		case text == "":
			text = string(inventory)
		}
		entries = append(entries, file(f.Path, int64(f.Mode), text))
	}
	return entries
}

// entry finds an entry of the generated layers, the topmost.
func (b *built) entry(p string) *ocitest.Entry {
	for _, layer := range slices.Backward(b.layers) {
		for i := range layer {
			if strings.TrimSuffix(layer[i].Name, "/") == p {
				return &layer[i]
			}
		}
	}
	require.FailNow(b.t, "no entry "+p)
	return nil
}

func (b *built) remove(p string) {
	for i := range b.layers {
		b.layers[i] = slices.DeleteFunc(b.layers[i], func(e ocitest.Entry) bool { return strings.TrimSuffix(e.Name, "/") == p })
	}
}

func (b *built) add(entries ...ocitest.Entry) {
	b.layers = append(b.layers, entries)
}

// edit changes an embedded document.
func (b *built) edit(p string, change func(object)) {
	e := b.entry(p)
	var doc object
	require.NoError(b.t, json.Unmarshal([]byte(e.Content), &doc))
	change(doc)
	text, err := json.Marshal(doc) // sorted members, no white space: canonical enough for what is here
	require.NoError(b.t, err)
	e.Content = string(text)
}

// contract changes the runtime contract.
func (b *built) contract(change func(*specs.Spec)) {
	e := b.entry(image.RuntimePath)
	var spec specs.Spec
	require.NoError(b.t, json.Unmarshal([]byte(e.Content), &spec))
	change(&spec)
	text, err := json.Marshal(spec)
	require.NoError(b.t, err)
	e.Content = string(text)
}

func (b *built) label(name, value string) { b.config.Config.Labels[name] = value }

// reseal makes inventory, binding and labels true again after a change, so that one fault is left.
func (b *built) reseal() {
	rootfs, err := b.open().Flatten(b.t.Context(), ociimage.Keep{})
	require.NoError(b.t, err)
	inventory := image.Inventory{Platform: amd64}
	for _, e := range rootfs.Scan.Entries {
		if e.Path == image.InventoryPath || e.Path == image.BindingPath {
			continue
		}
		if e.Component = b.components[e.Path]; e.Component == "" {
			e.Component = image.ComponentRuntimeBase
			if strings.HasPrefix(e.Path, image.MetadataDir) {
				e.Component = image.ComponentMetadata
			}
		}
		inventory.Entries = append(inventory.Entries, e)
	}
	b.inventory(inventory.Canonical())
}

// inventory puts an inventory in, and makes binding and labels state it.
func (b *built) inventory(text []byte) {
	b.entry(image.InventoryPath).Content = string(text)
	b.label(image.LabelInventoryDigest, string(digest.FromBytes(text)))
	if b.has(image.BindingPath) {
		b.edit(image.BindingPath, func(doc object) {
			doc["inventory"] = object{"mediaType": image.MediaTypeInventory, "digest": digest.FromBytes(text), "size": len(text)}
		})
		b.rebind()
	}
}

// editInventory changes the entries of the inventory.
func (b *built) editInventory(change func(entries []image.Entry) []image.Entry) {
	var inventory image.Inventory
	require.NoError(b.t, json.Unmarshal([]byte(b.entry(image.InventoryPath).Content), &inventory))
	inventory.Entries = change(inventory.Entries)
	b.inventory(inventory.Canonical())
}

// rebind makes the label state the binding.
func (b *built) rebind() {
	b.label(image.LabelBindingDigest, string(digest.FromString(b.entry(image.BindingPath).Content)))
}

// recompose makes the binding state the composition, and the labels both.
func (b *built) recompose() {
	text := b.entry(image.CompositionPath).Content
	b.edit(image.BindingPath, func(doc object) {
		doc["composition"] = object{"mediaType": suite.MediaTypeComposition, "digest": digest.FromString(text), "size": len(text)}
	})
	b.label(image.LabelCompositionDigest, string(digest.FromString(text)))
	b.rebind()
}

func (b *built) has(p string) bool {
	return slices.ContainsFunc(slices.Concat(b.layers...), func(e ocitest.Entry) bool { return e.Name == p })
}

// write writes the image into a layout.
func (b *built) write() string {
	layout := ocitest.NewLayout()
	layers := slices.Clone(b.lower)
	for _, entries := range b.layers {
		layers = append(layers, ocitest.NewLayer(b.t, entries...))
	}
	d := layout.Image(b.t, b.platform, b.config, layers...)
	d.Platform = &ocispec.Platform{OS: b.stated.OS, Architecture: b.stated.Architecture}
	layout.Index.Manifests = []ocispec.Descriptor{d}
	return layout.WriteDir(b.t)
}

func (b *built) open() *ociimage.Image {
	source, err := ociimage.Open(b.t.Context(), b.write(), ociimage.Options{})
	require.NoError(b.t, err)
	b.t.Cleanup(func() { require.NoError(b.t, source.Close()) })
	images, err := source.Images(b.t.Context())
	require.NoError(b.t, err)
	require.Len(b.t, images, 1)
	return images[0]
}

func (b *built) verify(opts verify.Options) *verify.Report {
	report, err := verify.Image(b.t.Context(), b.open(), opts)
	require.NoError(b.t, err)
	return report
}
