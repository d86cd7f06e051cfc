package suite

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// findings collects what one step of validation has to say. Steps that run at the same time have one
// each; they are merged in an order that does not depend on which was done first.
type findings struct {
	problems []problem.Problem
	warnings []problem.Warning
	// omitted counts what was found beyond the limits, and not kept.
	omitted int
}

func (f *findings) add(rule *problem.Rule, at problem.Place, format string, args ...any) {
	f.problems = append(f.problems, problem.New(rule, at, format, args...))
}

func (f *findings) warn(rule *problem.LintRule, at problem.Place, format string, args ...any) {
	f.warnings = append(f.warnings, problem.NewWarning(rule, at, format, args...))
}

// merge takes over what another step found. It keeps the first findings in their final order, so a
// suite that is all faults takes no more memory than one that reaches the limit.
func (f *findings) merge(other *findings) {
	f.problems = append(f.problems, other.problems...)
	f.warnings = append(f.warnings, other.warnings...)
	f.omitted += other.omitted
	if len(f.problems) > 2*MaxProblems || len(f.warnings) > 2*MaxWarnings {
		f.limit()
	}
}

// limit sorts the findings and cuts them at the limits.
func (f *findings) limit() {
	f.problems = problem.Sort(f.problems)
	f.warnings = sortWarnings(f.warnings)
	if extra := len(f.problems) - MaxProblems; extra > 0 {
		f.problems = slices.Delete(f.problems, MaxProblems, len(f.problems))
		f.omitted += extra
	}
	if extra := len(f.warnings) - MaxWarnings; extra > 0 {
		f.warnings = slices.Delete(f.warnings, MaxWarnings, len(f.warnings))
		f.omitted += extra
	}
}

// sortWarnings gives warnings the order that problems have, and drops repetitions.
func sortWarnings(warnings []problem.Warning) []problem.Warning {
	slices.SortFunc(warnings, func(a, b problem.Warning) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Rule.Name, b.Rule.Name), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(warnings)
}

// parallel calls f with 0 to n-1 on as many goroutines as there are processors, and returns when all
// are done. The error is that of a context that ended before.
func parallel(ctx context.Context, n int, f func(i int)) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}
