package image

import (
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// PredicateTypeBinding is the type of the statement that says what an image was built from.
const PredicateTypeBinding = "https://agentsuite.dev/attestation/binding/v1"

// Attestation is one in-toto statement about the image. Its predicate is Text, or the bytes at the
// content path Content.
type Attestation struct {
	PredicateType string `json:"predicateType"`
	Text          string `json:"text,omitempty"`
	Content       string `json:"content,omitempty"`
	// Component is the bundle that an SBOM describes; empty for a statement about the whole image.
	Component string `json:"component,omitempty"`
}

// BindingPredicate is the predicate of the binding statement. Exactly one of the first two is set.
type BindingPredicate struct {
	Binding                 *Binding          `json:"binding,omitempty"`
	ToolProviderComposition json.RawMessage   `json:"toolProviderComposition,omitempty"`
	SuiteDigest             digest.Digest     `json:"suiteDigest"`
	Images                  []PredicateImage  `json:"images"`
	Bundles                 []PredicateBundle `json:"bundles"`
}

// PredicateImage is a pinned image that went into the image.
type PredicateImage struct {
	Component string        `json:"component"`
	Ref       string        `json:"ref"`
	Digest    digest.Digest `json:"digest"`
}

// PredicateBundle is a bundle that went into the image.
type PredicateBundle struct {
	ID             string        `json:"id"`
	Version        string        `json:"version"`
	ManifestDigest digest.Digest `json:"manifestDigest"`
	VariantDigest  digest.Digest `json:"variantDigest"`
}

// newStatement is the binding statement; binding is nil for a tool provider image.
func newStatement(in Inputs, binding *Binding) (Attestation, error) {
	sel := in.Selection
	predicate := BindingPredicate{
		Binding:     binding,
		SuiteDigest: in.SuiteDigest,
		Images:      []PredicateImage{predicateImage(ComponentRuntimeBase, in.Base.Pin)},
		Bundles:     []PredicateBundle{},
	}
	if in.Harness != nil {
		predicate.Images = append(predicate.Images, predicateImage(ComponentHarness, in.Harness.Pin))
	}
	if sel.ToolProviderComposition != nil {
		predicate.ToolProviderComposition = in.Index.Texts[sel.ToolProviderComposition.Path]
	}
	for _, b := range sel.Bundles {
		predicate.Bundles = append(predicate.Bundles, PredicateBundle{
			ID: b.Provider.Doc.ID, Version: b.Provider.Doc.Version,
			ManifestDigest: b.Provider.Digest, VariantDigest: b.Variant.VariantDigest,
		})
	}
	text, err := canonicalJSON(predicate)
	if err != nil {
		return Attestation{}, fmt.Errorf("encoding the binding statement: %w", err)
	}
	return Attestation{PredicateType: PredicateTypeBinding, Text: string(text)}, nil
}

func predicateImage(component string, pin suite.BaseImage) PredicateImage {
	return PredicateImage{Component: component, Ref: pin.ImageRef, Digest: pin.Image.Digest}
}

// sbomPredicates are the predicate types of SBOMs by the media types of their bytes.
var sbomPredicates = map[string]string{
	"application/spdx+json":          "https://spdx.dev/Document",
	"text/spdx+json":                 "https://spdx.dev/Document",
	"application/vnd.cyclonedx+json": "https://cyclonedx.org/bom",
}

// sboms are the SBOMs of the bundles whose bytes the suite's content holds.
func sboms(in Inputs) (attestations []Attestation, warnings []problem.Warning) {
	for _, b := range in.Selection.Bundles {
		described := b.Variant.SBOM
		if described == nil {
			continue
		}
		file, ok := contentWith(in.Index, *described)
		if !ok {
			continue
		}
		predicate, ok := sbomPredicates[described.MediaType]
		if !ok {
			warnings = append(warnings, problem.NewWarning(problem.SBOMFormat, newPlaces(in).variant(b, "sbom", "mediaType"),
				"the SBOM of %s has the media type %s, which no attestation is known for, so it is not attached; use application/spdx+json or application/vnd.cyclonedx+json",
				b.Key(), problem.Quoted(described.MediaType)))
			continue
		}
		attestations = append(attestations, Attestation{PredicateType: predicate, Content: file, Component: b.Key().String()})
	}
	return attestations, warnings
}

// contentWith finds the file of the content that a descriptor describes, the first by path.
func contentWith(index *content.Index, described suite.Descriptor) (string, bool) {
	for _, e := range index.Entries {
		if e.Type == content.File && e.Digest == described.Digest && e.Size == described.Size {
			return e.Path, true
		}
	}
	return "", false
}
