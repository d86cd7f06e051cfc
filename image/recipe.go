package image

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Recipe is what composing needs to know of the [Inputs], and nothing else: what cannot change the
// composed filesystem is not in it, so a change elsewhere in the suite leaves it as it is. It is plain
// data and can travel as JSON.
type Recipe struct {
	Platform suite.Platform `json:"platform"`
	// Stacked tells that the harness's layers begin with the runtime base's.
	Stacked bool `json:"stacked,omitempty"`
	// User is the configured user of the image that the config is derived from, whose pin stands at
	// UserAt in the suite.
	User    string         `json:"user,omitempty"`
	UserAt  problem.Place  `json:"userAt"`
	Bundles []RecipeBundle `json:"bundles,omitempty"`
	// Metadata are the entries of the metadata layer that are known before composing: all but the
	// runtime contract, which needs the numeric user, and the two files that no inventory covers.
	Metadata []Entry  `json:"metadata"`
	Contract Contract `json:"contract"`
	// Problems are those that need no filesystem to be found. Composing repeats them, so whoever wants to
	// stop before scanning looks here.
	Problems []problem.Problem `json:"problems,omitempty"`
}

// RecipeBundle is one bundle of a [Recipe], at its destinations.
type RecipeBundle struct {
	// Component is the provider as id@version.
	Component string `json:"component"`
	// InstallRoot is absolute. InstallRootAt, RuntimeAt and WritableAt are where the members that give
	// rise to findings stand in the suite.
	InstallRoot   string        `json:"installRoot"`
	InstallRootAt problem.Place `json:"installRootAt"`
	// Entries are the bundle's contributions, sorted by path; hardlinks are the files that they name.
	Entries []Entry `json:"entries"`
	// Parents are the directories that are only on the way to the contributions, sorted.
	Parents []string `json:"parents"`
	// Objects are the facts of the bundle's ELF files and scripts, by destination.
	Objects    map[string]abi.Facts `json:"objects,omitempty"`
	Runtime    suite.RuntimeNeeds   `json:"runtime"`
	RuntimeAt  problem.Place        `json:"runtimeAt"`
	SearchPath []string             `json:"searchPath,omitempty"`
	Writable   []string             `json:"writable,omitempty"`
	WritableAt problem.Place        `json:"writableAt"`
}

// NewRecipe reduces inputs to what composing needs. What it finds wrong with them is in the recipe; an
// error means that the inputs do not belong together.
func NewRecipe(in Inputs) (*Recipe, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	sel := in.Selection
	if len(sel.Bundles) > 0 && in.Objects == nil {
		return nil, errors.New("the facts of the payloads' native files are missing")
	}
	places := newPlaces(in)
	r := &Recipe{
		Platform: sel.Platform,
		Stacked:  in.stacked(),
		User:     in.derived().Config.Config.User,
		UserAt:   places.derivedPin(),
	}
	var found problem.Collector
	found.Add(configProblems(in, places)...)
	for _, b := range sel.Bundles {
		bundle, err := newRecipeBundle(in, b, places)
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", b.Key(), err)
		}
		r.Bundles = append(r.Bundles, bundle)
		found.Add(destinationProblems(in, b, places)...)
	}
	directories, files, err := metadata(in)
	if err != nil {
		return nil, err
	}
	r.Metadata = directories
	for _, f := range files {
		r.Metadata = append(r.Metadata, f.entry())
	}
	if r.Contract, err = newContract(in); err != nil {
		return nil, err
	}
	r.Problems, _ = found.Finish()
	return r, nil
}

// check finds inputs that do not belong together. Nobody's suite can cause it.
func (in Inputs) check() error {
	sel := in.Selection
	switch {
	case (sel.Agent == nil) != (in.Harness == nil):
		return errors.New("an agent image is planned with a harness, a tool provider image without")
	case sel.Agent == nil && len(sel.Bundles) == 0:
		return errors.New("a tool provider image is planned with the provider's own bundle")
	}
	return nil
}

// stacked tells that the harness is the runtime base plus layers of its own.
func (in Inputs) stacked() bool {
	return in.Harness != nil && Stacked(in.Base.Config.RootFS.DiffIDs, in.Harness.Config.RootFS.DiffIDs)
}

// newRecipeBundle puts a bundle's inventory where it will lie.
func newRecipeBundle(in Inputs, b suite.Bundle, places *places) (RecipeBundle, error) {
	v := b.Variant
	r := RecipeBundle{
		Component:   b.Key().String(),
		InstallRoot: v.InstallRoot, InstallRootAt: places.variant(b, "installRoot"),
		Objects: map[string]abi.Facts{},
		Runtime: v.Runtime, RuntimeAt: places.variant(b, "runtime"),
		SearchPath: v.SearchPath,
		Writable:   v.WritablePaths,
	}
	if len(v.WritablePaths) > 0 {
		r.WritableAt = places.variant(b, "writablePaths")
	}
	listed := make(map[string]bool, len(v.Files))
	for _, f := range v.Files {
		contentPath := path.Join(v.PayloadRoot, f.Path)
		e, err := destination(in, b, f, &contentPath)
		if err != nil {
			return r, err
		}
		if facts, ok := in.Objects[contentPath]; ok {
			r.Objects[e.Path] = facts
		}
		listed[e.Path] = true
		r.Entries = append(r.Entries, e)
	}
	slices.SortFunc(r.Entries, compareEntries)
	r.Parents = parents(r.Entries, listed)
	return r, nil
}
