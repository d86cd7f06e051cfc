package abi

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// Bounds on what following paths may cost. Linux follows 40 symlinks and accepts paths of 4096 bytes.
const (
	maxSymlinks   = 40
	maxPathLength = 4096
	maxLookups    = 10_000_000
	maxKnown      = 1 << 17
)

var errTooManyLookups = fmt.Errorf("what the bundles' native files need leads to more than %d look-ups: no real program's search paths do", maxLookups)

// resolver follows paths inside a filesystem, as the kernel does, never out of it.
type resolver struct {
	ctx     context.Context
	lookup  Lookup
	lookups int // that may still be made
	err     error
	known   map[string]resolved
}

type resolved struct {
	path  string
	entry Entry
	ok    bool
}

func newResolver(ctx context.Context, lookup Lookup) *resolver {
	return &resolver{ctx: ctx, lookup: lookup, lookups: maxLookups, known: map[string]resolved{}}
}

// resolve follows an absolute path to an entry that is no symlink and returns the entry's own path,
// without a leading slash. It is false for what does not exist, and for everything once r.err is set.
func (r *resolver) resolve(name string) (string, Entry, bool) {
	if r.err != nil || !strings.HasPrefix(name, "/") || len(name) > maxPathLength {
		return "", Entry{}, false
	}
	if got, ok := r.known[name]; ok {
		r.count(1)
		return got.path, got.entry, got.ok
	}
	if len(r.known) == maxKnown {
		clear(r.known)
	}
	p, e, ok := r.walk(name)
	r.known[name] = resolved{p, e, ok}
	return p, e, ok
}

func (r *resolver) walk(name string) (string, Entry, bool) {
	var done []string // components of the path so far, symlinks followed
	pending := strings.Split(name, "/")
	entry := Entry{Type: content.Directory, Mode: 0o755}
	found := true // the root is a directory
	for links := 0; len(pending) > 0; {
		component := pending[0]
		pending = pending[1:]
		switch component {
		case "", ".":
			continue
		case "..":
			done = done[:max(len(done)-1, 0)]
			entry, found = Entry{Type: content.Directory, Mode: 0o755}, true
			continue
		}
		here := strings.Join(append(done, component), "/")
		r.count(1 + len(here)/64)
		if r.err != nil || len(here) > maxPathLength {
			return "", Entry{}, false
		}
		entry, found = r.lookup(here)
		if found && entry.Type == content.Symlink {
			links++
			if links > maxSymlinks || len(entry.LinkTarget) > maxPathLength {
				return "", Entry{}, false
			}
			if strings.HasPrefix(entry.LinkTarget, "/") {
				done = nil
			}
			pending = append(strings.Split(entry.LinkTarget, "/"), pending...)
			entry, found = Entry{Type: content.Directory, Mode: 0o755}, true
			continue
		}
		if found && entry.Type != content.Directory && len(pending) > 0 {
			return "", Entry{}, false
		}
		done = append(done, component)
	}
	return strings.Join(done, "/"), entry, found
}

// count accounts for the cost of a look-up, so that hostile files cannot make a check run for ever.
func (r *resolver) count(cost int) {
	before := r.lookups
	r.lookups -= cost
	if r.lookups < 0 {
		r.err = errTooManyLookups
	}
	if r.lookups/1024 != before/1024 && r.ctx.Err() != nil {
		r.err = context.Cause(r.ctx)
	}
}

// Resolve follows a path inside a filesystem as the kernel does, and returns the path and the entry of
// what is there, which is no symlink. It is false if nothing is, or if the path leads in a circle.
func Resolve(lookup Lookup, path string) (string, Entry, bool) {
	return newResolver(context.Background(), lookup).resolve(path)
}
