package suite_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

var update = flag.Bool("update", false, "write the invalid fixtures, the expectations and the generated documentation anew")

// expectation is the file beside a suite that says what is wrong with it.
const expectation = "expected.txt"

func invalidFixtures(t testing.TB) []string {
	dirs, err := filepath.Glob(filepath.Join(testdata, "invalid", "*"))
	require.NoError(t, err)
	names := make([]string, len(dirs))
	for i, dir := range dirs {
		names[i] = filepath.Base(dir)
	}
	return names
}

// Every suite below testdata/invalid breaks one rule, the one that its directory is named after, and
// gets the problem that is written beside it.
func TestInvalidFixtures(t *testing.T) {
	if *update {
		writeBreakages(t)
	}
	names := invalidFixtures(t)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(testdata, "invalid", name)
			report := validateDirectory(t, "invalid/"+name+"/suite")
			got := problemLines(report)
			if *update {
				require.NoError(t, os.WriteFile(filepath.Join(dir, expectation), []byte(got), 0o644))
			}
			want, err := os.ReadFile(filepath.Join(dir, expectation))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(string(want), got))
			for _, p := range report.Problems {
				require.True(t, name == p.Rule.ID || strings.HasPrefix(name, p.Rule.ID+"-"), "the directory is named after another rule than %s", p.Rule.ID)
			}
			require.NotEmpty(t, report.Problems)
		})
	}
}

// validateDirectory reads a suite as everybody does. It is copied first, because the modes in a
// checkout depend on its owner's umask.
func validateDirectory(t testing.TB, name string) *suite.Report {
	dir := t.TempDir()
	loadFixture(t, name).write(t, dir)
	limits := content.DefaultLimits()
	index, err := content.Open(context.Background(), dir, content.Options{Limits: limits})
	require.NoError(t, err)
	_, report, err := suite.Validate(context.Background(), index, limits)
	require.NoError(t, err)
	return report
}

func writeBreakages(t *testing.T) {
	root := filepath.Join(testdata, "invalid")
	require.NoError(t, os.RemoveAll(root))
	for _, b := range breakages {
		t.Run("write "+b.name, func(t *testing.T) {
			f := b.make(t)
			dir := filepath.Join(root, b.name, "suite")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			f.write(t, dir)
		})
	}
}

func (b *breakage) make(t testing.TB) *fixture {
	return loadFixture(t, "valid/"+b.base).broken(t, b)
}

func (f *fixture) broken(t testing.TB, b *breakage) *fixture {
	if b.alter != nil {
		f = f.change(func(f *fixture) { b.alter(t, f) })
	} else {
		f = f.clone()
	}
	if b.stale != nil {
		b.stale(t, f)
	}
	return f
}
