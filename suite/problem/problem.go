// Package problem is what every check of a suite or an image reports with: rules, the problems that
// break them, and the warnings of the linter.
//
// It is the lowest room of the module, so that reading, validating, building and verifying share one
// way to say what is wrong and where.
package problem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/secret"
)

// Category is one of the stable failure classes of the specification (section 16).
type Category string

// The categories of section 16.
const (
	OCI          Category = "oci"
	JSON         Category = "json"
	Path         Category = "path"
	Digest       Category = "digest"
	Graph        Category = "graph"
	Platform     Category = "platform"
	ToolProvider Category = "tool-provider"
	Build        Category = "build"
	Evaluation   Category = "evaluation"
	Security     Category = "security"
)

// Place is where in a suite, or in an image, something was found.
type Place struct {
	// Path is the content path of the document or entry; for an image, the path in its filesystem.
	// It is empty when the finding concerns the whole subject.
	Path string
	// Pointer is the RFC 6901 JSON pointer inside the document; empty for the document as a whole.
	Pointer string
	// Line and Column are 1-based; 0 when the finding has no place in a text. Columns count bytes.
	Line, Column int
}

// String renders the place as path:line:column, or as much of it as is known. It is safe to print.
func (p Place) String() string {
	if p.Line == 0 {
		return shown(p.Path)
	}
	return fmt.Sprintf("%s:%d:%d", shown(p.Path), p.Line, p.Column)
}

func (p Place) compare(q Place) int {
	return cmp.Or(
		cmp.Compare(p.Path, q.Path),
		cmp.Compare(p.Line, q.Line),
		cmp.Compare(p.Column, q.Column),
		cmp.Compare(p.Pointer, q.Pointer),
	)
}

// Problem is one violation of a [Rule].
type Problem struct {
	Rule *Rule
	Place
	// Message says what was expected and what was found. It never holds an evaluation operand or what has the
	// shape of a credential, and it has no control characters: it is safe to print.
	Message string
}

// New makes a problem from a rule, a place and a formatted message.
func New(rule *Rule, at Place, format string, args ...any) Problem {
	return Problem{Rule: rule, Place: at, Message: shown(fmt.Sprintf(format, args...))}
}

// String renders the problem as one line: place, category, requirement and message.
func (p Problem) String() string {
	head := fmt.Sprintf("%s (%s)", p.Rule.Category, p.Rule.Requirement)
	if at := p.Place.String(); at != "" {
		head = at + ": " + head
	}
	return head + ": " + p.Message
}

// Sort orders problems by path, line and column, then by pointer, rule and message, and drops exact
// repetitions. The order depends on nothing but the problems themselves.
func Sort(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(a.compare(b.Place), cmp.Compare(a.Rule.ID, b.Rule.ID), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}

// Error is a non-empty list of problems as a Go error. Obtain one with [AsError].
type Error struct {
	Problems []Problem
}

// AsError returns nil for an empty list, else an *[Error] that holds the sorted problems.
func AsError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{Problems: Sort(problems)}
}

// Error lists every problem, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// MarshalJSON writes the form that programs read: category, requirement, rule, path, pointer, line,
// column and message.
func (p Problem) MarshalJSON() ([]byte, error) {
	return json.Marshal(problemJSON{
		Category: p.Rule.Category, Requirement: p.Rule.Requirement, Rule: p.Rule.ID,
		Path: secret.Redact(p.Path), Pointer: secret.Redact(p.Pointer), Line: p.Line, Column: p.Column, Message: p.Message,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote. A rule that this build does not know is an error.
func (p *Problem) UnmarshalJSON(data []byte) error {
	var v problemJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	rule, ok := ruleByID(v.Rule)
	if !ok {
		return fmt.Errorf("unknown rule %q", v.Rule)
	}
	*p = Problem{Rule: rule, Place: Place{Path: v.Path, Pointer: v.Pointer, Line: v.Line, Column: v.Column}, Message: v.Message}
	return nil
}

type problemJSON struct {
	Category    Category `json:"category"`
	Requirement string   `json:"requirement"`
	Rule        string   `json:"rule"`
	Path        string   `json:"path"`
	Pointer     string   `json:"pointer"`
	Line        int      `json:"line"`
	Column      int      `json:"column"`
	Message     string   `json:"message"`
}
