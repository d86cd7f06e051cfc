package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// valueClass is a kind of value that many members share: what is permitted, and what breaks the rule.
type valueClass struct {
	rule              *problem.Rule
	members           string
	accepted, refused []string
}

func quoted(texts ...string) []string {
	for i, text := range texts {
		texts[i] = `"` + text + `"`
	}
	return texts
}

var (
	long    = strings.Repeat("a", 128)
	hex64   = strings.Repeat("0123456789abcdef", 4)
	kib     = strings.Repeat("a", 1024)
	twoByte = strings.Repeat("ü", 512)
)

var valueClasses = map[string]valueClass{
	"identifier": {
		rule: problem.JSONValue,
		members: `manifest /name /agents/0/id /toolProviderCatalog/id /compositions/0/agent /toolProviderCompositions/0/id /buildProfiles/0/id
			agent /id /model/secretRefs/0 /toolProviders/0/id /invokes/0/agent
			eval-index /agent
			tool-provider-catalog /toolProviders/0/id
			tool-provider /id /tools/0/name /tools/1/delegatedAuthorization/service /tools/1/delegatedAuthorization/credential/bindingRef
			 /variants/0/dependencies/0/id /remote/endpointRef /remote/network/0/destinationRef /remote/headers/0/secretRef/name
			composition /agent /buildProfile /toolProviders/0/id
			tool-provider-composition /id /buildProfile
			build-profile /id
			sandbox-binding /agent /buildProfile`,
		accepted: quoted("a", "0", "a.b_c-d", long, "a..", "9-"),
		refused:  quoted("", "A", "-a", ".a", "_a", "a b", "a/b", "ü", "a\\n", long+"a", "a@1", "http://a"),
	},
	"version": {
		rule: problem.JSONValue,
		members: `manifest /agents/1/version /toolProviderCompositions/0/version
			agent /toolProviders/0/version
			tool-provider-catalog /toolProviders/0/version
			tool-provider /version /variants/0/dependencies/0/version
			composition /toolProviders/0/version
			tool-provider-composition /version`,
		accepted: quoted("0.0.0", "1.2.3", "01.2.3", "1.2.3-rc.1", "1.2.3+build.5", "20.0.1000"),
		refused:  quoted("", "1", "1.2", "1.2.3.4", "v1.2.3", "^1.2.3", "1.2.x", "latest", "1.2.3-", "1.2.3 ", "1.2.3_a"),
	},
	"digest": {
		rule: problem.JSONValue,
		members: `manifest /agents/0/digest /toolProviderCatalog/digest /compositions/0/digest /toolProviderCompositions/0/digest /buildProfiles/0/digest /extensions/0/digest
			agent /instructions/digest /evals/0/digest
			eval-index /cases/0/digest
			tool-provider-catalog /toolProviders/0/digest
			tool-provider /tools/0/inputSchema/digest /tools/0/outputSchema/digest /variants/0/variantDigest /variants/0/files/0/digest
			 /variants/0/dependencies/0/variantDigest /variants/0/sbom/digest /variants/0/provenance/digest
			composition /toolProviders/0/manifestDigest /toolProviders/0/variantDigest
			tool-provider-composition /manifestDigest /variantDigest
			build-profile /runtimeBase/0/image/digest /harness/0/image/digest
			sandbox-binding /suiteDigest /composition/digest /inventory/digest
			sandbox-inventory /entries/1/digest`,
		accepted: quoted("sha256:" + hex64),
		refused:  quoted("", hex64, "sha256:"+hex64[1:], "sha256:"+hex64+"0", "sha256:"+strings.ToUpper(hex64), "SHA256:"+hex64, "sha512:"+hex64+hex64, "sha256:"+hex64[1:]+"g"),
	},
	"content path": {
		rule: problem.JSONValue,
		members: `agent /instructions/path
			tool-provider /tools/0/inputSchema/path /tools/0/outputSchema/path /variants/0/payloadRoot /variants/0/files/0/path`,
		accepted: quoted("a", "a/b.c/d", "...", ".a/..b", "a b", "ü/😀", "a\\n", kib, "a:b", twoByte),
		refused:  quoted("", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/..", "a/../b", "a\\\\b", "a\\u0000", kib+"a", twoByte+"a"),
	},
	"document path": {
		rule: problem.JSONValue,
		members: `manifest /agents/0/path /toolProviderCatalog/path /compositions/0/path /toolProviderCompositions/0/path /buildProfiles/0/path
			agent /evals/0/path
			eval-index /cases/0/path
			tool-provider-catalog /toolProviders/0/path`,
		accepted: quoted("a.json", "any/where.json", ".json"),
		refused:  quoted("a", "a.JSON", "a.json/b", "/a.json", "../a.json", "a.json ", kib+".json"),
	},
	"absolute path": {
		rule: problem.VariantDeclaration,
		members: `tool-provider /variants/0/installRoot /variants/0/entrypoint /variants/0/searchPath/0 /variants/0/writablePaths/0
			 /variants/0/runtime/requiredBasePaths/0`,
		accepted: quoted("/a", "/a/b.c", "/.a/..b", "/a\\\\b", "/home/linux brew"),
		refused:  quoted("", "a", "//a", "/a/", "/a//b", "/.", "/..", "/a/../b", "/a/.", "/a\\u0000"),
	},
	"environment name": {
		rule:     problem.JSONValue,
		members:  `agent /model/endpointEnv tool-provider /variants/0/environment/0/name`,
		accepted: quoted("A", "_", "A_1", "LDX", "PATH", "MY_LD_PRELOAD", "API_TOKEN"),
		refused:  quoted("", "a", "1A", "A-B", "A=1", "A B", "ld_preload"),
	},
	"injection name": {
		rule:     problem.EnvironmentInjection,
		members:  `agent /model/endpointEnv tool-provider /variants/0/environment/0/name`,
		accepted: quoted("PYTHONPATHS", "NODE_OPTION"),
		refused:  quoted("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_", "PYTHONPATH", "NODE_OPTIONS", "BASH_ENV"),
	},
	"dotted name": {
		rule:     problem.JSONValue,
		members:  `manifest /capabilities/0 /extensions/0/name tool-provider /extensions/0/name /tools/1/delegatedAuthorization/scope`,
		accepted: quoted("a", "mail.send", "0-9", long),
		refused:  quoted("", "A", "a_b", ".a", "-a", long+"a", "a b"),
	},
	"operating system": {
		rule: problem.PlatformExact,
		members: `manifest /compositions/0/platform/os /toolProviderCompositions/0/platform/os tool-provider /variants/0/platform/os composition /platform/os
			tool-provider-composition /platform/os build-profile /runtimeBase/0/platform/os /harness/0/platform/os sandbox-binding /platform/os sandbox-inventory /platform/os`,
		accepted: quoted("linux"),
		refused:  quoted("", "windows", "darwin", "Linux"),
	},
	"architecture": {
		rule: problem.PlatformExact,
		members: `manifest /compositions/0/platform/architecture /toolProviderCompositions/0/platform/architecture tool-provider /variants/0/platform/architecture
			composition /platform/architecture tool-provider-composition /platform/architecture build-profile /runtimeBase/0/platform/architecture /harness/0/platform/architecture
			sandbox-binding /platform/architecture sandbox-inventory /platform/architecture`,
		accepted: quoted("amd64", "arm64"),
		refused:  quoted("", "x86_64", "aarch64", "arm64/v8", "riscv64", "AMD64"),
	},
	"execution mode": {
		rule:     problem.ExecutionMode,
		members:  `agent /toolProviders/0/executionMode composition /toolProviders/0/executionMode`,
		accepted: quoted("shared-sandbox"),
		refused:  quoted("", "isolated", "Shared-Sandbox", "remote"),
	},
	"critical extension": {
		rule:     problem.DraftExtension,
		members:  `manifest /extensions/0/critical tool-provider /extensions/0/critical`,
		accepted: []string{"false"},
		refused:  []string{"true"},
	},
	"positive integer": {
		rule:     problem.JSONValue,
		members:  `agent /invokes/0/maxConcurrent /invokes/0/maxDepth build-profile /sourceEpoch sandbox-binding /composition/size`,
		accepted: []string{"1", "2147483648", "253402300799"},
		refused:  []string{"0", "-1", "9223372036854775808", "-9223372036854775808"},
	},
	"size": {
		rule:     problem.VariantDeclaration,
		members:  `tool-provider /variants/0/sbom/size /variants/0/provenance/size`,
		accepted: []string{"0", "1", "9007199254740991"},
		refused:  []string{"-1", "9007199254740992"},
	},
	"assertion id": {
		rule:     problem.EvalAssertion,
		members:  `eval-case /assertions/0/id`,
		accepted: quoted("A", "0", "a.B_c-", strings.Repeat("a", 63)),
		refused:  quoted("", "-a", ".a", "_a", "a b", strings.Repeat("a", 64)),
	},
	"case id": {
		rule:     problem.EvalCase,
		members:  `eval-case /id`,
		accepted: quoted("A", "0", "a.B_c-", strings.Repeat("a", 63)),
		refused:  quoted("", "-a", ".a", "_a", "a b", strings.Repeat("a", 64)),
	},
	"input": {
		rule:     problem.EvalCase,
		members:  `eval-case /input`,
		accepted: quoted("a", " \\u0001 ", "\\n.\\n", "\u200b"),
		refused:  quoted("", " ", "\\t\\n\\u000b\\f\\r", "\\u0085\\u00a0\\u1680\\u2003\\u2028\\u2029\\u202f\\u205f\\u3000"),
	},
	"operand on a line": {
		rule:     problem.EvalAssertion,
		members:  `eval-case /assertions/0/value /assertions/1/value /assertions/3/tool /assertions/4/tool`,
		accepted: quoted("a", " a ", "ü😀", strings.Repeat("a", 5000)),
		refused:  quoted("", "  ", "\\u00a0", "a\\nb", "a\\tb", "a\\u007f", "a\\u0085b", "a\\u2028b", "a\\u2029"),
	},
	"operand of an extension": {
		rule:     problem.EvalAssertion,
		members:  `eval-case /assertions/6/value`,
		accepted: quoted("a", "a\\nb", "\\u0007"),
		refused:  quoted("", " \\n"),
	},
	"pattern": {
		rule:     problem.EvalAssertion,
		members:  `eval-case /assertions/2/pattern`,
		accepted: quoted("a", "^a|b$", "(?i)x{2,3}\\\\d+", "\\\\pL", kib, "(?P<n>a)"),
		refused:  quoted("", " ", "(", "a**", "[b-a]", "(?=a)", "(a)\\\\1", "a{1001}", "(((a{100}){100}){100})", kib+"a", twoByte+"a", "\\\\pX"),
	},
	"rubric": {
		rule:     problem.EvalAssertion,
		members:  `eval-case /assertions/5/rubric`,
		accepted: quoted("a", "a\\n\\tb", "\\u2028a", strings.Repeat("a", 4096)),
		refused:  quoted("", "\\n", "a\\r", "a\\u0000", "a\\u007f", "a\\u009f", strings.Repeat("a", 4097), strings.Repeat("ü", 2048)+"a"),
	},
	"score": {
		rule:     problem.EvalAssertion,
		members:  `eval-case /assertions/5/minScore`,
		accepted: []string{"0", "100"},
		refused:  []string{"-1", "101"},
	},
	"judge": {
		rule:     problem.EvalAssertion,
		members:  `eval-case /assertions/5/judgeModel /assertions/5/judgeVersion`,
		accepted: quoted("a", " a~", strings.Repeat("a", 256)),
		refused:  quoted("", " ", "ü", "a\\n", "a\\u007f", strings.Repeat("a", 257)),
	},
	"count of runs": {
		rule:     problem.EvalCase,
		members:  `eval-case /runs`,
		accepted: []string{"2", "9007199254740991"},
		refused:  []string{"0", "-1", "9007199254740992"},
	},
	"limit of cases": {
		rule:     problem.EvalLimit,
		members:  `eval-index /limits/maxCases`,
		accepted: []string{"1", "128"},
		refused:  []string{"0", "129", "-1"},
	},
	"limit of bytes": {
		rule:     problem.EvalLimit,
		members:  `eval-index /limits/maxCaseBytes`,
		accepted: []string{"1", "4194304"},
		refused:  []string{"0", "4194305"},
	},
	"text": {
		rule:     problem.JSONValue,
		members:  `agent /model/protocol /model/model`,
		accepted: quoted(" ", "any\\nthing"),
		refused:  quoted(""),
	},
	"description": {
		rule:     problem.JSONValue,
		members:  `agent /description`,
		accepted: quoted("", strings.Repeat("ü", 4096)),
		refused:  quoted(strings.Repeat("a", 4097)),
	},
	"text of a variant": {
		rule:     problem.VariantDeclaration,
		members:  `tool-provider /variants/0/runtime/abiVersion /variants/0/runtime/cpuBaseline /variants/0/network/0/host /variants/0/sbom/mediaType`,
		accepted: quoted("x", "x86-64-v1"),
		refused:  quoted(""),
	},
	"retained": {
		rule:     problem.ProviderContract,
		members:  `tool-provider /retained`,
		accepted: []string{"true"},
		refused:  []string{"false"},
	},
	"protocol": {
		rule:     problem.ProviderContract,
		members:  `tool-provider /protocol`,
		accepted: quoted("mcp"),
		refused:  quoted("", "MCP", "openapi", "a2a"),
	},
	"revision": {
		rule:     problem.ProviderContract,
		members:  `tool-provider /revision`,
		accepted: quoted("2025-06-18", "x"),
		refused:  quoted(""),
	},
	"effect": {
		rule:     problem.ToolDeclaration,
		members:  `tool-provider /tools/0/effect`,
		accepted: quoted("read-only", "mutating"),
		refused:  quoted("", "none", "readonly"),
	},
	"approval": {
		rule:     problem.ToolDeclaration,
		members:  `tool-provider /tools/0/approval`,
		accepted: quoted("required", "policy-controlled"),
		refused:  quoted("", "never", "optional"),
	},
	"effects": {
		rule:     problem.ToolDeclaration,
		members:  `tool-provider /tools/0/effects/0`,
		accepted: quoted("any words"),
		refused:  quoted(""),
	},
	"resolution": {
		rule:     problem.ToolDeclaration,
		members:  `tool-provider /tools/1/delegatedAuthorization/credential/resolution`,
		accepted: quoted("runtime-brokered"),
		refused:  quoted("", "packaged", "static"),
	},
	"argument": {
		rule:     problem.VariantDeclaration,
		members:  `tool-provider /variants/0/arguments/0`,
		accepted: quoted("", "$HOME", "$", "{}", "a $ (b)", "\\n"),
		refused:  quoted("${HOME}", "a$(b)", "$$("),
	},
	"delivery": {
		rule:     problem.SecretDelivery,
		members:  `tool-provider /variants/0/environment/1/delivery`,
		accepted: quoted("env", "file"),
		refused:  quoted("", "fd", "Env"),
	},
	"scheme": {
		rule:     problem.VariantDeclaration,
		members:  `tool-provider /variants/0/network/0/scheme`,
		accepted: quoted("https", "git+ssh", "a.b-c"),
		refused:  quoted("", "HTTPS", "1a", "https:", "a b"),
	},
	"port": {
		rule:     problem.VariantDeclaration,
		members:  `tool-provider /variants/0/network/0/port`,
		accepted: []string{"1", "65535"},
		refused:  []string{"0", "65536", "-1"},
	},
	"abi": {
		rule:     problem.VariantDeclaration,
		members:  `tool-provider /variants/0/runtime/abi`,
		accepted: quoted("static", "gnu", "musl"),
		refused:  quoted("", "glibc", "GNU"),
	},
	"entry type": {
		rule:     problem.InventoryShape,
		members:  `tool-provider /variants/0/files/1/type`,
		accepted: quoted("directory"),
		refused:  quoted("", "fifo", "File", "block"),
	},
	"mode of a file": {
		rule:     problem.InventoryMode,
		members:  `tool-provider /variants/0/files/0/mode /variants/0/files/3/mode`,
		accepted: []string{"0", "493", "365", "420", "320"},
		refused:  []string{"511", "438", "512", "2541", "-1", "402", "436", "1005"},
	},
	"mode of a directory or symlink": {
		rule:     problem.InventoryMode,
		members:  `tool-provider /variants/0/files/1/mode /variants/0/files/2/mode`,
		accepted: []string{"0", "511", "493"},
		refused:  []string{"512", "1023", "-1"},
	},
	"owner": {
		rule:     problem.InventoryShape,
		members:  `tool-provider /variants/0/files/0/uid /variants/0/files/0/gid /variants/0/files/1/uid`,
		accepted: []string{"0"},
		refused:  []string{"1", "1000", "-1"},
	},
	"size of a file": {
		rule:     problem.InventoryShape,
		members:  `tool-provider /variants/0/files/0/size`,
		accepted: []string{"0", "9007199254740991"},
		refused:  []string{"-1", "9007199254740992"},
	},
	"size of anything else": {
		rule:     problem.InventoryShape,
		members:  `tool-provider /variants/0/files/1/size /variants/0/files/2/size /variants/0/files/3/size`,
		accepted: []string{"0"},
		refused:  []string{"1", "-1"},
	},
	"link target and component": {
		rule:     problem.InventoryShape,
		members:  `tool-provider /variants/0/files/2/linkTarget /variants/0/files/0/component`,
		accepted: quoted("a", "../a", "/etc"),
		refused:  quoted(""),
	},
	"transport": {
		rule:     problem.RemoteDeclaration,
		members:  `tool-provider /remote/transport`,
		accepted: quoted("streamable-http"),
		refused:  quoted("", "sse", "stdio", "http"),
	},
	"cancellation": {
		rule:     problem.RemoteDeclaration,
		members:  `tool-provider /remote/cancellation`,
		accepted: quoted("propagate"),
		refused:  quoted("", "ignore"),
	},
	"connection": {
		rule:     problem.RemoteDeclaration,
		members:  `tool-provider /remote/connection`,
		accepted: quoted("session-aware"),
		refused:  quoted("", "stateless"),
	},
	"header": {
		rule:     problem.RemoteDeclaration,
		members:  `tool-provider /remote/headers/0/name`,
		accepted: quoted("Authorization", "X-Api_Key", "!#$%&'*+-.^_`|~09Az", long, "Content-Types", "Cookie"),
		refused: quoted("", "a b", "a:", "ü", long+"a", "Accept", "CONNECTION", "content-length", "Content-Type", "hOST", "Last-Event-ID",
			"MCP-Protocol-Version", "Mcp-Session-Id", "Transfer-Encoding"),
	},
	"secret key": {
		rule:     problem.RemoteDeclaration,
		members:  `tool-provider /remote/headers/0/secretRef/key`,
		accepted: quoted("token", "A.b_c-9", ".", strings.Repeat("a", 253)),
		refused:  quoted("", "a/b", "a b", strings.Repeat("a", 254)),
	},
	"connect timeout": {
		rule:     problem.RemoteDeclaration,
		members:  `tool-provider /remote/timeouts/connectMilliseconds`,
		accepted: []string{"1", "3600000"},
		refused:  []string{"0", "3600001", "-1"},
	},
	"request timeout": {
		rule:     problem.RemoteDeclaration,
		members:  `tool-provider /remote/timeouts/requestMilliseconds`,
		accepted: []string{"1", "86400000"},
		refused:  []string{"0", "86400001"},
	},
	"image reference": {
		rule:    problem.ImagePin,
		members: `build-profile /runtimeBase/0/imageRef /harness/0/imageRef`,
		accepted: quoted("registry.example/a/b@sha256:"+hex64, "localhost/a@sha256:"+hex64, "localhost:5000/a@sha256:"+hex64, "host:1/a/b/c@sha256:"+hex64,
			"docker.io/library/debian@sha256:"+hex64, "[::1]:5000/a@sha256:"+hex64),
		refused: quoted("", "debian", "a/b@sha256:"+hex64, "debian@sha256:"+hex64, "docker.io/debian@sha256:"+hex64, "index.docker.io/library/debian@sha256:"+hex64,
			"registry.example/a", "registry.example/a:latest", "registry.example/a:1@sha256:"+hex64, "registry.example/a@sha256:"+hex64[1:],
			"registry.example/A@sha256:"+hex64, "https://registry.example/a@sha256:"+hex64, "registry.example/a@sha512:"+hex64+hex64,
			" registry.example/a@sha256:"+hex64, "registry.example/@sha256:"+hex64, "registry.example/a/../b@sha256:"+hex64),
	},
	"image media type": {
		rule:     problem.ImagePin,
		members:  `build-profile /runtimeBase/0/image/mediaType`,
		accepted: quoted("application/vnd.oci.image.manifest.v1+json"),
		refused:  quoted("", "application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.v2+json"),
	},
	"image size": {
		rule:     problem.ImagePin,
		members:  `build-profile /runtimeBase/0/image/size`,
		accepted: []string{"1", "9007199254740991"},
		refused:  []string{"0", "-1"},
	},
	"source epoch": {
		rule:     problem.JSONValue,
		members:  `build-profile /sourceEpoch`,
		accepted: []string{"1", "1760000000", "253402300799"},
		refused:  []string{"0", "253402300800"},
	},
	"document of a binding": {
		rule:     problem.JSONValue,
		members:  `sandbox-binding /composition/mediaType`,
		accepted: quoted("application/vnd.agentsuite.composition.v1+json"),
		refused:  quoted("", "application/vnd.agentsuite.sandbox.inventory.v1+json"),
	},
	"path of a sandbox": {
		rule:     problem.JSONValue,
		members:  `sandbox-inventory /entries/0/path`,
		accepted: quoted("a", "a\\\\x2db/c", "...", strings.Repeat("a/", 2000)+"a"),
		refused:  quoted("", "/a", "a/", "./a", "a/../b", "a//b", ".", "a\\u0000"),
	},
	"mode of a sandbox": {
		rule:     problem.JSONValue,
		members:  `sandbox-inventory /entries/1/mode /entries/2/mode`,
		accepted: []string{"0", "511", "2541", "4095"},
		refused:  []string{"-1", "4096"},
	},
	"mode of a sandbox's symlink": {
		rule:     problem.JSONValue,
		members:  `sandbox-inventory /entries/0/mode`,
		accepted: []string{"511"},
		refused:  []string{"493"},
	},
	"owner in a sandbox": {
		rule:     problem.JSONValue,
		members:  `sandbox-inventory /entries/0/uid /entries/0/gid`,
		accepted: []string{"0", "65532", "4294967295"},
		refused:  []string{"-1", "4294967296"},
	},
	"component": {
		rule:     problem.JSONValue,
		members:  `sandbox-inventory /entries/0/component`,
		accepted: quoted("runtime-base", "harness", "agentsuite", "opa@1.0.0", "a_b.c@1.0.0-rc.1"),
		refused:  quoted("", "base", "opa", "opa@1", "@1.0.0", "Opa@1.0.0"),
	},
}

func TestCheckOfValues(t *testing.T) {
	for name, class := range valueClasses {
		document := ""
		for _, word := range strings.Fields(class.members) {
			if word[0] != '/' {
				document = word
				continue
			}
			text := full(t, document)
			for _, value := range class.accepted {
				t.Run(fmt.Sprintf("%s/%s%s/accepts %.40s", name, document, word, value), func(t *testing.T) {
					require.Empty(t, short(check(t, document, apply(t, text, edit{word, value}))))
				})
			}
			for _, value := range class.refused {
				t.Run(fmt.Sprintf("%s/%s%s/refuses %.40s", name, document, word, value), func(t *testing.T) {
					problems := check(t, document, apply(t, text, edit{word, value}))
					require.Len(t, problems, 1)
					require.Equal(t, class.rule.ID, problems[0].Rule.ID)
					require.Equal(t, word, problems[0].Pointer)
				})
			}
		}
	}
}
