package verify_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/verify"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// all are the options that hold an image against everything.
func (w *world) all() verify.Options {
	return verify.Options{Suite: w.graph, SuiteDigest: w.index.SuiteDigest, Base: w.pinned(w.base), Harness: w.pinned(w.harness)}
}

// TestVerifyValid holds that what the builder makes is valid, alone and against all it was made of.
func TestVerifyValid(t *testing.T) {
	for name, stacked := range map[string]bool{"beside": false, "stacked": true} {
		t.Run("agent, harness "+name, func(t *testing.T) {
			w := newWorld(t, stacked, nil)
			b := w.build("writer")
			require.Empty(t, b.verify(verify.Options{}).Problems)
			report := b.verify(w.all())
			require.Empty(t, report.Problems)
			require.Equal(t, suite.AgentTarget, report.Kind)
			require.Equal(t, "writer", report.Target)
			require.Equal(t, w.index.SuiteDigest, report.SuiteDigest)
			require.Equal(t, []string{"tools@1.0.0", "runtime@1.0.0"}, report.Bundles)
			require.Contains(t, report.Summary(), "conformant: agent writer for linux/amd64, built from suite "+string(w.index.SuiteDigest)+"; 2 bundles, ")
		})
	}
	t.Run("tool provider", func(t *testing.T) {
		w := newWorld(t, false, nil)
		b := w.build("tools@1.0.0")
		require.Empty(t, b.verify(verify.Options{}).Problems)
		opts := w.all()
		opts.Harness = nil
		report := b.verify(opts)
		require.Empty(t, report.Problems)
		require.Equal(t, suite.ToolProviderTarget, report.Kind)
		require.Equal(t, "tools@1.0.0", report.Target)
	})
}
