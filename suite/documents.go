// Package suite is AgentSuite itself: its documents, their identities, and the closed graph that they
// form. It reads no file by itself and knows nothing of BuildKit; package content hands it what a
// suite holds.
package suite

import (
	"cmp"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// SpecVersion is the schemaVersion of every document of this draft.
const SpecVersion = "1.0.0-draft"

// Media types of the documents (section 4.1). Package content has those of the OCI envelope.
const (
	MediaTypeManifest                = "application/vnd.agentsuite.manifest.v1+json"
	MediaTypeAgent                   = "application/vnd.agentsuite.agent.v1+json"
	MediaTypeEvalIndex               = "application/vnd.agentsuite.eval.index.v1+json"
	MediaTypeEvalCase                = "application/vnd.agentsuite.eval.case.v1+json"
	MediaTypeToolProviderCatalog     = "application/vnd.agentsuite.tool.provider.catalog.v1+json"
	MediaTypeToolProvider            = "application/vnd.agentsuite.tool.provider.v1+json"
	MediaTypeComposition             = "application/vnd.agentsuite.composition.v1+json"
	MediaTypeToolProviderComposition = "application/vnd.agentsuite.tool.provider.composition.v1+json"
	MediaTypeBuildProfile            = "application/vnd.agentsuite.build.profile.v1+json"
)

// ManifestPath is the content path of the suite manifest, the only document with a fixed place.
const ManifestPath = "agentsuite.json"

// Header holds the two members that every document begins with.
type Header struct {
	SchemaVersion string `json:"schemaVersion"`
	MediaType     string `json:"mediaType"`
}

// Platform is an exact platform: linux with amd64 or arm64.
type Platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
}

// String renders the platform as os/architecture.
func (p Platform) String() string { return p.OS + "/" + p.Architecture }

// Platforms lists the platforms that this draft knows, in their stable order.
func Platforms() []Platform {
	return []Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}
}

// Extension is an optional, named record. No critical extension is known, so Critical is always false
// in a valid suite.
type Extension struct {
	Name     string         `json:"name"`
	Critical bool           `json:"critical"`
	Digest   *digest.Digest `json:"digest,omitempty"`
}

// FileReference binds a regular file of the content by the digest of its bytes.
type FileReference struct {
	Path   string        `json:"path"`
	Digest digest.Digest `json:"digest"`
}

// ManifestReference binds a document by its canonical digest.
type ManifestReference struct {
	ID      string        `json:"id"`
	Path    string        `json:"path"`
	Digest  digest.Digest `json:"digest"`
	Version string        `json:"version,omitempty"`
}

// Descriptor describes bytes that lie elsewhere: an image manifest, an SBOM, a provenance statement.
type Descriptor struct {
	MediaType string        `json:"mediaType"`
	Digest    digest.Digest `json:"digest"`
	Size      int64         `json:"size"`
}

// Manifest is the suite manifest, the root of the graph (section 7).
type Manifest struct {
	Header
	Name                     string                             `json:"name"`
	Agents                   []ManifestReference                `json:"agents"`
	ToolProviderCatalog      ManifestReference                  `json:"toolProviderCatalog"`
	Compositions             []CompositionReference             `json:"compositions"`
	ToolProviderCompositions []ToolProviderCompositionReference `json:"toolProviderCompositions,omitempty"`
	BuildProfiles            []ManifestReference                `json:"buildProfiles"`
	Capabilities             []string                           `json:"capabilities,omitempty"`
	Extensions               []Extension                        `json:"extensions,omitempty"`
}

// CompositionReference binds the composition of one agent for one platform.
type CompositionReference struct {
	Agent    string        `json:"agent"`
	Platform Platform      `json:"platform"`
	Path     string        `json:"path"`
	Digest   digest.Digest `json:"digest"`
}

// ToolProviderCompositionReference binds the composition of one tool provider for one platform.
type ToolProviderCompositionReference struct {
	ID       string        `json:"id"`
	Version  string        `json:"version"`
	Platform Platform      `json:"platform"`
	Path     string        `json:"path"`
	Digest   digest.Digest `json:"digest"`
}

// Agent is an agent manifest (section 8).
type Agent struct {
	Header
	ID            string                `json:"id"`
	Description   string                `json:"description,omitempty"`
	Instructions  FileReference         `json:"instructions"`
	Model         Model                 `json:"model"`
	ToolProviders []ProviderRequirement `json:"toolProviders,omitempty"`
	Invokes       []Invocation          `json:"invokes,omitempty"`
	Evals         []FileReference       `json:"evals,omitempty"`
	Extensions    []Extension           `json:"extensions,omitempty"`
}

// Model names the model protocol and model of an agent, and the names under which a runtime hands it
// an endpoint and secrets; never their values.
type Model struct {
	Protocol    string   `json:"protocol"`
	Model       string   `json:"model"`
	EndpointEnv string   `json:"endpointEnv,omitempty"`
	SecretRefs  []string `json:"secretRefs,omitempty"`
}

// ExecutionModeSharedSandbox is the only execution mode of this draft (section 9.3).
const ExecutionModeSharedSandbox = "shared-sandbox"

// ProviderRequirement is an agent's requirement of one exact tool provider.
type ProviderRequirement struct {
	ID            string `json:"id"`
	Version       string `json:"version"`
	ExecutionMode string `json:"executionMode"`
}

// Invocation permits an agent to invoke another one within bounds (section 8.1).
type Invocation struct {
	Agent         string `json:"agent"`
	MaxConcurrent int64  `json:"maxConcurrent"`
	MaxDepth      int64  `json:"maxDepth"`
}

// EvalIndex lists the evaluation cases of one agent in evaluation order (section 8.2.1).
type EvalIndex struct {
	Header
	Agent  string          `json:"agent"`
	Cases  []FileReference `json:"cases"`
	Limits EvalLimits      `json:"limits"`
}

// EvalLimits bounds the evaluation cases of an agent.
type EvalLimits struct {
	MaxCases     int64 `json:"maxCases"`
	MaxCaseBytes int64 `json:"maxCaseBytes"`
}

// EvalCase is one authored evaluation case (section 8.2.2).
type EvalCase struct {
	Header
	ID         string      `json:"id"`
	Input      string      `json:"input"`
	Assertions []Assertion `json:"assertions"`
	Runs       int64       `json:"runs,omitempty"`
	MinPasses  int64       `json:"minPasses,omitempty"`
}

// Assertion is one expectation of an evaluation case. Which operands it has depends on its type.
type Assertion struct {
	ID           string `json:"id"`
	Type         string `json:"type"`
	Critical     *bool  `json:"critical,omitempty"`
	Value        string `json:"value,omitempty"`
	Pattern      string `json:"pattern,omitempty"`
	Tool         string `json:"tool,omitempty"`
	Rubric       string `json:"rubric,omitempty"`
	MinScore     *int64 `json:"minScore,omitempty"`
	JudgeModel   string `json:"judgeModel,omitempty"`
	JudgeVersion string `json:"judgeVersion,omitempty"`
}

// Catalog is the tool provider catalog (section 9.1).
type Catalog struct {
	Header
	ToolProviders []CatalogEntry `json:"toolProviders"`
}

// CatalogEntry binds one tool provider manifest.
type CatalogEntry struct {
	ID      string        `json:"id"`
	Version string        `json:"version"`
	Path    string        `json:"path"`
	Digest  digest.Digest `json:"digest"`
}

// ToolProvider is a tool provider manifest (section 9).
type ToolProvider struct {
	Header
	ID         string      `json:"id"`
	Version    string      `json:"version"`
	Retained   bool        `json:"retained,omitempty"`
	Protocol   string      `json:"protocol"`
	Revision   string      `json:"revision"`
	Tools      []Tool      `json:"tools"`
	Variants   []Variant   `json:"variants,omitempty"`
	Remote     *Remote     `json:"remote,omitempty"`
	Extensions []Extension `json:"extensions,omitempty"`
}

// Tool is one model-callable function of a provider (section 9.2).
type Tool struct {
	Name                   string                  `json:"name"`
	Description            string                  `json:"description,omitempty"`
	InputSchema            FileReference           `json:"inputSchema"`
	OutputSchema           *FileReference          `json:"outputSchema,omitempty"`
	Effects                []string                `json:"effects,omitempty"`
	Effect                 string                  `json:"effect,omitempty"`
	Approval               string                  `json:"approval,omitempty"`
	DelegatedAuthorization *DelegatedAuthorization `json:"delegatedAuthorization,omitempty"`
}

// DelegatedAuthorization says that a call needs the authorization of a specific person (section 9.9).
type DelegatedAuthorization struct {
	Service    string              `json:"service"`
	Scope      string              `json:"scope"`
	Credential DelegatedCredential `json:"credential"`
}

// DelegatedCredential names the runtime slot through which the credential is brokered.
type DelegatedCredential struct {
	Resolution string `json:"resolution"`
	BindingRef string `json:"bindingRef"`
}

// Remote is a remote Streamable HTTP declaration, references only (section 9.5).
type Remote struct {
	Transport    string              `json:"transport"`
	EndpointRef  string              `json:"endpointRef"`
	Headers      []RemoteHeader      `json:"headers,omitempty"`
	Network      []RemoteDestination `json:"network"`
	Timeouts     RemoteTimeouts      `json:"timeouts"`
	Cancellation string              `json:"cancellation"`
	Connection   string              `json:"connection"`
}

// RemoteHeader names an HTTP header whose value is a key of a named secret.
type RemoteHeader struct {
	Name      string    `json:"name"`
	SecretRef SecretKey `json:"secretRef"`
}

// SecretKey names a key of a secret.
type SecretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// RemoteDestination names an unresolved network destination.
type RemoteDestination struct {
	DestinationRef string `json:"destinationRef"`
}

// RemoteTimeouts bounds connecting and requesting, in milliseconds.
type RemoteTimeouts struct {
	ConnectMilliseconds int64 `json:"connectMilliseconds"`
	RequestMilliseconds int64 `json:"requestMilliseconds"`
}

// Variant is one platform's bundle of a tool provider (section 9.4).
type Variant struct {
	Platform      Platform           `json:"platform"`
	VariantDigest digest.Digest      `json:"variantDigest"`
	InstallRoot   string             `json:"installRoot"`
	Relocatable   bool               `json:"relocatable,omitempty"`
	PayloadRoot   string             `json:"payloadRoot"`
	Entrypoint    string             `json:"entrypoint"`
	Arguments     []string           `json:"arguments,omitempty"`
	SearchPath    []string           `json:"searchPath,omitempty"`
	WritablePaths []string           `json:"writablePaths,omitempty"`
	Environment   []EnvironmentInput `json:"environment,omitempty"`
	Network       []Endpoint         `json:"network,omitempty"`
	Runtime       RuntimeNeeds       `json:"runtime"`
	Files         []InventoryEntry   `json:"files"`
	Dependencies  []Dependency       `json:"dependencies,omitempty"`
	SBOM          *Descriptor        `json:"sbom,omitempty"`
	Provenance    *Descriptor        `json:"provenance,omitempty"`
}

// EnvironmentInput is a named input of a provider's process; never a value.
type EnvironmentInput struct {
	Name     string `json:"name"`
	Required bool   `json:"required,omitempty"`
	Secret   bool   `json:"secret,omitempty"`
	Delivery string `json:"delivery,omitempty"`
}

// Endpoint is one outbound network destination that a variant needs.
type Endpoint struct {
	Scheme string `json:"scheme"`
	Host   string `json:"host"`
	Port   int    `json:"port"`
}

// RuntimeNeeds is what a variant needs of the base that it runs on.
type RuntimeNeeds struct {
	ABI               string   `json:"abi"`
	ABIVersion        string   `json:"abiVersion,omitempty"`
	CPUBaseline       string   `json:"cpuBaseline"`
	RequiredBasePaths []string `json:"requiredBasePaths,omitempty"`
}

// InventoryEntry is one entry of a variant's inventory; Path is relative to the payload root.
type InventoryEntry struct {
	Path       string        `json:"path"`
	Type       content.Type  `json:"type"`
	Mode       uint32        `json:"mode"`
	UID        int           `json:"uid"`
	GID        int           `json:"gid"`
	Size       int64         `json:"size,omitempty"`
	Digest     digest.Digest `json:"digest,omitempty"`
	LinkTarget string        `json:"linkTarget,omitempty"`
	Component  string        `json:"component,omitempty"`
}

// Dependency names an exact same-platform variant of another provider of the catalog.
type Dependency struct {
	ID            string        `json:"id"`
	Version       string        `json:"version"`
	VariantDigest digest.Digest `json:"variantDigest"`
}

// Composition is the resolved composition of one agent for one platform (section 10).
type Composition struct {
	Header
	Agent         string             `json:"agent"`
	Platform      Platform           `json:"platform"`
	BuildProfile  string             `json:"buildProfile"`
	ToolProviders []ResolvedProvider `json:"toolProviders"`
}

// ResolvedProvider is one provider of a composition, bound to its manifest and variant.
type ResolvedProvider struct {
	ID             string        `json:"id"`
	Version        string        `json:"version"`
	ManifestDigest digest.Digest `json:"manifestDigest"`
	VariantDigest  digest.Digest `json:"variantDigest"`
	ExecutionMode  string        `json:"executionMode"`
}

// ToolProviderComposition selects the inputs of one tool provider image (section 10.1).
type ToolProviderComposition struct {
	Header
	ID             string        `json:"id"`
	Version        string        `json:"version"`
	ManifestDigest digest.Digest `json:"manifestDigest"`
	Platform       Platform      `json:"platform"`
	VariantDigest  digest.Digest `json:"variantDigest"`
	BuildProfile   string        `json:"buildProfile"`
}

// BuildProfile pins the images that sandboxes are built from (section 11).
type BuildProfile struct {
	Header
	ID          string      `json:"id"`
	RuntimeBase []BaseImage `json:"runtimeBase"`
	Harness     []BaseImage `json:"harness"`
	// SourceEpoch is SOURCE_DATE_EPOCH in seconds since the Unix epoch.
	SourceEpoch int64 `json:"sourceEpoch"`
}

// BaseImage pins one image for one platform.
type BaseImage struct {
	Platform Platform   `json:"platform"`
	ImageRef string     `json:"imageRef"`
	Image    Descriptor `json:"image"`
}

// ProviderKey identifies a tool provider contract in a suite.
type ProviderKey struct {
	ID, Version string
}

// String renders the key as id@version, as targets and components spell it.
func (k ProviderKey) String() string { return k.ID + "@" + k.Version }

// Compare orders keys by id and then version, both as text, as a composition lists them (section 10).
func (k ProviderKey) Compare(other ProviderKey) int {
	return cmp.Or(cmp.Compare(k.ID, other.ID), cmp.Compare(k.Version, other.Version))
}
