package suite

import (
	"context"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// evaluationsRoot is the directory that evaluation subtrees lie in (section 8.2).
const evaluationsRoot = "evals"

// evaluation is the evaluation index of one agent with its cases.
type evaluation struct {
	agent *node[Agent]
	index *node[EvalIndex]
	// cases are parallel to those of the index.
	cases []*node[EvalCase]
}

// subtree is the directory that an agent's evaluation documents lie in.
func subtree(agent string) string { return evaluationsRoot + "/" + agent }

// loadEvaluations reads the evaluation indexes that agents reference, and their cases.
func (v *validation) loadEvaluations(ctx context.Context) error {
	var refs []documentRef
	for _, n := range unique(v.agents) {
		for i, ref := range n.doc.Evals {
			if !v.checkIndexPath(n, i, ref.Path) {
				continue
			}
			refs = append(refs, documentRef{path: ref.Path, from: &n.document, pointer: strictjson.Pointer("evals", i, "path")})
			v.evaluations = append(v.evaluations, &evaluation{agent: n})
		}
	}
	indexes, err := load(ctx, v, MediaTypeEvalIndex, refs, v.checkIndex)
	if err != nil {
		return err
	}
	var caseRefs []documentRef
	for i, e := range v.evaluations {
		e.index = indexes[i]
		caseRefs = append(caseRefs, references(e.index.doc.Cases, &e.index.document, "cases", func(r FileReference) string { return r.Path })...)
	}
	cases, err := load(ctx, v, MediaTypeEvalCase, caseRefs, v.checkCase)
	if err != nil {
		return err
	}
	for _, e := range v.evaluations {
		n := len(e.index.doc.Cases)
		e.cases, cases = cases[:n], cases[n:]
	}
	return nil
}

// checkIndexPath wants an index where it must lie. One that lies elsewhere is read all the same, if it
// exists; if it does not, the path is the fault.
func (v *validation) checkIndexPath(n *node[Agent], i int, path string) (read bool) {
	want := subtree(n.doc.ID) + "/index.json"
	if path == "" || n.doc.ID == "" || path == want {
		return true
	}
	n.report(&v.found, problem.EvalPath, strictjson.Pointer("evals", i, "path"), "the index of agent %s lies at %s; it must lie at %s", n.doc.ID, path, want)
	_, exists := v.index.Entry(path)
	return exists
}

// checkIndex checks what an evaluation index says of itself (section 8.2.1).
func (v *validation) checkIndex(n *node[EvalIndex], f *findings) {
	index := &n.doc
	repetitions(index.Cases, func(r FileReference) string { return r.Path }, func(first, again int) {
		n.report(f, problem.EvalCaseUnique, strictjson.Pointer("cases", again, "path"), "%s is listed twice; the first is cases[%d]", index.Cases[again].Path, first)
	})
	if most := index.Limits.MaxCases; most > 0 && int64(len(index.Cases)) > most {
		n.report(f, problem.EvalLimit, "/cases", "the index lists %d cases; its own limit maxCases is %d", len(index.Cases), most)
	}
}

// checkCase checks what a case says of itself (section 8.2.2). No message repeats an operand.
func (v *validation) checkCase(n *node[EvalCase], f *findings) {
	c := &n.doc
	repetitions(c.Assertions, func(a Assertion) string { return a.ID }, func(first, again int) {
		n.report(f, problem.EvalAssertions, strictjson.Pointer("assertions", again, "id"),
			"assertion %s stands twice; the first is assertions[%d]", c.Assertions[again].ID, first)
	})
	if c.Runs > 0 && c.MinPasses > c.Runs {
		n.report(f, problem.EvalCase, "/minPasses", "minPasses is %d and runs is %d; no more runs can pass than there are", c.MinPasses, c.Runs)
	}
}

// checkEvaluations holds evaluation documents against the agents that own them and the places where
// they must lie.
func (v *validation) checkEvaluations() {
	trees := newEvaluationTrees()
	for _, n := range v.agents {
		// Which subtree the agent references is not known.
		trees.uncertain = trees.uncertain || !n.sound("/evals")
		for _, ref := range n.doc.Evals {
			if own := subtree(n.doc.ID); ref.Path != own+"/index.json" {
				// The index lies elsewhere, which has been reported; that leaves the subtree without one.
				trees.unclear[own] = true
			}
		}
	}
	trees.uncertain = trees.uncertain || !v.manifest.sound("/agents")
	for _, e := range v.evaluations {
		v.checkEvaluation(e, trees)
	}
	v.checkSubtrees(trees)
}

// evaluationTrees is what evaluation subtrees may hold, by their directory.
type evaluationTrees struct {
	// files lists the index and the cases of a subtree.
	files map[string]map[string]bool
	// unclear are subtrees whose index is not known.
	unclear map[string]bool
	// uncertain means that there may be references that are not known.
	uncertain bool
}

func newEvaluationTrees() *evaluationTrees {
	return &evaluationTrees{files: map[string]map[string]bool{}, unclear: map[string]bool{}}
}

// allow records that a document is referenced, in whatever subtree it lies.
func (t *evaluationTrees) allow(path string) {
	if tree, ok := subtreeOf(path); ok {
		if t.files[tree] == nil {
			t.files[tree] = map[string]bool{}
		}
		t.files[tree][path] = true
	}
}

// subtreeOf finds the evaluation subtree that a path lies in.
func subtreeOf(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, evaluationsRoot+"/")
	if !ok {
		return "", false
	}
	agent, _, _ := strings.Cut(rest, "/")
	return subtree(agent), true
}

func (v *validation) checkEvaluation(e *evaluation, trees *evaluationTrees) {
	agent, index := &e.agent.doc, &e.index.doc
	for i, ref := range agent.Evals {
		if ref.Path != e.index.path {
			continue
		}
		trees.allow(ref.Path)
		v.checkDigest(&e.agent.document, strictjson.Pointer("evals", i, "digest"), ref.Digest, &e.index.document)
	}
	if !e.index.sound("/cases") {
		if tree, ok := subtreeOf(e.index.path); ok {
			trees.unclear[tree] = true
		}
	}
	if e.index.broken {
		return
	}
	if index.Agent != "" && agent.ID != "" && index.Agent != agent.ID {
		e.index.report(&v.found, problem.EvalOwner, "/agent", "the index is for agent %s, and agent %s references it; both must be the same", index.Agent, agent.ID)
	}
	for i, ref := range index.Cases {
		trees.allow(ref.Path)
		if _, exists := v.index.Entry(ref.Path); !exists {
			// The case may lie under another name, which would be no second fault.
			trees.unclear[subtree(agent.ID)] = true
		}
		v.checkCaseReference(e, i, ref)
	}
}

func (v *validation) checkCaseReference(e *evaluation, i int, ref FileReference) {
	c := e.cases[i]
	at := func(member string) string { return strictjson.Pointer("cases", i, member) }
	v.checkDigest(&e.index.document, at("digest"), ref.Digest, &c.document)
	if most := e.index.doc.Limits.MaxCaseBytes; most > 0 && int64(len(c.text)) > most {
		e.index.report(&v.found, problem.EvalLimit, at("path"), "%s has %d bytes; the limit maxCaseBytes of the index is %d", ref.Path, len(c.text), most)
	}
	if ref.Path == "" || e.agent.doc.ID == "" {
		return
	}
	directory := subtree(e.agent.doc.ID) + "/cases/"
	name, ok := strings.CutPrefix(ref.Path, directory)
	if !ok || strings.Contains(name, "/") || name == ".json" {
		e.index.report(&v.found, problem.EvalCasePath, at("path"), "the case lies at %s; it must lie at %s<id>.json", ref.Path, directory)
		return
	}
	if id := c.doc.ID; id != "" && name != id+".json" {
		e.index.report(&v.found, problem.EvalCasePath, at("path"), "%s states the id %s; its file must be named %s.json", ref.Path, id, id)
	}
}

// checkSubtrees refuses evaluation content that no index accounts for: results of evaluations above
// all, which must not be part of what they are about (sections 8.2 and 8.2.3).
func (v *validation) checkSubtrees(trees *evaluationTrees) {
	if v.incomplete {
		return
	}
	ownerless := map[string]bool{}
	stray := ""
	for _, entry := range v.index.Below(evaluationsRoot) {
		tree, _ := subtreeOf(entry.Path)
		if entry.Path == tree && entry.Type != content.Directory || v.excused(entry.Path) {
			continue
		}
		files := trees.files[tree]
		switch {
		case trees.unclear[tree]:
		case files == nil:
			if !trees.uncertain && !ownerless[tree] {
				ownerless[tree] = true
				v.found.add(problem.EvalOwnerless, problem.Place{Path: tree}, "no agent references an index at %s/index.json; remove the subtree, or reference it in evals of agent %s", tree, strings.TrimPrefix(tree, evaluationsRoot+"/"))
			}
		case files[entry.Path]:
		case entry.Type == content.Directory && (entry.Path == tree || entry.Path == tree+"/cases"):
		case stray != "" && atOrBelow(entry.Path, stray):
		default:
			stray = entry.Path
			v.found.add(problem.EvalStray, problem.Place{Path: entry.Path}, "an evaluation subtree holds its index and the cases that it lists; remove this %s, or list it in %s/index.json", entry.Type, tree)
		}
	}
}
