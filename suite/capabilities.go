package suite

import (
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// CapabilityBundledStdioMCP is what bundled variants imply, the only capability of this draft.
const CapabilityBundledStdioMCP = "bundled-stdio-mcp"

// DerivedCapabilities lists the capabilities that tool providers imply (section 7), sorted; bundled tells
// whether any of them has a variant.
func DerivedCapabilities(bundled bool) []string {
	if bundled {
		return []string{CapabilityBundledStdioMCP}
	}
	return []string{}
}

// derivedCapabilities also tells whether the tool providers are known well enough to derive any.
func (v *validation) derivedCapabilities() (capabilities []string, known bool) {
	known = v.catalog.sound("/toolProviders")
	for _, n := range v.providers {
		if len(n.doc.Variants) > 0 {
			return DerivedCapabilities(true), true
		}
		known = known && n.sound("/variants")
	}
	return DerivedCapabilities(false), known
}

// checkCapabilities holds the declared capabilities against the derived ones.
func (v *validation) checkCapabilities() {
	derived, known := v.derivedCapabilities()
	declared := v.manifest.doc.Capabilities
	if !known || !v.manifest.sound("/capabilities") || slices.Equal(declared, derived) {
		return
	}
	reserved := false
	for i, c := range declared {
		if !slices.Contains(derived, c) {
			reserved = true
			v.manifest.report(&v.found, problem.CapabilityReserved, strictjson.Pointer("capabilities", i),
				"no tool provider implies the capability %s; remove it", c)
		}
	}
	if !reserved {
		v.manifest.report(&v.found, problem.CapabilityMissing, "/capabilities",
			"the tool providers imply the capabilities [%s], the suite declares [%s]; %s", strings.Join(derived, ", "), strings.Join(declared, ", "), capabilityHint)
	}
}
