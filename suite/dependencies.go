package suite

import (
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// bundleNode is a variant among all variants of the suite, with the edges of its dependencies.
type bundleNode struct {
	provider *node[ToolProvider]
	key      ProviderKey
	// index is the variant's place in the provider.
	index   int
	variant *Variant
	// edges are the bundles that the variant depends on, as far as they exist; edges[j] belongs to the
	// dependency at dependencies[j].
	edges, dependencies []int
	// component numbers the cycle that the bundle is part of; bundles of one component all depend on
	// each other.
	component int
}

// platformKey identifies a bundle in a suite.
type platformKey struct {
	provider ProviderKey
	platform Platform
}

// bundles lists every variant of the suite whose platform is known, in the order of the catalog.
func (v *validation) bundles() ([]bundleNode, map[platformKey]int) {
	var list []bundleNode
	index := map[platformKey]int{}
	for i, entry := range v.catalog.doc.ToolProviders {
		key, n := entry.key(), v.providers[i]
		if n.broken || v.providerByKey[key] != n {
			continue
		}
		for j := range n.doc.Variants {
			x := &n.doc.Variants[j]
			id := platformKey{key, x.Platform}
			if _, taken := index[id]; taken || !x.Platform.known() {
				continue
			}
			index[id] = len(list)
			list = append(list, bundleNode{provider: n, key: key, index: j, variant: x})
		}
	}
	for i := range list {
		for j, dependency := range list[i].variant.Dependencies {
			if to, ok := index[platformKey{dependency.key(), list[i].variant.Platform}]; ok {
				list[i].edges = append(list[i].edges, to)
				list[i].dependencies = append(list[i].dependencies, j)
			}
		}
	}
	return list, index
}

// checkDependencies holds the dependencies of every variant against the catalog, and refuses cycles
// (section 9.4).
func (v *validation) checkDependencies() {
	v.bundleList, v.bundleIndex = v.bundles()
	findCycles(v.bundleList)
	for i := range v.bundleList {
		b := &v.bundleList[i]
		named := make(map[ProviderKey]int, len(b.variant.Dependencies))
		for _, dependency := range b.variant.Dependencies {
			named[dependency.key()]++
		}
		for j, dependency := range b.variant.Dependencies {
			// Of a dependency that is named twice it is not known which one is meant.
			if named[dependency.key()] == 1 {
				v.checkDependency(b, j)
			}
		}
	}
	v.reportCycles()
}

func (v *validation) checkDependency(b *bundleNode, j int) {
	dependency := &b.variant.Dependencies[j]
	key := dependency.key()
	if key == (ProviderKey{}) || key == b.key {
		return
	}
	at := strictjson.Pointer("variants", b.index, "dependencies", j)
	provider, known := v.providerByKey[key]
	if !known {
		if v.catalog.sound("/toolProviders") {
			b.provider.report(&v.found, problem.DependencyUnknown, at, "the tool provider catalog has no %s%s", key, v.insteadOfProvider(key))
		}
		return
	}
	if !provider.sound("/variants") {
		return
	}
	platform := b.variant.Platform
	to, ok := v.bundleIndex[platformKey{key, platform}]
	if !ok {
		has := "it has " + joinPlatforms(variantPlatforms(provider.doc.Variants))
		if len(provider.doc.Variants) == 0 {
			has = "it is only declared remotely"
		}
		b.provider.report(&v.found, problem.DependencyPlatform, at, "%s has no variant for %s; %s", key, platform, has)
		return
	}
	target := v.bundleList[to]
	stated, actual := target.variant.VariantDigest, target.provider.variantDigests[target.index]
	// Digests on a cycle cannot all be right; the cycle is the fault.
	if dependency.VariantDigest == "" || stated == "" || dependency.VariantDigest == stated || dependency.VariantDigest == actual ||
		target.component == b.component {
		return
	}
	is, says := shortDigests(stated, dependency.VariantDigest)
	b.provider.report(&v.found, problem.DependencyDigest, at+"/variantDigest", "the %s variant of %s is %s, the dependency says %s; %s", platform, key, is, says, sealHint)
}

// reportCycles reports each group of bundles that depend on each other once, with one of its cycles,
// at the bundle that comes first in the catalog.
func (v *validation) reportCycles() {
	reported := map[int]bool{}
	for i := range v.bundleList {
		b := &v.bundleList[i]
		if reported[b.component] {
			continue
		}
		inside := slices.IndexFunc(b.edges, func(to int) bool { return to != i && v.bundleList[to].component == b.component })
		if inside < 0 {
			continue
		}
		reported[b.component] = true
		at := strictjson.Pointer("variants", b.index, "dependencies", b.dependencies[inside])
		b.provider.report(&v.found, problem.DependencyCycle, at, "the %s variants depend on each other in a cycle: %s; one of them must do without",
			b.variant.Platform, problem.Cut(strings.Join(v.cycleFrom(i, b.edges[inside]), " -> ")))
	}
}

// cycleFrom names the bundles on a shortest way from one bundle by the given edge back to itself.
func (v *validation) cycleFrom(start, first int) []string {
	from := map[int]int{first: start}
	queue := []int{first}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, to := range v.bundleList[at].edges {
			if _, seen := from[to]; seen || v.bundleList[to].component != v.bundleList[start].component {
				continue
			}
			from[to] = at
			queue = append(queue, to)
		}
	}
	names := []string{v.bundleList[start].key.String()}
	for at := from[start]; at != start; at = from[at] {
		names = append(names, v.bundleList[at].key.String())
	}
	names = append(names, v.bundleList[start].key.String())
	slices.Reverse(names)
	return names
}

// findCycles numbers the strongly connected components of the dependencies by Tarjan's algorithm, with
// a stack of its own: a chain of dependencies may be as long as the catalog.
func findCycles(bundles []bundleNode) {
	const unvisited = -1
	order, low := make([]int, len(bundles)), make([]int, len(bundles))
	onStack := make([]bool, len(bundles))
	for i := range order {
		order[i] = unvisited
	}
	type frame struct{ bundle, edge int }
	var (
		stack   []int
		visited int
		count   int
	)
	for root := range bundles {
		if order[root] != unvisited {
			continue
		}
		frames := []frame{{bundle: root}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.edge == 0 && order[f.bundle] == unvisited {
				order[f.bundle], low[f.bundle] = visited, visited
				visited++
				stack = append(stack, f.bundle)
				onStack[f.bundle] = true
			}
			if f.edge < len(bundles[f.bundle].edges) {
				to := bundles[f.bundle].edges[f.edge]
				f.edge++
				if order[to] == unvisited {
					frames = append(frames, frame{bundle: to})
				} else if onStack[to] {
					low[f.bundle] = min(low[f.bundle], order[to])
				}
				continue
			}
			done := f.bundle
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				above := frames[len(frames)-1].bundle
				low[above] = min(low[above], low[done])
			}
			if low[done] != order[done] {
				continue
			}
			for {
				top := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				onStack[top] = false
				bundles[top].component = count
				if top == done {
					break
				}
			}
			count++
		}
	}
}
