package image

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Compose composes the final filesystem and returns what it found out with the canonical bytes of the
// final inventory. It is pure: it reads nothing but its arguments and does not change them. Everything
// that is wrong with the filesystem is in [Composed.Problems], and the inventory is none then; an error
// means that ctx is done or that the arguments do not belong together.
func Compose(ctx context.Context, r *Recipe, scans Scans) (*Composed, []byte, error) {
	c := &composer{recipe: r, scans: scans, found: &problem.Collector{}}
	if scans.Base == nil || r.Stacked && scans.Harness == nil {
		return nil, nil, errors.New("the scan of a pinned image is missing")
	}
	c.found.Problems = slices.Clone(r.Problems) // which NewRecipe has limited already
	if c.reportScans() {
		return c.result(nil), nil, nil
	}
	c.reportReserved()
	c.resolveUser()
	runtime, err := r.Contract.runtimeFile(c.user)
	if err != nil {
		return nil, nil, err
	}
	c.compose(append(r.Metadata[:len(r.Metadata):len(r.Metadata)], runtime.entry()))
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	if err := c.checkWritable(ctx); err != nil {
		return nil, nil, err
	}
	// Needs are only judged in a filesystem that can exist: what lies in the wrong place is reported
	// already and would be reported as missing once more.
	if !c.stack.broken {
		if err := c.checkABI(ctx); err != nil {
			return nil, nil, err
		}
	}
	if len(c.found.Problems) > 0 {
		return c.result(nil), nil, nil
	}
	entries := c.stack.final
	inventory := appendInventory(make([]byte, 0, inventorySize(entries)), r.Platform, entries)
	return c.result(inventory), inventory, nil
}

type composer struct {
	recipe *Recipe
	scans  Scans
	found  *problem.Collector
	stack  stack
	user   User
}

// lower is the filesystem at the bottom: the base, or the harness that contains it.
func (c *composer) lower() *Scan {
	if c.recipe.Stacked {
		return c.scans.Harness
	}
	return c.scans.Base
}

// reportScans repeats what scanning found, and says which image it was found in. It is true if one of
// the images could not be scanned to its end.
func (c *composer) reportScans() (incomplete bool) {
	seen := map[string]bool{}
	repeat := func(scan *Scan, where string) {
		// What a stacked harness has from the base is the base's.
		news := func(key string) bool {
			old := seen[key]
			seen[key] = true
			return !old
		}
		for _, p := range scan.Problems {
			incomplete = incomplete || p.Rule == problem.ImageLimit
			if news(p.Rule.ID + "\x00" + p.Path + "\x00" + p.Message) {
				c.found.Report(p.Rule, p.Place, "in the %s, %s", where, p.Message)
			}
		}
		for _, w := range scan.Warnings {
			if news(w.Rule.Name + "\x00" + w.Path + "\x00" + w.Message) {
				c.found.Warn(problem.NewWarning(w.Rule, w.Place, "in the %s, %s", where, w.Message))
			}
		}
	}
	repeat(c.scans.Base, "runtime base")
	if c.scans.Harness != nil {
		repeat(c.scans.Harness, "harness")
	}
	return incomplete
}

// reportReserved reports metadata that an image brings: ours must be all there is.
func (c *composer) reportReserved() {
	check := func(scan *Scan, where string) bool {
		self, contents := tree(scan.Entries).below(MetadataDir)
		if self == nil && len(contents) == 0 {
			return false
		}
		c.found.Report(problem.ImageReserved, problem.Place{Path: MetadataDir},
			"the %s has a /%s of its own; build it without, this is where the metadata of the sandbox goes", where, MetadataDir)
		return true
	}
	if check(c.scans.Base, "runtime base") || c.scans.Harness == nil {
		return
	}
	check(c.scans.Harness, "harness")
}

func (c *composer) compose(metadata []Entry) {
	c.stack = stack{lower: c.lower().Entries, component: c.lowerComponent(), found: c.found}
	if c.scans.Harness != nil && !c.recipe.Stacked {
		c.stack.addImage(input{component: ComponentHarness}, c.scans.Harness.Entries)
	}
	for i := range c.recipe.Bundles {
		b := &c.recipe.Bundles[i]
		c.stack.add(input{component: b.Component, bundle: b}, b.Entries, b.Parents)
	}
	if !c.found.Has(problem.ImageReserved) {
		c.stack.add(input{component: ComponentMetadata}, metadata, nil)
	}
	c.stack.compose()
}

// lowerComponent tells whose the entries of the lower filesystem are. It must be asked in their order.
func (c *composer) lowerComponent() func(*Entry) string {
	if !c.recipe.Stacked {
		return func(*Entry) string { return ComponentRuntimeBase }
	}
	base := c.scans.Base.Entries
	return func(e *Entry) string {
		for len(base) > 0 && base[0].Path < e.Path {
			base = base[1:]
		}
		if len(base) > 0 && base[0].Path == e.Path && sameEntry(&base[0], e) {
			return ComponentRuntimeBase
		}
		return ComponentHarness
	}
}

// resolveUser finds the numeric user. Names are looked up where a process of the image would: what the
// harness beside brings is in the composed filesystem too.
func (c *composer) resolveUser() {
	user, forced, err := c.databases().resolveUser(c.recipe.User)
	switch {
	case err != nil:
		c.found.Report(problem.ImageUser, c.recipe.UserAt,
			"the image is configured to run as %s, but %v; build it with a numeric user", problem.Quoted(c.recipe.User), err)
		user = nobody
	case forced && c.recipe.User == "":
		c.found.Warn(problem.NewWarning(problem.RootUser, c.recipe.UserAt, "the image is configured to run as no user in particular, so it runs as %s; build it with a numeric user", user))
	case forced:
		c.found.Warn(problem.NewWarning(problem.RootUser, c.recipe.UserAt, "the image is configured to run as %s, which is root, so it runs as %s; build it with another user", problem.Quoted(c.recipe.User), user))
	}
	c.user = user
}

func (c *composer) databases() databases {
	files := c.files()
	return databases{passwd: files[passwdPath], group: files[groupPath]}
}

// checkWritable checks that nothing but the base's own lies where the runtime will mount empty writable
// directories: it would be hidden.
func (c *composer) checkWritable(ctx context.Context) error {
	firsts := map[string][]*Entry{}
	for i := range c.recipe.Bundles {
		b := &c.recipe.Bundles[i]
		for _, w := range b.Writable {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			c.checkWritablePath(b, w, firsts)
		}
	}
	return nil
}

// checkWritablePath remembers in firsts what lies at and below a path: the first entry of each input.
func (c *composer) checkWritablePath(b *RecipeBundle, w string, firsts map[string][]*Entry) {
	target, e, ok := c.stack.final.resolve(w)
	if !ok || e != nil && e.Type != content.Directory {
		c.found.Report(problem.BundleWritable, b.WritableAt,
			"bundle %s needs %s writable, but no directory can be mounted there: the path leads to or through something else; choose another one",
			b.Component, problem.Quoted(w))
		return
	}
	for _, r := range reserved {
		if within("/"+target, r.path) {
			c.found.Report(problem.WritableReserved, b.WritableAt, "the writable path %s leads to /%s and would hide %s, %s; choose another one",
				problem.Quoted(w), target, r.path, r.owner)
		}
	}
	// The path as written matters too where a bundle's own symlink stands in it.
	for _, at := range uniqueStrings(strings.TrimPrefix(w, "/"), target) {
		hidden, known := firsts[at]
		if !known {
			hidden = firstOfInputs(c.stack.final.below(at))
			firsts[at] = hidden
		}
		c.reportHidden(b, w, hidden)
	}
}

func firstOfInputs(self *Entry, contents tree) []*Entry {
	var firsts []*Entry
	seen := map[string]bool{}
	add := func(e *Entry) {
		if !seen[e.Component] {
			seen[e.Component] = true
			firsts = append(firsts, e)
		}
	}
	if self != nil {
		add(self)
	}
	for i := range contents {
		add(&contents[i])
	}
	return firsts
}

func uniqueStrings(a, b string) []string {
	if a == b {
		return []string{a}
	}
	return []string{a, b}
}

// reportHidden reports what a writable path would hide, once for each input that brings some of it.
func (c *composer) reportHidden(b *RecipeBundle, w string, hidden []*Entry) {
	for _, e := range hidden {
		rule := problem.BundleWritable
		switch e.Component {
		case ComponentRuntimeBase:
			continue
		case ComponentHarness:
			rule = problem.ImageWritable
		}
		c.found.Report(rule, b.WritableAt, "bundle %s needs %s writable, but %s brings /%s, which would be hidden; move one of them",
			b.Component, problem.Quoted(w), input{component: e.Component}, e.Path)
	}
}

func (c *composer) checkABI(ctx context.Context) error {
	subject := abi.Subject{
		Platform: c.recipe.Platform,
		Final:    c.lookup(c.stack.final, c.facts),
		Base:     c.lookup(c.scans.Base.Entries, scanFacts(c.scans.Base)),
		Files:    c.files(),
		Path:     searchPath(c.recipe.Contract.Env),
	}
	at := map[string]problem.Place{}
	for _, b := range c.recipe.Bundles {
		at[b.Component] = b.RuntimeAt
		subject.Bundles = append(subject.Bundles, abi.Bundle{Component: b.Component, Objects: b.Objects, Runtime: b.Runtime, SearchPath: b.SearchPath})
	}
	findings, err := abi.Check(ctx, subject)
	if err != nil {
		return fmt.Errorf("checking the bundles' native files: %w", err)
	}
	for _, f := range findings {
		c.found.Report(f.Rule, at[f.Component], "/%s: %s", f.Path, f.Message)
	}
	return nil
}

func (c *composer) lookup(t tree, facts func(string) (abi.Facts, bool)) abi.Lookup {
	return func(p string) (abi.Entry, bool) {
		e, ok := t.lookup(p)
		if !ok {
			return abi.Entry{}, false
		}
		entry := abi.Entry{Type: e.Type, Mode: e.Mode, LinkTarget: e.LinkTarget}
		if e.Type == content.File {
			if f, ok := facts(p); ok {
				entry.Facts = &f
			}
		}
		return entry, true
	}
}

func scanFacts(scan *Scan) func(string) (abi.Facts, bool) {
	return func(p string) (abi.Facts, bool) {
		f, ok := scan.Objects[p]
		return f, ok
	}
}

// facts are those of a file of the final filesystem. Where several inputs bring it, it is identical.
func (c *composer) facts(p string) (abi.Facts, bool) {
	if f, ok := c.lower().Objects[p]; ok {
		return f, true
	}
	if c.scans.Harness != nil {
		if f, ok := c.scans.Harness.Objects[p]; ok {
			return f, true
		}
	}
	for i := range c.recipe.Bundles {
		if f, ok := c.recipe.Bundles[i].Objects[p]; ok {
			return f, true
		}
	}
	return abi.Facts{}, false
}

// files are the kept files of the composed filesystem. Where both images bring one, it is identical.
func (c *composer) files() map[string][]byte {
	files := map[string][]byte{}
	if c.scans.Harness != nil {
		maps.Copy(files, c.scans.Harness.Files)
	}
	maps.Copy(files, c.lower().Files)
	return files
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

// result is what composing found out; inventory is nil if there are problems.
func (c *composer) result(inventory []byte) *Composed {
	composed := &Composed{User: c.user}
	composed.Problems, composed.Warnings = c.found.Finish()
	if inventory == nil {
		return composed
	}
	composed.Inventory = suite.Descriptor{MediaType: MediaTypeInventory, Digest: digest.FromBytes(inventory), Size: int64(len(inventory))}
	composed.Entries = len(c.stack.final)
	composed.Restored = c.stack.restored()
	return composed
}
