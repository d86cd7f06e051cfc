package suite

import (
	"context"
	"slices"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// Validate holds a suite against everything that section 15.1 of the specification demands, and
// advises with lint warnings. Problems that were found while reading the content count too.
//
// All problems are reported at once, up to [MaxProblems]. One fault is one problem: what cannot be
// judged because of a fault that is reported elsewhere is left unsaid. The report does not depend on
// anything but the content. The graph is nil when there are problems.
//
// Validation reads no files, runs nothing and reaches no network. The error is that of the context.
func Validate(ctx context.Context, x *content.Index, limits content.Limits) (*Graph, *Report, error) {
	return newValidation(x, limits).run(ctx)
}

// ValidateKnown is [Validate] for content that a Validate in another process found to be valid, and whose
// graph had these identities. Computing them and compiling the schemas is most of what validating costs, so it
// believes them, those that variants state, and that the documents follow their schemas. Everything else is
// checked again.
func ValidateKnown(ctx context.Context, x *content.Index, limits content.Limits, known Identities) (*Graph, *Report, error) {
	v := newValidation(x, limits)
	v.known = known
	return v.run(ctx)
}

func (v *validation) run(ctx context.Context) (*Graph, *Report, error) {
	if err := v.load(ctx); err != nil {
		return nil, nil, err
	}
	for _, check := range []func(){
		v.checkIdentities,
		v.checkAgents,
		v.checkCatalog,
		v.checkCapabilities,
		v.checkCompositions,
		v.checkProviderCompositions,
		v.checkEvaluations,
		v.checkDependencies,
	} {
		check()
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	if err := v.checkCollisions(ctx); err != nil {
		return nil, nil, err
	}
	v.found.limit()
	if len(v.found.problems) > 0 {
		return nil, v.report(), nil
	}
	v.lintVariants()
	v.found.limit()
	return v.graph(), v.report(), nil
}

// validation is one run of [Validate]: the documents, and what was found out about them.
type validation struct {
	index  *content.Index
	limits content.Limits
	// known are the identities that need not be computed, identities those of the documents read so far.
	known       Identities
	identities  Identities
	found       findings
	turn        turn
	toolSchemas toolSchemas
	// suggestions counts the names that another was looked for instead of.
	suggestions int
	// troubled are the paths that reading the content found problems at; incomplete means that it
	// ended before the content did.
	troubled   map[string]bool
	incomplete bool

	manifest *node[Manifest]
	catalog  *node[Catalog]
	// The lists below are parallel to those of the suite manifest and of the catalog.
	agents               []*node[Agent]
	profiles             []*node[BuildProfile]
	compositions         []*node[Composition]
	providerCompositions []*node[ToolProviderComposition]
	providers            []*node[ToolProvider]
	evaluations          []*evaluation

	// What can be referred to, by the identity in the reference. Broken documents are known too.
	agentByID     map[string]*node[Agent]
	profileByID   map[string]*node[BuildProfile]
	providerByKey map[ProviderKey]*node[ToolProvider]
	agentIDs      []string
	profileIDs    []string
	providerKeys  []ProviderKey
	bundleList    []bundleNode
	bundleIndex   map[platformKey]int
}

func newValidation(x *content.Index, limits content.Limits) *validation {
	v := &validation{index: x, limits: limits, identities: Identities{}, troubled: map[string]bool{}}
	v.found.problems = slices.Clone(x.Problems)
	for _, p := range x.Problems {
		if p.Path != "" {
			v.troubled[p.Path] = true
		}
		if endsReading(p.Rule) {
			v.incomplete = true
		}
	}
	return v
}

// endsReading tells of which problems one may leave content unread.
func endsReading(rule *problem.Rule) bool {
	switch rule {
	case problem.PathLimit, problem.ArchiveGzip, problem.ArchiveTar:
		return true
	}
	return rule.Category == problem.OCI
}

// load reads all documents, level by level: each level names the documents of the next.
func (v *validation) load(ctx context.Context) error {
	manifests, err := load(ctx, v, MediaTypeManifest, []documentRef{{path: ManifestPath}}, v.checkManifest)
	if err != nil {
		return err
	}
	v.manifest = manifests[0]
	v.manifest.keeps = true
	m := &v.manifest.doc

	catalogs, err := load[Catalog](ctx, v, MediaTypeToolProviderCatalog, []documentRef{
		{path: m.ToolProviderCatalog.Path, from: &v.manifest.document, pointer: "/toolProviderCatalog/path"},
	}, nil)
	if err != nil {
		return err
	}
	v.catalog = catalogs[0]
	v.catalog.keeps = true

	if v.agents, err = load(ctx, v, MediaTypeAgent, references(m.Agents, &v.manifest.document, "agents",
		func(r ManifestReference) string { return r.Path }), v.checkAgent); err != nil {
		return err
	}
	if v.profiles, err = load(ctx, v, MediaTypeBuildProfile, references(m.BuildProfiles, &v.manifest.document, "buildProfiles",
		func(r ManifestReference) string { return r.Path }), v.checkProfile); err != nil {
		return err
	}
	if v.compositions, err = load(ctx, v, MediaTypeComposition, references(m.Compositions, &v.manifest.document, "compositions",
		func(r CompositionReference) string { return r.Path }), v.checkComposition); err != nil {
		return err
	}
	if v.providerCompositions, err = load[ToolProviderComposition](ctx, v, MediaTypeToolProviderComposition, references(m.ToolProviderCompositions, &v.manifest.document, "toolProviderCompositions",
		func(r ToolProviderCompositionReference) string { return r.Path }), nil); err != nil {
		return err
	}
	if v.providers, err = load(ctx, v, MediaTypeToolProvider, references(v.catalog.doc.ToolProviders, &v.catalog.document, "toolProviders",
		func(e CatalogEntry) string { return e.Path }), v.checkProvider); err != nil {
		return err
	}
	return v.loadEvaluations(ctx)
}

// references lists the documents that the entries of a list name.
func references[T any](entries []T, from *document, list string, path func(T) string) []documentRef {
	refs := make([]documentRef, len(entries))
	for i, entry := range entries {
		refs[i] = documentRef{path: path(entry), from: from, pointer: strictjson.Pointer(list, i, "path")}
	}
	return refs
}

// checkManifest checks what the suite manifest alone can be blamed for.
func (v *validation) checkManifest(n *node[Manifest], f *findings) {
	checkExtensions(&n.document, n.doc.Extensions, f)
}

// checkExtensions refuses a name that is given to two extensions.
func checkExtensions(d *document, extensions []Extension, f *findings) {
	repetitions(extensions, func(e Extension) string { return e.Name }, func(first, again int) {
		d.report(f, problem.GraphExtension, strictjson.Pointer("extensions", again, "name"),
			"extension %s is listed twice; the first is extensions[%d]", extensions[again].Name, first)
	})
}

// repetitions calls report for each value whose key an earlier one has. The zero key means that the
// value is not known.
func repetitions[T any, K comparable](values []T, key func(T) K, report func(first, again int)) {
	var zero K
	firsts := make(map[K]int, len(values))
	for i, value := range values {
		k := key(value)
		if k == zero {
			continue
		}
		if first, ok := firsts[k]; ok {
			report(first, i)
		} else {
			firsts[k] = i
		}
	}
}
