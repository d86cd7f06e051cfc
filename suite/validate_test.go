package suite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// broken lists where each problem is and which rule it breaks, in the order of the report.
func broken(report *suite.Report) []string {
	list := make([]string, len(report.Problems))
	for i, p := range report.Problems {
		list[i] = p.Rule.ID + " " + p.Path + p.Pointer
	}
	return list
}

func TestOneFaultIsOneProblem(t *testing.T) {
	for _, tc := range []struct {
		name, base string
		alter      func(testing.TB, *fixture)
		want       []string
	}{
		{"an agent that cannot be read", "coordinator-workers", putting(writerPath, "{"), []string{"json-syntax " + writerPath}},
		{"an agent that is missing", "coordinator-workers", removing(writerPath), []string{"graph-missing agentsuite.json/agents/1/path"}},
		{"a provider that cannot be read", "coordinator-workers", putting(datetimePath, "[1, ]"), []string{"json-syntax " + datetimePath}},
		{"a provider that is another document", "coordinator-workers", func(_ testing.TB, f *fixture) { f.put(datetimePath, string(f.texts[profilePath])) },
			[]string{"json-value " + datetimePath + "/mediaType"}},
		{"a catalog that cannot be read", "kubernetes", putting(catalogPath, ""), []string{"json-syntax " + catalogPath}},
		{"a catalog that is missing", "opa", removing(catalogPath), []string{"graph-missing agentsuite.json/toolProviderCatalog/path"}},
		{"a profile that cannot be read", "coordinator-workers", putting(profilePath, "nothing"), []string{"json-syntax " + profilePath}},
		{"a manifest that cannot be read", "opa", putting(manifestPath, "{"), []string{"json-syntax " + manifestPath}},
		{"an evaluation index that cannot be read", "evaluations", putting(indexPath, "{"), []string{"json-syntax " + indexPath}},
		{"a case that cannot be read", "evaluations", putting(capitalPath, "{"), []string{"json-syntax " + capitalPath}},
		{"an index at a path that does not exist", "evaluations", replacing(writerPath, "evals/writer/index.json", "evals/writter/index.json"), []string{"eval-path " + writerPath + "/evals/0/path"}},
		{"a case at a path that does not exist", "evaluations", replacing(indexPath, "cases/capital.json", "cases/captial.json"), []string{"graph-missing " + indexPath + "/cases/0/path"}},
		{"a tool-provider composition of another provider", "kubernetes", func(t testing.TB, f *fixture) {
			f.replace(t, manifestPath, "\"id\": \"kubernetes\"", "\"id\": \"gitops\"")
		}, []string{"graph-identity agentsuite.json/toolProviderCompositions/0/id"}},
		{"an agent with evaluations that cannot be read", "evaluations", putting(writerPath, "{"), []string{"json-syntax " + writerPath}},
		{"an agent's list of the wrong type", "coordinator-workers", func(t testing.TB, f *fixture) {
			f.replace(t, writerPath, element(t, f, writerPath, "[\n    {\n      \"id\": \"datetime\""), `"datetime@1.0.0"`)
		}, []string{"json-type " + writerPath + "/toolProviders"}},
		{"an agent's list without a member", "coordinator-workers", replacing(writerPath, "\"version\": \"1.0.0\",\n", ""), []string{"json-missing-member " + writerPath + "/toolProviders/0"}},
		{"a composition without its list", "coordinator-workers", func(t testing.TB, f *fixture) {
			f.replace(t, writerAMD64, ",\n  \"toolProviders\": "+element(t, f, writerAMD64, "[\n    {\n      \"id\": \"datetime\""), "")
		}, []string{"json-missing-member " + writerAMD64}},
		{"a provider without variants of the right type", "opa", func(t testing.TB, f *fixture) {
			path := "tool-providers/opa/1.0.0/tool-provider.json"
			f.replace(t, path, element(t, f, path, "[\n    {\n      \"platform\""), "{}")
		}, []string{"json-type tool-providers/opa/1.0.0/tool-provider.json/variants"}},
		{"an inventory entry without a path", "opa", func(t testing.TB, f *fixture) {
			f.replace(t, "tool-providers/opa/1.0.0/tool-provider.json", `"path": "bin/opa",`, "")
		}, []string{"json-missing-member tool-providers/opa/1.0.0/tool-provider.json/variants/0/files/0"}},
		{"a platform that nobody knows", "opa", func(t testing.TB, f *fixture) {
			f.replace(t, "tool-providers/opa/1.0.0/tool-provider.json", `"architecture": "amd64"`, `"architecture": "x86_64"`)
		}, []string{"platform-exact tool-providers/opa/1.0.0/tool-provider.json/variants/0/platform/architecture"}},
		{"a dependency that is only declared remotely", "kubernetes", func(_ testing.TB, f *fixture) {
			text := string(f.texts[kubernetesPath])
			i := strings.Index(text, `"variants"`)
			f.put(kubernetesPath, text[:i]+`"remote": {"transport": "streamable-http", "endpointRef": "a", "network": [{"destinationRef": "b"}], "timeouts": {"connectMilliseconds": 1, "requestMilliseconds": 1}, "cancellation": "propagate", "connection": "session-aware"}}`)
			f.put(manifestPath, strings.Replace(string(f.texts[manifestPath]), ",\n  \"toolProviderCompositions\": "+element(t, f, manifestPath, "[\n    {\n      \"id\": \"kubernetes\""), "", 1))
		}, []string{"dependency-platform " + gitopsPath + "/variants/0/dependencies/0", "dependency-platform " + gitopsPath + "/variants/1/dependencies/0"}},
		{"a manifest without agents", "minimal", func(t testing.TB, f *fixture) {
			f.replace(t, manifestPath, element(t, f, manifestPath, "[\n    {\n      \"id\": \"assistant\""), "null")
		}, []string{"json-type agentsuite.json/agents"}},
		{"profiles of the wrong type", "minimal", func(t testing.TB, f *fixture) {
			f.replace(t, manifestPath, element(t, f, manifestPath, "[\n    {\n      \"id\": \"default\""), "{}")
		}, []string{"json-type agentsuite.json/buildProfiles"}},
		{"a digest of the wrong form", "minimal", func(t testing.TB, f *fixture) {
			f.replace(t, manifestPath, digestAfter(t, f, manifestPath, `"agents/assistant.json"`), "sha256:ABC")
		}, []string{"json-value agentsuite.json/agents/0/digest"}},
		{"a file that is too large for a document", "minimal", func(_ testing.TB, f *fixture) {
			e := f.entries[profilePath]
			e.Size = 5 << 20
			f.entries[profilePath] = e
			delete(f.texts, profilePath)
		}, []string{"json-limit " + profilePath}},
		{"a document that is not JSON by its name", "minimal", func(t testing.TB, f *fixture) {
			f.replace(t, manifestPath, profilePath, "instructions/assistant.md")
		}, []string{"json-value agentsuite.json/buildProfiles/0/path"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := loadFixture(t, "valid/"+tc.base).change(func(f *fixture) { tc.alter(t, f) })
			_, report := f.validate(t)
			require.Equal(t, tc.want, broken(report), problemLines(report))
		})
	}
}

// What a directory in git cannot hold, an archive can.
func TestPayloadsOfArchives(t *testing.T) {
	const opa, root = "tool-providers/opa/1.0.0/tool-provider.json", "tool-providers/opa/1.0.0/linux-amd64/"
	listing := func(entry string) func(testing.TB, *fixture) {
		return func(_ testing.TB, f *fixture) { f.replaceAll(opa, `"files": [`, `"files": [`+entry+",") }
	}
	for _, tc := range []struct {
		name  string
		alter func(testing.TB, *fixture)
		want  []string
	}{
		{"another owner", func(_ testing.TB, f *fixture) {
			e := f.entries[root+"bin/opa"]
			e.UID = 1000
			f.entries[root+"bin/opa"] = e
		}, []string{"payload-difference " + opa + "/variants/0/files/0/uid"}},
		{"a size alone that differs", replacing(opa, `"size": 29`, `"size": 30`), []string{"payload-digest " + opa + "/variants/0/files/0/digest"}},
		{"an absolute symlink", all(func(_ testing.TB, f *fixture) { f.link(root+"sh", content.Symlink, "/bin/sh") },
			listing(`{"path": "sh", "type": "symlink", "mode": 511, "uid": 0, "gid": 0, "linkTarget": "/bin/sh"}`)),
			[]string{"payload-link " + opa + "/variants/0/files/0/linkTarget"}},
		{"a symlink to the payload root", all(func(_ testing.TB, f *fixture) { f.link(root+"bin/up", content.Symlink, "..") },
			listing(`{"path": "bin/up", "type": "symlink", "mode": 511, "uid": 0, "gid": 0, "linkTarget": ".."}`)),
			[]string{"payload-link " + opa + "/variants/0/files/0/linkTarget"}},
		{"a symlink into a payload whose name begins alike", all(func(_ testing.TB, f *fixture) { f.link(root+"x", content.Symlink, "../linux-amd64-v2/x") },
			listing(`{"path": "x", "type": "symlink", "mode": 511, "uid": 0, "gid": 0, "linkTarget": "../linux-amd64-v2/x"}`)),
			[]string{"payload-link " + opa + "/variants/0/files/0/linkTarget"}},
		{"a hardlink out of the payload", all(func(_ testing.TB, f *fixture) { f.link(root+"x", content.Hardlink, "agents/writer.json") },
			listing(`{"path": "x", "type": "hardlink", "mode": 420, "uid": 0, "gid": 0, "linkTarget": "agents/writer.json"}`)),
			[]string{"payload-link " + opa + "/variants/0/files/0/linkTarget"}},
		{"a hardlink that is listed as a file", all(func(_ testing.TB, f *fixture) {
			f.link(root+"x", content.Hardlink, root+"bin/opa")
		}, listing(`{"path": "x", "type": "file", "mode": 420, "uid": 0, "gid": 0, "size": 28, "digest": "`+noDigest+`"}`)),
			[]string{"payload-difference " + opa + "/variants/0/files/0/type"}},
		{"a document by way of a hardlink", func(_ testing.TB, f *fixture) {
			f.put("metadata/profile.json", string(f.texts[profilePath]))
			f.remove(profilePath)
			f.link(profilePath, content.Hardlink, "metadata/profile.json")
		}, []string{"graph-missing agentsuite.json/buildProfiles/0/path"}},
		{"an entry for the payload root's own name", listing(`{"path": "none", "type": "directory", "mode": 493, "uid": 0, "gid": 0}`),
			[]string{"payload-missing " + opa + "/variants/0/files/0/path"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := loadFixture(t, "valid/opa").change(func(f *fixture) { tc.alter(t, f) })
			_, report := f.validate(t)
			require.Equal(t, tc.want, broken(report), problemLines(report))
		})
	}
}

// Faults in different places do not hide each other.
func TestAllFaultsAtOnce(t *testing.T) {
	f := loadFixture(t, "valid/coordinator-workers")
	before := f.identities()
	f.replace(t, manifestPath, `"name": "coordinator-workers",`, `"name": "coordinator-workers", "title": "Workers",`)
	f.insert(t, coordinatorPath, `"description"`, `"desciption": "", `)
	f.replace(t, coordinatorPath, `"agent": "reviewer"`, `"agent": "nobody"`)
	f.put("agents/reviewer.json", "{")
	f.replace(t, writerAMD64, `"buildProfile": "default"`, `"buildProfile": "other"`)
	f.reseal(before)
	f.put("instructions/writer.md", "changed\n")
	f.put(payloadAMD64+"/extra", "extra\n")
	_, report := f.validate(t)
	require.Equal(t, []string{
		"json-unknown-member agents/coordinator.json/desciption",
		"graph-unknown agents/coordinator.json/invokes/1/agent",
		"json-syntax agents/reviewer.json",
		"id-file agents/writer.json/instructions/digest",
		"json-unknown-member agentsuite.json/title",
		"graph-unknown compositions/writer-linux-amd64.json/buildProfile",
		"payload-unlisted tool-providers/datetime/1.0.0/tool-provider.json/variants/0/files",
	}, broken(report), problemLines(report))
}

// A stale digest does not keep a document from being checked.
func TestStaleDigestsHideNothing(t *testing.T) {
	f := loadFixture(t, "valid/coordinator-workers")
	f.replace(t, writerPath, `"version": "1.0.0"`, `"version": "3.0.0"`)
	_, report := f.validate(t)
	require.Equal(t, []string{
		"graph-unknown agents/writer.json/toolProviders/0",
		"id-document agentsuite.json/agents/1/digest",
		"composition-ambient compositions/writer-linux-amd64.json/toolProviders/0/version",
		"composition-ambient compositions/writer-linux-arm64.json/toolProviders/0/version",
	}, broken(report), problemLines(report))
}

// What is wrong with the content explains what is missing from the graph.
func TestContentProblemsExcuseWhatFollows(t *testing.T) {
	at := func(rule *problem.Rule, path string) problem.Problem {
		return problem.New(rule, problem.Place{Path: path}, "found while reading")
	}
	for _, tc := range []struct {
		name  string
		found problem.Problem
		alter func(testing.TB, *fixture)
	}{
		{"a device in place of a document", at(problem.PathType, "agents/writer.json"), removing("agents/writer.json")},
		{"an unsafe directory", at(problem.PathMode, "compositions"), removing("compositions/writer-linux-amd64.json")},
		{"a payload file that was refused", at(problem.PathMode, payloadAMD64+"/bin/datetime"), removing(payloadAMD64 + "/bin/datetime")},
		{"a truncated archive", at(problem.ArchiveTar, ""), func(_ testing.TB, f *fixture) {
			f.remove("tool-providers")
			f.remove(profilePath)
		}},
		{"an envelope that cannot be read", at(problem.OCIManifest, "index.json"), func(_ testing.TB, f *fixture) { f.entries, f.texts = tree{}, texts{} }},
		{"too much metadata", at(problem.PathLimit, ""), func(_ testing.TB, f *fixture) { delete(f.texts, writerPath) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := loadFixture(t, "valid/coordinator-workers")
			tc.alter(t, f)
			x := f.index()
			x.Problems = []problem.Problem{tc.found}
			g, report, err := suite.Validate(t.Context(), x, content.DefaultLimits())
			require.NoError(t, err)
			require.Nil(t, g)
			require.Equal(t, []problem.Problem{tc.found}, report.Problems, problemLines(report))
		})
	}
}

// What others accept is accepted.
func TestAccepted(t *testing.T) {
	for _, tc := range []struct {
		name, base string
		alter      func(testing.TB, *fixture)
	}{
		{"white space and member order", "minimal", func(_ testing.TB, f *fixture) {
			f.put(manifestPath, strings.NewReplacer("\n", "\r\n\t", `": `, `" :  `).Replace(string(f.texts[manifestPath])))
			f.replace(t, "agents/assistant.json", `"id": "assistant",`, "")
			f.replace(t, "agents/assistant.json", `"description"`, `"id": "assistant", "description"`)
		}},
		{"escapes", "minimal", replacing(manifestPath, `"name": "minimal"`, `"n\u0061me": "m\u0069nimal"`)},
		{"files that nothing refers to", "minimal", func(_ testing.TB, f *fixture) {
			f.put("metadata/notes.json", "not JSON")
			f.put("agents/old.json", "{}")
			f.link("metadata/latest", content.Symlink, "notes.json")
			f.mkdir("empty")
		}},
		{"an empty evals directory", "minimal", func(_ testing.TB, f *fixture) { f.mkdir("evals") }},
		{"a file beside the evaluation subtrees", "minimal", putting("evals/notes.md", "How we evaluate.\n")},
		{"two versions of one provider", "remote-mcp", func(t testing.TB, f *fixture) {
			other := "tool-providers/search/2.0.0/tool-provider.json"
			f.put(other, strings.Replace(string(f.texts[searchPath]), `"version": "1.0.0"`, `"version": "2.0.0"`, 1))
			f.insert(t, catalogPath, "{\n      \"id\": \"search\"", `{"id": "search", "version": "2.0.0", "path": "`+other+`", "digest": "`+string(f.identities()["document "+other])+`"}, `)
		}},
		{"agents that invoke each other", "opa", nil},
		{"an extension that is not critical", "minimal", inserting(manifestPath, `"capabilities"`, `"extensions": [{"name": "example.notes", "critical": false, "digest": "`+noDigest+`"}], `)},
		{"absent optional lists", "minimal", func(t testing.TB, f *fixture) {
			f.replace(t, manifestPath, ",\n  \"capabilities\": []", "")
			f.replace(t, "agents/assistant.json", ",\n  \"toolProviders\": [],\n  \"invokes\": []", "")
		}},
		{"a payload that platforms share", "coordinator-workers", func(t testing.TB, f *fixture) {
			files := element(t, f, datetimePath, "[\n        {\n          \"path\"")
			_, rest, _ := strings.Cut(string(f.texts[datetimePath]), files)
			i := strings.Index(rest, "[\n        {\n          \"path\"")
			f.put(datetimePath, strings.Replace(string(f.texts[datetimePath]), rest[i:], files+rest[i+len(element(t, &fixture{texts: texts{"x": []byte(rest[i:])}}, "x", "[")):], 1))
			f.replace(t, datetimePath, `1.0.0/linux-arm64"`, `1.0.0/linux-amd64"`)
			f.remove("tool-providers/datetime/1.0.0/linux-arm64")
		}},
		{"identical overlaps", "kubernetes", func(_ testing.TB, f *fixture) {
			f.replaceAll(gitopsPath, "/opt/agentsuite/tool-providers/gitops/2.0.0-rc.1", "/opt/agentsuite/tool-providers/kubernetes/1.31.0")
			for _, path := range []string{gitopsPath, kubernetesPath} {
				f.listPayload(path, "LICENSE", "the same\n")
			}
			for _, a := range []string{"amd64", "arm64"} {
				f.put("tool-providers/gitops/2.0.0-rc.1/linux-"+a+"/bin/LICENSE", "the same\n")
				f.put("tool-providers/kubernetes/1.31.0/linux-"+a+"/bin/LICENSE", "the same\n")
			}
		}},
		{"a hardlink in an archive", "opa", func(_ testing.TB, f *fixture) {
			root := "tool-providers/opa/1.0.0/linux-amd64/bin/"
			f.link(root+"rego", content.Hardlink, root+"opa")
			f.chmod(root+"rego", 0o755)
			f.replaceAll("tool-providers/opa/1.0.0/tool-provider.json", `"files": [`, `"files": [
        {"path": "bin/rego", "type": "hardlink", "mode": 493, "uid": 0, "gid": 0, "linkTarget": "`+root+`opa"},`)
		}},
		{"a listed directory, and a symlink to a directory", "opa", func(_ testing.TB, f *fixture) {
			root := "tool-providers/opa/1.0.0/linux-amd64/"
			f.link(root+"sbin", content.Symlink, "./bin/../bin")
			f.chmod(root+"bin", 0o777)
			f.replaceAll("tool-providers/opa/1.0.0/tool-provider.json", `"files": [`, `"files": [
        {"path": "bin", "type": "directory", "mode": 511, "uid": 0, "gid": 0},
        {"path": "sbin", "type": "symlink", "mode": 511, "uid": 0, "gid": 0, "linkTarget": "./bin/../bin"},`)
		}},
		{"a provider that only others depend on", "kubernetes", func(t testing.TB, f *fixture) {
			f.replace(t, manifestPath, ",\n  \"toolProviderCompositions\": "+element(t, f, manifestPath, "[\n    {\n      \"id\": \"kubernetes\""), "")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := loadFixture(t, "valid/"+tc.base)
			if tc.alter != nil {
				f = f.change(func(f *fixture) { tc.alter(t, f) })
			}
			_, report := f.validate(t)
			require.Empty(t, problemLines(report))
		})
	}
}

// Literals and operands must not be found in what is printed.
func TestMessagesEchoNeitherSecretsNorOperands(t *testing.T) {
	const marker = "Zq8Rk2Wd5Tn1Xc7Yv4Bm6Gh9Js3Lp0FaUeIoPQ"
	for name, b := range map[string]breakage{
		"argument":     {base: "azure-cli", alter: replacing(azurePath, `"--output=json"`, `"--token=ghp_`+marker+`"`)},
		"substitution": {base: "azure-cli", alter: replacing(azurePath, `"--output=json"`, `"ghp_`+marker+` ${X}"`)},
		"environment":  {base: "azure-cli", alter: replacing(azurePath, `"AZURE_CONFIG_DIR"`, `"ghp_`+marker+`"`)},
		"header":       {base: "remote-mcp", alter: replacing(searchPath, `"key": "token"`, `"key": "Bearer `+marker+`"`)},
		"endpoint":     {base: "remote-mcp", alter: replacing(searchPath, `"search-mcp-endpoint"`, `"https://a:`+marker+`@b"`)},
		"identifier":   {base: "minimal", alter: replacing("agents/assistant.json", `"model-api-key"`, `"ghp_`+marker+`"`)},
		"name":         {base: "minimal", alter: replacing(manifestPath, `"name": "minimal"`, `"name": "ghp_`+marker+`"`)},
		"behind text":  {base: "minimal", alter: replacing(manifestPath, `"name": "minimal"`, `"name": "`+strings.Repeat("x", 60)+" ghp_"+marker+`"`)},
		"private key":  {base: "minimal", alter: replacing(manifestPath, `"name": "minimal"`, `"name": "-----BEGIN `+`PRIVATE KEY-----\n`+marker+`"`)},
		"version":      {base: "minimal", alter: replacing(manifestPath, `"schemaVersion": "1.0.0-draft"`, `"schemaVersion": "ghp_`+marker+`"`)},
		"reference":    {base: "minimal", alter: replacing(manifestPath, `"agents/assistant.json"`, `"agents/ghp_`+marker+`.json"`)},
		"member":       {base: "minimal", alter: replacing(manifestPath, `"name": "minimal"`, `"name": "minimal", "ghp_`+marker+`": 1`)},
		"member of it": {base: "minimal", alter: replacing("agents/assistant.json", `"model": {`, `"model": {"ghp_`+marker+`": {"ghp_`+marker+`": 1},`)},
		"value":        {base: "evaluations", alter: replacing(capitalPath, `"value": "Paris"`, `"value": "`+marker+`\n"`)},
		"pattern":      {base: "evaluations", alter: replacing(datePath, "^[0-9]{4}-", marker+"(")},
		"rubric":       {base: "evaluations", alter: replacing(poemPath, "Four lines.", marker+`\u0000`)},
		"judge":        {base: "evaluations", alter: replacing(poemPath, "example-judge", marker+"é")},
		"tool":         {base: "evaluations", alter: replacing(datePath, `"tool": "current_time"`, `"tool": "`+marker+`\u2028"`)},
		"input":        {base: "evaluations", alter: replacing(poemPath, `"input": "Write`, `"inputs": "`+marker+`", "input": "Write`)},
	} {
		t.Run(name, func(t *testing.T) {
			f := loadFixture(t, "valid/"+b.base).broken(t, &b)
			_, report := f.validate(t)
			require.NotEmpty(t, report.Problems)
			require.NotContains(t, report.Err().Error(), marker)
			require.NotContains(t, indented(t, report), marker)
		})
	}
}

func TestReportsAreLimited(t *testing.T) {
	f := loadFixture(t, "valid/opa")
	const many = 3 * suite.MaxProblems
	for i := range many {
		f.put(fmt.Sprintf("tool-providers/opa/1.0.0/linux-amd64/extra/%05d", i), "extra\n")
	}
	_, first := f.validate(t)
	require.Len(t, first.Problems, suite.MaxProblems)
	require.Equal(t, many-suite.MaxProblems, first.Omitted)
	require.Contains(t, indented(t, first), `"omitted": 2000`)
	_, second := f.validate(t)
	require.Equal(t, first, second)
}

// Whatever order goroutines finish in, the report is the same.
func TestReportsAreDeterministic(t *testing.T) {
	f := largeSuite(t, 60, 30, 20)
	for path, text := range f.texts {
		if strings.HasPrefix(path, "agents/") || strings.HasPrefix(path, "compositions/") {
			f.put(path, strings.Replace(string(text), "provider-0", "provider-9", 1))
		}
	}
	_, want := f.validate(t)
	require.NotEmpty(t, want.Problems)
	for range 5 {
		_, got := f.validate(t)
		require.Equal(t, want, got)
	}
}

func TestValidateHonoursCancellation(t *testing.T) {
	x := largeSuite(t, 300, 100, 100).index()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g, report, err := suite.Validate(ctx, x, content.DefaultLimits())
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, g)
	require.Nil(t, report)

	ctx, cancel = context.WithCancel(t.Context())
	stopped := make(chan time.Time, 1)
	time.AfterFunc(5*time.Millisecond, func() { stopped <- time.Now(); cancel() })
	_, _, err = suite.Validate(ctx, x, content.DefaultLimits())
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, time.Since(<-stopped), 2*time.Second)
	}
}

// The graph holds every document under its identity, with the digest that references bind it by.
func TestGraph(t *testing.T) {
	g := validGraph(t, "kubernetes")
	require.Equal(t, "kubernetes", g.Manifest.Doc.Name)
	require.Equal(t, manifestPath, g.Manifest.Path)
	require.Equal(t, g.Manifest.Doc.ToolProviderCatalog.Digest, g.Catalog.Digest)
	require.Len(t, g.Agents, 1)
	require.Equal(t, g.Manifest.Doc.Agents[0].Digest, g.Agents["operator"].Digest)
	require.Len(t, g.ToolProviders, 2)
	for _, entry := range g.Catalog.Doc.ToolProviders {
		p := g.ToolProviders[suite.ProviderKey{ID: entry.ID, Version: entry.Version}]
		require.Equal(t, entry.Digest, p.Digest)
		require.Equal(t, entry.Path, p.Path)
		require.Equal(t, entry.ID, p.Doc.ID)
	}
	require.Len(t, g.BuildProfiles, 1)
	require.Len(t, g.Compositions, 2)
	c := g.Compositions[suite.CompositionKey{Agent: "operator", Platform: arm64}]
	require.Equal(t, arm64, c.Doc.Platform)
	require.Len(t, g.ToolProviderCompositions, 1)
	kubernetes := g.ToolProviders[suite.ProviderKey{ID: "kubernetes", Version: "1.31.0"}].Doc
	require.Equal(t, uint32(0o755), kubernetes.Variants[0].Files[0].Mode)
	require.Equal(t, []suite.EnvironmentInput{{Name: "KUBECONFIG", Required: true, Secret: true, Delivery: "file"}, {Name: "KUBE_NAMESPACE"}}, kubernetes.Variants[0].Environment)
	require.Equal(t, []suite.Endpoint{{Scheme: "https", Host: "cluster.example", Port: 6443}}, kubernetes.Variants[0].Network)
	require.NotNil(t, g.Index)
}

func TestDocumentDigest(t *testing.T) {
	a, err := suite.DocumentDigest([]byte("{\n  \"b\": 1.0,\n  \"a\": \"\\u0041\"\n}\n"))
	require.NoError(t, err)
	require.Equal(t, digest.FromString(`{"a":"A","b":1}`), a)
	_, err = suite.DocumentDigest([]byte("{"))
	require.Error(t, err)
}
