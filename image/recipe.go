package image

import (
	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Recipe is what composing needs to know of the [Inputs], and nothing else: what cannot change the
// composed filesystem is not in it. So it is small, it travels to the tool that composes, and a change
// elsewhere in the suite leaves it as it is.
type Recipe struct {
	// Target and Platform name the image in messages and in the inventory.
	Target   string         `json:"target"`
	Platform suite.Platform `json:"platform"`
	// Stacked tells that the harness's layers begin with the runtime base's.
	Stacked bool `json:"stacked,omitempty"`
	// User is the configured user of the image that the config is derived from.
	User    string         `json:"user,omitempty"`
	Bundles []RecipeBundle `json:"bundles,omitempty"`
	// Metadata are the entries of the metadata layer that are known before composing: all but the
	// runtime contract, which needs the numeric user, and the two files that no inventory covers.
	Metadata []Entry  `json:"metadata"`
	Contract Contract `json:"contract"`
	// Problems and Warnings are what needs no filesystem to be found. Composing repeats them, so whoever
	// wants to stop before scanning looks here.
	Problems []problem.Problem `json:"problems,omitempty"`
	Warnings []problem.Warning `json:"warnings,omitempty"`
}

// RecipeBundle is one bundle of a [Recipe], at its destinations.
type RecipeBundle struct {
	Component string `json:"component"`
	// Document and Pointer are the place of the variant in the suite.
	Document string `json:"document"`
	Pointer  string `json:"pointer"`
	// Entries are the bundle's contributions, sorted by path; hardlinks are the files that they name.
	Entries []Entry `json:"entries"`
	// Parents are the directories that are only on the way to the contributions, sorted.
	Parents []string `json:"parents"`
	// Objects are the facts of the bundle's ELF files and scripts, by destination.
	Objects    map[string]abi.Facts `json:"objects,omitempty"`
	Runtime    suite.RuntimeNeeds   `json:"runtime"`
	SearchPath []string             `json:"searchPath,omitempty"`
	Writable   []string             `json:"writable,omitempty"`
}

// Contract is what the runtime contract says beyond the numeric user.
type Contract struct {
	Args        []string          `json:"args"`
	Env         []string          `json:"env,omitempty"`
	Cwd         string            `json:"cwd"`
	Writable    []string          `json:"writable,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NewRecipe reduces inputs to what composing needs. What it finds wrong is in the recipe; an error
// means that the inputs do not belong together.
func NewRecipe(in Inputs) (*Recipe, error) { panic("being written") }
