package abi

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
)

// TestCheckStops holds that files whose needs lead nowhere, over and over, cannot keep a check busy.
func TestCheckStops(t *testing.T) {
	var needed, runPath []string
	for i := range 100 {
		needed = append(needed, fmt.Sprintf("lib%d.so", i))
		runPath = append(runPath, fmt.Sprintf("/a/b/c/%d", i))
	}
	objects := map[string]Facts{
		"opt/x/a": {ELF: &ELF{Machine: "amd64", Executable: true, Needed: needed, RunPath: runPath}},
	}
	nothing := func(string) (Entry, bool) { return Entry{}, false }
	subject := Subject{
		Platform: suite.Platforms()[0], Final: nothing, Base: nothing,
		Bundles: []Bundle{{Component: "x@1.0.0", Objects: objects, Runtime: suite.RuntimeNeeds{ABI: abiGNU}}},
	}
	t.Run("when what they need has no end", func(t *testing.T) {
		c := newChecker(t.Context(), subject)
		c.final.lookups = 1000
		_, err := c.check(t.Context())
		require.ErrorContains(t, err, "look-ups")
	})
	t.Run("when it is cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Check(ctx, subject)
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("but not before", func(t *testing.T) {
		findings, err := Check(t.Context(), subject)
		require.NoError(t, err)
		require.Len(t, findings, len(needed))
	})
}
