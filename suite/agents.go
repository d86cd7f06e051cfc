package suite

import (
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// checkAgent checks an agent document and the files that it refers to (section 8).
func (v *validation) checkAgent(n *node[Agent], f *findings) {
	d, agent := &n.document, &n.doc
	v.checkFile(d, "/instructions", agent.Instructions, f)
	repetitions(agent.ToolProviders, ProviderRequirement.key, func(first, again int) {
		d.report(f, problem.GraphDuplicate, strictjson.Pointer("toolProviders", again),
			"tool provider %s is required twice; the first is toolProviders[%d]", agent.ToolProviders[again].key(), first)
	})
	repetitions(agent.Invokes, func(i Invocation) string { return i.Agent }, func(first, again int) {
		d.report(f, problem.GraphInvokes, strictjson.Pointer("invokes", again, "agent"),
			"agent %s is invoked by two edges; the first is invokes[%d]", agent.Invokes[again].Agent, first)
	})
	for i, edge := range agent.Invokes {
		if edge.Agent != "" && edge.Agent == agent.ID {
			d.report(f, problem.GraphInvokes, strictjson.Pointer("invokes", i, "agent"), "agent %s invokes itself; an edge leads to another agent", agent.ID)
		}
	}
	checkExtensions(d, agent.Extensions, f)
	v.lintAgent(n, f)
}

// checkFile holds a file reference against the file's bytes (section 6.2).
func (v *validation) checkFile(d *document, pointer string, ref FileReference, f *findings) {
	if ref.Path == "" {
		return
	}
	entry, fault := v.regularFile(ref.Path)
	switch {
	case fault != "":
		d.report(f, problem.GraphMissing, pointer+"/path", "%s", fault)
	case ref.Digest != "" && entry.Digest != "" && entry.Digest != ref.Digest:
		is, says := shortDigests(entry.Digest, ref.Digest)
		d.report(f, problem.IDFile, pointer+"/digest", "%s is %s, the reference says %s; %s", ref.Path, is, says, sealHint)
	}
}

// checkAgents holds what agents name against what the suite defines: other agents and tool providers.
func (v *validation) checkAgents() {
	for _, n := range unique(v.agents) {
		for i, edge := range n.doc.Invokes {
			if edge.Agent == "" || v.agentByID[edge.Agent] != nil || !v.manifest.sound("/agents") {
				continue
			}
			n.report(&v.found, problem.GraphUnknown, strictjson.Pointer("invokes", i, "agent"),
				"the suite has no agent %s%s", edge.Agent, v.instead(edge.Agent, v.agentIDs))
		}
		for i, required := range n.doc.ToolProviders {
			v.checkRequirement(n, i, required.key())
		}
	}
}

func (v *validation) checkRequirement(n *node[Agent], i int, key ProviderKey) {
	provider, known := v.providerByKey[key]
	switch {
	case key == (ProviderKey{}):
	case !known && v.catalog.sound("/toolProviders"):
		n.report(&v.found, problem.GraphUnknown, strictjson.Pointer("toolProviders", i),
			"the tool provider catalog has no %s%s", key, v.insteadOfProvider(key))
	case known && provider.sound("/variants") && len(provider.doc.Variants) == 0:
		n.report(&v.found, problem.CompositionRemote, strictjson.Pointer("toolProviders", i),
			"%s is only declared remotely; an agent needs a bundled variant, which %s does not have", key, provider.path)
	}
}

// unique drops repetitions from a list of documents: two references may share one.
func unique[T any](nodes []*node[T]) []*node[T] {
	seen := make(map[*node[T]]bool, len(nodes))
	list := make([]*node[T], 0, len(nodes))
	for _, n := range nodes {
		if !n.broken && !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
	}
	return list
}

// Limits on looking for the name that was meant: a hostile suite could hold ten thousand unknown names
// and ten thousand known ones.
const (
	maxSuggestions = 200
	maxCandidates  = 2_000
	maxVersions    = 8
)

// instead proposes the name that was probably meant, as the end of a message.
func (v *validation) instead(name string, known []string) string {
	v.suggestions++
	if v.suggestions > maxSuggestions {
		return ""
	}
	if suggestion, ok := problem.Suggest(name, known[:min(len(known), maxCandidates)]); ok {
		return "; did you mean " + suggestion + "?"
	}
	return ""
}

// insteadOfProvider proposes another version of the tool provider, or another name.
func (v *validation) insteadOfProvider(key ProviderKey) string {
	if v.suggestions >= maxSuggestions {
		return ""
	}
	var versions, all []string
	first, _ := slices.BinarySearchFunc(v.providerKeys, ProviderKey{ID: key.ID}, ProviderKey.Compare)
	for _, known := range v.providerKeys[first:] {
		if known.ID != key.ID || len(versions) == maxVersions {
			break
		}
		versions = append(versions, known.Version)
	}
	if len(versions) > 0 {
		v.suggestions++
		return "; of " + key.ID + " it has " + strings.Join(versions, ", ")
	}
	for _, known := range v.providerKeys[:min(len(v.providerKeys), maxCandidates)] {
		all = append(all, known.String())
	}
	return v.instead(key.String(), all)
}
