package image

import (
	"fmt"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// maxProblemsOfRule is how many problems of one rule are listed. A hostile image could have as many as
// entries, and nobody reads so many.
const maxProblemsOfRule = 100

// report collects the problems and warnings of one composition.
type report struct {
	problems []problem.Problem
	warnings []problem.Warning
	counts   map[*problem.Rule]int
	lint     map[*problem.LintRule]int
}

func newReport() *report {
	return &report{counts: map[*problem.Rule]int{}, lint: map[*problem.LintRule]int{}}
}

func (r *report) problem(rule *problem.Rule, at problem.Place, format string, args ...any) {
	if r.counts[rule]++; r.counts[rule] <= maxProblemsOfRule {
		r.problems = append(r.problems, problem.New(rule, at, format, args...))
	}
}

func (r *report) add(problems ...problem.Problem) {
	for _, p := range problems {
		r.problem(p.Rule, p.Place, "%s", p.Message)
	}
}

func (r *report) warning(w problem.Warning) {
	if r.lint[w.Rule]++; r.lint[w.Rule] <= maxProblemsOfRule {
		r.warnings = append(r.warnings, w)
	}
}

// finish counts what was not listed, and sorts the problems.
func (r *report) finish() ([]problem.Problem, []problem.Warning) {
	for _, rule := range problem.Rules() {
		if more := r.counts[rule] - maxProblemsOfRule; more > 0 {
			r.problems = append(r.problems, problem.New(rule, problem.Place{}, "%d more problems of this kind are not listed", more))
		}
	}
	for _, rule := range problem.LintRules() {
		if more := r.lint[rule] - maxProblemsOfRule; more > 0 {
			r.warnings = append(r.warnings, newWarning(rule, problem.Place{}, "%d more warnings of this kind are not listed", more))
		}
	}
	return problem.Sort(r.problems), r.warnings
}

func newWarning(rule *problem.LintRule, at problem.Place, format string, args ...any) problem.Warning {
	return problem.Warning{Rule: rule, Place: at, Message: problem.Printable(fmt.Sprintf(format, args...))}
}
