package image

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// input is one of the filesystems that are composed onto the lowest one.
type input struct {
	component string
	// bundle is nil for the harness and the metadata.
	bundle *RecipeBundle
}

// String names the input in messages.
func (in input) String() string {
	switch in.component {
	case ComponentRuntimeBase:
		return "the runtime base"
	case ComponentHarness:
		return "the harness"
	case ComponentMetadata:
		return "the builder"
	}
	return "bundle " + in.component
}

// contribution is what one input says about one path.
type contribution struct {
	path  string
	input int
	// entry is nil for a directory that is only on the way to others of the input.
	entry *Entry
	// filled tells that entry is a directory with contents. An image cannot tell whether its author
	// meant such a directory or only the way through it, so it yields to a lower one.
	filled bool
}

// stack composes inputs onto a lower filesystem.
type stack struct {
	// lower is the filesystem at the bottom, component the input that each of its entries is from.
	lower     tree
	component func(e *Entry) string
	inputs    []input
	overlay   []contribution
	found     *problem.Collector

	// final is the composed filesystem.
	final tree
	// clobbered are the directories that the layer of some input gives another mode or owner than they
	// are to have.
	clobbered map[string]bool
	obstacles []obstacle
	// broken tells that the inputs do not fit together, so that final is no filesystem that can exist.
	broken bool
}

// add puts an input on top of those that are there.
func (s *stack) add(in input, entries []Entry, parents []string) {
	i := len(s.inputs)
	s.inputs = append(s.inputs, in)
	for j := range entries {
		s.overlay = append(s.overlay, contribution{path: entries[j].Path, input: i, entry: &entries[j]})
	}
	for _, p := range parents {
		s.overlay = append(s.overlay, contribution{path: p, input: i})
	}
}

// addImage puts the filesystem of an image on top of those that are there.
func (s *stack) addImage(in input, entries []Entry) {
	first := len(s.overlay)
	s.add(in, entries, nil)
	filled := filledDirectories(entries)
	for i := range s.overlay[first:] {
		c := &s.overlay[first+i]
		c.filled = c.entry.Type == content.Directory && filled[c.path]
	}
}

func filledDirectories(entries []Entry) map[string]bool {
	filled := map[string]bool{}
	for i := range entries {
		if dir := path.Dir(entries[i].Path); !filled[dir] {
			filled[dir] = true
		}
	}
	return filled
}

// compose merges everything in one pass over the sorted paths.
func (s *stack) compose() {
	slices.SortStableFunc(s.overlay, func(a, b contribution) int {
		return cmp.Or(strings.Compare(a.path, b.path), cmp.Compare(a.input, b.input))
	})
	s.clobbered = map[string]bool{}
	s.final = make(tree, 0, len(s.lower)+len(s.overlay))
	i, j := 0, 0
	for i < len(s.lower) || j < len(s.overlay) {
		if j == len(s.overlay) || i < len(s.lower) && s.lower[i].Path < s.overlay[j].path {
			s.keep(s.lower[i], s.component(&s.lower[i]))
			i++
			continue
		}
		p := s.overlay[j].path
		n := j + 1
		for n < len(s.overlay) && s.overlay[n].path == p {
			n++
		}
		var below *Entry
		if i < len(s.lower) && s.lower[i].Path == p {
			below = &s.lower[i]
			i++
		}
		s.settle(below, s.overlay[j:n])
		j = n
	}
	s.reportObstacles()
}

func (s *stack) keep(e Entry, component string) {
	e.Component = component
	s.final = append(s.final, e)
}

// settle decides on one path. The lowest input that brings it decides, and all others must agree.
func (s *stack) settle(lower *Entry, all []contribution) {
	var first *Entry
	var from input
	if lower != nil {
		first, from = lower, input{component: s.component(lower)}
	}
	var way []contribution
	for _, c := range all {
		switch {
		case c.entry == nil, c.filled && first != nil && first.Type == content.Directory:
			way = append(way, c)
		case first == nil:
			first, from = c.entry, s.inputs[c.input]
		case s.inputs[c.input].bundle != nil && first.Type == content.Symlink && c.entry.Type == content.Directory:
			way = append(way, c) // what lies in it would go through the symlink
		case !sameEntry(first, c.entry):
			s.collision(first, from, c)
		}
	}
	if first == nil {
		s.keep(Entry{Path: all[0].path, Type: content.Directory, Mode: wayMode}, s.inputs[all[0].input].component)
		return
	}
	s.keep(*first, from.component)
	for _, c := range way {
		switch {
		case first.Type != content.Directory:
			s.obstacles = append(s.obstacles, obstacle{*first, from, s.inputs[c.input].bundle})
		case first.Mode != c.mode() || first.UID != c.uid() || first.GID != c.gid():
			s.clobbered[first.Path] = true
		}
	}
}

// mode, uid and gid are those of a directory on the way in the layer of its input.

func (c contribution) mode() uint32 {
	if c.entry != nil {
		return c.entry.Mode
	}
	return wayMode
}

func (c contribution) uid() int {
	if c.entry != nil {
		return c.entry.UID
	}
	return 0
}

func (c contribution) gid() int {
	if c.entry != nil {
		return c.entry.GID
	}
	return 0
}

func sameEntry(a, b *Entry) bool {
	return a.Type == b.Type && a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID &&
		a.Size == b.Size && a.Digest == b.Digest && a.LinkTarget == b.LinkTarget
}

// collision reports that an input brings a path otherwise than a lower one.
func (s *stack) collision(first *Entry, from input, c contribution) {
	s.broken = true
	in := s.inputs[c.input]
	rule, at := problem.ImageCollision, problem.Place{Path: c.path}
	switch {
	case in.bundle != nil:
		rule, at = problem.BundleCollision, in.bundle.InstallRootAt
	case from.bundle != nil:
		rule, at = problem.BundleCollision, from.bundle.InstallRootAt
	}
	s.found.Report(rule, at, "/%s is brought by %s and, differently, by %s: %s; let one of them leave it out, or make them identical",
		c.path, from, in, difference(first, c.entry))
}

// difference says what differs between two entries, the lower one's value first.
func difference(a, b *Entry) string {
	if a.Type != b.Type {
		return fmt.Sprintf("a %s and a %s", a.Type, b.Type)
	}
	var differences []string
	differ := func(what string, a, b any) {
		differences = append(differences, fmt.Sprintf("%s %v and %v", what, a, b))
	}
	if a.Mode != b.Mode {
		differ("mode", fmt.Sprintf("%04o", a.Mode), fmt.Sprintf("%04o", b.Mode))
	}
	if a.UID != b.UID || a.GID != b.GID {
		differ("owner", fmt.Sprintf("%d:%d", a.UID, a.GID), fmt.Sprintf("%d:%d", b.UID, b.GID))
	}
	if a.Size != b.Size {
		differ("size", a.Size, b.Size)
	} else if a.Digest != b.Digest {
		differ("bytes", a.Digest, b.Digest)
	}
	if a.LinkTarget != b.LinkTarget {
		differ("link target", problem.Quoted(a.LinkTarget), problem.Quoted(b.LinkTarget))
	}
	return strings.Join(differences, ", ")
}

// obstacle is a path that destinations of a bundle lie below, although it is no directory.
type obstacle struct {
	// entry lies in the way, brought by from.
	entry  Entry
	from   input
	bundle *RecipeBundle
}

// reportObstacles reports every obstacle once, however many destinations lie below it. It needs the
// whole filesystem, to say where a symlink leads.
func (s *stack) reportObstacles() {
	for _, o := range s.obstacles {
		s.broken = true
		b, p := o.bundle, o.entry.Path
		if !s.found.Lists(problem.BundleThroughSymlink) {
			s.found.Report(problem.BundleThroughSymlink, b.InstallRootAt, "more")
			continue
		}
		what, advice := "a regular file", "install it elsewhere"
		if o.entry.Type == content.Symlink {
			what = "a symlink to " + problem.Quoted(o.entry.LinkTarget)
			if target, _, ok := s.final.resolve(p); ok {
				advice = b.instead(p, target)
			}
		}
		s.found.Report(problem.BundleThroughSymlink, b.InstallRootAt,
			"bundle %s would be installed through /%s, which is %s in %s (for instance /%s); %s",
			b.Component, p, what, o.from, b.destinationBelow(p), advice)
	}
}

// instead says what to use instead of destinations that lead through a symlink at p to target.
func (b *RecipeBundle) instead(p, target string) string {
	if root := strings.TrimPrefix(b.InstallRoot, "/"); within(root, p) {
		return fmt.Sprintf("set installRoot to /%s", path.Join(target, strings.TrimPrefix(root, p)))
	}
	return fmt.Sprintf("use /%s in its place", target)
}

// destinationBelow is the first destination of a bundle below a directory.
func (b *RecipeBundle) destinationBelow(dir string) string {
	for _, e := range b.Entries {
		if within(e.Path, dir) {
			return e.Path
		}
	}
	return dir
}

// restored lists the directories that some layer gives another mode or owner than they are to have, as
// they are to be, parents first. A layer that puts a directory back passes through its parents, so of
// those it must hold every one that is not what a directory on the way is.
func (s *stack) restored() []Entry {
	all := map[string]bool{}
	for p := range s.clobbered {
		all[p] = true
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if e, ok := s.final.lookup(dir); ok && (e.Mode != wayMode || e.UID != 0 || e.GID != 0) {
				all[dir] = true
			}
		}
	}
	var entries []Entry
	for _, p := range slices.Sorted(maps.Keys(all)) {
		e, _ := s.final.lookup(p)
		entries = append(entries, *e)
	}
	return entries
}
