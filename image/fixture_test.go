package image_test

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// dir, file and link make entries of root filesystems and of payloads.

func dir(p string, mode uint32) image.Entry {
	return image.Entry{Path: p, Type: content.Directory, Mode: mode}
}

func file(p string, mode uint32, data string) image.Entry {
	return image.Entry{Path: p, Type: content.File, Mode: mode, Size: int64(len(data)), Digest: digest.FromString(data)}
}

func link(p, target string) image.Entry {
	return image.Entry{Path: p, Type: content.Symlink, Mode: 0o777, LinkTarget: target}
}

func owned(e image.Entry, uid, gid int) image.Entry {
	e.UID, e.GID = uid, gid
	return e
}

// scanOf is the scan of a filesystem with these entries, and the parents that they lack.
func scanOf(entries ...image.Entry) *image.Scan {
	have := map[string]bool{".": true}
	for _, e := range entries {
		have[e.Path] = true
	}
	for _, e := range slices.Clone(entries) {
		for p := path.Dir(e.Path); !have[p]; p = path.Dir(p) {
			have[p] = true
			entries = append(entries, dir(p, 0o755))
		}
	}
	slices.SortFunc(entries, func(a, b image.Entry) int { return strings.Compare(a.Path, b.Path) })
	return &image.Scan{Entries: entries, Files: map[string][]byte{}, Objects: map[string]abi.Facts{}}
}

const (
	debianPasswd = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\nwww-data:x:33:33::/var/www:/usr/sbin/nologin\napp:x:1000:1234::/home/app:/bin/sh\n"
	debianGroup  = "root:x:0:\ndaemon:x:1:\nwww-data:x:33:\nstaff:x:50:\napp:x:1234:\n"
)

// debian is a base in which the things are that trip a composition up: merged /usr, links to /run, a
// sticky /tmp, a private /root, a set-group directory of another group, an /opt with an odd mode.
func debian(more ...image.Entry) *image.Scan {
	scan := scanOf(append([]image.Entry{
		link("bin", "usr/bin"), link("lib", "usr/lib"), link("lib64", "usr/lib64"), link("sbin", "usr/sbin"),
		dir("boot", 0o755), dir("dev", 0o755), dir("home", 0o755), dir("proc", 0o755), dir("run", 0o755), dir("sys", 0o755), dir("srv", 0o755),
		dir("opt", 0o775), dir("root", 0o700), dir("tmp", 0o1777), dir("var/tmp", 0o1777),
		owned(dir("var/local", 0o2775), 0, 50), owned(dir("var/mail", 0o2775), 0, 8),
		link("var/run", "/run"), link("var/lock", "/run/lock"), dir("run/lock", 0o1777),
		file("etc/passwd", 0o644, debianPasswd), file("etc/group", 0o644, debianGroup),
		file("etc/debian_version", 0o644, "13.1\n"), link("etc/mtab", "../proc/mounts"),
		file("usr/bin/env", 0o755, "env"), file("usr/bin/dash", 0o755, "dash"), link("usr/bin/sh", "dash"),
		file("usr/lib/x86_64-linux-gnu/libc.so.6", 0o755, "libc"), link("usr/lib64/ld-linux-x86-64.so.2", "../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
		file("usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", 0o755, "ld"),
		dir("usr/sbin", 0o755), dir("usr/local/bin", 0o755), file("root/.bashrc", 0o644, "# bash\n"),
	}, more...)...)
	scan.Files["etc/passwd"] = []byte(debianPasswd)
	scan.Files["etc/group"] = []byte(debianGroup)
	scan.Objects["usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"] = abi.Facts{ELF: &abi.ELF{Machine: "amd64", Soname: "ld-linux-x86-64.so.2"}}
	scan.Objects["usr/lib/x86_64-linux-gnu/libc.so.6"] = abi.Facts{ELF: &abi.ELF{Machine: "amd64", Soname: "libc.so.6"}}
	return scan
}

var amd64 = suite.Platform{OS: "linux", Architecture: "amd64"}

// bundle is one tool provider of a test's suite.
type bundle struct {
	id string
	// root is the install root; empty means /opt/<id>.
	root string
	// files are the inventoried entries, below the payload root.
	files []image.Entry
	// unlisted are payload entries that the inventory leaves out.
	unlisted []image.Entry
	// hardlinks are further names of files: name to file.
	hardlinks map[string]string
	// objects are the facts of files, by payload path.
	objects map[string]abi.Facts
	// variant changes the variant.
	variant func(*suite.Variant)
}

func (b bundle) payloadRoot() string { return "tool-providers/" + b.id + "/linux-amd64" }

func (b bundle) inventory() []suite.InventoryEntry {
	var entries []suite.InventoryEntry
	for _, f := range b.files {
		entries = append(entries, suite.InventoryEntry{
			Path: f.Path, Type: f.Type, Mode: f.Mode, Size: f.Size, Digest: f.Digest, LinkTarget: f.LinkTarget,
		})
	}
	for name, target := range b.hardlinks {
		entries = append(entries, suite.InventoryEntry{Path: name, Type: content.Hardlink, Mode: 0o644, LinkTarget: path.Join(b.payloadRoot(), target)})
	}
	return entries
}

// world is the suite and the pinned images that a test plans from.
type world struct {
	t       testing.TB
	bundles []bundle
	base    *image.Scan
	harness *image.Scan
	// change changes the inputs before they are used.
	change func(*image.Inputs)
	// stacked makes the harness the base plus one layer.
	stacked bool
	// provider plans the image of the first bundle instead of the agent's.
	provider bool
}

const instructions = "Tell the time.\n"

func (w world) inputs() image.Inputs {
	t := w.t
	index := &content.Index{Form: content.FormDirectory, Texts: map[string][]byte{}}
	in := image.Inputs{Index: index, SuiteDigest: digest.FromString("suite"), Objects: map[string]abi.Facts{}}
	add := func(p string, data []byte) suite.FileReference {
		index.Texts[p] = data
		d := digest.FromBytes(data)
		index.Entries = append(index.Entries, content.Entry{Path: p, Type: content.File, Mode: 0o644, Size: int64(len(data)), Digest: d})
		return suite.FileReference{Path: p, Digest: d}
	}
	document := func(p string, doc any) digest.Digest {
		text, err := json.MarshalIndent(doc, "", "  ")
		require.NoError(t, err)
		add(p, text)
		d, err := suite.DocumentDigest(text)
		require.NoError(t, err)
		return d
	}
	header := func(mediaType string) suite.Header {
		return suite.Header{SchemaVersion: suite.SpecVersion, MediaType: mediaType}
	}

	var selected []suite.Bundle
	var resolved []suite.ResolvedProvider
	for _, b := range w.bundles {
		root := b.payloadRoot()
		variant := suite.Variant{
			Platform: amd64, VariantDigest: digest.FromString("variant " + b.id),
			InstallRoot: b.root, PayloadRoot: root,
			Runtime: suite.RuntimeNeeds{ABI: "static", CPUBaseline: "x86-64-v1"},
			Files:   b.inventory(),
		}
		if b.root == "" {
			variant.InstallRoot = "/opt/" + b.id
		}
		variant.Entrypoint = variant.InstallRoot + "/bin/" + b.id
		if b.variant != nil {
			b.variant(&variant)
		}
		for _, e := range slices.Concat([]image.Entry{dir("", 0o755)}, b.files, b.unlisted) {
			if index.Entries = append(index.Entries, content.Entry{
				Path: path.Join(root, e.Path), Type: e.Type, Mode: e.Mode, Size: e.Size, Digest: e.Digest, LinkTarget: e.LinkTarget,
			}); b.objects != nil {
				if facts, ok := b.objects[e.Path]; ok {
					in.Objects[path.Join(root, e.Path)] = facts
				}
			}
		}
		for name, target := range b.hardlinks {
			index.Entries = append(index.Entries, content.Entry{Path: path.Join(root, name), Type: content.Hardlink, Mode: 0o644, LinkTarget: path.Join(root, target)})
		}
		doc := suite.ToolProvider{
			Header: header(suite.MediaTypeToolProvider), ID: b.id, Version: "1.0.0", Protocol: "mcp", Revision: "2025-06-18",
			Tools: []suite.Tool{{
				Name:        b.id + "_tool",
				InputSchema: add("tool-providers/"+b.id+"/in.json", []byte(`{"type": "object"}`)),
			}},
			Variants: []suite.Variant{variant},
		}
		p := "tool-providers/" + b.id + "/tool-provider.json"
		d := document(p, doc)
		selected = append(selected, suite.Bundle{Provider: suite.Loaded[suite.ToolProvider]{Path: p, Digest: d, Doc: doc}, Variant: &doc.Variants[0]})
		resolved = append(resolved, suite.ResolvedProvider{
			ID: b.id, Version: "1.0.0", ManifestDigest: d, VariantDigest: variant.VariantDigest, ExecutionMode: suite.ExecutionModeSharedSandbox,
		})
	}

	pin := func(name string) suite.BaseImage {
		d := digest.FromString(name)
		return suite.BaseImage{Platform: amd64, ImageRef: "registry.example/" + name + "@" + d.String(), Image: suite.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: d, Size: 500}}
	}
	profile := suite.BuildProfile{
		Header: header(suite.MediaTypeBuildProfile), ID: "default", SourceEpoch: 1_700_000_000,
		RuntimeBase: []suite.BaseImage{pin("base")}, Harness: []suite.BaseImage{pin("harness")},
	}
	sel := &suite.Selection{
		Platform: amd64, RuntimeBase: profile.RuntimeBase[0], Bundles: selected,
		Profile: suite.Loaded[suite.BuildProfile]{Path: "build-profiles/default.json", Digest: document("build-profiles/default.json", profile), Doc: profile},
	}
	in.Selection = sel
	in.Base = image.Source{Pin: sel.RuntimeBase, Config: imageConfig("base")}
	if w.provider {
		doc := suite.ToolProviderComposition{
			Header: header(suite.MediaTypeToolProviderComposition), ID: w.bundles[0].id, Version: "1.0.0", Platform: amd64, BuildProfile: "default",
			ManifestDigest: selected[0].Provider.Digest, VariantDigest: selected[0].Variant.VariantDigest,
		}
		p := "tool-provider-compositions/x.json"
		sel.Target = selected[0].Key().String()
		sel.ToolProviderComposition = &suite.Loaded[suite.ToolProviderComposition]{Path: p, Digest: document(p, doc), Doc: doc}
	} else {
		agent := suite.Agent{
			Header: header(suite.MediaTypeAgent), ID: "clock",
			Instructions: add("instructions/clock.md", []byte(instructions)),
			Model:        suite.Model{Protocol: "openai", Model: "any", EndpointEnv: "MODEL_ENDPOINT", SecretRefs: []string{"model-key"}},
		}
		composition := suite.Composition{Header: header(suite.MediaTypeComposition), Agent: "clock", Platform: amd64, BuildProfile: "default", ToolProviders: resolved}
		p := "compositions/clock-linux-amd64.json"
		sel.Target = "clock"
		sel.Agent = &suite.Loaded[suite.Agent]{Path: "agents/clock.json", Digest: document("agents/clock.json", agent), Doc: agent}
		sel.Composition = &suite.Loaded[suite.Composition]{Path: p, Digest: document(p, composition), Doc: composition}
		sel.Harness = &profile.Harness[0]
		harness := imageConfig("harness")
		if w.stacked {
			harness.RootFS.DiffIDs = slices.Concat(in.Base.Config.RootFS.DiffIDs, harness.RootFS.DiffIDs)
			harness.History = slices.Concat(in.Base.Config.History, harness.History)
		}
		in.Harness = &image.Source{Pin: *sel.Harness, Config: harness}
	}
	slices.SortFunc(index.Entries, func(a, b content.Entry) int { return strings.Compare(a.Path, b.Path) })
	if w.change != nil {
		w.change(&in)
	}
	return in
}

// imageConfig is the config of an image of one layer.
func imageConfig(name string) dockerspec.DockerOCIImage {
	return dockerspec.DockerOCIImage{
		Image: ocispec.Image{
			Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"},
			RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromString(name + " layer")}},
			History:  []ocispec.History{{CreatedBy: "COPY " + name}},
		},
		Config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispec.ImageConfig{
			User: "1000:1000", Entrypoint: []string{"/usr/bin/" + name}, Env: []string{"PATH=/usr/bin:/bin", "FROM=" + name},
		}},
	}
}

func (w world) scans() image.Scans {
	scans := image.Scans{Base: w.base, Harness: w.harness}
	if scans.Base == nil {
		scans.Base = debian()
	}
	if scans.Harness == nil && !w.provider {
		scans.Harness = scanOf(file("usr/bin/harness", 0o755, "harness"))
		if w.stacked {
			scans.Harness = scanOf(append(slices.Clone(scans.Base.Entries), file("usr/bin/harness", 0o755, "harness"))...)
			scans.Harness.Files, scans.Harness.Objects = scans.Base.Files, scans.Base.Objects
		}
	}
	return scans
}

// compose composes the world, and checks what holds of every composition.
func (w world) compose() (*image.Composed, *image.Inventory) {
	w.t.Helper()
	recipe, err := image.NewRecipe(w.inputs())
	require.NoError(w.t, err)
	composed, text, err := image.Compose(w.t.Context(), recipe, w.scans())
	require.NoError(w.t, err)
	if len(composed.Problems) > 0 {
		require.Nil(w.t, text)
		return composed, nil
	}
	require.Equal(w.t, digest.FromBytes(text), composed.Inventory.Digest)
	require.EqualValues(w.t, len(text), composed.Inventory.Size)
	var inventory image.Inventory
	require.NoError(w.t, json.Unmarshal(text, &inventory))
	require.Len(w.t, inventory.Entries, composed.Entries)
	require.True(w.t, slices.IsSortedFunc(inventory.Entries, func(a, b image.Entry) int { return strings.Compare(a.Path, b.Path) }))
	return composed, &inventory
}

func (w world) plan() *image.Plan {
	w.t.Helper()
	composed, _ := w.compose()
	require.Empty(w.t, composed.Problems)
	plan, err := image.NewPlan(w.inputs(), composed)
	require.NoError(w.t, err)
	return plan
}

// lines renders problems as a person reads them.
func lines[T interface{ String() string }](problems []T) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

func entryAt(t *testing.T, inventory *image.Inventory, p string) image.Entry {
	t.Helper()
	i := slices.IndexFunc(inventory.Entries, func(e image.Entry) bool { return e.Path == p })
	require.GreaterOrEqual(t, i, 0, "no entry %s", p)
	return inventory.Entries[i]
}
