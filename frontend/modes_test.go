package frontend

import (
	"io/fs"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func modesIndex() *content.Index {
	return &content.Index{
		Form: content.FormDirectory,
		Entries: []content.Entry{
			{Path: "a", Type: content.Directory, Mode: 0o755},
			{Path: "a/b", Type: content.Directory, Mode: 0o700},
			{Path: "a/b/f", Type: content.File, Mode: 0o644},
			{Path: "a/c", Type: content.Directory, Mode: 0o755},
			{Path: "d", Type: content.Directory, Mode: 0o755},
		},
		Problems: []problem.Problem{problem.New(problem.PathMode, problem.Place{Path: "d"}, "mode 2755 has a set-id bit")},
	}
}

func TestSaysMode(t *testing.T) {
	for name, test := range map[string]struct {
		path string
		mode fs.FileMode
		want bool
	}{
		"the same":                {"a/b", fs.ModeDir | 0o700, true},
		"another":                 {"a/b", fs.ModeDir | 0o755, false},
		"a bit more":              {"a", fs.ModeDir | fs.ModeSticky | 0o755, false},
		"the bit that is refused": {"d", fs.ModeDir | fs.ModeSetgid | 0o755, true},
		"the bit taken away":      {"d", fs.ModeDir | 0o755, false},
		"a file before":           {"a/b/f", fs.ModeDir | 0o644, false},
		"no content":              {"ignored", fs.ModeDir | 0o700, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, saysMode(modesIndex(), test.path, test.mode))
		})
	}
}

func TestParentsOfDirectories(t *testing.T) {
	require.Equal(t, []string{".", "a"}, parentsOfDirectories(modesIndex()))
}

func TestIsLocal(t *testing.T) {
	for name, test := range map[string]struct {
		state llb.State
		want  bool
	}{
		"local": {llb.Local("context"), true},
		"git":   {llb.Git("https://git.example/suite.git", "main"), false},
		"http":  {llb.HTTP("https://files.example/suite.tar"), false},
		"image": {llb.Image("registry.example/suite"), false},
	} {
		t.Run(name, func(t *testing.T) {
			local, err := isLocal(t.Context(), test.state)
			require.NoError(t, err)
			require.Equal(t, test.want, local)
		})
	}
}
