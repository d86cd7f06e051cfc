package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func platformHere() string { return runtime.GOOS + "/" + runtime.GOARCH }

// Whatever contradicts the document above it is refused before any process is
// started: the provider would crash, and its standard error would show.
func TestMetadataMustHangTogether(t *testing.T) {
	t.Parallel()
	set := func(name string, value any) func(object) { return func(doc object) { doc[name] = value } }
	other := object{"os": "linux", "architecture": "riscv64"}
	write := func(name, text string) func(t *testing.T, root string) {
		return func(t *testing.T, root string) { writeFile(t, root, name, []byte(text)) }
	}
	const (
		manifest = "tool-providers/probe/1.0.0/tool-provider.json"
		schema   = "tool-providers/probe/1.0.0/schemas/echo.input.json"
	)
	for name, tc := range map[string]struct {
		change imageFixture
		after  func(t *testing.T, root string)
		want   string
	}{
		"no metadata at all": {after: func(t *testing.T, root string) {
			require.NoError(t, os.RemoveAll(filepath.Join(root, metadataDir)))
		}, want: "holds no .agentsuite/binding.json; give --root the filesystem of an agent image"},
		"metadata leads out of the image": {after: func(t *testing.T, root string) {
			outside := filepath.Join(t.TempDir(), "elsewhere")
			require.NoError(t, os.Rename(filepath.Join(root, metadataDir), outside))
			require.NoError(t, os.Symlink(outside, filepath.Join(root, metadataDir)))
		}, want: "path escapes from parent"},
		"binding is no JSON":             {after: write("binding.json", "{"), want: "/.agentsuite/binding.json is no JSON document"},
		"binding of another draft":       {change: imageFixture{changeBinding: set("schemaVersion", "2.0.0")}, want: `its schemaVersion is "2.0.0"`},
		"another document":               {change: imageFixture{changeBinding: set("mediaType", compositionMediaType)}, want: "its mediaType is"},
		"member of another type":         {change: imageFixture{changeBinding: set("agent", 1)}, want: "/.agentsuite/binding.json: json: cannot unmarshal number"},
		"binding of another agent":       {change: imageFixture{changeBinding: set("agent", "other")}, want: `its agent is "tester", binding.json expects "other"`},
		"binding of another platform":    {change: imageFixture{changeBinding: set("platform", other)}, want: `binding.json expects "linux/riscv64"`},
		"binding of another composition": {change: imageFixture{changeBinding: set("composition", object{"digest": testVariant})}, want: "composition.json: its digest is"},
		"image of another platform": {change: imageFixture{
			changeBinding: set("platform", other), changeComposition: set("platform", other),
		}, want: `its platform is "linux/riscv64", this harness expects "` + platformHere()},
		"composition larger than a document": {
			after: write("composition.json", strings.Repeat(" ", maxDocumentBytes+1)), want: "larger than the 4194304 bytes"},
		"unknown execution mode": {change: imageFixture{changeComposition: func(doc object) {
			doc["toolProviders"].([]any)[0].(object)["executionMode"] = "remote"
		}}, want: `its executionMode of probe is "remote"`},
		"manifest changed later": {after: write(manifest,
			`{"schemaVersion":"1.0.0-draft","mediaType":"`+toolProviderMediaType+`","id":"probe"}`), want: manifest + ": its identity is"},
		"manifest of another provider": {change: imageFixture{changeProvider: set("id", "other")}, want: `its identity is "other@1.0.0"`},
		"another protocol":             {change: imageFixture{changeProvider: set("protocol", "a2a")}, want: `its protocol is "a2a"`},
		"no variant of that digest": {change: imageFixture{changeComposition: func(doc object) {
			doc["toolProviders"].([]any)[0].(object)["variantDigest"] = "sha256:0"
		}}, want: "has no variant for " + platformHere() + " with the digest sha256:0"},
		"no variant of that platform": {change: imageFixture{changeProvider: func(doc object) {
			doc["variants"].([]any)[0].(object)["platform"] = other
		}}, want: "has no variant for " + platformHere()},
		"schema changed later": {after: write(schema, anyObject+" "), want: schema + ": its digest is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image := tc.change
			image.providers = oneProvider("crash", echoTool()).providers
			root := writeImage(t, image)
			if tc.after != nil {
				tc.after(t, root)
			}
			got := harnessRun(t, root, nil)
			require.Equal(t, 1, got.status)
			require.Contains(t, got.stderr, tc.want)
			require.NotContains(t, got.stderr, "starting")
		})
	}
}

func TestSchemasThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ schema, want string }{
		"no schema":        {`[]`, "echo.input.json is no JSON Schema"},
		"a remote one":     {`{"$ref": "https://registry.example/schema.json"}`, "echo.input.json is no usable JSON Schema"},
		"a broken pattern": {`{"pattern": "("}`, "echo.input.json is no usable JSON Schema"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := writeImage(t, oneProvider("crash", object{"name": "echo", "inputSchema": tc.schema}))
			got := harnessRun(t, root, nil)
			require.Equal(t, 1, got.status)
			require.Contains(t, got.stderr, tc.want)
			require.NotContains(t, got.stderr, "starting")
		})
	}
}
