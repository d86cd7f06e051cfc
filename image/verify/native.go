package verify

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// checkABI checks the bundles' native files in the final filesystem again.
func (v *verification) checkABI(ctx context.Context) error {
	if v.selection == nil {
		return nil
	}
	subject := abi.Subject{
		Platform: v.image.Platform, Final: v.lookup, Base: v.baseLookup(),
		Files: v.scan.Files, Path: searchPath(v.image.Config.Config.Env),
	}
	for _, b := range v.selection.Bundles {
		bundle := abi.Bundle{Component: b.Key().String(), Objects: map[string]abi.Facts{}, Runtime: b.Variant.Runtime, SearchPath: b.Variant.SearchPath}
		for _, e := range destinations(b) {
			if facts, ok := v.scan.Objects[e.Path]; ok {
				bundle.Objects[e.Path] = facts
			}
		}
		subject.Bundles = append(subject.Bundles, bundle)
	}
	found, err := abi.Check(ctx, subject)
	if err != nil {
		return fmt.Errorf("checking the bundles' native files: %w", err)
	}
	for _, f := range found {
		v.problem(f.Rule, f.Path, "/%s of %s: %s", f.Path, f.Component, f.Message)
	}
	return nil
}

// baseLookup looks into the runtime base: the given one, or what the inventory says to be of it.
func (v *verification) baseLookup() abi.Lookup {
	if v.base != nil {
		return func(p string) (abi.Entry, bool) { return lookup(v.base, p) }
	}
	if v.inventory == nil {
		return v.lookup
	}
	listed := &image.Scan{Entries: v.inventory.Entries}
	return func(p string) (abi.Entry, bool) {
		if e, ok := listed.Lookup(p); !ok || e.Component != image.ComponentRuntimeBase {
			return abi.Entry{}, false
		}
		return v.lookup(p)
	}
}

// searchPath is the PATH of an environment; nil if it has none.
func searchPath(env []string) []string {
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			return strings.Split(value, ":")
		}
	}
	return nil
}

// lookup looks into the filesystem as the checks of native files do.
func (v *verification) lookup(p string) (abi.Entry, bool) { return lookup(v.scan, p) }

func lookup(scan *image.Scan, p string) (abi.Entry, bool) {
	e, ok := scan.Lookup(p)
	if !ok {
		return abi.Entry{}, false
	}
	entry := abi.Entry{Type: e.Type, Mode: e.Mode, LinkTarget: e.LinkTarget}
	if facts, ok := scan.Objects[p]; ok && e.Type == content.File {
		entry.Facts = &facts
	}
	return entry, true
}
