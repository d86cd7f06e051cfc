package suite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Limits on what a report lists. A suite made to produce millions of findings yields the first of
// them in order; Omitted says how many others there are.
const (
	MaxProblems = 1_000
	MaxWarnings = 1_000
)

// Report is what validation found out about a suite. Of an invalid suite it counts what the documents
// that could be read declare.
type Report struct {
	// Name is the suite's name; empty when the suite manifest could not be read.
	Name string
	// Agents, ToolProviders, ToolProviderCompositions and Compositions count documents, not callable
	// tools.
	Agents, ToolProviders, ToolProviderCompositions, Compositions int
	// Capabilities are those that the tool providers imply.
	Capabilities []string
	// AgentPlatforms tells for which platforms each agent has a composition, sorted by agent.
	AgentPlatforms []AgentPlatforms
	// CompositionSelections tells what each agent and platform select, sorted by both.
	CompositionSelections []CompositionSelection
	// Problems are in the order of [problem.Sort], at most [MaxProblems].
	Problems []problem.Problem
	// Warnings are sorted alike, at most [MaxWarnings].
	Warnings []problem.Warning
	// Omitted counts the problems and warnings beyond those limits.
	Omitted int
}

// AgentPlatforms names the platforms of one agent.
type AgentPlatforms struct {
	Agent     string     `json:"agent"`
	Platforms []Platform `json:"platforms"`
}

// CompositionSelection is what selecting an agent and a platform leads to (section 10).
type CompositionSelection struct {
	Agent        string        `json:"agent"`
	Platform     Platform      `json:"platform"`
	BuildProfile string        `json:"buildProfile"`
	Path         string        `json:"path"`
	Digest       digest.Digest `json:"digest"`
}

// Valid tells whether the suite has no problems.
func (r *Report) Valid() bool { return len(r.Problems) == 0 }

// Err is nil for a valid suite, else a *[problem.Error] with all problems.
func (r *Report) Err() error { return problem.AsError(r.Problems) }

// Summary is the line that tells a person that the suite is valid and what it holds.
func (r *Report) Summary() string {
	capabilities := "none"
	if len(r.Capabilities) > 0 {
		capabilities = strings.Join(r.Capabilities, ", ")
	}
	// The nouns stay plural whatever the numbers are: people have scripts that read this line.
	return fmt.Sprintf("%s conformant: %d agents, %d tool providers, %d tool-provider compositions, %d compositions; capabilities: %s",
		r.Name, r.Agents, r.ToolProviders, r.ToolProviderCompositions, r.Compositions, capabilities)
}

// report counts what the documents that could be read declare.
func (v *validation) report() *Report {
	m := &v.manifest.doc
	r := &Report{
		Name: m.Name, Agents: len(m.Agents), ToolProviders: len(v.catalog.doc.ToolProviders),
		ToolProviderCompositions: len(m.ToolProviderCompositions), Compositions: len(m.Compositions),
		Problems: v.found.problems, Warnings: v.found.warnings, Omitted: v.found.omitted,
	}
	r.Capabilities, _ = v.derivedCapabilities()
	platforms := map[string][]Platform{}
	for i, ref := range m.Compositions {
		n := v.compositions[i]
		if ref.key() == (CompositionKey{}) || n.broken {
			continue
		}
		platforms[ref.Agent] = append(platforms[ref.Agent], ref.Platform)
		r.CompositionSelections = append(r.CompositionSelections, CompositionSelection{
			Agent: ref.Agent, Platform: ref.Platform, BuildProfile: n.doc.BuildProfile, Path: n.path, Digest: n.digest,
		})
	}
	slices.SortStableFunc(r.CompositionSelections, func(a, b CompositionSelection) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Platform.String(), b.Platform.String()))
	})
	for _, agent := range slices.Sorted(maps.Keys(platforms)) {
		slices.SortFunc(platforms[agent], func(a, b Platform) int { return cmp.Compare(a.String(), b.String()) })
		r.AgentPlatforms = append(r.AgentPlatforms, AgentPlatforms{Agent: agent, Platforms: slices.Compact(platforms[agent])})
	}
	return r
}

// MarshalJSON writes the result of validation as programs read it: valid, report, errors and warnings.
// Every list is an array, also when it is empty; "omitted" appears only when a limit left something out.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Valid    bool              `json:"valid"`
		Report   reportJSON        `json:"report"`
		Errors   []problem.Problem `json:"errors"`
		Warnings []problem.Warning `json:"warnings"`
		Omitted  int               `json:"omitted,omitempty"`
	}{
		Valid: r.Valid(),
		Report: reportJSON{
			Name: r.Name, Agents: r.Agents, ToolProviders: r.ToolProviders,
			ToolProviderCompositions: r.ToolProviderCompositions, Compositions: r.Compositions,
			Capabilities: list(r.Capabilities), AgentPlatforms: list(r.AgentPlatforms),
			CompositionSelections: list(r.CompositionSelections),
		},
		Errors: list(r.Problems), Warnings: list(r.Warnings), Omitted: r.Omitted,
	})
}

type reportJSON struct {
	Name                     string                 `json:"name"`
	Agents                   int                    `json:"agents"`
	ToolProviders            int                    `json:"toolProviders"`
	ToolProviderCompositions int                    `json:"toolProviderCompositions"`
	Compositions             int                    `json:"compositions"`
	Capabilities             []string               `json:"capabilities"`
	AgentPlatforms           []AgentPlatforms       `json:"agentPlatforms"`
	CompositionSelections    []CompositionSelection `json:"compositionSelections"`
}

func list[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}
