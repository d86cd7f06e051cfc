package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func repeated(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

const (
	aCase    = `{"path":"evals/a/cases/b.json","digest":"sha256:1111111111111111111111111111111111111111111111111111111111111111"}`
	anAssert = `{"id":"a","type":"contains","value":"x"}`
)

// What people read. One fault is one line; an empty list means that the change is permitted.
func TestCheckMessages(t *testing.T) {
	for _, test := range []struct {
		document string
		edits    []edit
		want     []string
	}{
		// Values.
		{"manifest", []edit{{"/compositions/0/platform/os", `"windows"`}}, []string{
			`/compositions/0/platform/os platform-exact: compositions[0].platform.os is "windows"; this draft knows only "linux"`}},
		{"manifest", []edit{{"/compositions/0/platform/architecture", `"riscv64"`}}, []string{
			`/compositions/0/platform/architecture platform-exact: compositions[0].platform.architecture is "riscv64"; this draft knows only "amd64" and "arm64"`}},
		{"manifest", []edit{{"/extensions/0/critical", `true`}}, []string{
			`/extensions/0/critical draft-critical-extension: extensions[0].critical is true; expected false: no critical extension is known`}},
		{"manifest", []edit{{"/agents/0/digest", `"sha256:abc"`}}, []string{
			`/agents/0/digest json-value: agents[0].digest is "sha256:abc"; expected a digest: sha256: and 64 lower-case hexadecimal digits`}},
		{"manifest", []edit{{"/agents/0/path", `"a/../b.json"`}}, []string{
			`/agents/0/path json-value: agents[0].path is "a/../b.json"; expected a content path: relative to the root of the suite, at most 1,024 bytes, segments separated by single slashes, none of them empty, . or .., without backslash and NUL`}},
		{"manifest", []edit{{"/agents/0/path", `"a.yaml"`}}, []string{
			`/agents/0/path json-value: agents[0].path is "a.yaml"; expected the content path of a document, which ends in .json`}},
		{"agent", []edit{{"/model/protocol", `""`}}, []string{`/model/protocol json-value: model.protocol is empty; expected text`}},
		{"agent", []edit{{"/description", `"` + strings.Repeat("a", 4097) + `"`}}, []string{`/description json-value: description has 4097 characters; the limit is 4096`}},
		{"agent", []edit{{"/invokes/0/maxDepth", `0`}}, []string{`/invokes/0/maxDepth json-value: invokes[0].maxDepth is 0; expected an integer of at least 1 that an IEEE double holds`}},
		{"agent", []edit{{"/id", `"` + strings.Repeat("A", 200) + `"`}}, []string{
			`/id json-value: id is "` + strings.Repeat("A", 80) + `…"; expected an identifier: 1 to 128 lower-case letters, digits, dots, underscores and hyphens, of which the first is a letter or a digit`}},
		{"agent", []edit{{"/model/secretRefs/0", `"sk-SECRET"`}}, []string{
			`/model/secretRefs/0 json-value: model.secretRefs[0] is not permitted; expected an identifier: 1 to 128 lower-case letters, digits, dots, underscores and hyphens, of which the first is a letter or a digit`}},
		{"agent", []edit{{"/model/endpointEnv", `"LD_PRELOAD"`}}, []string{
			`/model/endpointEnv environment-injection: model.endpointEnv is "LD_PRELOAD"; expected anything but a name that makes a process load foreign code: any that starts with LD_, and PYTHONPATH, NODE_OPTIONS and BASH_ENV`}},
		{"tool-provider", []edit{{"/variants/0/network/0/port", `70000`}}, []string{`/variants/0/network/0/port variant-declaration: variants[0].network[0].port is 70000; expected an integer from 1 to 65535`}},
		{"tool-provider", []edit{{"/variants/0/installRoot", `"/"`}}, []string{
			`/variants/0/installRoot variant-declaration: variants[0].installRoot is "/"; expected an absolute path below the root directory: / itself is no install root`}},
		{"tool-provider", []edit{{"/variants/0/arguments/1", `"${SECRET}"`}}, []string{
			`/variants/0/arguments/1 variant-declaration: variants[0].arguments[1] is not permitted; expected anything but text with ${ or $(: nothing is substituted in arguments`}},
		{"tool-provider", []edit{{"/variants/0/files/0/mode", `511`}}, []string{
			`/variants/0/files/0/mode inventory-mode: variants[0].files[0].mode is 511; expected permission bits that let neither group nor others write, such as 493 (octal 0755) and 420 (octal 0644), found octal 0777`}},
		{"tool-provider", []edit{{"/variants/0/files/0/mode", `2541`}}, []string{
			`/variants/0/files/0/mode inventory-mode: variants[0].files[0].mode is 2541; expected permission bits from 0 to 511 (octal 0777), without set-id and sticky bits`}},
		{"tool-provider", []edit{{"/variants/0/files/0/mode", `"0755"`}}, []string{`/variants/0/files/0/mode json-type: variants[0].files[0].mode is a string; expected an integer`}},
		{"tool-provider", []edit{{"/variants/0/files/0/uid", `1000`}}, []string{`/variants/0/files/0/uid inventory-shape: variants[0].files[0].uid is 1000; expected 0`}},
		{"tool-provider", []edit{{"/retained", `false`}}, []string{`/retained provider-contract: retained is false; expected true`}},
		{"tool-provider", []edit{{"/tools/0/effect", `"writes"`}}, []string{`/tools/0/effect tool-declaration: tools[0].effect is "writes"; expected "read-only" or "mutating"`}},
		{"tool-provider", []edit{{"/remote/headers/0/name", `"Content-TYPE"`}}, []string{
			`/remote/headers/0/name remote-declaration: remote.headers[0].name is "Content-TYPE"; expected anything but a header that the transport manages itself: accept, connection, content-length, content-type, host, last-event-id, mcp-protocol-version, mcp-session-id and transfer-encoding, in any case`}},
		{"build-profile", []edit{{"/harness/0/imageRef", `"debian@sha256:` + hex64 + `"`}}, []string{
			`/harness/0/imageRef image-pin: harness[0].imageRef is "debian@sha256:` + hex64 + `"; expected an image reference of the form registry/repository@sha256:…, with the registry written out and no tag, found a short form of docker.io/library/debian@sha256:` + hex64}},
		{"build-profile", []edit{{"/harness/0/imageRef", `"registry.example/a:1"`}}, []string{
			`/harness/0/imageRef image-pin: harness[0].imageRef is "registry.example/a:1"; expected an image reference of the form registry/repository@sha256:…, with the registry written out and no tag, found one with a tag`}},
		{"eval-case", []edit{{"/assertions/2/pattern", `"(SECRET"`}}, []string{
			`/assertions/2/pattern eval-assertion: assertions[2].pattern is not permitted; expected an RE2 regular expression of at most 1,024 bytes, found missing closing )`}},
		{"eval-case", []edit{{"/assertions/0/value", `"  "`}}, []string{
			`/assertions/0/value eval-assertion: assertions[0].value is not permitted; expected text with at least one character that is not white space`}},
		{"eval-case", []edit{{"/assertions/0/value", `"a\nb"`}}, []string{
			`/assertions/0/value eval-assertion: assertions[0].value is not permitted; expected one line of text without control characters`}},
		{"eval-case", []edit{{"/assertions/5/rubric", `"a\u0007"`}}, []string{
			`/assertions/5/rubric eval-assertion: assertions[5].rubric is not permitted; expected text of at most 4,096 bytes, with no control characters but newline and tab, found the control character U+0007`}},
		{"eval-case", []edit{{"/assertions/5/minScore", `101`}}, []string{
			`/assertions/5/minScore eval-assertion: assertions[5].minScore is not permitted; expected an integer from 0 to 100`}},

		// Members that are not known.
		{"agent", []edit{{"/toolSets", `[]`}}, []string{`/toolSets draft-deferred: unknown member "toolSets": it is not part of 1.0.0-draft`}},
		{"agent", []edit{{"/runtimeProfile", `{}`}}, []string{`/runtimeProfile draft-deferred: unknown member "runtimeProfile": it is not part of 1.0.0-draft`}},
		{"agent", []edit{{"/model/capabilities", `[]`}}, []string{`/model/capabilities draft-deferred: unknown member "capabilities": it is not part of 1.0.0-draft`}},
		{"tool-provider", []edit{{"/execution", `{}`}, {"/variants/0/policy", `{}`}}, []string{
			`/execution draft-deferred: unknown member "execution": it is not part of 1.0.0-draft`,
			`/variants/0/policy draft-deferred: unknown member "policy": it is not part of 1.0.0-draft`}},
		{"agent", []edit{{"/model/Protocol", `"p"`}, {"/model/protocol", ``}}, []string{`/model/Protocol json-unknown-member: unknown member "Protocol": did you mean "protocol"?`}},
		{"agent", []edit{{"/instuctions", `{}`}, {"/instructions", ``}}, []string{`/instuctions json-unknown-member: unknown member "instuctions": did you mean "instructions"?`}},
		{"agent", []edit{{"/$schema", `"x"`}}, []string{`/$schema json-unknown-member: unknown member "$schema": the document has only "description", "evals", "extensions", "id", "instructions", "invokes", "mediaType", "model", "schemaVersion" and "toolProviders"`}},
		{"manifest", []edit{{"/compositions/0/platform/variant", `"v8"`}}, []string{
			`/compositions/0/platform/variant json-unknown-member: unknown member "variant": compositions[0].platform has only "architecture" and "os"`}},
		{"tool-provider", []edit{{"/variants/0/something", `1`}}, []string{`/variants/0/something json-unknown-member: unknown member "something": it is not part of 1.0.0-draft`}},
		{"tool-provider", []edit{{"/tools/1/delegatedAuthorization/effect", `"mutating"`}}, []string{
			`/tools/1/delegatedAuthorization/effect json-unknown-member: unknown member "effect": tools[1].delegatedAuthorization has only "credential", "scope" and "service"`}},
		{"agent", []edit{{"/x\u001b[2J" + strings.Repeat("y", 100), `1`}}, []string{
			"/x\u001b[2J" + strings.Repeat("y", 100) + ` json-unknown-member: unknown member "x\u001b[2J` + strings.Repeat("y", 75) + `…": the document has only "description", "evals", "extensions", "id", "instructions", "invokes", "mediaType", "model", "schemaVersion" and "toolProviders"`}},

		// Arrays.
		{"manifest", []edit{{"/agents", `[]`}}, []string{`/agents json-value: agents is empty; expected at least 1 element`}},
		{"manifest", []edit{{"/compositions", `[]`}}, []string{`/compositions json-value: compositions is empty; expected at least 1 element`}},
		{"manifest", []edit{{"/buildProfiles", `[]`}}, []string{`/buildProfiles json-value: buildProfiles is empty; expected at least 1 element`}},
		{"manifest", []edit{{"/toolProviderCompositions", `[]`}, {"/capabilities", `[]`}, {"/extensions", `[]`}}, nil},
		{"agent", []edit{{"/model/secretRefs", `[]`}, {"/toolProviders", `[]`}, {"/invokes", `[]`}, {"/evals", `[]`}}, nil},
		{"agent", []edit{{"/model/secretRefs", `["a","b","a"]`}}, []string{
			`/model/secretRefs/2 json-value: model.secretRefs[2] repeats model.secretRefs[0]; expected each element once`}},
		{"agent", []edit{{"/evals", repeated(2, aCase)}}, []string{`/evals eval-limit: evals has 2 elements; expected at most 1`}},
		{"eval-index", []edit{{"/cases", `[]`}}, []string{`/cases eval-limit: cases is empty; expected at least 1 element`}},
		{"eval-index", []edit{{"/cases", repeated(129, aCase)}}, []string{`/cases eval-limit: cases has 129 elements; expected at most 128`}},
		{"eval-index", []edit{{"/cases", repeated(128, aCase)}}, nil},
		{"eval-case", []edit{{"/assertions", `[]`}}, []string{`/assertions eval-limit: assertions is empty; expected at least 1 element`}},
		{"eval-case", []edit{{"/assertions", repeated(1001, anAssert)}}, []string{`/assertions eval-limit: assertions has 1001 elements; expected at most 1000`}},
		{"eval-case", []edit{{"/assertions", repeated(1000, anAssert)}}, nil},
		{"tool-provider-catalog", []edit{{"/toolProviders", `[]`}}, nil},
		{"composition", []edit{{"/toolProviders", `[]`}}, nil},
		{"tool-provider", []edit{{"/tools", `[]`}}, []string{`/tools provider-contract: tools is empty; expected at least 1 element`}},
		{"tool-provider", []edit{{"/variants", `[]`}}, []string{`/variants provider-contract: variants is empty; expected at least 1 element`}},
		{"tool-provider", []edit{{"/variants/0/files", `[]`}}, []string{`/variants/0/files variant-declaration: variants[0].files is empty; expected at least 1 element`}},
		{"tool-provider", []edit{{"/variants/0/arguments", `[]`}, {"/variants/0/searchPath", `[]`}, {"/variants/0/writablePaths", `[]`}, {"/variants/0/environment", `[]`}, {"/variants/0/network", `[]`},
			{"/variants/0/dependencies", `[]`}, {"/variants/0/runtime/requiredBasePaths", `[]`}, {"/remote/headers", `[]`}, {"/tools/0/effects", `[]`}}, nil},
		{"tool-provider", []edit{{"/variants/0/arguments", `["-v","-v"]`}}, nil},
		{"tool-provider", []edit{{"/tools/0/effects", `["a","a"]`}}, []string{`/tools/0/effects/1 tool-declaration: tools[0].effects[1] repeats tools[0].effects[0]; expected each element once`}},
		{"tool-provider", []edit{{"/variants/0/searchPath", `["/a","/a"]`}, {"/variants/0/writablePaths", `["/a","/b","/b"]`}, {"/variants/0/runtime/requiredBasePaths", `["/c","/c"]`}}, []string{
			`/variants/0/runtime/requiredBasePaths/1 variant-declaration: variants[0].runtime.requiredBasePaths[1] repeats variants[0].runtime.requiredBasePaths[0]; expected each element once`,
			`/variants/0/searchPath/1 variant-declaration: variants[0].searchPath[1] repeats variants[0].searchPath[0]; expected each element once`,
			`/variants/0/writablePaths/2 variant-declaration: variants[0].writablePaths[2] repeats variants[0].writablePaths[1]; expected each element once`}},
		{"tool-provider", []edit{{"/variants/0/network/1", `{"port":443,"host":"example.org","scheme":"https"}`}}, []string{
			`/variants/0/network/1 variant-declaration: variants[0].network[1] repeats variants[0].network[0]; expected each element once`}},
		{"tool-provider", []edit{{"/remote/network", `[]`}}, []string{`/remote/network remote-declaration: remote.network is empty; expected at least 1 element`}},
		{"tool-provider", []edit{{"/remote/network/1", `{"destinationRef":"opa-egress"}`}}, []string{`/remote/network/1 remote-declaration: remote.network[1] repeats remote.network[0]; expected each element once`}},
		{"build-profile", []edit{{"/runtimeBase", `[]`}, {"/harness", `[]`}}, []string{
			`/harness json-value: harness is empty; expected at least 1 element`,
			`/runtimeBase json-value: runtimeBase is empty; expected at least 1 element`}},
		{"sandbox-inventory", []edit{{"/entries", `[]`}}, nil},

		// Members that depend on others.
		{"tool-provider", []edit{{"/variants", ``}, {"/remote", ``}}, []string{` provider-contract: the document has none of the members "variants" and "remote"; expected at least one`}},
		{"tool-provider", []edit{{"/variants", ``}}, nil},
		{"tool-provider", []edit{{"/remote", ``}}, nil},
		{"tool-provider", []edit{{"/variants", ``}, {"/remote", ``}, {"/remotes", `{}`}}, []string{`/remotes json-unknown-member: unknown member "remotes": did you mean "remote"?`}},
		{"tool-provider", []edit{{"/tools/1/effect", ``}, {"/tools/1/approval", ``}}, []string{
			`/tools/1 tool-declaration: missing member "effect" in tools[1], which has "delegatedAuthorization"`,
			`/tools/1 tool-declaration: missing member "approval" in tools[1], which has "delegatedAuthorization"`}},
		{"tool-provider", []edit{{"/variants/0/environment/1/delivery", ``}}, []string{
			`/variants/0/environment/1 secret-delivery: missing member "delivery" in variants[0].environment[1], whose secret is true`}},
		{"tool-provider", []edit{{"/variants/0/environment/1/secret", `false`}}, []string{
			`/variants/0/environment/1/delivery secret-delivery: member "delivery" does not belong in variants[0].environment[1], whose secret is false`}},
		{"tool-provider", []edit{{"/variants/0/environment/0/delivery", `"env"`}}, []string{
			`/variants/0/environment/0/delivery secret-delivery: member "delivery" does not belong in variants[0].environment[0], whose secret is absent`}},
		{"tool-provider", []edit{{"/variants/0/environment/1/secret", `"yes"`}}, []string{
			`/variants/0/environment/1/secret json-type: variants[0].environment[1].secret is a string; expected a boolean`}},
		{"tool-provider", []edit{{"/variants/0/files/0/linkTarget", `"x"`}, {"/variants/0/files/0/size", ``}, {"/variants/0/files/0/digest", ``}}, []string{
			`/variants/0/files/0/linkTarget inventory-shape: member "linkTarget" does not belong in variants[0].files[0], whose type is "file"`,
			`/variants/0/files/0 inventory-shape: missing member "size" in variants[0].files[0], whose type is "file"`,
			`/variants/0/files/0 inventory-shape: missing member "digest" in variants[0].files[0], whose type is "file"`}},
		{"tool-provider", []edit{{"/variants/0/files/1/digest", `"sha256:` + hex64 + `"`}, {"/variants/0/files/1/linkTarget", `"x"`}, {"/variants/0/files/1/size", `5`}}, []string{
			`/variants/0/files/1/digest inventory-shape: member "digest" does not belong in variants[0].files[1], whose type is "directory"`,
			`/variants/0/files/1/linkTarget inventory-shape: member "linkTarget" does not belong in variants[0].files[1], whose type is "directory"`,
			`/variants/0/files/1/size inventory-shape: variants[0].files[1].size is 5; expected 0`}},
		{"tool-provider", []edit{{"/variants/0/files/2/digest", `"sha256:` + hex64 + `"`}, {"/variants/0/files/3/linkTarget", ``}}, []string{
			`/variants/0/files/2/digest inventory-shape: member "digest" does not belong in variants[0].files[2], whose type is "symlink"`,
			`/variants/0/files/3 inventory-shape: missing member "linkTarget" in variants[0].files[3], whose type is "hardlink"`}},
		{"tool-provider", []edit{{"/variants/0/files/0/type", `"fifo"`}}, []string{
			`/variants/0/files/0/type inventory-shape: variants[0].files[0].type is "fifo"; expected "file", "directory", "symlink" or "hardlink"`}},
		{"eval-case", []edit{{"/runs", ``}}, []string{` eval-case: missing member "runs" in the document, which has "minPasses"`}},
		{"eval-case", []edit{{"/runs", ``}, {"/minPasses", ``}}, nil},
		{"eval-case", []edit{{"/assertions/0/value", ``}}, []string{`/assertions/0 eval-assertion: missing member "value" in assertions[0], whose type is "contains"`}},
		{"eval-case", []edit{{"/assertions/0/pattern", `""`}}, []string{`/assertions/0/pattern eval-assertion: member "pattern" does not belong in assertions[0], whose type is "contains"`}},
		{"eval-case", []edit{{"/assertions/0/pattern", `null`}}, []string{`/assertions/0/pattern json-type: assertions[0].pattern is null; expected a string, and what is absent is left out`}},
		{"eval-case", []edit{{"/assertions/5/judgeVersion", ``}, {"/assertions/5/value", `"x"`}}, []string{
			`/assertions/5/value eval-assertion: member "value" does not belong in assertions[5], whose type is "llmJudge"`,
			`/assertions/5 eval-assertion: missing member "judgeVersion" in assertions[5], whose type is "llmJudge"`}},
		{"eval-case", []edit{{"/assertions/6/critical", `true`}}, []string{
			`/assertions/6/critical eval-assertion: assertions[6].critical is true; expected false: an assertion of a type that this draft does not define cannot be critical`}},
		{"eval-case", []edit{{"/assertions/6/critical", ``}}, []string{
			`/assertions/6 eval-assertion: missing member "critical" in assertions[6], whose type is "example.org.similar"`}},
		{"eval-case", []edit{{"/assertions/6/tool", `"x"`}, {"/assertions/6/value", ``}}, []string{
			`/assertions/6/tool eval-assertion: member "tool" does not belong in assertions[6], whose type is "example.org.similar"`,
			`/assertions/6 eval-assertion: missing member "value" in assertions[6], whose type is "example.org.similar"`}},
		{"eval-case", []edit{{"/assertions/0/type", `"LLMJudge"`}}, []string{
			`/assertions/0/type eval-assertion: assertions[0].type is "LLMJudge"; expected contains, notContains, regex, toolCalled, toolNotCalled, llmJudge or the identifier of an extension's type`}},
		{"eval-case", []edit{{"/assertions/0/critical", `false`}, {"/assertions/5/critical", `true`}}, nil},
		{"sandbox-inventory", []edit{{"/entries/1/digest", ``}, {"/entries/0/size", `0`}, {"/entries/2/size", `0`}}, []string{
			`/entries/0/size json-value: member "size" does not belong in entries[0], whose type is "symlink"`,
			`/entries/1 json-value: missing member "digest" in entries[1], whose type is "file"`,
			`/entries/2/size json-value: member "size" does not belong in entries[2], whose type is "directory"`}},
		{"sandbox-inventory", []edit{{"/entries/0/type", `"hardlink"`}}, []string{`/entries/0/type json-value: entries[0].type is "hardlink"; expected "file", "directory" or "symlink"`}},
	} {
		name := test.document
		for _, e := range test.edits {
			name += " " + e.pointer + "=" + e.value[:min(len(e.value), 20)]
		}
		t.Run(name, func(t *testing.T) {
			text := apply(t, full(t, test.document), test.edits...)
			require.Equal(t, test.want, short(check(t, test.document, text)))
		})
	}
}
