package problem_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func TestCollector(t *testing.T) {
	var c problem.Collector
	require.False(t, c.Has(problem.ImageCollision))
	for i := range problem.MaxOfRule + 2 {
		at := problem.Place{Path: strconv.Itoa(i)}
		c.Report(problem.ImageCollision, at, "collision %d", i)
		c.Warn(problem.NewWarning(problem.SetIDFile, at, "file %d", i))
	}
	c.Add(problem.New(problem.ImageUser, problem.Place{Path: "a"}, "one of another rule"))
	require.True(t, c.Has(problem.ImageCollision))
	require.False(t, c.Has(problem.ImageProcess))

	problems, warnings := c.Finish()
	require.Len(t, problems, problem.MaxOfRule+2)
	require.Equal(t, "build (ASI-FS-001): 2 more problems of this kind are not listed", problems[0].String(), "what has no place comes first")
	require.Equal(t, "0: build (ASI-FS-001): collision 0", problem.Sort(problems)[1].String())
	require.Equal(t, "a: build (ASI-RUN-001): one of another rule", problems[len(problems)-1].String())
	require.Len(t, warnings, problem.MaxOfRule+1)
	require.Equal(t, "SetIDFile: 2 more warnings of this kind are not listed", warnings[problem.MaxOfRule].String())
}

func TestCollectorOfNothing(t *testing.T) {
	var c problem.Collector
	problems, warnings := c.Finish()
	require.Empty(t, problems)
	require.Empty(t, warnings)
}
