package content

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

const ignoreFile = ".dockerignore"

// buildFiles may lie beside agentsuite.json without being content, so that a suite can be built and
// published from where it is written.
var buildFiles = []string{
	ignoreFile, "*.dockerignore", "Dockerfile", "*.Dockerfile", "docker-bake.hcl", "docker-bake.json",
	"README.md", "LICENSE", ".git",
}

// isBuildFile tells whether a path is a build file's, and whether it is one that BuildKit reads as a
// Dockerfile.
func isBuildFile(p string) (ok, dockerfile bool) {
	for _, pattern := range buildFiles {
		if match, _ := path.Match(pattern, p); match { // no pattern matches a slash
			return true, strings.HasSuffix(pattern, "Dockerfile")
		}
	}
	return false, false
}

// CheckBuildFile says why a Dockerfile that starts the build of a suite does more than name the frontend, or nil. A
// frontend reads agentsuite.json, so whatever else stood there would be silently without effect.
func CheckBuildFile(text []byte) error {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return errors.New("it is no text")
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		switch {
		case number == 1 && !isSyntaxLine(line):
			return errors.New(`its first line is no "# syntax=" line`)
		case len(line) > 0 && line[0] != '#':
			return fmt.Errorf("its line %d is neither blank nor a comment", number)
		}
	}
	if number == 0 {
		return errors.New("it is empty")
	}
	return nil
}

func isSyntaxLine(line []byte) bool {
	comment, ok := bytes.CutPrefix(line, []byte("#"))
	name, value, found := bytes.Cut(comment, []byte("="))
	return ok && found && bytes.EqualFold(bytes.TrimSpace(name), []byte("syntax")) && len(bytes.TrimSpace(value)) > 0
}

// ignore applies the patterns of a .dockerignore as BuildKit does when it transfers a build context.
// A nil ignore matches nothing.
type ignore struct {
	patterns *patternmatcher.PatternMatcher
	// exceptions tells that below a path that is ignored there may be others that are not.
	exceptions bool
}

// maxWildcards bounds the wildcards of all patterns. Every one may have to be followed at every byte of a path, and
// a .dockerignore of 64 KiB has room for enough of them to take a second for one path.
const maxWildcards = 1_000

func parseIgnore(text []byte, maxPatterns int) (*ignore, error) {
	lines, err := ignorefile.ReadAll(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if len(lines) > maxPatterns {
		return nil, fmt.Errorf("it has %d patterns; the limit is %d", len(lines), maxPatterns)
	}
	if len(lines) == 0 {
		return nil, nil
	}
	wildcards := 0
	for _, line := range lines {
		wildcards += len(line) - len(strings.NewReplacer("*", "", "?", "", "[", "").Replace(line))
	}
	if wildcards > maxWildcards {
		return nil, fmt.Errorf("its patterns have %d wildcards; the limit is %d", wildcards, maxWildcards)
	}
	// Patterns are compiled when they are first used; one by one, so that a wrong one can be named.
	for _, line := range lines {
		pattern, err := patternmatcher.New([]string{line})
		if err == nil {
			_, err = patternmatcher.MatchesOrParentMatches("x", []string{strings.TrimPrefix(line, "!")})
		}
		if err != nil || pattern == nil {
			return nil, fmt.Errorf("the pattern %s is malformed", problem.Quoted(line))
		}
	}
	patterns, err := patternmatcher.New(lines)
	if err != nil {
		return nil, err
	}
	return &ignore{patterns: patterns, exceptions: patterns.Exclusions()}, nil
}

// match tells whether a path is ignored. above is what the match of its directory returned.
func (i *ignore) match(p string, above patternmatcher.MatchInfo) (bool, patternmatcher.MatchInfo, error) {
	if i == nil {
		return false, above, nil
	}
	return i.patterns.MatchesUsingParentResults(p, above)
}
