package verify

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Report is what verifying one image found out.
type Report struct {
	// Image is the reference that the image was opened by, Digest that of its manifest.
	Image  string
	Digest digest.Digest
	// Platform is the config's.
	Platform suite.Platform
	// Kind tells what the image was built of; empty if it is no sandbox image. Target is an agent's id,
	// or id@version of a tool provider.
	Kind   suite.TargetKind
	Target string
	// SuiteDigest, BuildProfile and Binding are what the records say; Binding is the binding's own
	// canonical digest, empty for a tool provider image.
	SuiteDigest  digest.Digest
	BuildProfile string
	Binding      digest.Digest
	// Bundles are id@version, in the order of the image's layers; empty if the records are broken.
	Bundles []string
	// Entries is the number of entries of the inventory.
	Entries int
	// Problems are in the order of [problem.Sort]; of one rule at most 100 are listed.
	Problems []problem.Problem
	Warnings []problem.Warning
}

// Valid tells whether the image has no problems.
func (r *Report) Valid() bool { return len(r.Problems) == 0 }

// Err is nil for a valid image, else a *[problem.Error] with all problems.
func (r *Report) Err() error { return problem.AsError(r.Problems) }

// Summary is the line that tells a person that the image is valid and what it is.
func (r *Report) Summary() string {
	kind := map[suite.TargetKind]string{suite.AgentTarget: "agent", suite.ToolProviderTarget: "tool provider"}[r.Kind]
	return fmt.Sprintf("%s conformant: %s %s for %s, built from suite %s; %s, %s", r.Digest, kind, r.Target, r.Platform,
		orUnstated(r.SuiteDigest), problem.Counted(len(r.Bundles), "bundle"), problem.Counted(r.Entries, "entry"))
}

// Reports are those of the images that one reference leads to.
type Reports []*Report

// MarshalJSON writes the result as programs read it, in the form of the suite validator's: valid,
// report, errors and warnings. Since the images may be several, the report lists them, and each error
// and warning names the platform of its image.
func (r Reports) MarshalJSON() ([]byte, error) {
	out := resultJSON{Valid: r.Valid(), Report: reportsJSON{Images: []reportJSON{}}, Errors: []json.RawMessage{}, Warnings: []json.RawMessage{}}
	for _, report := range r {
		out.Report.Image = report.Image
		platform := ""
		if report.Platform != (suite.Platform{}) {
			platform = report.Platform.String()
		}
		out.Report.Images = append(out.Report.Images, reportJSON{
			Digest: report.Digest, Platform: platform, Kind: report.Kind, Target: report.Target,
			SuiteDigest: report.SuiteDigest, BuildProfile: report.BuildProfile, Binding: report.Binding,
			Bundles: report.Bundles, Entries: report.Entries, Valid: report.Valid(),
		})
		for _, p := range report.Problems {
			text, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			out.Errors = append(out.Errors, withPlatform(text, platform))
		}
		for _, w := range report.Warnings {
			text, err := json.Marshal(w)
			if err != nil {
				return nil, err
			}
			out.Warnings = append(out.Warnings, withPlatform(text, platform))
		}
	}
	return json.Marshal(out)
}

// withPlatform adds a member to a JSON object that has some.
func withPlatform(object []byte, platform string) json.RawMessage {
	value, _ := json.Marshal(platform) // a string always has a JSON text
	return slices.Concat(object[:len(object)-1], []byte(`,"platform":`), value, []byte{'}'})
}

type resultJSON struct {
	Valid    bool              `json:"valid"`
	Report   reportsJSON       `json:"report"`
	Errors   []json.RawMessage `json:"errors"`
	Warnings []json.RawMessage `json:"warnings"`
}

type reportsJSON struct {
	Image  string       `json:"image"`
	Images []reportJSON `json:"images"`
}

type reportJSON struct {
	Digest       digest.Digest    `json:"digest"`
	Platform     string           `json:"platform"`
	Kind         suite.TargetKind `json:"kind"`
	Target       string           `json:"target"`
	SuiteDigest  digest.Digest    `json:"suiteDigest"`
	BuildProfile string           `json:"buildProfile"`
	Binding      digest.Digest    `json:"binding,omitempty"`
	Bundles      []string         `json:"bundles"`
	Entries      int              `json:"entries"`
	Valid        bool             `json:"valid"`
}
