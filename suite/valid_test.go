package suite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func validFixtures(t testing.TB) []string {
	entries, err := os.ReadDir(filepath.Join(testdata, "valid"))
	require.NoError(t, err)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	require.NotEmpty(t, names)
	return names
}

func TestValidFixtures(t *testing.T) {
	for _, name := range validFixtures(t) {
		t.Run(name, func(t *testing.T) {
			g, report := loadFixture(t, "valid/"+name).validate(t)
			require.Empty(t, problemLines(report))
			require.NotNil(t, g)
		})
	}
}
