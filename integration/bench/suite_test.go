//go:build bench

package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/seal"
)

// The payload, 16 MB in 2,000 files, is spread evenly over the providers.
const (
	providers        = 4
	filesOfProvider  = 500
	meanBytesOfFile  = 8000
	firstAgent       = "first"  // requires all providers
	secondAgent      = "second" // requires the later half of them
	sourceEpoch      = 1767225600
	installDirectory = "/opt/agentsuite/tool-providers/"
)

func providerID(p int) string  { return fmt.Sprintf("provider-%d", p) }
func providerDir(p int) string { return "tool-providers/" + providerID(p) + "/1.0.0" }
func payloadRoot(p int) string { return providerDir(p) + "/linux-amd64" }
func installRoot(p int) string { return installDirectory + providerID(p) + "/1.0.0" }
func payloadFile(p, i int) string {
	return fmt.Sprintf("%s/lib/package-%02d/module-%03d.py", payloadRoot(p), i/25, i)
}

// writePayloads writes the payloads of all providers below dir, the same bytes on every machine.
func writePayloads(tb testing.TB, dir string) {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for p := range providers {
		writeFile(tb, dir, payloadRoot(p)+"/bin/serve", 0o755, "#!/bin/sh\nexec cat\n")
		for i := range filesOfProvider - 1 {
			size := meanBytesOfFile/2 + random.IntN(meanBytesOfFile)
			writeFile(tb, dir, payloadFile(p, i), 0o644, prose(random, size))
		}
	}
}

// prose makes text that compresses about as program text does.
func prose(random *rand.Rand, size int) string {
	var text bytes.Buffer
	for text.Len() < size {
		fmt.Fprintf(&text, "name_%x = call_%x(%d)\n", random.IntN(1<<12), random.IntN(1<<8), random.IntN(1<<16))
	}
	return text.String()[:size]
}

// changeFile gives one payload file below each of dirs other contents, the same for the same edition.
func changeFile(tb testing.TB, edition int, dirs ...string) {
	tb.Helper()
	for _, dir := range dirs {
		writeFile(tb, dir, payloadFile(providers-1, 0), 0o644, prose(rand.New(rand.NewPCG(3, uint64(edition))), meanBytesOfFile))
	}
}

// writeSuite writes a suite of two agents around the payloads and seals it.
func writeSuite(tb testing.TB, dir string, base, harness testenv.Image) {
	tb.Helper()
	writePayloads(tb, dir)
	s := suiteWriter{tb: tb, dir: dir}
	for p := range providers {
		s.provider(p)
	}
	s.document("tool-providers/catalog.json", "tool.provider.catalog", object{"toolProviders": s.catalog})
	s.document("build-profiles/default.json", "build.profile", object{
		"id": "default", "runtimeBase": pin(base), "harness": pin(harness), "sourceEpoch": sourceEpoch,
	})
	s.agent(firstAgent, 0)
	s.agent(secondAgent, providers/2)
	s.document("agentsuite.json", "manifest", object{
		"name": "bench", "agents": s.agents, "compositions": s.compositions,
		"toolProviderCatalog": object{"id": "catalog", "path": "tool-providers/catalog.json"},
		"buildProfiles":       []any{object{"id": "default", "path": "build-profiles/default.json"}},
	})
	sealSuite(tb, dir)
}

func sealSuite(tb testing.TB, dir string) {
	tb.Helper()
	_, err := seal.Seal(tb.Context(), dir, seal.Options{Limits: content.DefaultLimits()})
	require.NoError(tb, err)
}

type object = map[string]any

var platform = object{"os": "linux", "architecture": "amd64"}

func pin(image testenv.Image) []any {
	return []any{object{"platform": platform, "imageRef": image.Ref(), "image": object{
		"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": image.Digest, "size": image.Size,
	}}}
}

// suiteWriter writes documents that are not sealed yet.
type suiteWriter struct {
	tb                            testing.TB
	dir                           string
	catalog, agents, compositions []any
}

func (s *suiteWriter) document(path, kind string, members object) {
	s.tb.Helper()
	members["schemaVersion"] = suite.SpecVersion
	members["mediaType"] = "application/vnd.agentsuite." + kind + ".v1+json"
	text, err := json.MarshalIndent(members, "", "  ")
	require.NoError(s.tb, err)
	writeFile(s.tb, s.dir, path, 0o644, string(text))
}

func (s *suiteWriter) provider(p int) {
	s.tb.Helper()
	schema := providerDir(p) + "/schemas/work.input.json"
	writeFile(s.tb, s.dir, schema, 0o644, `{"type": "object"}`)
	path := providerDir(p) + "/tool-provider.json"
	s.document(path, "tool.provider", object{
		"id": providerID(p), "version": "1.0.0", "protocol": "mcp", "revision": "2025-11-25",
		"tools": []any{object{"name": "work", "inputSchema": object{"path": schema}}},
		"variants": []any{object{
			"platform": platform, "installRoot": installRoot(p), "payloadRoot": payloadRoot(p),
			"entrypoint": installRoot(p) + "/bin/serve",
			"runtime":    object{"abi": "gnu", "cpuBaseline": "x86-64-v1", "requiredBasePaths": []string{"/bin/sh"}},
		}},
	})
	s.catalog = append(s.catalog, object{"id": providerID(p), "version": "1.0.0", "path": path})
}

// agent writes an agent that requires the providers from number p on.
func (s *suiteWriter) agent(id string, p int) {
	s.tb.Helper()
	var required []any
	for ; p < providers; p++ {
		required = append(required, object{"id": providerID(p), "version": "1.0.0", "executionMode": "shared-sandbox"})
	}
	instructions := "instructions/" + id + ".md"
	writeFile(s.tb, s.dir, instructions, 0o644, "Do the work that you are asked to do.\n")
	path := "agents/" + id + ".json"
	s.document(path, "agent", object{
		"id": id, "description": "Does the work.", "instructions": object{"path": instructions},
		"model": object{"protocol": "openai-chat-completions", "model": "example/model"}, "toolProviders": required,
	})
	s.agents = append(s.agents, object{"id": id, "path": path})
	path = "compositions/" + id + "-linux-amd64.json"
	s.document(path, "composition", object{"agent": id, "platform": platform, "buildProfile": "default"})
	s.compositions = append(s.compositions, object{"agent": id, "platform": platform, "path": path})
}

func writeFile(tb testing.TB, dir, path string, mode os.FileMode, text string) {
	tb.Helper()
	path = filepath.Join(dir, path)
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(tb, os.WriteFile(path, []byte(text), mode))
	require.NoError(tb, os.Chmod(path, mode)) // whatever the umask
}
