package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A provider under test is the test binary itself, started with this argument,
// the name of a behaviour, and that behaviour's own arguments. The environment
// cannot say it, since the harness passes on nothing that is not declared.
const asProvider = "as-provider-under-test"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asProvider {
		behaviours[os.Args[2]](os.Args[3:])
		return
	}
	os.Exit(m.Run())
}

const testRevision = "2025-11-25"

var behaviours = map[string]func(args []string){
	// good offers what its manifest declares, and undeclared one tool more.
	"good":       func(declared []string) { serve(goodServer(declared, nil)) },
	"undeclared": func(declared []string) { serve(goodServer(append(declared, "back_door"), nil)) },
	"empty":      func([]string) { serve(newServer(nil)) },
	"endless":    func([]string) { serve(endlessServer()) },
	"old": func(declared []string) {
		serve(goodServer(declared, &mcp.ServerOptions{SupportedProtocolVersions: []string{"2024-11-05"}}))
	},
	"crash": func([]string) {
		fmt.Fprintf(os.Stderr, "cannot log in with %s\n", os.Getenv("API_TOKEN"))
		os.Exit(3)
	},
	"babble": func([]string) { fmt.Println("this is no JSON-RPC"); select {} },
	// hang holds the named pipe open, and so does the child that it starts.
	"hang": func(args []string) {
		pipe, err := os.OpenFile(args[0], os.O_WRONLY, 0)
		if err != nil {
			panic(err)
		}
		child := exec.Command(os.Args[0], asProvider, "linger")
		child.Stdout, child.Stderr = pipe, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		select {}
	},
	"linger": func([]string) { select {} },
}

func serve(server *mcp.Server) {
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newServer(options *mcp.ServerOptions) *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "under-test", Version: "1"}, options)
}

// toolBehaviours are the tools that goodServer can offer.
var toolBehaviours = map[string]func(arguments json.RawMessage) *mcp.CallToolResult{
	"echo": func(arguments json.RawMessage) *mcp.CallToolResult {
		return &mcp.CallToolResult{StructuredContent: arguments}
	},
	"environment": func(json.RawMessage) *mcp.CallToolResult {
		return &mcp.CallToolResult{StructuredContent: object{"environment": os.Environ()}}
	},
	"prose": func(json.RawMessage) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "plain words, " + os.Getenv("API_TOKEN")}}}
	},
	"fail": func(json.RawMessage) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{
			&mcp.TextContent{Text: "no \x1b[31mluck with " + os.Getenv("API_TOKEN")},
		}}
	},
	"die": func(json.RawMessage) *mcp.CallToolResult {
		fmt.Fprintln(os.Stderr, "dying of", os.Getenv("API_TOKEN"))
		os.Exit(4)
		return nil
	},
	"stuck":     func(json.RawMessage) *mcp.CallToolResult { select {} },
	"back_door": func(json.RawMessage) *mcp.CallToolResult { panic("an undeclared tool was called") },
}

func goodServer(tools []string, options *mcp.ServerOptions) *mcp.Server {
	server := newServer(options)
	for _, name := range tools {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(anyObject)},
			func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return toolBehaviours[name](request.Params.Arguments), nil
			})
	}
	return server
}

func endlessServer() *mcp.Server {
	server := newServer(&mcp.ServerOptions{PageSize: 1000})
	for i := range maxOfferedTools + 1 {
		server.AddTool(&mcp.Tool{Name: fmt.Sprintf("tool-%d", i), InputSchema: json.RawMessage(anyObject)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	}
	return server
}

// object keeps the fixtures readable.
type object = map[string]any

// providerFixture is one provider of an image under test.
type providerFixture struct {
	id        string
	behaviour []string // name and arguments; the declared tools' names follow
	tools     []object // as in the manifest; schemas are filled in where absent
	variant   object   // members beside those that every fixture has
}

func echoTool() object { return object{"name": "echo"} }

// imageFixture is what writeImage writes. The change functions see a document
// just before it is written; digests above it follow.
type imageFixture struct {
	providers         []providerFixture
	changeBinding     func(object)
	changeComposition func(object)
	changeProvider    func(object)
}

const (
	anyObject   = `{"type": "object"}`
	textOnly    = `{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false}`
	testVariant = "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
)

// writeImage lays an agent image's filesystem out in a new directory, with this
// test binary as every provider's executable, and returns the directory.
func writeImage(t *testing.T, image imageFixture) string {
	t.Helper()
	root := t.TempDir()
	executable, err := os.Executable()
	require.NoError(t, err)
	here := object{"os": runtime.GOOS, "architecture": runtime.GOARCH}
	resolved := []any{}
	for _, p := range image.providers {
		version := "1.0.0"
		dir := filepath.Join("tool-providers", p.id, version)
		entrypoint := filepath.Join("/opt", p.id, "bin/server")
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(entrypoint)), 0o755))
		require.NoError(t, os.Symlink(executable, filepath.Join(root, entrypoint)))

		arguments := append([]string{asProvider}, p.behaviour...)
		tools := []any{}
		for _, tool := range p.tools {
			for member, suffix := range map[string]string{"inputSchema": "input", "outputSchema": "output"} {
				text, given := tool[member].(string)
				if !given {
					if member == "outputSchema" {
						continue
					}
					text = anyObject
				}
				name := filepath.Join(dir, "schemas", fmt.Sprintf("%s.%s.json", tool["name"], suffix))
				tool[member] = object{"path": "suite/" + name, "digest": writeFile(t, root, name, []byte(text))}
			}
			tools = append(tools, tool)
			arguments = append(arguments, tool["name"].(string))
		}
		variant := object{
			"platform": here, "variantDigest": testVariant, "entrypoint": entrypoint, "arguments": arguments,
		}
		for name, value := range p.variant {
			variant[name] = value
		}
		manifest := object{
			"schemaVersion": schemaVersion, "mediaType": toolProviderMediaType, "id": p.id, "version": version,
			"protocol": "mcp", "revision": testRevision, "tools": tools, "variants": []any{variant},
		}
		if image.changeProvider != nil {
			image.changeProvider(manifest)
		}
		resolved = append(resolved, object{
			"id": p.id, "version": version, "executionMode": "shared-sandbox",
			"manifestDigest": writeDocument(t, root, filepath.Join(dir, "tool-provider.json"), manifest),
			"variantDigest":  testVariant,
		})
	}
	composition := object{
		"schemaVersion": schemaVersion, "mediaType": compositionMediaType, "agent": "tester", "platform": here,
		"buildProfile": "default", "toolProviders": resolved,
	}
	if image.changeComposition != nil {
		image.changeComposition(composition)
	}
	binding := object{
		"schemaVersion": schemaVersion, "mediaType": bindingMediaType, "agent": "tester", "platform": here,
		"composition": object{"digest": writeDocument(t, root, "composition.json", composition)},
	}
	if image.changeBinding != nil {
		image.changeBinding(binding)
	}
	writeDocument(t, root, "binding.json", binding)
	return root
}

// writeDocument writes canonical JSON, as an image builder does, and returns
// its digest.
func writeDocument(t *testing.T, root, name string, doc object) string {
	t.Helper()
	raw, err := json.Marshal(doc)
	require.NoError(t, err)
	canonical, err := jcs.Transform(raw)
	require.NoError(t, err)
	return writeFile(t, root, name, canonical)
}

func writeFile(t *testing.T, root, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(root, metadataDir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return digestOf(data)
}

// outcome is what a command line came to.
type outcome struct {
	status         int
	stdout, stderr string
}

// harnessRun runs a command line on the image at root, with exactly the given
// environment.
func harnessRun(t *testing.T, root string, environment map[string]string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	lookup := func(name string) (string, bool) { value, ok := environment[name]; return value, ok }
	status := run(t.Context(), slices.Concat([]string{"--root", root}, args), lookup, &stdout, &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}
