//go:build integration

// Package builders_test builds on every kind of BuildKit that people run, old ones, several nodes and workers without
// MergeOp among them, at the sizes that the specification allows, and in the middle of every kind of trouble.
package builders_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

var example *testenv.Example

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	var remove func() error
	if example, remove, err = testenv.NewExample(context.Background()); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	return m.Run(), nil
}

// stateDir is a directory for what may be large: it lies where the build folder lies, not in a temporary file system that
// may be memory.
func stateDir(t testing.TB) string { return testenv.StateDir(t) }

func describe(mediaType, text string) doc {
	return doc{"mediaType": mediaType, "digest": digest.FromString(text), "size": len(text)}
}

// canonicalJSON is the form whose digest is an identity (RFC 8785).
func canonicalJSON(text []byte) ([]byte, error) { return jcs.Transform(text) }
