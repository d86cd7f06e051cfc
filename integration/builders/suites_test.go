//go:build integration

package builders_test

import (
	"cmp"
	"debug/elf"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/abi/elftest"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// sourceEpoch is the one of every suite here.
const sourceEpoch = 1_600_000_000

// The names that the suites here pin their images under; builds find the images through named contexts.
const (
	baseName    = "registry.example/builders/base"
	harnessName = "registry.example/builders/harness"
)

// doc is a document in the making. Digests, inventories and whatever else is computed are left to `agentsuite-llb seal`.
type doc map[string]any

// draft is a suite in the making: agents that all have all the providers.
type draft struct {
	agents    []string // one named "agent" if empty
	platforms []suite.Platform
	providers []provider
	base      pinned
	harness   pinned
}

// provider is a ToolProvider with a variant for every platform of the draft. Its entrypoint is a static program.
type provider struct {
	id string
	// installRoot is /opt/<id> if empty.
	installRoot string
	// files are further files of the payload by path, the same for every platform.
	files map[string]string
	// write adds what is too large for files to the payload in dir.
	write func(t testing.TB, dir string)
	// sbom is an SBOM that the suite holds, as SPDX.
	sbom string
	// dependsOn are ids of other providers.
	dependsOn []string
}

// pinned is an image as an OCI layout that holds the index of its platforms.
type pinned struct {
	layout string
	// repository is where else it lies, in the registry; then builds take it from there.
	repository string
}

// inRegistry pushes an image, for builds that cannot be handed a layout.
func inRegistry(t testing.TB, p pinned, repository string) pinned {
	t.Helper()
	dir, err := ociimage.LayoutDirectory(strings.TrimPrefix(p.layout, "oci-layout://"))
	require.NoError(t, err)
	_, err = example.Registry.Push(t.Context(), dir, repository)
	require.NoError(t, err)
	p.repository = example.Registry.Host + "/" + repository
	return p
}

func (p pinned) place() string {
	if p.repository != "" {
		return "docker-image://" + p.repository
	}
	return p.layout
}

// bundles are providers that are alike but for their names and sizes.
func bundles(n int) []provider {
	providers := make([]provider, n)
	for i := range providers {
		id := fmt.Sprintf("bundle-%03d", i)
		providers[i] = provider{id: id, installRoot: "/opt/agentsuite/" + id, files: map[string]string{"share/text": strings.Repeat(id, i+1)}}
	}
	return providers
}

// pinImage makes an image with the same layers for every platform.
func pinImage(t testing.TB, config dockerspec.DockerOCIImage, layers ...ocitest.Layer) pinned {
	t.Helper()
	layout, index := ocitest.NewLayout(), ocitest.NewLayout()
	for _, platform := range suite.Platforms() {
		index.Index.Manifests = append(index.Index.Manifests, layout.Image(t, platform, config, layers...))
	}
	descriptor := layout.PutJSON(t, index.Index.MediaType, index.Index)
	layout.Index.Manifests = append(layout.Index.Manifests, descriptor)
	return pinned{layout: "oci-layout://" + layout.WriteDir(t) + "@" + descriptor.Digest.String()}
}

// contexts says where a build finds the images of the draft.
func (d draft) contexts() []string {
	return []string{
		"--build-context", baseName + "=" + d.base.place(),
		"--build-context", harnessName + "=" + d.harness.place(),
	}
}

// smallDraft is a suite with one agent and one provider, whose base has directories that a bundle's parents must not
// change: the bundle lies below /root.
func smallDraft(t testing.TB) draft {
	t.Helper()
	return draft{
		base:      smallBase(t),
		harness:   smallHarness(t),
		providers: []provider{{id: "tool", installRoot: "/root/tool", files: map[string]string{"share/data.txt": "data"}}},
	}
}

func smallBase(t testing.TB, more ...ocitest.Layer) pinned {
	t.Helper()
	return pinImage(t, dockerspec.DockerOCIImage{}, append([]ocitest.Layer{ocitest.NewLayer(t,
		ocitest.Directory("etc", 0o755),
		ocitest.File("etc/passwd", 0o644, "root:x:0:0::/root:/bin/sh\n"),
		ocitest.Directory("opt", 0o755),
		ocitest.Directory("root", 0o700),
		ocitest.Directory("tmp", 0o1777),
	)}, more...)...)
}

func smallHarness(t testing.TB) pinned {
	t.Helper()
	var config dockerspec.DockerOCIImage
	config.Config.Entrypoint = []string{"/usr/local/bin/harness"}
	config.Config.User = "65532:65532"
	return pinImage(t, config, ocitest.NewLayer(t,
		ocitest.Directory("usr", 0o755),
		ocitest.Directory("usr/local", 0o755),
		ocitest.Directory("usr/local/bin", 0o755),
		ocitest.File("usr/local/bin/harness", 0o755, string(elftest.File{}.Bytes())),
		ocitest.Directory("tmp", 0o1777),
		ocitest.File("tmp/.harness", 0o644, "harness"),
	))
}

// write writes the suite, seals it, and returns its directory.
func (d draft) write(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(stateDir(t), "suite")
	if len(d.platforms) == 0 {
		d.platforms = suite.Platforms()
	}
	if len(d.agents) == 0 {
		d.agents = []string{"agent"}
	}
	manifest := doc{"name": "builders", "toolProviderCatalog": doc{"id": "catalog", "path": "catalog.json"}}
	var agents, compositions, providerCompositions, catalog, requirements, runtimeBase, harness []doc
	for _, p := range d.providers {
		d.writeProvider(t, dir, p)
		key := doc{"id": p.id, "version": "1.0.0"}
		catalog = append(catalog, with(key, doc{"path": p.manifest()}))
		requirements = append(requirements, with(key, doc{"executionMode": "shared-sandbox"}))
		for _, platform := range d.platforms {
			at := fmt.Sprintf("tool-provider-compositions/%s-%s-%s.json", p.id, platform.OS, platform.Architecture)
			member := with(key, doc{"platform": platform})
			providerCompositions = append(providerCompositions, with(member, doc{"path": at}))
			writeDoc(t, dir, at, "tool.provider.composition", with(member, doc{"buildProfile": "default"}))
		}
	}
	for _, agent := range d.agents {
		at := "agents/" + agent + ".json"
		agents = append(agents, doc{"id": agent, "path": at})
		writeText(t, dir, "instructions/"+agent+".md", "Be "+agent+".\n")
		writeDoc(t, dir, at, "agent", doc{
			"id": agent, "instructions": doc{"path": "instructions/" + agent + ".md"},
			"model": doc{"protocol": "p", "model": "m"}, "toolProviders": requirements,
		})
		for _, platform := range d.platforms {
			at := fmt.Sprintf("compositions/%s-%s-%s.json", agent, platform.OS, platform.Architecture)
			member := doc{"agent": agent, "platform": platform}
			compositions = append(compositions, with(member, doc{"path": at}))
			writeDoc(t, dir, at, "composition", with(member, doc{"buildProfile": "default"}))
		}
	}
	for _, platform := range d.platforms {
		runtimeBase = append(runtimeBase, doc{"platform": platform, "imageRef": baseName})
		harness = append(harness, doc{"platform": platform, "imageRef": harnessName})
	}
	writeDoc(t, dir, "catalog.json", "tool.provider.catalog", doc{"toolProviders": orEmpty(catalog)})
	writeDoc(t, dir, "profile.json", "build.profile", doc{
		"id": "default", "runtimeBase": runtimeBase, "harness": harness, "sourceEpoch": sourceEpoch,
	})
	writeDoc(t, dir, "agentsuite.json", "manifest", with(manifest, doc{
		"agents": agents, "compositions": compositions, "toolProviderCompositions": orEmpty(providerCompositions),
		"buildProfiles": []doc{{"id": "default", "path": "profile.json"}},
	}))
	require.NoError(t, example.Seal(t.Context(), dir, baseName+"="+d.base.layout, harnessName+"="+d.harness.layout))
	return dir
}

func (p provider) manifest() string { return "providers/" + p.id + "/tool-provider.json" }

func (d draft) writeProvider(t testing.TB, dir string, p provider) {
	t.Helper()
	root := path.Dir(p.manifest())
	installRoot := cmp.Or(p.installRoot, "/opt/"+p.id)
	var dependencies []doc
	for _, id := range p.dependsOn {
		dependencies = append(dependencies, doc{"id": id, "version": "1.0.0"})
	}
	var variants []doc
	for _, platform := range d.platforms {
		payload := path.Join(root, platform.OS+"-"+platform.Architecture)
		machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[platform.Architecture]
		writeFile(t, dir, path.Join(payload, "bin", p.id), elftest.File{Machine: machine}.Bytes(), 0o755)
		for _, name := range slices.Sorted(maps.Keys(p.files)) {
			writeText(t, dir, path.Join(payload, name), p.files[name])
		}
		if p.write != nil {
			p.write(t, filepath.Join(dir, payload))
		}
		variant := doc{
			"platform": platform, "installRoot": installRoot, "payloadRoot": payload,
			"entrypoint":   path.Join(installRoot, "bin", p.id),
			"runtime":      doc{"abi": "static", "cpuBaseline": map[string]string{"amd64": "x86-64-v1", "arm64": "armv8-a"}[platform.Architecture]},
			"dependencies": orEmpty(dependencies),
		}
		if p.sbom != "" {
			writeText(t, dir, path.Join(root, "sbom.spdx.json"), p.sbom)
			variant["sbom"] = describe("application/spdx+json", p.sbom)
		}
		variants = append(variants, variant)
	}
	writeText(t, dir, path.Join(root, "input.json"), `{"type":"object"}`)
	writeDoc(t, dir, p.manifest(), "tool.provider", doc{
		"id": p.id, "version": "1.0.0", "protocol": "mcp", "revision": "2025-11-25",
		"tools":    []doc{{"name": "call", "inputSchema": doc{"path": path.Join(root, "input.json")}}},
		"variants": variants,
	})
}

// with returns the members of both documents.
func with(a, b doc) doc {
	merged := maps.Clone(a)
	maps.Copy(merged, b)
	return merged
}

// orEmpty makes an empty array of no documents, where null would be refused.
func orEmpty(docs []doc) []doc {
	if docs == nil {
		return []doc{}
	}
	return docs
}

func writeDoc(t testing.TB, dir, name, kind string, members doc) {
	t.Helper()
	text, err := json.MarshalIndent(with(members, doc{
		"schemaVersion": suite.SpecVersion, "mediaType": "application/vnd.agentsuite." + kind + ".v1+json",
	}), "", "  ")
	require.NoError(t, err)
	writeFile(t, dir, name, text, 0o644)
}

func writeText(t testing.TB, dir, name, text string) {
	t.Helper()
	writeFile(t, dir, name, []byte(text), 0o644)
}

func writeFile(t testing.TB, dir, name string, data []byte, mode os.FileMode) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(t, os.WriteFile(at, data, mode))
}
