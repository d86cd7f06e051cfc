package problem

// MaxOfRule is how many problems or warnings of one rule a [Collector] lists. A hostile image could have as
// many as it has entries, and nobody reads so many.
const MaxOfRule = 100

// Collector collects what a check finds, of each rule at most [MaxOfRule], and counts the rest. The zero
// value is ready for use.
type Collector struct {
	// Problems and Warnings are what is listed so far.
	Problems []Problem
	Warnings []Warning

	problems map[*Rule]int
	warnings map[*LintRule]int
}

// Report collects a problem made from a rule, a place and a formatted message.
func (c *Collector) Report(rule *Rule, at Place, format string, args ...any) {
	if counts(&c.problems, rule) {
		c.Problems = append(c.Problems, New(rule, at, format, args...))
	}
}

// Add collects problems that were found elsewhere.
func (c *Collector) Add(problems ...Problem) {
	for _, p := range problems {
		if counts(&c.problems, p.Rule) {
			c.Problems = append(c.Problems, p)
		}
	}
}

// Warn collects warnings.
func (c *Collector) Warn(warnings ...Warning) {
	for _, w := range warnings {
		if counts(&c.warnings, w.Rule) {
			c.Warnings = append(c.Warnings, w)
		}
	}
}

// counts counts one more of a rule and tells whether it is to be listed.
func counts[R comparable](of *map[R]int, rule R) bool {
	if *of == nil {
		*of = map[R]int{}
	}
	(*of)[rule]++
	return (*of)[rule] <= MaxOfRule
}

// Lists tells whether one more problem of a rule would be listed. It spares looking up what nobody is told.
func (c *Collector) Lists(rule *Rule) bool { return c.problems[rule] < MaxOfRule }

// Has tells whether a problem of a rule was collected.
func (c *Collector) Has(rule *Rule) bool { return c.problems[rule] > 0 }

// Finish returns everything collected: the problems in the order of [Sort], the warnings in that of their
// coming, and for each rule of which not all are listed one that says how many more there are. It must be the
// last call.
func (c *Collector) Finish() ([]Problem, []Warning) {
	for _, rule := range rules {
		if more := c.problems[rule] - MaxOfRule; more > 0 {
			c.Problems = append(c.Problems, New(rule, Place{}, "%d more problems of this kind are not listed", more))
		}
	}
	for _, rule := range lintRules {
		if more := c.warnings[rule] - MaxOfRule; more > 0 {
			c.Warnings = append(c.Warnings, NewWarning(rule, Place{}, "%d more warnings of this kind are not listed", more))
		}
	}
	return Sort(c.Problems), c.Warnings
}
