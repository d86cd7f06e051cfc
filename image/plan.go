package image

import (
	"slices"
	"strings"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Plan is everything that an image is, but for the bytes that are copied. It is plain data: equal
// plans describe equal images, and its JSON form says it all.
type Plan struct {
	// Target is an agent's id, or id@version of a tool provider.
	Target      string         `json:"target"`
	Platform    suite.Platform `json:"platform"`
	SuiteDigest digest.Digest  `json:"suiteDigest"`
	// SourceEpoch is the time of everything generated, in seconds since the Unix epoch.
	SourceEpoch int64 `json:"sourceEpoch"`
	// Layers are the image's layers, bottom to top.
	Layers    []Layer          `json:"layers"`
	Inventory suite.Descriptor `json:"inventory"`
	// Entries is the number of inventory entries.
	Entries int `json:"entries"`
	// Binding describes the sandbox binding; nil for a tool provider image.
	Binding *suite.Descriptor         `json:"binding,omitempty"`
	Config  dockerspec.DockerOCIImage `json:"config"`
	// Annotations are those of the image manifest.
	Annotations  map[string]string `json:"annotations"`
	Attestations []Attestation     `json:"attestations"`
	Warnings     []problem.Warning `json:"warnings,omitempty"`
}

// LayerKind tells how a [Layer] comes about.
type LayerKind string

// The kinds of layers.
const (
	// LayerRuntimeBase stands for the layers of the runtime base, untouched.
	LayerRuntimeBase LayerKind = "runtime-base"
	// LayerHarnessStacked stands for the layers that a harness has on top of the runtime base,
	// untouched: the emitter starts from the harness instead of the base.
	LayerHarnessStacked LayerKind = "harness-stacked"
	// LayerHarnessBeside is one layer with the final filesystem of an independent harness.
	LayerHarnessBeside LayerKind = "harness-beside"
	// LayerBundles is one layer with one bundle, or with several small ones.
	LayerBundles LayerKind = "bundles"
	// LayerMetadata is the layer with /.agentsuite and the restored directories.
	LayerMetadata LayerKind = "metadata"
)

// Layer is one layer of a [Plan], or for an untouched image all of its layers.
type Layer struct {
	Kind LayerKind `json:"kind"`
	// Name tells people what the layer is; it is also the created_by of the layer's history.
	Name string `json:"name"`
	// Image is the pinned image that the layer is taken from; nil for generated layers.
	Image *suite.BaseImage `json:"image,omitempty"`
	// DiffIDs are the layers that an untouched image contributes.
	DiffIDs []digest.Digest `json:"diffIds,omitempty"`
	// Bundles are copied in this order.
	Bundles []BundleCopy `json:"bundles,omitempty"`
	// Directories and Files are made in this order, parents first.
	Directories []Entry `json:"directories,omitempty"`
	Files       []File  `json:"files,omitempty"`
	// Restored are directories to put back as they are listed, parents first.
	Restored []Entry `json:"restored,omitempty"`
}

// BundleCopy says what of the suite's content a bundle's files are copied from, and where to. Every
// directory of the copy but the inventoried ones, install root and its parents included, is 0755 and
// owned by root.
type BundleCopy struct {
	Component string `json:"component"`
	// PayloadRoot is the content path whose contents are copied.
	PayloadRoot string `json:"payloadRoot"`
	// InstallRoot is the absolute destination.
	InstallRoot string `json:"installRoot"`
	// Excluded are paths relative to PayloadRoot that lie in the source directory without being content;
	// they, and everything below them, are left out.
	Excluded []string `json:"excluded,omitempty"`
	// Directories are the inventoried ones that are not 0755, where they will lie.
	Directories []Entry `json:"directories,omitempty"`
	// Repeated tells that the payload has [Repeated] files.
	Repeated bool `json:"repeated,omitempty"`
	// Entries and Size are the number of inventory entries and the bytes of the files.
	Entries int   `json:"entries"`
	Size    int64 `json:"size"`
}

// File is one file of the metadata layer, mode 0444 and owned by root. Its bytes are those of Content,
// or Text; if it has neither it is the final inventory, which composing wrote.
type File struct {
	Path    string        `json:"path"`
	Mode    uint32        `json:"mode"`
	Digest  digest.Digest `json:"digest"`
	Size    int64         `json:"size"`
	Content string        `json:"content,omitempty"`
	Text    string        `json:"text,omitempty"`
}

// NewPlan plans the image that was composed. A composition with problems is no image: they are the
// error then, as *[problem.Error].
func NewPlan(in Inputs, composed *Composed) (*Plan, error) {
	problems := append(CheckLabels(in.Labels), composed.Problems...)
	if err := problem.AsError(problems); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	sel := in.Selection
	plan := &Plan{
		Target: sel.Target, Platform: sel.Platform,
		SuiteDigest: in.SuiteDigest, SourceEpoch: sel.Profile.Doc.SourceEpoch,
		Inventory:   composed.Inventory,
		Entries:     composed.Entries,
		Annotations: newAnnotations(in),
		Warnings:    composed.Warnings,
	}
	contract, err := newContract(in)
	if err != nil {
		return nil, err
	}
	layer := Layer{Kind: LayerMetadata, Name: "metadata", Restored: composed.Restored}
	if layer.Directories, layer.Files, err = metadata(in); err != nil {
		return nil, err
	}
	runtime, err := contract.runtimeFile(composed.User)
	if err != nil {
		return nil, err
	}
	inventory := File{Path: InventoryPath, Mode: MetadataFileMode, Digest: composed.Inventory.Digest, Size: composed.Inventory.Size}
	layer.Files = append(layer.Files, runtime, inventory)
	var binding *Binding
	if sel.Agent != nil {
		b, text, err := newBinding(in, composed.Inventory)
		if err != nil {
			return nil, err
		}
		file := generatedFile(BindingPath, text)
		layer.Files = append(layer.Files, file)
		binding = &b
		plan.Binding = &suite.Descriptor{MediaType: MediaTypeBinding, Digest: file.Digest, Size: file.Size}
	}
	slices.SortFunc(layer.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	plan.Layers = newLayers(in, layer)
	var bindingDigest digest.Digest
	if plan.Binding != nil {
		bindingDigest = plan.Binding.Digest
	}
	plan.Config = newConfig(in, composed.User, plan.Layers, newLabels(in, composed.Inventory.Digest, bindingDigest))
	statement, err := newStatement(in, binding)
	if err != nil {
		return nil, err
	}
	attached, warnings := sboms(in)
	plan.Attestations = append([]Attestation{statement}, attached...)
	plan.Warnings = slices.Concat(plan.Warnings, warnings)
	return plan, nil
}
