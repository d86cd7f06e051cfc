package suite_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// largeSuite makes a valid suite of many agents and tool providers for both platforms. Every agent
// requires three tool providers, every provider but the first depends on the one before in its group
// of five, and a part of the agents has an evaluation index with a case.
func largeSuite(t testing.TB, agents, providers, evaluated int) *fixture {
	l := largeBuilder{t: t, fixture: &fixture{entries: tree{}, texts: texts{}}}
	for p := range providers {
		l.provider(p)
	}
	for a := range agents {
		l.agent(a, providers, a < evaluated)
	}
	return l.finish()
}

type largeBuilder struct {
	*fixture
	t                                     testing.TB
	agents, compositions, catalog, images []any
	manifests                             []digest.Digest
	variants                              [][2]digest.Digest
}

type object = map[string]any

func (l *largeBuilder) document(path, kind string, members object) digest.Digest {
	members["schemaVersion"] = suite.SpecVersion
	members["mediaType"] = "application/vnd.agentsuite." + kind + ".v1+json"
	text, err := json.MarshalIndent(members, "", "  ")
	require.NoError(l.t, err)
	l.put(path, string(text))
	d, err := suite.DocumentDigest(text)
	require.NoError(l.t, err)
	return d
}

func (l *largeBuilder) file(path, text string) object {
	l.put(path, text)
	return object{"path": path, "digest": digest.FromString(text)}
}

func providerID(p int) string { return fmt.Sprintf("provider-%04d", p) }

func (l *largeBuilder) provider(p int) {
	id := providerID(p)
	base := "tool-providers/" + id + "/1.0.0"
	l.variants = append(l.variants, [2]digest.Digest{})
	var variants []any
	for i, platform := range suite.Platforms() {
		root := base + "/linux-" + platform.Architecture
		var files []any
		for _, name := range []string{"bin/" + id, "share/LICENSE", "share/data.json"} {
			mode := 0o644
			text := name + " of " + id + " on " + platform.String() + "\n"
			l.put(root+"/"+name, text)
			if strings.HasPrefix(name, "bin/") {
				mode = 0o755
				l.chmod(root+"/"+name, 0o755)
			}
			files = append(files, object{"path": name, "type": "file", "mode": mode, "uid": 0, "gid": 0, "size": len(text), "digest": digest.FromString(text)})
		}
		install := "/opt/agentsuite/tool-providers/" + id
		variant := object{
			"platform": platform, "variantDigest": "", "installRoot": install, "payloadRoot": root,
			"entrypoint": install + "/bin/" + id, "arguments": []string{"--stdio", "--quiet"},
			"environment": []any{object{"name": "API_TOKEN", "secret": true, "delivery": "env"}},
			"network":     []any{object{"scheme": "https", "host": id + ".example", "port": 443}},
			"runtime":     object{"abi": "static", "cpuBaseline": "x86-64-v1"}, "files": files,
		}
		if p%5 > 0 {
			variant["dependencies"] = []any{object{"id": providerID(p - 1), "version": "1.0.0", "variantDigest": l.variants[p-1][i]}}
		}
		text, err := json.Marshal(variant)
		require.NoError(l.t, err)
		d, err := suite.DocumentDigest(text)
		require.NoError(l.t, err)
		variant["variantDigest"], l.variants[p][i] = d, d
		variants = append(variants, variant)
	}
	var tools []any
	for _, tool := range []string{"list", "change"} {
		schema := `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"` + tool + `": {"type": "string"}}}`
		tools = append(tools, object{"name": tool, "description": "Does what " + tool + " says.", "inputSchema": l.file(base+"/schemas/"+tool+".json", schema)})
	}
	path := base + "/tool-provider.json"
	l.manifests = append(l.manifests, l.document(path, "tool.provider", object{
		"id": id, "version": "1.0.0", "protocol": "mcp", "revision": "2025-06-18", "tools": tools, "variants": variants,
	}))
	l.catalog = append(l.catalog, object{"id": id, "version": "1.0.0", "path": path, "digest": l.manifests[p]})
	for i, platform := range suite.Platforms() {
		path := "tool-provider-compositions/" + id + "-linux-" + platform.Architecture + ".json"
		l.images = append(l.images, object{"id": id, "version": "1.0.0", "platform": platform, "path": path,
			"digest": l.document(path, "tool.provider.composition", object{
				"id": id, "version": "1.0.0", "manifestDigest": l.manifests[p], "platform": platform, "variantDigest": l.variants[p][i], "buildProfile": "default",
			})})
	}
}

func (l *largeBuilder) agent(a, providers int, evaluated bool) {
	id := fmt.Sprintf("agent-%04d", a)
	agent := object{
		"id": id, "description": "Agent number " + id + ", which does what such agents do.",
		"instructions": l.file("instructions/"+id+".md", "# "+id+"\n\n"+strings.Repeat("Do what you are asked for, and say what you did.\n", 20)),
		"model":        object{"protocol": "openai-chat", "model": "example-large", "endpointEnv": "MODEL_ENDPOINT", "secretRefs": []string{"model-api-key"}},
		"invokes":      []any{object{"agent": "agent-0000", "maxConcurrent": 1, "maxDepth": 2}},
	}
	if a == 0 {
		delete(agent, "invokes")
	}
	if evaluated {
		tree := "evals/" + id
		caseDigest := l.document(tree+"/cases/hello.json", "eval.case", object{
			"id": "hello", "input": "Say hello.", "assertions": []any{object{"id": "hello", "type": "contains", "value": "hello"}, object{"id": "word", "type": "regex", "pattern": "^[a-z]+$"}},
		})
		agent["evals"] = []any{object{"path": tree + "/index.json", "digest": l.document(tree+"/index.json", "eval.index", object{
			"agent": id, "cases": []any{object{"path": tree + "/cases/hello.json", "digest": caseDigest}}, "limits": object{"maxCases": 8, "maxCaseBytes": 4096},
		})}}
	}
	// Three providers of different groups, ascending.
	var required []any
	var chosen []int
	for i := range 3 {
		if p := (a*7 + i*providers/3) % providers; len(chosen) == 0 || p > chosen[len(chosen)-1] {
			chosen = append(chosen, p)
			required = append(required, object{"id": providerID(p), "version": "1.0.0", "executionMode": "shared-sandbox"})
		}
	}
	agent["toolProviders"] = required
	path := "agents/" + id + ".json"
	l.agents = append(l.agents, object{"id": id, "path": path, "digest": l.document(path, "agent", agent)})
	for i, platform := range suite.Platforms() {
		var records []any
		for _, p := range chosen {
			records = append(records, object{"id": providerID(p), "version": "1.0.0", "manifestDigest": l.manifests[p], "variantDigest": l.variants[p][i], "executionMode": "shared-sandbox"})
		}
		path := "compositions/" + id + "-linux-" + platform.Architecture + ".json"
		l.compositions = append(l.compositions, object{"agent": id, "platform": platform, "path": path,
			"digest": l.document(path, "composition", object{"agent": id, "platform": platform, "buildProfile": "default", "toolProviders": records})})
	}
}

func (l *largeBuilder) finish() *fixture {
	var images []any
	for _, platform := range suite.Platforms() {
		d := digest.FromString(platform.String())
		images = append(images, object{"platform": platform, "imageRef": "registry.example/base@" + d.String(),
			"image": object{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": d, "size": 1}})
	}
	profile := l.document("build-profiles/default.json", "build.profile", object{"id": "default", "runtimeBase": images, "harness": images, "sourceEpoch": 1})
	catalog := l.document("tool-providers/catalog.json", "tool.provider.catalog", object{"toolProviders": l.catalog})
	l.document("agentsuite.json", "manifest", object{
		"name": "large", "agents": l.agents, "compositions": l.compositions, "toolProviderCompositions": l.images,
		"toolProviderCatalog": object{"id": "catalog", "path": "tool-providers/catalog.json", "digest": catalog},
		"buildProfiles":       []any{object{"id": "default", "path": "build-profiles/default.json", "digest": profile}},
		"capabilities":        []string{"bundled-stdio-mcp"},
	})
	return l.fixture
}

func TestLargeSuite(t *testing.T) {
	_, report := largeSuite(t, 40, 20, 10).validate(t)
	require.Empty(t, problemLines(report))
	require.Equal(t, 40, report.Agents)
	require.Equal(t, 80, report.Compositions)
	require.Len(t, report.AgentPlatforms, 40)
	require.Len(t, report.CompositionSelections, 80)
}

// maxRatio is what validating a suite may cost, in times of reading and digesting its documents.
const maxRatio = 2.5

// BenchmarkLargeSuite compares reading and validating a suite of 5,000 documents with reading the same
// files and digesting the canonical forms of the documents among them, both on all processors.
func BenchmarkLargeSuite(b *testing.B) {
	f := largeSuite(b, 1000, 200, 698)
	dir := b.TempDir()
	f.write(b, dir)
	documents := 0
	files := make(map[string]bool, len(f.texts))
	for path, text := range f.texts {
		files[path] = strings.HasSuffix(path, ".json") && strings.Contains(string(text), "application/vnd.agentsuite.")
		if files[path] {
			documents++
		}
	}
	limits := content.DefaultLimits()
	require.Greater(b, documents, 4_990)
	var validating, digesting time.Duration
	for b.Loop() {
		start := time.Now()
		index, err := content.Open(b.Context(), dir, content.Options{Limits: limits})
		require.NoError(b, err)
		opened := time.Since(start)
		_, report, err := suite.Validate(b.Context(), index, limits)
		validating += time.Since(start)
		require.NoError(b, err)
		require.Empty(b, report.Problems)
		b.ReportMetric(float64(opened.Milliseconds()), "open-ms")

		start = time.Now()
		digestAll(b, dir, files)
		digesting += time.Since(start)
	}
	ratio := float64(validating) / float64(digesting)
	b.ReportMetric(ratio, "x-read+JCS")
	b.ReportMetric(float64(documents), "documents")
	if ratio > maxRatio {
		b.Errorf("validating takes %.2f times as long as reading and digesting; the limit is %.1f", ratio, maxRatio)
	}
}

// digestAll reads files, and digests those that are documents.
func digestAll(b *testing.B, dir string, files map[string]bool) {
	paths := slices.Sorted(maps.Keys(files))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(paths); i = int(next.Add(1)) - 1 {
				text, err := os.ReadFile(filepath.Join(dir, paths[i]))
				if err == nil && files[paths[i]] {
					_, err = suite.DocumentDigest(text)
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	workers.Wait()
}

// BenchmarkValidate is the part of validation that follows reading.
func BenchmarkValidate(b *testing.B) {
	x := largeSuite(b, 1000, 200, 698).index()
	b.ReportAllocs()
	for b.Loop() {
		_, report, err := suite.Validate(b.Context(), x, content.DefaultLimits())
		require.NoError(b, err)
		require.Empty(b, report.Problems)
	}
}
