//go:build integration

package construction_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
)

// The mode of a directory is content like any other: a change of nothing but one is seen by the next build, although
// daemons do not take it for a change of the local directory that they keep.
func TestDirectoryModesAreSeen(t *testing.T) {
	t.Parallel()
	a := spec{providers: []provider{tool("a", ocitest.Directory("in", 0o750), ocitest.File("in/f", 0o644, "f"), ocitest.Directory("plain", 0o755), ocitest.File("plain/f", 0o644, "g"))}}.author(t)
	directory := func(name string) string { return filepath.Join(a.dir, "tool-providers/a/linux-amd64", name) }
	mode := func(name string) uint32 {
		return entry(a.build(t, request{}).requireHonest(t, amd64), "opt/a/"+name).Mode
	}
	require.EqualValues(t, 0o750, mode("in"))

	require.NoError(t, os.Chmod(directory("in"), 0o700))
	require.NoError(t, a.seal(t))
	require.EqualValues(t, 0o700, mode("in"))

	require.NoError(t, os.Chmod(directory("plain"), 0o711))
	_, err := a.tryBuild(t, world.buildkitd, request{})
	require.ErrorContains(t, err, "plain has mode 0711 and the inventory does not list it")
	require.NoError(t, os.Chmod(directory("plain"), 0o755))
	require.EqualValues(t, 0o755, mode("plain"), "what the error asks for helps")

	require.NoError(t, os.Chmod(directory("in"), 0o750))
	require.NoError(t, a.seal(t))
	require.EqualValues(t, 0o750, mode("in"), "and back")
}

// What is ignored stays out of a bundle, whatever its name looks like to those who match patterns.
func TestIgnoredFilesStayOut(t *testing.T) {
	t.Parallel()
	names := []string{"!a", " b", "c ", "[d]", "e*", "f?", `#g`, "\th", "deep/i", "deep/!j/k"}
	var payload []ocitest.Entry
	for _, name := range names {
		payload = append(payload, ocitest.File("data/"+name, 0o644, "kept\n"), ocitest.File("data/"+name+".tmp", 0o644, "ignored\n"), ocitest.File("tmp/"+name, 0o644, "ignored\n"))
	}
	payload = append(payload, ocitest.Directory("data/a dir.tmp", 0o755), ocitest.File("data/a dir.tmp/x", 0o644, "ignored\n"))
	a := spec{providers: []provider{tool("a", payload...)}}.draft(t)
	writeFile(t, a.dir, ".dockerignore", "**/*.tmp\n**/tmp\n")
	require.NoError(t, a.seal(t))
	for way, copied := range both {
		inventory := a.build(t, request{copied: copied}).requireHonest(t, amd64)
		for _, name := range names {
			requireEntry(t, inventory, file("opt/a/data/"+name, 0o644, "a@1.0.0"))
			require.Nil(t, entry(inventory, "opt/a/data/"+name+".tmp"), way)
			require.Nil(t, entry(inventory, "opt/a/tmp"), way)
		}
	}
}
