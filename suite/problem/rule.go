package problem

import "slices"

// Rule is one thing that must hold. Its ID never changes once released, so people and programs can
// refer to it.
type Rule struct {
	// ID is the rule's own name, lower-case with dashes, unique in the module.
	ID string
	// Category is the failure class that a violation is reported under.
	Category Category
	// Requirement is the conformance requirement of section 15 that the rule belongs to ("AS-ID-001").
	Requirement string
	// Section is the section of the specification that demands it, or "profile" with a word on where
	// this project fixes what the specification leaves open.
	Section string
	// Summary says in one sentence what must hold.
	Summary string
}

var rules []*Rule

// Rules returns every rule of the module, in the order of the tables that declare them.
func Rules() []*Rule { return slices.Clone(rules) }

func rule(id string, category Category, requirement, section, summary string) *Rule {
	r := &Rule{ID: id, Category: category, Requirement: requirement, Section: section, Summary: summary}
	rules = append(rules, r)
	return r
}

// LintRule is something that is allowed but probably not meant.
type LintRule struct {
	// Name identifies the rule in output and in the address of its page, in CamelCase.
	Name string
	// Description says in one sentence what the rule advises.
	Description string
}

// URL is the address of the rule's page in the documentation.
func (l *LintRule) URL() string {
	return "https://github.com/agentsuite/agentsuite-llb/blob/main/docs/rules/" + l.Name + ".md"
}

var lintRules []*LintRule

// LintRules returns every lint rule of the module in the order of declaration.
func LintRules() []*LintRule { return slices.Clone(lintRules) }

func lint(name, description string) *LintRule {
	l := &LintRule{Name: name, Description: description}
	lintRules = append(lintRules, l)
	return l
}

// Warning is one finding of a [LintRule]. It never makes a suite invalid.
type Warning struct {
	Rule *LintRule
	Place
	// Message says what was found and what to do; like a problem's, it is safe to print.
	Message string
}
