package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// contribution is an inventory entry at the place where it goes in an image.
type contribution struct {
	path          string
	bundle, entry int
	// group numbers the path among those that bundles can collide at; form numbers the entry among the
	// different ones at that path.
	group, form int
}

// pathGroup is a path that bundles can collide at.
type pathGroup struct {
	// above is the nearest group over this path that is no directory in some bundle; none is -1.
	above int
}

// noGroup is the number of no [pathGroup].
const noGroup = -1

// checkCollisions refuses bundles that go into one image and disagree about a path: they bring it
// with different entries, or one brings it below what is no directory in the other (section 9.4).
//
// The paths that bundles could disagree about at all are found once, by sorting the inventories. For
// each composition only these are looked at.
func (v *validation) checkCollisions(ctx context.Context) error {
	for _, platform := range Platforms() {
		groups, byBundle := v.contested(platform)
		if len(groups) == 0 {
			continue
		}
		c := collisionCheck{
			validation: v, groups: groups, byBundle: byBundle,
			first: make([]firstContribution, len(groups)), seen: map[[3]int]bool{},
		}
		walk := newClosureWalk(v.bundleList)
		for _, image := range v.images(platform) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(c.collisions) > 2*MaxProblems {
				break
			}
			c.check(image.path, walk.from(image.roots), walk.walk)
		}
		c.report()
	}
	return nil
}

// collisionCheck goes through the images of one platform.
type collisionCheck struct {
	*validation
	groups   []pathGroup
	byBundle map[int][]contribution
	// first holds, for each group, the contribution that came first in the image of the given number.
	first []firstContribution
	// seen holds two bundles and a group.
	seen       map[[3]int]bool
	collisions []collision
}

// collision is a pair of contributions that an image is to hold both of.
type collision struct {
	first, this contribution
	image       string
}

type firstContribution struct {
	contribution
	image int
}

// check looks for collisions between the bundles of one image.
func (c *collisionCheck) check(path string, bundles []int, image int) {
	for _, b := range bundles {
		for _, this := range c.byBundle[b] {
			first := &c.first[this.group]
			switch {
			case first.image != image:
				*first = firstContribution{this, image}
			case first.form != this.form && first.bundle != this.bundle:
				c.add(first.contribution, this, path)
			}
		}
	}
	for _, b := range bundles {
		for _, this := range c.byBundle[b] {
			for g := c.groups[this.group].above; g != noGroup; g = c.groups[g].above {
				if first := &c.first[g]; first.image == image && first.bundle != b && c.entryOf(first.contribution).Type != content.Directory {
					c.add(first.contribution, this, path)
				}
			}
		}
	}
}

func (c *collisionCheck) add(first, this contribution, image string) {
	id := [3]int{first.bundle, this.bundle, this.group}
	if !c.seen[id] {
		c.seen[id] = true
		c.collisions = append(c.collisions, collision{first, this, image})
	}
}

// report goes through the collisions by tool provider, so that each document is looked at once.
func (c *collisionCheck) report() {
	slices.SortStableFunc(c.collisions, func(a, b collision) int { return cmp.Compare(a.this.bundle, b.this.bundle) })
	for _, found := range c.collisions {
		c.reportCollision(found)
	}
}

// image is what one composition builds an image of.
type image struct {
	path  string
	roots []int
}

// images lists the compositions for a platform with the bundles that they select, as far as both are
// known.
func (v *validation) images(platform Platform) []image {
	var list []image
	add := func(path string, of Platform, keys ...ProviderKey) {
		if of != platform {
			return
		}
		roots := make([]int, 0, len(keys))
		for _, key := range keys {
			if b, ok := v.bundleIndex[platformKey{key, platform}]; ok {
				roots = append(roots, b)
			}
		}
		list = append(list, image{path, roots})
	}
	for _, n := range unique(v.compositions) {
		keys := make([]ProviderKey, len(n.doc.ToolProviders))
		for i, p := range n.doc.ToolProviders {
			keys[i] = p.key()
		}
		add(n.path, n.doc.Platform, keys...)
	}
	for _, n := range unique(v.providerCompositions) {
		add(n.path, n.doc.Platform, providerKey(n.doc.ID, n.doc.Version))
	}
	return list
}

// contested finds the paths of a platform that bundles bring with different entries, or one below the
// other's file or link, and what each bundle brings there.
func (v *validation) contested(platform Platform) ([]pathGroup, map[int][]contribution) {
	var all []contribution
	for b := range v.bundleList {
		x := v.bundleList[b].variant
		if x.Platform != platform || x.InstallRoot == "" {
			continue
		}
		for e := range x.Files {
			if x.Files[e].Path != "" {
				all = append(all, contribution{path: destination(x, &x.Files[e]), bundle: b, entry: e})
			}
		}
	}
	slices.SortFunc(all, func(a, b contribution) int {
		return cmp.Or(content.ComparePaths(a.path, b.path), cmp.Compare(a.bundle, b.bundle), cmp.Compare(a.entry, b.entry))
	})
	var groups []pathGroup
	byBundle := map[int][]contribution{}
	add := func(members []contribution, above int) int {
		groups = append(groups, pathGroup{above})
		for _, c := range members {
			c.group = len(groups) - 1
			byBundle[c.bundle] = append(byBundle[c.bundle], c)
		}
		return len(groups) - 1
	}
	// obstacles are the paths on the way to the current one that are no directories in some bundle.
	// Such a path becomes a group when there is something below it.
	type obstacle struct {
		members []contribution
		group   int
	}
	var obstacles []obstacle
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && all[end].path == all[start].path {
			end++
		}
		members := all[start:end]
		start = end
		for len(obstacles) > 0 && !atOrBelow(members[0].path, obstacles[len(obstacles)-1].members[0].path) {
			obstacles = obstacles[:len(obstacles)-1]
		}
		above := noGroup
		for i := range obstacles {
			if obstacles[i].group == noGroup {
				obstacles[i].group = add(obstacles[i].members, above)
			}
			above = obstacles[i].group
		}
		forms, obstructs := v.numberForms(members)
		group := noGroup
		if forms > 1 || above != noGroup {
			group = add(members, above)
		}
		if obstructs {
			obstacles = append(obstacles, obstacle{members, group})
		}
	}
	return groups, byBundle
}

// numberForms gives equal entries equal numbers. It also tells whether one of them is no directory.
func (v *validation) numberForms(members []contribution) (forms int, obstructs bool) {
	if len(members) == 1 {
		return 1, v.entryOf(members[0]).Type != content.Directory
	}
	numbers := map[entryForm]int{}
	for i := range members {
		form := formOf(v.entryOf(members[i]))
		number, ok := numbers[form]
		if !ok {
			number = len(numbers)
			numbers[form] = number
		}
		members[i].form = number
		obstructs = obstructs || form.kind != content.Directory
	}
	return len(numbers), obstructs
}

// entryForm is everything about an inventory entry that bundles must agree on.
type entryForm struct {
	kind     content.Type
	mode     uint32
	uid, gid int
	size     int64
	digest   digest.Digest
	link     string
}

func formOf(e *InventoryEntry) entryForm {
	form := entryForm{kind: e.Type, mode: e.Mode, uid: e.UID, gid: e.GID, link: e.LinkTarget}
	if e.Type == content.File {
		form.size, form.digest = e.Size, e.Digest
	}
	return form
}

// atOrBelow tells whether a path is another one or lies below it. It does the same for JSON pointers.
func atOrBelow(path, top string) bool {
	return strings.HasPrefix(path, top) && (len(path) == len(top) || path[len(top)] == '/')
}

func (v *validation) entryOf(c contribution) *InventoryEntry {
	return &v.bundleList[c.bundle].variant.Files[c.entry]
}

func (v *validation) reportCollision(c collision) {
	first, this := c.first, c.this
	there, here := &v.bundleList[first.bundle], &v.bundleList[this.bundle]
	at := strictjson.Pointer("variants", here.index, "files", this.entry)
	if first.path != this.path {
		here.provider.report(&v.found, problem.CompositionCollision, at, "%s lies below %s, which is a %s in %s; %s puts both into one image",
			problem.Cut(this.path), problem.Cut(first.path), v.entryOf(first).Type, there.key, c.image)
		return
	}
	here.provider.report(&v.found, problem.CompositionCollision, at, "%s also comes with %s and differs: %s; %s puts both into one image",
		problem.Cut(this.path), there.key, entryDifference(v.entryOf(first), v.entryOf(this)), c.image)
}

// entryDifference says in what two entries differ, the first one's value first; empty for none.
func entryDifference(a, b *InventoryEntry) string {
	var parts []string
	differ := func(name string, equal bool, x, y any) {
		if !equal {
			parts = append(parts, fmt.Sprintf("%s %v there, %v here", name, x, y))
		}
	}
	differ("type", a.Type == b.Type, a.Type, b.Type)
	differ("mode", a.Mode == b.Mode, fmt.Sprintf("%04o", a.Mode), fmt.Sprintf("%04o", b.Mode))
	differ("owner", a.UID == b.UID && a.GID == b.GID, fmt.Sprintf("%d:%d", a.UID, a.GID), fmt.Sprintf("%d:%d", b.UID, b.GID))
	if a.Type == b.Type {
		differ("target", a.LinkTarget == b.LinkTarget, problem.Quoted(a.LinkTarget), problem.Quoted(b.LinkTarget))
		if a.Type == content.File {
			differ("size", a.Size == b.Size, a.Size, b.Size)
			x, y := shortDigests(a.Digest, b.Digest)
			differ("digest", a.Digest == b.Digest, x, y)
		}
	}
	return strings.Join(parts, ", ")
}

// closureWalk follows dependencies over and over without clearing its memory in between.
type closureWalk struct {
	bundles []bundleNode
	// visit tells in which walk a bundle was reached last.
	visit   []int
	walk    int
	closure []int
	pending []int
}

func newClosureWalk(bundles []bundleNode) *closureWalk {
	return &closureWalk{bundles: bundles, visit: make([]int, len(bundles))}
}

// from returns the bundles that can be reached from the roots, sorted, so that what is found out about
// them does not depend on which composition comes first. The slice is valid until the next call.
func (w *closureWalk) from(roots []int) []int {
	w.walk++
	w.closure = w.closure[:0]
	w.pending = append(w.pending[:0], roots...)
	for len(w.pending) > 0 {
		b := w.pending[len(w.pending)-1]
		w.pending = w.pending[:len(w.pending)-1]
		if w.visit[b] == w.walk {
			continue
		}
		w.visit[b] = w.walk
		w.closure = append(w.closure, b)
		w.pending = append(w.pending, w.bundles[b].edges...)
	}
	slices.Sort(w.closure)
	return w.closure
}
