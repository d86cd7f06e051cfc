package problem

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentsuite/agentsuite-llb/suite/secret"
)

// Rule is one thing that must hold. Its ID never changes once released, so people and programs can
// refer to it.
type Rule struct {
	// ID is the rule's own name, lower-case with dashes, unique in the module.
	ID string
	// Category is the failure class that a violation is reported under.
	Category Category
	// Requirement is the conformance requirement of section 15 that the rule belongs to ("AS-ID-001").
	Requirement string
	// Section is the section of the specification that demands it; or "decision" and a heading of
	// docs/README.md, below which stands what this project decides where the specification leaves it open.
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

// String renders the warning as one line: place, rule and message.
func (w Warning) String() string {
	head := w.Rule.Name
	if at := w.Place.String(); at != "" {
		head = at + ": " + head
	}
	return head + ": " + w.Message
}

// NewWarning makes a warning from a rule, a place and a formatted message.
func NewWarning(rule *LintRule, at Place, format string, args ...any) Warning {
	return Warning{Rule: rule, Place: at, Message: shown(fmt.Sprintf(format, args...))}
}

// MarshalJSON writes rule, place, message and the address of the rule's page.
func (w Warning) MarshalJSON() ([]byte, error) {
	return json.Marshal(warningJSON{
		Rule: w.Rule.Name, Path: secret.Redact(w.Path), Pointer: secret.Redact(w.Pointer), Line: w.Line, Column: w.Column,
		Message: w.Message, URL: w.Rule.URL(),
	})
}

// UnmarshalJSON reads what MarshalJSON wrote. A rule that this build does not know is an error.
func (w *Warning) UnmarshalJSON(data []byte) error {
	var v warningJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	i := slices.IndexFunc(lintRules, func(l *LintRule) bool { return l.Name == v.Rule })
	if i < 0 {
		return fmt.Errorf("unknown lint rule %q", v.Rule)
	}
	*w = Warning{Rule: lintRules[i], Place: Place{Path: v.Path, Pointer: v.Pointer, Line: v.Line, Column: v.Column}, Message: v.Message}
	return nil
}

type warningJSON struct {
	Rule    string `json:"rule"`
	Path    string `json:"path"`
	Pointer string `json:"pointer"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	URL     string `json:"url"`
}

func ruleByID(id string) (*Rule, bool) {
	i := slices.IndexFunc(rules, func(r *Rule) bool { return r.ID == id })
	if i < 0 {
		return nil, false
	}
	return rules[i], true
}
