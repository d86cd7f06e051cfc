//go:build integration

package construction_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/util/progress/progressui"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// A person sees what becomes part of which image, in the suite's words and once; what is only the builder's business is
// marked as such.
func TestProgress(t *testing.T) {
	t.Parallel()
	platforms := []suite.Platform{amd64, arm64}
	a := spec{agents: []string{"writer"}, platforms: platforms, providers: []provider{tool("datetime", ocitest.Directory("in", 0o700))}}.author(t)
	for way, copied := range both {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := a.buildOn(t, testenv.Buildkitd(t, options()), request{platforms: platforms, copied: copied})
			names := b.steps()
			for _, platform := range platforms {
				for _, step := range []string{"harness registry.example/harness@sha256:", "bundle datetime@1.0.0", "metadata"} {
					want := "[writer " + platform.String() + "] " + step
					require.True(t, slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, want) }), "%s is not among %q", want, names)
				}
			}
			bracketed := regexp.MustCompile(`^(\[internal\]|\[(writer|harness|runtime base) linux/(amd64|arm64)\]) \S`)
			for _, name := range names {
				if name != "exporting to oci image format" {
					require.Regexp(t, bracketed, name)
				}
			}
			for _, tool := range []string{"open the suite", "scan harness linux/arm64", "scan runtime base linux/amd64", "[writer linux/amd64] compose the filesystem"} {
				require.Contains(t, names, "[internal] "+tool)
			}

			shown := b.shown(t)
			require.Contains(t, shown, "[writer linux/arm64] metadata\n")
			require.NotContains(t, shown, "metadata: prepare", "steps on the way to a layer are shown as the layer")
			require.NotContains(t, shown, "copy onto the others")
			require.NotContains(t, shown, "filesystem: request")
		})
	}
}

// shown is the progress of a build as people see it where there is no terminal.
func (b built) shown(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	display, err := progressui.NewDisplay(&out, progressui.PlainMode)
	require.NoError(t, err)
	status := make(chan *client.SolveStatus)
	go func() {
		defer close(status)
		for _, s := range b.progress {
			status <- s
		}
	}()
	_, err = display.UpdateFrom(t.Context(), status)
	require.NoError(t, err)
	return out.String()
}
