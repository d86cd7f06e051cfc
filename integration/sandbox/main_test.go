//go:build integration

// Package sandbox_test builds sandbox images of the example suite by every way in which people build them, and looks at
// what came out.
package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

const bothPlatforms = "linux/amd64,linux/arm64"

// example is what all tests of the package share.
var example *testenv.Example

func TestMain(m *testing.M) {
	status, err := withExample(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func withExample(run func() int) (status int, err error) {
	e, remove, err := testenv.NewExample(context.Background())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	example = e
	return run(), nil
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into), path)
}

// edit replaces text in a file of a suite; the old text must be there.
func edit(t *testing.T, dir, name, from, to string) {
	t.Helper()
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), from, name)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(data), from, to)), 0o644))
}

// lines are the lines of a text that hold a word.
func lines(text, word string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
