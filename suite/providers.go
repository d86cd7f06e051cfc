package suite

import (
	"path"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// checkProvider checks a tool provider document, the files that it refers to and the payloads of its
// variants (section 9).
func (v *validation) checkProvider(n *node[ToolProvider], f *findings) {
	d, provider := &n.document, &n.doc
	repetitions(provider.Tools, func(t Tool) string { return t.Name }, func(first, again int) {
		d.report(f, problem.ProviderTools, strictjson.Pointer("tools", again, "name"),
			"tool %s is declared twice; the first is tools[%d]", provider.Tools[again].Name, first)
	})
	for i, tool := range provider.Tools {
		v.checkFile(d, strictjson.Pointer("tools", i, "inputSchema"), tool.InputSchema, f)
		if tool.OutputSchema != nil {
			v.checkFile(d, strictjson.Pointer("tools", i, "outputSchema"), *tool.OutputSchema, f)
		}
	}
	repetitions(provider.Variants, func(x Variant) Platform { return x.Platform }, func(first, again int) {
		if provider.Variants[again].Platform.known() {
			d.report(f, problem.ProviderPlatforms, strictjson.Pointer("variants", again, "platform"),
				"there are two variants for %s; the first is variants[%d]", provider.Variants[again].Platform, first)
		}
	})
	n.variantDigests = make([]digest.Digest, len(provider.Variants))
	for i := range provider.Variants {
		v.checkVariant(n, i, f)
	}
	if provider.Remote != nil {
		checkRemote(d, provider.Remote, f)
	}
	checkExtensions(d, provider.Extensions, f)
	v.lintProvider(n, f)
}

func (v *validation) checkVariant(n *node[ToolProvider], i int, f *findings) {
	x := &n.doc.Variants[i]
	at := func(tokens ...any) string { return strictjson.Pointer("variants", i) + strictjson.Pointer(tokens...) }
	if n.digest != "" && x.VariantDigest != "" {
		if actual, err := v.variantDigest(n, i); err == nil {
			n.variantDigests[i] = actual
			if actual != x.VariantDigest {
				is, says := shortDigests(actual, x.VariantDigest)
				n.report(f, problem.IDVariant, at("variantDigest"), "the variant is %s, it says %s; %s", is, says, sealHint)
			}
		}
	}
	repetitions(x.Environment, func(e EnvironmentInput) string { return e.Name }, func(first, again int) {
		n.report(f, problem.ProviderEnvironment, at("environment", again, "name"), "%s is named twice; the first is environment[%d]", x.Environment[again].Name, first)
	})
	repetitions(x.Dependencies, Dependency.key, func(first, again int) {
		n.report(f, problem.DependencyUnique, at("dependencies", again), "%s is named twice; the first is dependencies[%d]", x.Dependencies[again].key(), first)
	})
	for j, dependency := range x.Dependencies {
		if key := dependency.key(); key != (ProviderKey{}) && key == providerKey(n.doc.ID, n.doc.Version) {
			n.report(f, problem.DependencyUnique, at("dependencies", j), "%s depends on itself; remove the dependency", key)
		}
	}
	v.checkInventory(n, i, f)
	checkEntrypoint(n, i, f)
}

func (v *validation) variantDigest(n *node[ToolProvider], i int) (digest.Digest, error) {
	if v.known[n.path] != "" {
		return n.doc.Variants[i].VariantDigest, nil
	}
	return VariantDigest(n.tree, i)
}

// checkEntrypoint wants the entrypoint to be a file of the inventory that can be executed.
func checkEntrypoint(n *node[ToolProvider], i int, f *findings) {
	x := &n.doc.Variants[i]
	if x.Entrypoint == "" || x.InstallRoot == "" {
		return
	}
	at := strictjson.Pointer("variants", i, "entrypoint")
	file, below := strings.CutPrefix(x.Entrypoint, x.InstallRoot+"/")
	if !below {
		n.report(f, problem.ProviderEntrypoint, at, "entrypoint %s does not lie below installRoot %s", problem.Cut(x.Entrypoint), problem.Cut(x.InstallRoot))
		return
	}
	if !n.sound(strictjson.Pointer("variants", i, "files")) {
		return
	}
	for _, e := range x.Files {
		if e.Path != file {
			continue
		}
		switch {
		case e.Type != content.File:
			n.report(f, problem.ProviderEntrypoint, at, "entrypoint %s is a %s of the inventory; it must be a file", problem.Cut(x.Entrypoint), e.Type)
		case e.Mode&0o111 == 0:
			n.report(f, problem.ProviderEntrypoint, at, "entrypoint %s has mode %04o in the inventory; it must be executable", problem.Cut(x.Entrypoint), e.Mode)
		}
		return
	}
	n.report(f, problem.ProviderEntrypoint, at, "the inventory has no %s, which is to be the entrypoint %s", problem.Cut(file), problem.Cut(x.Entrypoint))
}

// checkRemote checks what the schema of a remote declaration cannot: header names count without regard
// to case (section 9.5).
func checkRemote(d *document, remote *Remote, f *findings) {
	repetitions(remote.Headers, func(h RemoteHeader) string { return strings.ToLower(h.Name) }, func(first, again int) {
		d.report(f, problem.ProviderHeaders, strictjson.Pointer("remote", "headers", again, "name"),
			"header %s is declared twice, upper and lower case being the same; the first is headers[%d]", remote.Headers[again].Name, first)
	})
}

// checkCatalog wants every tool provider to be referred to, or to be retained on purpose (section
// 9.1).
func (v *validation) checkCatalog() {
	wanted, certain := v.inwardReferences()
	if !certain {
		return
	}
	for i, entry := range v.catalog.doc.ToolProviders {
		n, key := v.providers[i], entry.key()
		if key == (ProviderKey{}) || wanted[key] || n.broken || n.doc.Retained || !n.sound("/retained") {
			continue
		}
		v.catalog.report(&v.found, problem.GraphAmbient, strictjson.Pointer("toolProviders", i),
			`nothing refers to %s: no agent requires it, no tool-provider composition selects it, no variant depends on it; remove it, or set "retained": true in %s`, key, entry.Path)
	}
}

// inwardReferences collects the tool providers that something refers to. It is not certain as long as
// a document that could refer to others is not known.
func (v *validation) inwardReferences() (wanted map[ProviderKey]bool, certain bool) {
	wanted = map[ProviderKey]bool{}
	certain = v.manifest.sound("/agents") && v.manifest.sound("/toolProviderCompositions")
	for _, n := range v.agents {
		certain = certain && n.sound("/toolProviders")
		for _, r := range n.doc.ToolProviders {
			wanted[r.key()] = true
		}
	}
	for i, ref := range v.manifest.doc.ToolProviderCompositions {
		// Where the two differ, one of them is wrong, and has been reported.
		composition := &v.providerCompositions[i].doc
		wanted[providerKey(ref.ID, ref.Version)] = true
		wanted[providerKey(composition.ID, composition.Version)] = true
	}
	for _, n := range v.providers {
		certain = certain && n.sound("/variants")
		for _, x := range n.doc.Variants {
			for _, dependency := range x.Dependencies {
				if dependency.key() != providerKey(n.doc.ID, n.doc.Version) {
					wanted[dependency.key()] = true
				}
			}
		}
	}
	return wanted, certain
}

// destination is where an inventory entry goes in an image.
func destination(x *Variant, e *InventoryEntry) string { return path.Join(x.InstallRoot, e.Path) }
