package ociimage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// The schemes of references, as the build contexts of docker buildx have them.
const (
	schemeLayout   = image.ContextLayout + "://"
	schemeRegistry = image.ContextRepository + "://"
)

// location is a parsed reference.
type location struct {
	// path is a directory or a tar; empty for a registry.
	path string
	// repository is a repository of a registry, with its host.
	repository reference.Named
	// tag and digest choose an image; both may be empty for a path.
	tag    string
	digest digest.Digest
}

// String says where the location is, without what chooses an image there.
func (at location) String() string {
	if at.path != "" {
		return at.path
	}
	return at.repository.Name()
}

func parseLocation(ref string) (location, error) {
	if rest, ok := strings.CutPrefix(ref, schemeRegistry); ok {
		return parseRegistry(rest)
	}
	if rest, ok := strings.CutPrefix(ref, schemeLayout); ok {
		return parsePath(rest)
	}
	if at, err := parsePath(ref); err == nil || looksLikePath(ref) {
		return at, err
	}
	return parseRegistry(ref)
}

func looksLikePath(ref string) bool {
	return strings.HasPrefix(ref, "/") || strings.HasPrefix(ref, "./") || strings.HasPrefix(ref, "../") || ref == "." || ref == ".."
}

// parsePath finds the longest path that exists; what is behind it must be a tag, a digest or both.
func parsePath(ref string) (location, error) {
	_, err := os.Lstat(ref)
	if err == nil {
		return location{path: ref}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
		return location{}, fmt.Errorf("opening %s: %w", problem.Quoted(ref), errors.Unwrap(err))
	}
	at, rest := location{}, ref
	if before, after, ok := cutLast(rest, "@"); ok {
		if at.digest, err = digestOf(after); err != nil {
			return location{}, fmt.Errorf("opening %s: %w", problem.Quoted(ref), err)
		}
		rest = before
	}
	if _, err := os.Lstat(rest); err == nil && at.digest != "" {
		at.path = rest
		return at, nil
	}
	before, tag, ok := cutLast(rest, ":")
	if _, err := os.Lstat(before); ok && err == nil && !strings.Contains(tag, "/") {
		at.path, at.tag = before, tag
		return at, nil
	}
	return location{}, fmt.Errorf("opening %s: no such file or directory", problem.Quoted(ref))
}

// LayoutDirectory returns the directory of an OCI image layout that is named as for [Open], without the tag
// or digest that chooses an image in it. Anything but such a directory is an error.
func LayoutDirectory(ref string) (string, error) {
	at, err := parsePath(ref)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(at.path, ocispec.ImageLayoutFile)); err != nil {
		return "", fmt.Errorf("%s is no directory with an OCI image layout: %w", problem.Quoted(at.path), err)
	}
	return at.path, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func parseRegistry(ref string) (location, error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return location{}, fmt.Errorf("%s is neither a file or directory that exists nor an image reference: %w", problem.Quoted(ref), err)
	}
	at := location{repository: reference.TrimNamed(named)}
	if digested, ok := named.(reference.Digested); ok {
		at.digest = digested.Digest()
	}
	if tagged, ok := named.(reference.Tagged); ok {
		at.tag = tagged.Tag()
	}
	if at.digest == "" && at.tag == "" {
		at.tag = "latest"
	}
	return at, nil
}

// open opens what holds the blobs of a location.
func (at location) open(ctx context.Context, s *Source) (store, error) {
	if at.path == "" {
		return openRegistry(s, at)
	}
	info, err := os.Stat(at.path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openDirectory(s, at.path)
	}
	return openTar(ctx, s, at.path)
}

// isLoopback tells whether a registry is on this machine and is spoken to without TLS.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
