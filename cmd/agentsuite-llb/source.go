package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// suiteForms says what a suite may be given as.
const suiteForms = "a directory with agentsuite.json in it, an OCI layout directory, an OCI layout tar or a content tar+gzip"

// standardInput is the path that stands for standard input.
const standardInput = "-"

// openSuite reads the suite at a path, which may be that of standard input, and keeps it for excerpts.
func (s *streams) openSuite(ctx context.Context, path string, opts content.Options) (*content.Index, error) {
	opts.Limits = content.DefaultLimits()
	var (
		index *content.Index
		err   error
	)
	if path == standardInput {
		index, err = content.OpenReader(ctx, s.in, opts)
	} else {
		if err := checkPath(path); err != nil {
			return nil, err
		}
		index, err = content.Open(ctx, path, opts)
	}
	s.index = index
	return index, err
}

// validSuite reads and validates the suite at a path. Problems are a *[problem.Error].
func (s *streams) validSuite(ctx context.Context, path string, opts content.Options) (*content.Index, *suite.Graph, *suite.Report, error) {
	index, err := s.openSuite(ctx, path, opts)
	if err != nil {
		return nil, nil, nil, err
	}
	graph, report, err := suite.Validate(ctx, index, content.DefaultLimits())
	if err != nil {
		return nil, nil, nil, err
	}
	err = report.Err()
	return index, graph, report, err
}

// checkPath refuses a path that cannot be a suite, and says what was probably meant.
func checkPath(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if meant, ok := neighbour(path); ok {
			return fmt.Errorf("there is no %s; did you mean %s?", problem.Quoted(path), meant)
		}
		return fmt.Errorf("there is no %s; a suite is %s", problem.Quoted(path), suiteForms)
	case err != nil:
		return err
	case !info.IsDir() && filepath.Base(path) == suite.ManifestPath:
		return fmt.Errorf("%s is one document of a suite; give the directory that it lies in, %s", problem.Quoted(path), filepath.Dir(path))
	case info.IsDir() && !exists(path, suite.ManifestPath) && !exists(path, ocispec.ImageLayoutFile):
		if found, ok := suiteBelow(path); ok {
			return fmt.Errorf("%s holds neither agentsuite.json nor oci-layout; did you mean %s?", problem.Quoted(path), found)
		}
		return fmt.Errorf("%s holds neither agentsuite.json nor oci-layout; a suite is %s", problem.Quoted(path), suiteForms)
	}
	return nil
}

// checkDirectory is checkPath for a command whose build reads the suite from a directory.
func checkDirectory(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return errors.Join(err, fmt.Errorf("%s is an archive, and a builder reads directories; make an OCI layout directory of it: %s pack %s -o DIR",
			problem.Quoted(path), programName, problem.Printable(path)))
	}
	return nil
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// neighbour finds what lies beside a path that does not exist and has almost its name.
func neighbour(path string) (string, bool) {
	dir, base := filepath.Split(filepath.Clean(path))
	entries, err := os.ReadDir(filepath.Join(dir, "."))
	if err != nil {
		return "", false
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	meant, ok := problem.Suggest(base, names)
	return problem.Printable(dir + meant), ok
}

// suiteBelow finds a suite directly below a directory.
func suiteBelow(dir string) (string, bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	for _, e := range entries {
		if e.IsDir() && exists(filepath.Join(dir, e.Name()), suite.ManifestPath) {
			return problem.Printable(filepath.Join(dir, e.Name())), true
		}
	}
	return "", false
}
