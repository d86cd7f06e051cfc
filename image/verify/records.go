package verify

import (
	"maps"
	"path"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/schema"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// record is an embedded document that could be read.
type record[T any] struct {
	doc *strictjson.Document
	// identity is the document's canonical digest.
	identity digest.Digest
	value    T
}

// loaded is the record as the member of a selection.
func (r *record[T]) loaded() *suite.Loaded[T] {
	return &suite.Loaded[T]{Path: r.doc.Path, Digest: r.identity, Doc: r.value}
}

// records are the documents below /.agentsuite. What could not be read is nil.
type records struct {
	binding             *record[image.Binding]
	composition         *record[suite.Composition]
	providerComposition *record[suite.ToolProviderComposition]
	agent               *record[suite.Agent]
	providers           map[suite.ProviderKey]*record[suite.ToolProvider]
	// wanted are variants that records name and that are not checked yet.
	wanted []wanted
	// selection is what the image is made of by its own records, without a build profile. It is nil if too
	// little of them could be read, or if agent and composition disagree on it.
	selection *suite.Selection
}

func (v *verification) readRecords() {
	v.providers = map[suite.ProviderKey]*record[suite.ToolProvider]{}
	switch v.report.Kind {
	case suite.AgentTarget:
		v.readAgent()
	case suite.ToolProviderTarget:
		v.readToolProvider()
	}
}

// read reads an embedded document. What is wrong with it is reported under a rule.
func read[T any](v *verification, rule *problem.Rule, path, mediaType string) *record[T] {
	v.expected[path] = true
	text, ok := v.kept[path]
	if !ok {
		v.problem(rule, path, "/%s is missing", path)
		return nil
	}
	if v.parsed += int64(len(text)); v.parsed > maxDocumentBytes {
		v.problem(rule, path, "/%s is not read: the documents of the image have more than %d bytes", path, maxDocumentBytes)
		return nil
	}
	doc, problems := strictjson.Parse(path, text, strictjson.DefaultLimits())
	if doc != nil && len(problems) == 0 {
		problems = schema.Check(doc, mediaType)
	}
	for _, p := range problems {
		v.found.Add(problem.Problem{Rule: rule, Place: p.Place, Message: p.Message})
	}
	if doc == nil || len(problems) > 0 {
		return nil
	}
	r := &record[T]{doc: doc}
	var err error
	if r.identity, err = doc.Digest(); err == nil {
		err = doc.Decode(&r.value)
	}
	if err != nil {
		v.problem(rule, path, "/%s cannot be read: %v", path, err)
		return nil
	}
	return r
}

// differ reports a member of a document that is not what it should be.
func differ[T any](v *verification, rule *problem.Rule, r *record[T], pointer, format string, args ...any) {
	v.found.Report(rule, r.doc.Place(pointer), format, args...)
}

func (v *verification) readAgent() {
	v.binding = read[image.Binding](v, problem.VerifyBinding, image.BindingPath, image.MediaTypeBinding)
	v.composition = read[suite.Composition](v, problem.VerifyDocument, image.CompositionPath, suite.MediaTypeComposition)
	v.agent = read[suite.Agent](v, problem.VerifyDocument, image.AgentPath, suite.MediaTypeAgent)
	v.checkBinding()
	agreed := v.checkAgent()
	if v.composition == nil {
		return
	}
	var roots []suite.ProviderKey
	for i, p := range v.composition.value.ToolProviders {
		key := suite.ProviderKey{ID: p.ID, Version: p.Version}
		roots = append(roots, key)
		v.wanted = append(v.wanted, wanted{key, p.ManifestDigest, p.VariantDigest, v.composition.doc.Place(strictjson.Pointer("toolProviders", i))})
	}
	v.readProviders()
	v.report.Target = v.composition.value.Agent
	if !agreed {
		return
	}
	v.selectBundles(&suite.Selection{Composition: v.composition.loaded()}, roots)
	if v.agent != nil && v.selection != nil {
		v.selection.Agent = v.agent.loaded()
	}
}

func (v *verification) checkBinding() {
	if v.binding == nil {
		return
	}
	b := v.binding.value
	v.report.SuiteDigest, v.report.BuildProfile, v.report.Binding = b.SuiteDigest, b.BuildProfile, v.binding.identity
	v.checkPlatform(problem.VerifyBindingPlatform, b.Platform, v.binding.doc.Place("/platform"))
	if text, ok := v.kept[image.CompositionPath]; ok {
		checkDescriptor(v, problem.VerifySource, b.Composition, text, "/composition", image.CompositionPath)
	}
	if text, ok := v.kept[image.InventoryPath]; ok {
		checkDescriptor(v, problem.VerifyInventoryDigest, b.Inventory, text, "/inventory", image.InventoryPath)
	}
	if v.composition != nil {
		c := v.composition.value
		if c.Agent != b.Agent {
			differ(v, problem.VerifySource, v.binding, "/agent", "the binding is of the agent %s, the composition of %s", b.Agent, c.Agent)
		}
		if c.Platform != b.Platform {
			differ(v, problem.VerifyBindingPlatform, v.composition, "/platform", "the composition is for %s, the binding for %s", c.Platform, b.Platform)
		}
		if c.BuildProfile != b.BuildProfile {
			differ(v, problem.VerifySource, v.binding, "/buildProfile", "the binding states the build profile %s, the composition %s", b.BuildProfile, c.BuildProfile)
		}
	}
}

// checkDescriptor holds a descriptor of the binding against the bytes of the file that it is about.
func checkDescriptor(v *verification, rule *problem.Rule, d suite.Descriptor, text []byte, pointer, path string) {
	if got := digest.FromBytes(text); got != d.Digest || int64(len(text)) != d.Size {
		differ(v, rule, v.binding, pointer, "/%s is %s of %d bytes, the binding states %s of %d", path, got, len(text), d.Digest, d.Size)
	}
}

// checkPlatform holds the platform of a record against those of config and index.
func (v *verification) checkPlatform(rule *problem.Rule, got suite.Platform, at problem.Place) {
	if got != v.image.Platform {
		v.found.Report(rule, at, "the record is for %s, the image's config for %s", got, v.image.Platform)
	}
	if stated := v.image.Stated; stated != nil && *stated != v.image.Platform {
		v.problem(rule, "", "the index offers the image for %s, its config is for %s", *stated, v.image.Platform)
	}
}

// checkAgent holds the agent's own documents against what was composed. It is false if these disagree on
// the tool providers, so that nobody knows what the image should hold.
func (v *verification) checkAgent() (agreed bool) {
	v.expected[image.InstructionsPath] = true
	instructions, ok := v.kept[image.InstructionsPath]
	if !ok {
		v.problem(problem.VerifyDocument, image.InstructionsPath, "/%s is missing", image.InstructionsPath)
	}
	if v.agent == nil {
		return true
	}
	a := v.agent.value
	if got := digest.FromBytes(instructions); ok && got != a.Instructions.Digest {
		differ(v, problem.VerifySource, v.agent, "/instructions/digest", "/%s is %s, the agent states %s", image.InstructionsPath, got, a.Instructions.Digest)
	}
	if v.composition == nil {
		return true
	}
	if c := v.composition.value; a.ID != c.Agent {
		differ(v, problem.VerifySource, v.agent, "/id", "the agent is %s, the composition is one of %s", a.ID, c.Agent)
	}
	agreed = true
	required := map[suite.ProviderKey]bool{}
	for _, p := range a.ToolProviders {
		required[suite.ProviderKey{ID: p.ID, Version: p.Version}] = true
	}
	for i, p := range v.composition.value.ToolProviders {
		key := suite.ProviderKey{ID: p.ID, Version: p.Version}
		if !required[key] {
			differ(v, problem.VerifySource, v.composition, strictjson.Pointer("toolProviders", i), "the composition has %s, which the agent does not require", key)
			agreed = false
		}
		delete(required, key)
	}
	for _, key := range slices.SortedFunc(maps.Keys(required), suite.ProviderKey.Compare) {
		differ(v, problem.VerifySource, v.composition, "/toolProviders", "the composition lacks %s, which the agent requires", key)
	}
	return agreed && len(required) == 0
}

func (v *verification) readToolProvider() {
	v.providerComposition = read[suite.ToolProviderComposition](v, problem.VerifyProvider, image.ToolProviderCompositionPath, suite.MediaTypeToolProviderComposition)
	if v.providerComposition == nil {
		return
	}
	c := v.providerComposition.value
	key := suite.ProviderKey{ID: c.ID, Version: c.Version}
	v.report.Target, v.report.BuildProfile = key.String(), c.BuildProfile
	v.checkPlatform(problem.VerifyProviderPlatform, c.Platform, v.providerComposition.doc.Place("/platform"))
	v.wanted = append(v.wanted, wanted{key, c.ManifestDigest, c.VariantDigest, v.providerComposition.doc.Place("")})
	v.readProviders()
	v.selectBundles(&suite.Selection{ToolProviderComposition: v.providerComposition.loaded()}, []suite.ProviderKey{key})
}

// wanted is a variant that a record names.
type wanted struct {
	key suite.ProviderKey
	// manifest is empty where only the variant is named.
	manifest, variant digest.Digest
	// at is where the record names it.
	at problem.Place
}

// readProviders reads the manifests that records name, and those that these depend on, and holds them
// against what the records say.
func (v *verification) readProviders() {
	for len(v.wanted) > 0 {
		w := v.wanted[0]
		v.wanted = v.wanted[1:]
		r, known := v.providers[w.key]
		if !known {
			r = v.readProvider(w.key)
		}
		if r != nil {
			w.check(v, r)
		}
	}
}

func (w wanted) check(v *verification, r *record[suite.ToolProvider]) {
	if w.manifest != "" && r.identity != w.manifest {
		v.found.Report(problem.VerifySource, w.at, "the embedded manifest of %s is %s, the record states %s", w.key, r.identity, w.manifest)
	}
	i := slices.IndexFunc(r.value.Variants, func(x suite.Variant) bool { return x.Platform == v.image.Platform })
	if i < 0 {
		v.found.Report(problem.VerifySource, w.at, "the embedded manifest of %s has no variant for %s", w.key, v.image.Platform)
		return
	}
	if got := r.value.Variants[i].VariantDigest; got != w.variant {
		v.found.Report(problem.VerifySource, w.at, "the variant of %s for %s is %s, the record states %s", w.key, v.image.Platform, got, w.variant)
	}
}

// readProvider reads the manifest of a provider with its tool schemas, and asks for those that its
// variant depends on.
func (v *verification) readProvider(key suite.ProviderKey) *record[suite.ToolProvider] {
	dir := image.ToolProviderDir(key)
	r := read[suite.ToolProvider](v, problem.VerifyDocument, path.Join(dir, "tool-provider.json"), suite.MediaTypeToolProvider)
	v.providers[key] = r
	if r == nil {
		return nil
	}
	if got := (suite.ProviderKey{ID: r.value.ID, Version: r.value.Version}); got != key {
		differ(v, problem.VerifySource, r, "", "the manifest in the place of %s is that of %s", key, got)
		v.providers[key] = nil
		return nil
	}
	for i, t := range r.value.Tools {
		v.checkToolSchema(r, dir, t.Name+".input.json", t.InputSchema, strictjson.Pointer("tools", i, "inputSchema", "digest"))
		if t.OutputSchema != nil {
			v.checkToolSchema(r, dir, t.Name+".output.json", *t.OutputSchema, strictjson.Pointer("tools", i, "outputSchema", "digest"))
		}
	}
	for i, x := range r.value.Variants {
		got, err := suite.VariantDigest(r.doc, i)
		if err != nil || got != x.VariantDigest {
			differ(v, problem.VerifySource, r, strictjson.Pointer("variants", i, "variantDigest"), "the variant is %s by its content, it states %s", got, x.VariantDigest)
		}
		if x.Platform != v.image.Platform {
			continue
		}
		for j, d := range x.Dependencies {
			at := r.doc.Place(strictjson.Pointer("variants", i, "dependencies", j))
			v.wanted = append(v.wanted, wanted{suite.ProviderKey{ID: d.ID, Version: d.Version}, "", d.VariantDigest, at})
		}
	}
	return r
}

func (v *verification) checkToolSchema(r *record[suite.ToolProvider], dir, name string, ref suite.FileReference, pointer string) {
	at := path.Join(dir, "schemas", name)
	v.expected[at] = true
	text, ok := v.kept[at]
	if !ok {
		v.problem(problem.VerifyDocument, at, "/%s is missing", at)
		return
	}
	if got := digest.FromBytes(text); got != ref.Digest {
		differ(v, problem.VerifySource, r, pointer, "/%s is %s, the manifest states %s", at, got, ref.Digest)
	}
}

// selectBundles completes a selection with the bundles of the roots and all that they depend on, if all
// of their manifests could be read.
func (v *verification) selectBundles(sel *suite.Selection, roots []suite.ProviderKey) {
	graph := &suite.Graph{ToolProviders: map[suite.ProviderKey]suite.Loaded[suite.ToolProvider]{}}
	for key, r := range v.providers {
		if r == nil {
			return
		}
		graph.ToolProviders[key] = *r.loaded()
	}
	for _, key := range roots {
		provider := graph.ToolProviders[key]
		i := slices.IndexFunc(provider.Doc.Variants, func(x suite.Variant) bool { return x.Platform == v.image.Platform })
		if i < 0 {
			return
		}
		sel.Bundles = append(sel.Bundles, suite.Bundle{Provider: provider, Variant: &provider.Doc.Variants[i]})
	}
	sel.Target, sel.Platform = v.report.Target, v.image.Platform
	sel.Bundles = graph.Closure(sel.Bundles)
	for _, b := range sel.Bundles {
		v.report.Bundles = append(v.report.Bundles, b.Key().String())
	}
	v.selection = sel
}

// checkLabels holds the labels of the config against the records.
func (v *verification) checkLabels() {
	labels := v.image.Config.Config.Labels
	// identify checks the label that the specification demands.
	identify := func(rule *problem.Rule, label string, want digest.Digest, what string) {
		switch got, ok := labels[label]; {
		case !ok:
			v.problem(rule, "", "the label %s is missing; %s is %s", label, what, want)
		case got != string(want):
			v.problem(rule, "", "the label %s is %s, %s is %s", label, problem.Quoted(got), what, want)
		}
	}
	// repeat checks one that says again what a record says.
	repeat := func(label, want, what string) {
		if got, ok := labels[label]; ok && got != want {
			v.problem(problem.VerifyLabel, "", "the label %s is %s, %s states %s", label, problem.Quoted(got), what, want)
		}
	}
	if text, ok := v.kept[image.InventoryPath]; ok {
		repeat(image.LabelInventoryDigest, string(digest.FromBytes(text)), "/"+image.InventoryPath)
	}
	switch {
	case v.binding != nil:
		b := v.binding.value
		identify(problem.VerifyBindingLabel, image.LabelBindingDigest, v.binding.identity, "/"+image.BindingPath)
		repeat(image.LabelSuiteDigest, string(b.SuiteDigest), "the binding")
		repeat(image.LabelAgent, b.Agent, "the binding")
		repeat(image.LabelBuildProfile, b.BuildProfile, "the binding")
		repeat(image.LabelCompositionDigest, string(b.Composition.Digest), "the binding")
	case v.providerComposition != nil:
		c := v.providerComposition
		identify(problem.VerifyProviderLabel, image.LabelToolProviderCompositionDigest, c.identity, "/"+image.ToolProviderCompositionPath)
		repeat(image.LabelToolProvider, v.report.Target, "the composition")
		repeat(image.LabelBuildProfile, c.value.BuildProfile, "the composition")
		if stated, ok := labels[image.LabelSuiteDigest]; ok {
			if d, err := digest.Parse(stated); err != nil {
				v.problem(problem.VerifyLabel, "", "the label %s is %s, which is no digest", image.LabelSuiteDigest, problem.Quoted(stated))
			} else {
				v.report.SuiteDigest = d
			}
		}
	}
}
