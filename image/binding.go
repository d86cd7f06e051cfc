package image

import (
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
)

// Binding is the record that ties an agent image to the suite that it was built from (section 13).
type Binding struct {
	suite.Header
	// SuiteDigest is the digest of the suite's OCI manifest.
	SuiteDigest  digest.Digest    `json:"suiteDigest"`
	Agent        string           `json:"agent"`
	Platform     suite.Platform   `json:"platform"`
	BuildProfile string           `json:"buildProfile"`
	Composition  suite.Descriptor `json:"composition"`
	Inventory    suite.Descriptor `json:"inventory"`
}

// newBinding returns the binding with its canonical bytes. The composition is embedded in canonical
// form, so that the digest of its bytes is its identity.
func newBinding(in Inputs, inventory suite.Descriptor) (Binding, []byte, error) {
	composition, err := canonicalComposition(in)
	if err != nil {
		return Binding{}, nil, err
	}
	b := Binding{
		Header:       suite.Header{SchemaVersion: suite.SpecVersion, MediaType: MediaTypeBinding},
		SuiteDigest:  in.SuiteDigest,
		Agent:        in.Selection.Agent.Doc.ID,
		Platform:     in.Selection.Platform,
		BuildProfile: in.Selection.Profile.Doc.ID,
		Composition: suite.Descriptor{
			MediaType: suite.MediaTypeComposition,
			Digest:    in.Selection.Composition.Digest,
			Size:      int64(len(composition)),
		},
		Inventory: inventory,
	}
	text, err := canonicalJSON(b)
	if err != nil {
		return Binding{}, nil, fmt.Errorf("encoding the binding: %w", err)
	}
	return b, text, nil
}
