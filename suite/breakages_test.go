package suite_test

import (
	"strings"
	"testing"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// The documents that most breakages are made in.
const (
	manifestPath    = "agentsuite.json"
	writerPath      = "agents/writer.json"
	coordinatorPath = "agents/coordinator.json"
	datetimePath    = "tool-providers/datetime/1.0.0/tool-provider.json"
	catalogPath     = "tool-providers/catalog.json"
	profilePath     = "build-profiles/default.json"
	writerAMD64     = "compositions/writer-linux-amd64.json"
	datetimeAMD64   = "tool-provider-compositions/datetime-linux-amd64.json"
	gitopsPath      = "tool-providers/gitops/2.0.0-rc.1/tool-provider.json"
	kubernetesPath  = "tool-providers/kubernetes/1.31.0/tool-provider.json"
	searchPath      = "tool-providers/search/1.0.0/tool-provider.json"
	azurePath       = "tool-providers/azure-cli/2.60.0/tool-provider.json"
	indexPath       = "evals/writer/index.json"
	capitalPath     = "evals/writer/cases/capital.json"
	datePath        = "evals/writer/cases/Date.today.json"
	poemPath        = "evals/writer/cases/poem.json"
	payloadAMD64    = "tool-providers/datetime/1.0.0/linux-amd64"
	noDigest        = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

// breakage makes an invalid suite of a valid one.
type breakage struct {
	// name is the broken rule's id, and behind a dash what it is broken by where there are several.
	name, base string
	// alter changes the suite before its digests are brought up to date; stale changes it afterwards.
	alter, stale func(t testing.TB, f *fixture)
}

func replacing(path, old, now string) func(testing.TB, *fixture) {
	return func(t testing.TB, f *fixture) { f.replace(t, path, old, now) }
}

func inserting(path, before, text string) func(testing.TB, *fixture) {
	return func(t testing.TB, f *fixture) { f.insert(t, path, before, text) }
}

func putting(path, text string) func(testing.TB, *fixture) {
	return func(_ testing.TB, f *fixture) { f.put(path, text) }
}

func removing(path string) func(testing.TB, *fixture) {
	return func(_ testing.TB, f *fixture) { f.remove(path) }
}

func all(steps ...func(testing.TB, *fixture)) func(testing.TB, *fixture) {
	return func(t testing.TB, f *fixture) {
		for _, step := range steps {
			step(t, f)
		}
	}
}

// digestAfter finds the digest that follows a text in a document.
func digestAfter(t testing.TB, f *fixture, path, text string) string {
	_, rest, ok := strings.Cut(string(f.texts[path]), text)
	i := strings.Index(rest, "sha256:")
	if !ok || i < 0 {
		t.Fatalf("%s has no digest after %q", path, text)
	}
	return rest[i : i+len(noDigest)]
}

// zeroing replaces the digest that follows a text by one of zeros.
func zeroing(path, text string) func(testing.TB, *fixture) {
	return func(t testing.TB, f *fixture) {
		before, rest, _ := strings.Cut(string(f.texts[path]), text)
		f.put(path, before+text+strings.Replace(rest, digestAfter(t, f, path, text), noDigest, 1))
	}
}

// element returns the array element or object that begins at a text, braces being balanced.
func element(t testing.TB, f *fixture, path, start string) string {
	text := string(f.texts[path])
	i := strings.Index(text, start)
	if i < 0 {
		t.Fatalf("%s has no %q", path, start)
	}
	depth := 0
	for j := i; j < len(text); j++ {
		switch text[j] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return text[i : j+1]
			}
		}
	}
	t.Fatalf("%s: %q has no end", path, start)
	return ""
}

// doubling lists an element twice.
func doubling(path, start string) func(testing.TB, *fixture) {
	return func(t testing.TB, f *fixture) {
		e := element(t, f, path, start)
		f.insert(t, path, e, e+",\n    ")
	}
}

// dropping takes an element out of a list, with the comma at its side.
func dropping(path, start string) func(testing.TB, *fixture) {
	return func(t testing.TB, f *fixture) {
		e := element(t, f, path, start)
		before, after, _ := strings.Cut(string(f.texts[path]), e)
		if rest, ok := strings.CutPrefix(strings.TrimLeft(after, " \n"), ","); ok {
			after = strings.TrimLeft(rest, " \n")
		} else {
			before = strings.TrimSuffix(strings.TrimRight(before, " \n"), ",")
		}
		f.put(path, before+after)
	}
}

var breakages = []breakage{
	// One document by itself.
	{name: "json-syntax", base: "coordinator-workers", stale: replacing(writerPath, `"id": "writer",`, `"id": "writer"`)},
	{name: "json-syntax-trailing", base: "minimal", stale: func(_ testing.TB, f *fixture) {
		f.put("build-profiles/default.json", string(f.texts["build-profiles/default.json"])+"{}\n")
	}},
	{name: "json-encoding", base: "minimal", stale: func(_ testing.TB, f *fixture) {
		f.put("agents/assistant.json", "\ufeff"+string(f.texts["agents/assistant.json"]))
	}},
	{name: "json-encoding-surrogate", base: "minimal", stale: replacing("agents/assistant.json", "Answers questions", `Answers \ud83d questions`)},
	{name: "json-duplicate-name", base: "minimal", stale: inserting("agents/assistant.json", `"description"`, `"i\u0064": "assistant", `)},
	{name: "json-number", base: "minimal", alter: replacing(profilePath, "1767225600", "1767225600.0")},
	{name: "json-limit", base: "minimal", stale: inserting("agents/assistant.json", `"description"`, `"extensions": `+strings.Repeat("[", 100)+strings.Repeat("]", 100)+", ")},
	{name: "json-unknown-member", base: "minimal", alter: inserting("agents/assistant.json", `"description"`, `"note": "", `)},
	{name: "json-missing-member", base: "minimal", alter: replacing("agents/assistant.json", `"protocol": "openai-chat",`, "")},
	{name: "json-type", base: "minimal", alter: replacing("agents/assistant.json", `"model": "example-large"`, `"model": null`)},
	{name: "json-value", base: "minimal", alter: replacing(manifestPath, `"name": "minimal"`, `"name": "Minimal Suite"`)},
	{name: "json-value-media-type", base: "minimal", alter: replacing("agents/assistant.json", "vnd.agentsuite.agent.v1+json", "vnd.agentsuite.agent.v2+json")},
	{name: "draft-deferred", base: "minimal", alter: inserting("agents/assistant.json", `"description"`, `"execution": {}, `)},
	{name: "draft-critical-extension", base: "minimal", alter: inserting("agents/assistant.json", `"description"`, `"extensions": [{"name": "example.memory", "critical": true}], `)},
	{name: "platform-exact", base: "minimal", alter: replacing("compositions/assistant-linux-amd64.json", `"architecture": "amd64"`, `"architecture": "riscv64"`)},
	{name: "execution-mode", base: "coordinator-workers", alter: replacing(writerPath, "shared-sandbox", "isolated")},
	{name: "provider-contract", base: "remote-mcp", alter: replacing(searchPath, `"protocol": "mcp"`, `"protocol": "openapi"`)},
	{name: "provider-contract-neither", base: "remote-mcp", alter: func(t testing.TB, f *fixture) {
		f.replace(t, searchPath, ",\n  \"remote\": "+element(t, f, searchPath, `{
    "transport"`), "")
	}},
	{name: "tool-declaration", base: "remote-mcp", alter: replacing(searchPath, `"approval": "policy-controlled",`, "")},
	{name: "remote-declaration", base: "remote-mcp", alter: replacing(searchPath, `"streamable-http"`, `"sse"`)},
	{name: "remote-declaration-header", base: "remote-mcp", alter: replacing(searchPath, `"Authorization"`, `"Mcp-Session-Id"`)},
	{name: "variant-declaration", base: "azure-cli", alter: replacing(azurePath, `"--output=json"`, `"--output=${FORMAT}"`)},
	{name: "inventory-shape", base: "azure-cli", alter: replacing(azurePath, `"linkTarget": "python3.12"`, `"linkTarget": "python3.12", "digest": "`+noDigest+`"`)},
	{name: "inventory-mode", base: "opa", alter: func(_ testing.TB, f *fixture) {
		f.put("tool-providers/opa/1.0.0/tool-provider.json", strings.Replace(string(f.texts["tool-providers/opa/1.0.0/tool-provider.json"]), "493", "511", 1))
	}},
	{name: "environment-injection", base: "azure-cli", alter: replacing(azurePath, `"AZURE_CONFIG_DIR"`, `"LD_PRELOAD"`)},
	{name: "environment-injection-endpoint", base: "minimal", alter: replacing("agents/assistant.json", `"MODEL_ENDPOINT"`, `"NODE_OPTIONS"`)},
	{name: "secret-delivery", base: "azure-cli", alter: replacing(azurePath, ",\n          \"delivery\": \"env\"", "")},
	{name: "image-pin", base: "minimal", alter: replacing(profilePath, "registry.example/agentsuite/harness@", "registry.example/agentsuite/harness:latest@")},
	{name: "image-pin-shorthand", base: "minimal", alter: replacing(profilePath, "registry.example/agentsuite/harness@", "agentsuite/harness@")},

	// Identities.
	{name: "id-document", base: "coordinator-workers", stale: zeroing(manifestPath, `"agents/writer.json"`)},
	{name: "id-document-edited", base: "coordinator-workers", stale: replacing(profilePath, "1767225600", "1767225601")},
	{name: "id-document-catalog", base: "minimal", stale: zeroing(manifestPath, `"tool-providers/catalog.json"`)},
	{name: "id-document-composition", base: "minimal", stale: zeroing(manifestPath, `"compositions/assistant-linux-amd64.json"`)},
	{name: "id-document-tool-provider-composition", base: "opa", stale: zeroing(manifestPath, `"tool-provider-compositions/opa-linux-amd64.json"`)},
	{name: "id-document-provider", base: "remote-mcp", alter: zeroing(catalogPath, `"path"`)},
	{name: "id-document-eval-index", base: "evaluations", alter: zeroing(writerPath, `"evals"`)},
	{name: "id-document-eval-case", base: "evaluations", alter: zeroing(indexPath, `capital.json"`)},
	{name: "id-file", base: "minimal", stale: putting("instructions/assistant.md", "# Assistant\n\nEdited without sealing.\n")},
	{name: "id-file-schema", base: "remote-mcp", alter: zeroing(searchPath, "flag_result.input.json")},
	{name: "id-variant", base: "kubernetes", alter: zeroing(gitopsPath, `"variantDigest"`)},

	// The graph.
	{name: "graph-missing", base: "coordinator-workers", stale: removing("compositions/reviewer-linux-arm64.json")},
	{name: "graph-missing-manifest", base: "minimal", stale: removing(manifestPath)},
	{name: "graph-missing-instructions", base: "minimal", stale: removing("instructions/assistant.md")},
	{name: "graph-missing-schema", base: "remote-mcp", stale: removing("tool-providers/search/1.0.0/schemas/search.output.json")},
	{name: "graph-missing-directory", base: "minimal", alter: replacing("agents/assistant.json", `"path": "instructions/assistant.md"`, `"path": "instructions"`)},
	{name: "graph-missing-symlink", base: "minimal", stale: func(_ testing.TB, f *fixture) {
		f.remove("instructions/assistant.md")
		f.link("instructions/assistant.md", content.Symlink, "../agents/assistant.json")
	}},
	{name: "graph-duplicate-agent", base: "minimal", alter: doubling(manifestPath, "{\n      \"id\": \"assistant\"")},
	{name: "graph-duplicate-agent-path", base: "coordinator-workers", alter: all(
		replacing(manifestPath, `"path": "agents/reviewer.json"`, `"path": "agents/writer.json"`),
		func(t testing.TB, f *fixture) {
			f.replace(t, manifestPath, digestAfter(t, f, manifestPath, `"id": "reviewer"`), digestAfter(t, f, manifestPath, `"id": "writer"`))
		})},
	{name: "graph-duplicate-composition", base: "minimal", alter: doubling(manifestPath, "{\n      \"agent\": \"assistant\"")},
	{name: "graph-duplicate-tool-provider-composition", base: "opa", alter: doubling(manifestPath, "{\n      \"id\": \"opa\"")},
	{name: "graph-duplicate-profile", base: "minimal", alter: doubling(manifestPath, "{\n      \"id\": \"default\"")},
	{name: "graph-duplicate-provider", base: "remote-mcp", alter: doubling(catalogPath, "{\n      \"id\": \"search\"")},
	{name: "graph-duplicate-requirement", base: "coordinator-workers", alter: doubling(writerPath, "{\n      \"id\": \"datetime\"")},
	{name: "graph-identity-agent", base: "minimal", alter: replacing("agents/assistant.json", `"id": "assistant"`, `"id": "helper"`)},
	{name: "graph-identity-profile", base: "minimal", alter: replacing(profilePath, `"id": "default"`, `"id": "other"`)},
	{name: "graph-identity-provider", base: "remote-mcp", alter: replacing(searchPath, `"version": "1.0.0"`, `"version": "1.0.1"`)},
	{name: "graph-identity-composition", base: "minimal", alter: replacing("compositions/assistant-linux-amd64.json", `"agent": "assistant"`, `"agent": "helper"`)},
	{name: "graph-identity-platform", base: "kubernetes", alter: func(t testing.TB, f *fixture) {
		amd64, arm64 := element(t, f, manifestPath, "{\n      \"agent\": \"operator\""), ""
		_, rest, _ := strings.Cut(string(f.texts[manifestPath]), amd64)
		arm64 = rest[strings.Index(rest, `"path"`):strings.Index(rest, "}\n  ],")]
		f.replace(t, manifestPath, amd64[strings.Index(amd64, `"path"`):len(amd64)-1], arm64)
	}},
	{name: "graph-unknown-invoked", base: "coordinator-workers", alter: replacing(coordinatorPath, `"agent": "reviewer"`, `"agent": "revewer"`)},
	{name: "graph-unknown-provider", base: "coordinator-workers", alter: all(
		replacing(writerPath, `"version": "1.0.0"`, `"version": "1.1.0"`),
		replacing(writerAMD64, `"version": "1.0.0"`, `"version": "1.1.0"`),
		replacing("compositions/writer-linux-arm64.json", `"version": "1.0.0"`, `"version": "1.1.0"`))},
	{name: "graph-unknown-profile", base: "minimal", alter: replacing("compositions/assistant-linux-amd64.json", `"buildProfile": "default"`, `"buildProfile": "defalt"`)},
	{name: "graph-unknown-agent", base: "minimal", alter: func(t testing.TB, f *fixture) {
		text := strings.ReplaceAll(string(f.texts["compositions/assistant-linux-amd64.json"]), "assistant", "asistant")
		f.put("compositions/other.json", text)
		f.insert(t, manifestPath, "{\n      \"agent\": \"assistant\"", `{
      "agent": "asistant",
      "platform": {"os": "linux", "architecture": "amd64"},
      "path": "compositions/other.json",
      "digest": "`+string(f.identities()["document compositions/other.json"])+`"
    },
    `)
	}},
	{name: "graph-unknown-composed", base: "opa", alter: replacing("tool-provider-compositions/opa-linux-amd64.json", `"id": "opa"`, `"id": "oba"`),
		stale: replacing(manifestPath, `"id": "opa"`, `"id": "oba"`)},
	{name: "graph-invokes-twice", base: "coordinator-workers", alter: replacing(coordinatorPath, `"agent": "reviewer"`, `"agent": "writer"`)},
	{name: "graph-invokes-itself", base: "coordinator-workers", alter: replacing(coordinatorPath, `"agent": "reviewer"`, `"agent": "coordinator"`)},
	{name: "graph-extension", base: "minimal", alter: inserting(manifestPath, `"capabilities"`, `"extensions": [{"name": "example.a", "critical": false}, {"name": "example.a", "critical": false}], `)},
	{name: "graph-ambient", base: "remote-mcp", alter: replacing(searchPath, `"retained": true,`, "")},
	{name: "capability-missing", base: "opa", alter: replacing(manifestPath, `["bundled-stdio-mcp"]`, `[]`)},
	{name: "capability-missing-repeated", base: "opa", alter: replacing(manifestPath, `["bundled-stdio-mcp"]`, `["bundled-stdio-mcp", "bundled-stdio-mcp"]`)},
	{name: "capability-reserved", base: "remote-mcp", alter: replacing(manifestPath, `"capabilities": []`, `"capabilities": ["remote-mcp"]`)},

	// Compositions and build profiles.
	{name: "composition-missing", base: "coordinator-workers", alter: func(t testing.TB, f *fixture) {
		for range suite.Platforms() {
			dropping(manifestPath, "{\n      \"agent\": \"reviewer\"")(t, f)
		}
	}},
	{name: "composition-order", base: "kubernetes", alter: func(t testing.TB, f *fixture) { composeBoth(t, f, true) }},
	{name: "composition-order-repeated", base: "opa", alter: doubling("compositions/writer-linux-amd64.json", "{\n      \"id\": \"opa\"")},
	{name: "composition-ambient", base: "coordinator-workers", alter: dropping(writerPath, "{\n      \"id\": \"datetime\"")},
	{name: "composition-ambient-version", base: "coordinator-workers", alter: replacing(writerAMD64, `"version": "1.0.0"`, `"version": "0.9.0"`)},
	{name: "composition-unmet", base: "opa", alter: dropping("compositions/writer-linux-amd64.json", "{\n      \"id\": \"opa\"")},
	{name: "composition-manifest", base: "coordinator-workers", alter: zeroing(writerAMD64, `"manifestDigest"`)},
	{name: "composition-variant", base: "coordinator-workers", alter: zeroing(writerAMD64, `"variantDigest"`)},
	{name: "composition-platform", base: "coordinator-workers", alter: func(t testing.TB, f *fixture) {
		arm64 := digestAfter(t, f, datetimePath, `"architecture": "arm64"`)
		amd64 := digestAfter(t, f, datetimePath, `"architecture": "amd64"`)
		f.replace(t, writerAMD64, amd64, arm64)
	}},
	{name: "composition-platform-none", base: "coordinator-workers", alter: all(
		dropping(datetimePath, "{\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"}"),
		dropping(manifestPath, "{\n      \"id\": \"datetime\",\n      \"version\": \"1.0.0\",\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"}"))},
	{name: "composition-profile", base: "coordinator-workers", alter: dropping(profilePath, "{\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"},\n      \"imageRef\": \"registry.example/agentsuite/harness")},
	{name: "composition-remote", base: "remote-mcp", alter: replacing("agents/researcher.json",
		`"toolProviders": []`, `"toolProviders": [{"id": "search", "version": "1.0.0", "executionMode": "shared-sandbox"}]`)},
	{name: "composition-collision", base: "kubernetes", alter: func(_ testing.TB, f *fixture) {
		f.replaceAll(gitopsPath, "/opt/agentsuite/tool-providers/gitops/2.0.0-rc.1", "/opt/agentsuite/tool-providers/kubernetes/1.31.0")
		for _, a := range []string{"amd64", "arm64"} {
			f.put("tool-providers/gitops/2.0.0-rc.1/linux-"+a+"/bin/kubectl", "another kubectl\n")
		}
		f.listPayload(gitopsPath, "kubectl", "another kubectl\n")
	}},
	{name: "composition-collision-below", base: "kubernetes", alter: func(_ testing.TB, f *fixture) {
		f.replaceAll(gitopsPath, "/opt/agentsuite/tool-providers/gitops/2.0.0-rc.1", "/opt/agentsuite/tool-providers/kubernetes/1.31.0/bin/kubectl")
	}},
	{name: "provider-composition-manifest", base: "opa", alter: zeroing("tool-provider-compositions/opa-linux-amd64.json", `"manifestDigest"`)},
	{name: "provider-composition-variant", base: "opa", alter: zeroing("tool-provider-compositions/opa-linux-amd64.json", `"variantDigest"`)},
	{name: "provider-composition-platform", base: "opa", alter: func(t testing.TB, f *fixture) {
		f.replace(t, "tool-provider-compositions/opa-linux-amd64.json", `"amd64"`, `"arm64"`)
		f.replace(t, manifestPath, "\"version\": \"1.0.0\",\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"amd64\"}", "\"version\": \"1.0.0\",\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"}")
		base := element(t, f, profilePath, "{\n      \"platform\"")
		f.insert(t, profilePath, base, strings.Replace(base, "amd64", "arm64", 1)+",\n    ")
	}},
	{name: "provider-composition-profile", base: "coordinator-workers", alter: all(
		dropping(profilePath, "{\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"},\n      \"imageRef\": \"registry.example/agentsuite/runtime-base"),
		dropping(manifestPath, "{\n      \"agent\": \"coordinator\",\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"}"),
		dropping(manifestPath, "{\n      \"agent\": \"writer\",\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"}"),
		dropping(manifestPath, "{\n      \"agent\": \"reviewer\",\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"}"))},
	{name: "provider-composition-remote", base: "remote-mcp", alter: func(t testing.TB, f *fixture) {
		ids := f.identities()
		f.put("tool-provider-compositions/search-linux-amd64.json", `{
  "schemaVersion": "1.0.0-draft",
  "mediaType": "application/vnd.agentsuite.tool.provider.composition.v1+json",
  "id": "search",
  "version": "1.0.0",
  "manifestDigest": "`+string(ids["document "+searchPath])+`",
  "platform": {"os": "linux", "architecture": "amd64"},
  "variantDigest": "`+noDigest+`",
  "buildProfile": "default"
}
`)
		f.insert(t, manifestPath, `"buildProfiles"`, `"toolProviderCompositions": [
    {
      "id": "search",
      "version": "1.0.0",
      "platform": {"os": "linux", "architecture": "amd64"},
      "path": "tool-provider-compositions/search-linux-amd64.json",
      "digest": "`+string(f.identities()["document tool-provider-compositions/search-linux-amd64.json"])+`"
    }
  ],
  `)
	}},
	{name: "profile-platform", base: "minimal", alter: doubling(profilePath, "{\n      \"platform\"")},
	{name: "profile-digest", base: "minimal", alter: zeroing(profilePath, `"image": {`)},

	// Tool providers.
	{name: "provider-tools", base: "remote-mcp", alter: replacing(searchPath, `"name": "flag_result"`, `"name": "search"`)},
	{name: "provider-platforms", base: "opa", alter: doubling("tool-providers/opa/1.0.0/tool-provider.json", "{\n      \"platform\"")},
	{name: "provider-entrypoint-outside", base: "opa", alter: replacing("tool-providers/opa/1.0.0/tool-provider.json", `"entrypoint": "/opt/agentsuite/tool-providers/opa/1.0.0/bin/opa-mcp"`, `"entrypoint": "/usr/bin/opa-mcp"`)},
	{name: "provider-entrypoint-unlisted", base: "opa", alter: replacing("tool-providers/opa/1.0.0/tool-provider.json", "bin/opa-mcp\",\n      \"searchPath\"", "bin/opa-mpc\",\n      \"searchPath\"")},
	{name: "provider-entrypoint-link", base: "azure-cli", alter: replacing(azurePath, `"entrypoint": "/opt/azure-cli/bin/azure-mcp"`, `"entrypoint": "/opt/azure-cli/bin/python3"`)},
	{name: "provider-entrypoint-mode", base: "azure-cli", alter: replacing(azurePath, `"entrypoint": "/opt/azure-cli/bin/azure-mcp"`, `"entrypoint": "/opt/azure-cli/share/ca-certificates/root.pem"`)},
	{name: "provider-environment", base: "kubernetes", alter: func(_ testing.TB, f *fixture) {
		f.put(kubernetesPath, strings.Replace(string(f.texts[kubernetesPath]), `"KUBE_NAMESPACE"`, `"KUBECONFIG"`, 1))
	}},
	{name: "provider-headers", base: "remote-mcp", alter: inserting(searchPath, "{\n        \"name\": \"Authorization\"", `{"name": "authorization", "secretRef": {"name": "other", "key": "token"}}, `)},
	{name: "dependency-unique", base: "kubernetes", alter: func(t testing.TB, f *fixture) {
		f.insert(t, gitopsPath, "{\n          \"id\": \"kubernetes\"", `{"id": "kubernetes", "version": "1.31.0", "variantDigest": "`+digestAfter(t, f, kubernetesPath, `"architecture": "arm64"`)+`"}, `)
	}},
	{name: "dependency-unique-itself", base: "kubernetes", alter: inserting(gitopsPath, "{\n          \"id\": \"kubernetes\"", `{"id": "gitops", "version": "2.0.0-rc.1", "variantDigest": "`+noDigest+`"}, `)},
	{name: "dependency-unknown", base: "kubernetes", alter: func(t testing.TB, f *fixture) {
		f.insert(t, gitopsPath, "{\n          \"id\": \"kubernetes\"", `{"id": "kubernetis", "version": "1.31.0", "variantDigest": "`+noDigest+`"}, `)
	}},
	{name: "dependency-platform", base: "kubernetes", alter: dropping(kubernetesPath, "{\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"arm64\"}")},
	{name: "dependency-digest", base: "kubernetes", alter: zeroing(gitopsPath, `"id": "kubernetes"`)},
	{name: "dependency-cycle", base: "kubernetes", alter: func(_ testing.TB, f *fixture) {
		f.replaceAll(kubernetesPath, "      \"runtime\"", `      "dependencies": [{"id": "gitops", "version": "2.0.0-rc.1", "variantDigest": "`+noDigest+`"}],
      "runtime"`)
	}},

	// Payloads.
	{name: "payload-missing", base: "azure-cli", stale: removing("tool-providers/azure-cli/2.60.0/linux-amd64/bin/az")},
	{name: "payload-missing-all", base: "opa", alter: replacing("tool-providers/opa/1.0.0/tool-provider.json", `1.0.0/linux-amd64"`, `1.0.0/linux-x64"`)},
	{name: "payload-unlisted", base: "azure-cli", stale: putting("tool-providers/azure-cli/2.60.0/linux-amd64/bin/kubectl", "nobody knows it\n")},
	{name: "payload-difference-mode", base: "azure-cli", stale: func(_ testing.TB, f *fixture) {
		f.chmod("tool-providers/azure-cli/2.60.0/linux-amd64/share/ca-certificates/root.pem", 0o755)
	}},
	{name: "payload-difference-target", base: "azure-cli", stale: func(_ testing.TB, f *fixture) {
		f.link("tool-providers/azure-cli/2.60.0/linux-amd64/bin/python3", content.Symlink, "az")
	}},
	{name: "payload-difference-type", base: "azure-cli", stale: func(_ testing.TB, f *fixture) {
		f.remove("tool-providers/azure-cli/2.60.0/linux-amd64/bin/az")
		f.link("tool-providers/azure-cli/2.60.0/linux-amd64/bin/az", content.Symlink, "python3")
	}},
	{name: "payload-digest", base: "coordinator-workers", stale: putting(payloadAMD64+"/bin/datetime", "STANDS for the datetime server on linux/amd64\n")},
	{name: "payload-digest-size", base: "coordinator-workers", stale: putting(payloadAMD64+"/bin/datetime", "another server\n")},
	{name: "payload-link", base: "azure-cli", alter: func(t testing.TB, f *fixture) {
		f.link("tool-providers/azure-cli/2.60.0/linux-amd64/bin/python3", content.Symlink, "../../schemas/list_groups.input.json")
		f.replace(t, azurePath, `"linkTarget": "python3.12"`, `"linkTarget": "../../schemas/list_groups.input.json"`)
	}},
	{name: "inventory-unique", base: "azure-cli", alter: doubling(azurePath, "{\n          \"path\": \"bin/az\"")},

	// Evaluations.
	{name: "eval-path", base: "evaluations", alter: func(t testing.TB, f *fixture) {
		f.put("evals/writer.json", string(f.texts[indexPath]))
		f.remove(indexPath)
		f.replace(t, writerPath, `"evals/writer/index.json"`, `"evals/writer.json"`)
	}},
	{name: "eval-owner", base: "evaluations", alter: replacing(indexPath, `"agent": "writer"`, `"agent": "reviewer"`)},
	{name: "eval-case-path", base: "evaluations", alter: replacing(capitalPath, `"id": "capital",
  "input"`, `"id": "town",
  "input"`)},
	{name: "eval-case-path-elsewhere", base: "evaluations", alter: func(t testing.TB, f *fixture) {
		f.put("metadata/capital.json", string(f.texts[capitalPath]))
		f.remove(capitalPath)
		f.replace(t, indexPath, `"evals/writer/cases/capital.json"`, `"metadata/capital.json"`)
	}},
	{name: "eval-case-unique", base: "evaluations", alter: doubling(indexPath, "{\n      \"path\": \"evals/writer/cases/capital.json\"")},
	{name: "eval-limit-cases", base: "evaluations", alter: replacing(indexPath, `"maxCases": 16`, `"maxCases": 2`)},
	{name: "eval-limit-bytes", base: "evaluations", alter: replacing(indexPath, `"maxCaseBytes": 65536`, `"maxCaseBytes": 600`)},
	{name: "eval-limit-declared", base: "evaluations", alter: replacing(indexPath, `"maxCases": 16`, `"maxCases": 129`)},
	{name: "eval-case-passes", base: "evaluations", alter: replacing(datePath, `"minPasses": 2`, `"minPasses": 4`)},
	{name: "eval-case-runs", base: "evaluations", alter: replacing(datePath, `"runs": 3,`, "")},
	{name: "eval-case-blank", base: "evaluations", alter: replacing(poemPath, "Write four lines about the sea.", "\u00a0\\n\\t")},
	{name: "eval-assertion-operand", base: "evaluations", alter: replacing(capitalPath, `"value": "Paris"`, `"value": "Paris", "pattern": "Paris"`)},
	{name: "eval-assertion-pattern", base: "evaluations", alter: replacing(datePath, "^[0-9]{4}-", "^(?<=x)[0-9]{4}-")},
	{name: "eval-assertion-critical", base: "evaluations", alter: replacing(poemPath, "\"type\": \"example.rhymes\",\n      \"critical\": false", "\"type\": \"example.rhymes\",\n      \"critical\": true")},
	{name: "eval-assertion-judge", base: "evaluations", alter: replacing(poemPath, `"minScore": 70`, `"minScore": 101`)},
	{name: "eval-assertions", base: "evaluations", alter: replacing(capitalPath, `"id": "not-london"`, `"id": "capital"`)},
	{name: "eval-ownerless", base: "coordinator-workers", stale: putting("evals/writer/index.json", "{}\n")},
	{name: "eval-stray", base: "evaluations", stale: putting("evals/writer/results.json", "{}\n")},
	{name: "eval-stray-directory", base: "evaluations", stale: putting("evals/writer/cases/more/one.json", "{}\n")},

	// Secrets.
	{name: "secret-literal", base: "azure-cli", alter: replacing(azurePath, `"--output=json"`, `"--token=ghp_`+strings.Repeat("k3J9", 9)+`"`)},
	{name: "secret-literal-description", base: "minimal", alter: replacing("agents/assistant.json", "from what it knows", "at https://reader:"+"hunter2@docs.example/")},

	// Content.
	{name: "path-symlink", base: "minimal", stale: func(_ testing.TB, f *fixture) {
		f.link("metadata/passwords", content.Symlink, "../../etc/passwd")
	}},
	{name: "build-file", base: "minimal", stale: putting("Dockerfile", "# syntax=registry.example/agentsuite-llb@"+noDigest+"\nRUN true\n")},
}

// composeBoth makes the operator require both providers, and its compositions resolve both, in the
// wrong order if asked to.
func composeBoth(t testing.TB, f *fixture, wrong bool) {
	f.insert(t, "agents/operator.json", "{\n      \"id\": \"gitops\"", `{"id": "kubernetes", "version": "1.31.0", "executionMode": "shared-sandbox"}, `)
	for _, a := range []string{"amd64", "arm64"} {
		path := "compositions/operator-linux-" + a + ".json"
		gitops := element(t, f, path, "{\n      \"id\": \"gitops\"")
		kubernetes := `{
      "id": "kubernetes",
      "version": "1.31.0",
      "manifestDigest": "` + string(f.identities()["document "+kubernetesPath]) + `",
      "variantDigest": "` + digestAfter(t, f, kubernetesPath, `"architecture": "`+a+`"`) + `",
      "executionMode": "shared-sandbox"
    }`
		if wrong && a == "amd64" {
			f.insert(t, path, gitops, kubernetes+",\n    ")
		} else {
			f.replace(t, path, gitops, gitops+",\n    "+kubernetes)
		}
	}
}
