package image

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// Symlinks to thousands of names each, one leading to the next, come to an end long before the last.
func TestResolveEnds(t *testing.T) {
	var entries tree
	for i := range maxSymlinks {
		entries = append(entries, Entry{Path: fmt.Sprintf("l%02d", i), Type: content.Symlink, LinkTarget: strings.Repeat("./", 2000) + fmt.Sprintf("l%02d", i+1)})
	}
	entries = append(entries, Entry{Path: fmt.Sprintf("l%02d", maxSymlinks), Type: content.Directory})
	_, _, ok := entries.resolve("/l00")
	require.False(t, ok)
	target, e, ok := entries.resolve("/l39")
	require.True(t, ok, "a long way is no fault by itself")
	require.Equal(t, "l40", target)
	require.NotNil(t, e)
	allocated := testing.AllocsPerRun(10, func() { entries.resolve("/l00") })
	require.Less(t, allocated, 100.0)
}

func TestConfigurationIsBounded(t *testing.T) {
	s := &Scan{}
	for i := range 5 {
		s.Entries = append(s.Entries, Entry{Path: fmt.Sprintf("etc/ld.so.conf.d/%d.conf", i), Type: content.File})
	}
	require.Len(t, s.configuration(8), 5)
	require.Empty(t, s.Problems)
	require.Empty(t, s.configuration(4))
	require.Len(t, s.Problems, 1)
	require.Contains(t, s.Problems[0].Message, "more than 4 files")
}

func TestKeepIsBounded(t *testing.T) {
	s := &Scan{Files: map[string][]byte{}}
	for i := range 20 {
		require.NoError(t, s.Keep(fmt.Sprint(i), strings.NewReader("0123456789"), 10))
	}
	require.Len(t, s.Files, 16)
	require.Len(t, s.Problems, 4)
	require.Contains(t, s.Problems[0].Message, "larger than 160 bytes together")
	require.NoError(t, s.Keep("large", strings.NewReader("01234567890"), 10))
	require.Contains(t, s.Problems[4].Message, "larger than 10 bytes")
}

// What a path hides is looked for once, and told of every input once.
func TestFirstOfInputs(t *testing.T) {
	all := tree{{Path: "a", Component: "x"}, {Path: "a/b", Component: "y"}, {Path: "a/c", Component: "x"}, {Path: "a/d", Component: "z"}}
	var firsts []string
	for _, e := range firstOfInputs(all.below("a")) {
		firsts = append(firsts, e.Path)
	}
	slices.Sort(firsts)
	require.Equal(t, []string{"a", "a/b", "a/d"}, firsts)
	require.Empty(t, firstOfInputs(all.below("b")))
}
