package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/gowebpki/jcs"
)

const (
	schemaVersion            = "1.0.0-draft"
	bindingMediaType         = "application/vnd.agentsuite.sandbox.binding.v1+json"
	compositionMediaType     = "application/vnd.agentsuite.composition.v1+json"
	toolProviderMediaType    = "application/vnd.agentsuite.tool.provider.v1+json"
	executionModeShared      = "shared-sandbox"
	metadataDir              = ".agentsuite"
	maxDocumentBytes         = 4 << 20 // the specification's limit, section 5.2
	approvalRequired         = "required"
	approvalPolicyControlled = "policy-controlled"
)

// agent is what an Agent Sandbox Image says about itself: the agent, and the
// exact tool providers that its composition binds.
type agent struct {
	id        string
	platform  platform
	providers []*provider // in the composition's order
}

// provider is one resolved tool provider with the variant of this platform.
type provider struct {
	id, version string
	revision    string // of the MCP protocol
	entrypoint  string // path of the executable, below the root that was opened
	variant     variant
	tools       []*tool // in the manifest's order
}

func (p *provider) String() string { return p.id + "@" + p.version }

// tool is one declared tool with the schemas that its calls and results must
// satisfy; output is nil when none is declared.
type tool struct {
	provider      *provider
	name          string
	description   string
	approval      string
	delegated     bool
	input, output *jsonschema.Resolved
}

// String returns the name that no other tool of the agent has.
func (t *tool) String() string { return t.provider.String() + "/" + t.name }

// The documents below hold the members that a harness needs. Their closedness
// and consistency were established when the image was built.

type header struct {
	SchemaVersion string `json:"schemaVersion"`
	MediaType     string `json:"mediaType"`
}

type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
}

func (p platform) String() string { return p.OS + "/" + p.Architecture }

type bindingDocument struct {
	header
	Agent       string   `json:"agent"`
	Platform    platform `json:"platform"`
	Composition struct {
		Digest string `json:"digest"`
	} `json:"composition"`
}

type compositionDocument struct {
	header
	Agent         string             `json:"agent"`
	Platform      platform           `json:"platform"`
	ToolProviders []resolvedProvider `json:"toolProviders"`
}

type resolvedProvider struct {
	ID             string `json:"id"`
	Version        string `json:"version"`
	ManifestDigest string `json:"manifestDigest"`
	VariantDigest  string `json:"variantDigest"`
	ExecutionMode  string `json:"executionMode"`
}

type toolProviderDocument struct {
	header
	ID       string         `json:"id"`
	Version  string         `json:"version"`
	Protocol string         `json:"protocol"`
	Revision string         `json:"revision"`
	Tools    []toolDocument `json:"tools"`
	Variants []variant      `json:"variants"`
}

type toolDocument struct {
	Name                   string          `json:"name"`
	Description            string          `json:"description"`
	InputSchema            fileReference   `json:"inputSchema"`
	OutputSchema           *fileReference  `json:"outputSchema"`
	Approval               string          `json:"approval"`
	DelegatedAuthorization json.RawMessage `json:"delegatedAuthorization"`
}

type fileReference struct {
	Digest string `json:"digest"`
}

type variant struct {
	Platform      platform           `json:"platform"`
	VariantDigest string             `json:"variantDigest"`
	Entrypoint    string             `json:"entrypoint"`
	Arguments     []string           `json:"arguments"`
	SearchPath    []string           `json:"searchPath"`
	Environment   []environmentInput `json:"environment"`
}

// metadata reads the files of one image. Nothing outside its root can be
// reached through it, whatever names and links the files hold.
type metadata struct{ root *os.Root }

// loadAgent reads the metadata that lies in /.agentsuite of the filesystem at
// rootDir and follows it from the binding down: every document is the one that
// the document above it names by digest.
func loadAgent(rootDir string) (*agent, error) {
	root, err := os.OpenRoot(rootDir)
	if err != nil {
		return nil, fmt.Errorf("opening the image's root: %w", err)
	}
	defer root.Close()
	m := metadata{root}

	var binding bindingDocument
	if _, err := m.document("binding.json", bindingMediaType, &binding); err != nil {
		return nil, err
	}
	var composition compositionDocument
	raw, err := m.document("composition.json", compositionMediaType, &composition)
	if err != nil {
		return nil, err
	}
	if got := digestOf(raw); got != binding.Composition.Digest {
		return nil, mismatch("composition.json", "digest", binding.Composition.Digest, "binding.json", got)
	}
	if composition.Agent != binding.Agent {
		return nil, mismatch("composition.json", "agent", binding.Agent, "binding.json", composition.Agent)
	}
	if composition.Platform != binding.Platform {
		return nil, mismatch("composition.json", "platform", binding.Platform.String(), "binding.json", composition.Platform.String())
	}
	if here := (platform{runtime.GOOS, runtime.GOARCH}); composition.Platform != here {
		return nil, mismatch("composition.json", "platform", here.String(), "this harness", composition.Platform.String())
	}

	a := &agent{id: composition.Agent, platform: composition.Platform}
	for _, resolved := range composition.ToolProviders {
		p, err := m.provider(rootDir, composition.Platform, resolved)
		if err != nil {
			return nil, err
		}
		a.providers = append(a.providers, p)
	}
	return a, nil
}

func (m metadata) provider(rootDir string, on platform, resolved resolvedProvider) (*provider, error) {
	dir := path.Join("tool-providers", resolved.ID, resolved.Version)
	name := path.Join(dir, "tool-provider.json")
	if resolved.ExecutionMode != executionModeShared {
		return nil, mismatch("composition.json", "executionMode of "+resolved.ID, executionModeShared, "this harness", resolved.ExecutionMode)
	}
	var doc toolProviderDocument
	raw, err := m.document(name, toolProviderMediaType, &doc)
	if err != nil {
		return nil, err
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: computing its identity: %w", inImage(name), err)
	}
	if got := digestOf(canonical); got != resolved.ManifestDigest {
		return nil, mismatch(name, "identity", resolved.ManifestDigest, "composition.json", got)
	}
	if doc.ID != resolved.ID || doc.Version != resolved.Version {
		return nil, mismatch(name, "identity", resolved.ID+"@"+resolved.Version, "composition.json", doc.ID+"@"+doc.Version)
	}
	if doc.Protocol != "mcp" {
		return nil, mismatch(name, "protocol", "mcp", "this harness", doc.Protocol)
	}
	i := slices.IndexFunc(doc.Variants, func(v variant) bool {
		return v.Platform == on && v.VariantDigest == resolved.VariantDigest
	})
	if i < 0 {
		return nil, fmt.Errorf("%s has no variant for %s with the digest %s that composition.json binds; "+
			"build the image again", inImage(name), on, resolved.VariantDigest)
	}

	p := &provider{
		id: doc.ID, version: doc.Version, revision: doc.Revision, variant: doc.Variants[i],
		entrypoint: filepath.Join(rootDir, doc.Variants[i].Entrypoint),
	}
	for _, declared := range doc.Tools {
		t := &tool{
			provider: p, name: declared.Name, description: declared.Description,
			approval: declared.Approval, delegated: declared.DelegatedAuthorization != nil,
		}
		schema := path.Join(dir, "schemas", declared.Name)
		if t.input, err = m.schema(schema+".input.json", declared.InputSchema); err != nil {
			return nil, err
		}
		if declared.OutputSchema != nil {
			if t.output, err = m.schema(schema+".output.json", *declared.OutputSchema); err != nil {
				return nil, err
			}
		}
		p.tools = append(p.tools, t)
	}
	return p, nil
}

// document reads the JSON document at name below /.agentsuite into doc, which
// embeds a header, and returns its bytes.
func (m metadata) document(name, mediaType string, doc any) ([]byte, error) {
	raw, err := m.read(name)
	if err != nil {
		return nil, err
	}
	var head header
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("%s is no JSON document: %w", inImage(name), err)
	}
	if head.SchemaVersion != schemaVersion {
		return nil, mismatch(name, "schemaVersion", schemaVersion, "this harness", head.SchemaVersion)
	}
	if head.MediaType != mediaType {
		return nil, mismatch(name, "mediaType", mediaType, "this harness", head.MediaType)
	}
	if err := json.Unmarshal(raw, doc); err != nil {
		return nil, fmt.Errorf("%s: %w", inImage(name), err)
	}
	return raw, nil
}

// schema reads and compiles the JSON Schema at name below /.agentsuite. A
// reference that leaves the schema is refused: nothing is ever fetched.
func (m metadata) schema(name string, ref fileReference) (*jsonschema.Resolved, error) {
	raw, err := m.read(name)
	if err != nil {
		return nil, err
	}
	if got := digestOf(raw); got != ref.Digest {
		return nil, mismatch(name, "digest", ref.Digest, "tool-provider.json", got)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("%s is no JSON Schema: %w", inImage(name), err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("%s is no usable JSON Schema: %w", inImage(name), err)
	}
	return resolved, nil
}

func (m metadata) read(name string) ([]byte, error) {
	file, err := m.root.Open(path.Join(metadataDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no %s; give --root the filesystem of an agent image", m.root.Name(), path.Join(metadataDir, name))
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", inImage(name), err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxDocumentBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", inImage(name), err)
	}
	if len(raw) > maxDocumentBytes {
		return nil, fmt.Errorf("%s is larger than the %d bytes that a document may have", inImage(name), maxDocumentBytes)
	}
	return raw, nil
}

func inImage(name string) string { return path.Join("/", metadataDir, name) }

// mismatch reports that a member of the document at name is not what another
// party expects.
func mismatch(name, what, want, whose, got string) error {
	return fmt.Errorf("%s: its %s is %q, %s expects %q", inImage(name), what, got, whose, want)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
