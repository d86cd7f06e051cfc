package suite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
)

// repeated writes n elements of a list.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Suites that are made to cost much: lists as long as a document permits, in which everything is wrong.
// None may take more than a small multiple of what reading it takes; the bound only has to tell that
// from the square of it.
func TestHostileSuites(t *testing.T) {
	const many = 8_000
	for _, tc := range []struct {
		name, base string
		alter      func(testing.TB, *fixture)
	}{
		{"unknown agents are invoked", "minimal", func(t testing.TB, f *fixture) {
			f.replace(t, "agents/assistant.json", `"invokes": []`, `"invokes": [`+repeated(many, `{"agent": "asistant-%d", "maxConcurrent": 1, "maxDepth": 1}`)+`]`)
		}},
		{"unknown agents are invoked, and the manifest has a fault", "minimal", func(t testing.TB, f *fixture) {
			f.replace(t, "agents/assistant.json", `"invokes": []`, `"invokes": [`+repeated(many, `{"agent": "asistant-%d", "maxConcurrent": 1, "maxDepth": 1}`)+`]`)
			f.replace(t, manifestPath, `"capabilities": []`, `"capabilities": [`+repeated(many, `"c-%d"`)+`], "more": 1`)
		}},
		{"unknown providers are required, of many known ones", "minimal", func(t testing.TB, f *fixture) {
			f.replace(t, "agents/assistant.json", `"toolProviders": []`, `"toolProviders": [`+repeated(many, `{"id": "provider-%d", "version": "2.0.0", "executionMode": "shared-sandbox"}`)+`]`)
			f.put(catalogPath, strings.Replace(string(f.texts[catalogPath]), `"toolProviders": []`, `"toolProviders": [`+repeated(many, `{"id": "provider-%d", "version": "1.0.0", "path": "a.json", "digest": "`+noDigest+`"}`)+`]`, 1))
		}},
		{"unknown providers are composed", "minimal", func(t testing.TB, f *fixture) {
			f.replace(t, "agents/assistant.json", `"toolProviders": []`, `"toolProviders": [`+repeated(many, `{"id": "p", "version": "1.0.%d", "executionMode": "shared-sandbox"}`)+`]`)
			f.replace(t, "compositions/assistant-linux-amd64.json", `"toolProviders": []`, `"toolProviders": [`+repeated(many/2, `{"id": "p", "version": "2.0.%d", "manifestDigest": "`+noDigest+`", "variantDigest": "`+noDigest+`", "executionMode": "shared-sandbox"}`)+`]`)
		}},
		{"compositions of agents that do not exist", "minimal", func(t testing.TB, f *fixture) {
			c := element(t, f, manifestPath, "{\n      \"agent\"")
			f.replace(t, manifestPath, c, c+","+repeated(many/2, `{"agent": "asistant-%d", "platform": {"os": "linux", "architecture": "arm64"}, "path": "compositions/assistant-linux-amd64.json", "digest": "`+noDigest+`"}`))
		}},
		{"an inventory of files that are not there", "opa", func(_ testing.TB, f *fixture) {
			f.replaceAll("tool-providers/opa/1.0.0/tool-provider.json", `"files": [`, `"files": [`+repeated(12_000, `{"path": "f%d", "type": "file", "mode": 420, "uid": 0, "gid": 0, "size": 1, "digest": "`+noDigest+`"}`)+",")
		}},
		{"an image for one platform over and over", "coordinator-workers", func(t testing.TB, f *fixture) {
			images := element(t, f, profilePath, "[\n    {\n      \"platform\"")
			f.put(profilePath, strings.Replace(string(f.texts[profilePath]), images, `[`+repeated(10_000, `{"platform": {"os": "linux", "architecture": "amd64"}, "imageRef": "registry.example/a%d@`+noDigest+`", "image": {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "`+noDigest+`", "size": 1}}`)+`]`, 1))
		}},
		{"assertions of one name", "evaluations", func(t testing.TB, f *fixture) {
			f.replace(t, capitalPath, `"assertions": [`, `"assertions": [`+strings.Repeat(`{"id": "x", "type": "contains", "value": "v"},`, 990))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := loadFixture(t, "valid/"+tc.base).change(func(f *fixture) { tc.alter(t, f) })
			start := time.Now()
			_, report := f.validate(t)
			require.NotEmpty(t, report.Problems)
			require.LessOrEqual(t, len(report.Problems), suite.MaxProblems)
			require.Less(t, time.Since(start), 20*time.Second)
		})
	}
}
