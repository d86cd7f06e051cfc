package suite

import (
	"bytes"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/schema"
	"github.com/agentsuite/agentsuite-llb/suite/secret"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// lintAgent advises on an agent: a description, evaluations, and instructions that say something and
// hold no credential.
func (v *validation) lintAgent(n *node[Agent], f *findings) {
	agent := &n.doc
	if strings.TrimSpace(agent.Description) == "" && n.sound("/description") {
		f.warn(problem.DescriptionMissing, n.place(""), "agent %s has no description; say what it is for", agent.ID)
	}
	if len(agent.Evals) == 0 && n.sound("/evals") {
		f.warn(problem.AgentWithoutEvaluations, n.place(""), "agent %s has no evaluations; add cases at %s", agent.ID, subtree(agent.ID))
	}
	text, ok := v.index.Texts[agent.Instructions.Path]
	if !ok {
		return
	}
	if len(bytes.TrimSpace(text)) == 0 {
		f.warn(problem.EmptyInstructions, n.place("/instructions/path"), "%s holds nothing but white space; tell the agent what to do", agent.Instructions.Path)
	}
	lintProse(agent.Instructions.Path, string(text), f)
}

// lintProse warns of every credential-shaped literal of a text, where it stands.
func lintProse(path, text string, f *findings) {
	line, start, counted := 1, 0, 0
	found, ok := secret.Find(text)
	for n := 0; ok && n < maxSecrets; n++ {
		before := text[counted:found.Offset]
		if lines := strings.Count(before, "\n"); lines > 0 {
			line += lines
			start = counted + strings.LastIndexByte(before, '\n') + 1
		}
		counted = found.Offset
		f.warn(problem.CredentialInProse, problem.Place{Path: path, Line: line, Column: found.Offset - start + 1},
			"the text holds what looks like %s; replace it by a made-up word, and revoke it if it was real", found.Kind)
		found, ok = secret.FindFrom(text, found.End)
	}
}

// lintProvider advises on a tool provider: descriptions and schemas of tools, and payload directories
// that others could write to.
func (v *validation) lintProvider(n *node[ToolProvider], f *findings) {
	for i := range n.doc.Tools {
		tool := &n.doc.Tools[i]
		at := strictjson.Pointer("tools", i)
		if strings.TrimSpace(tool.Description) == "" && n.sound(at+"/description") {
			f.warn(problem.DescriptionMissing, n.place(at), "tool %s has no description; a model has only its name to judge by", tool.Name)
		}
		v.lintToolSchema(n, at+"/inputSchema", tool.InputSchema.Path, f)
		if tool.OutputSchema != nil {
			v.lintToolSchema(n, at+"/outputSchema", tool.OutputSchema.Path, f)
		}
	}
	linted := map[string]bool{}
	for i, x := range n.doc.Variants {
		if x.PayloadRoot != "" && !linted[x.PayloadRoot] {
			linted[x.PayloadRoot] = true
			v.lintPayload(n, i, f)
		}
	}
}

func (v *validation) lintPayload(n *node[ToolProvider], i int, f *findings) {
	x := &n.doc.Variants[i]
	var at problem.Place
	for _, e := range v.index.Below(x.PayloadRoot) {
		if e.Type != content.Directory || e.Mode&0o022 == 0 {
			continue
		}
		if at.Path == "" {
			at = n.place(strictjson.Pointer("variants", i, "payloadRoot"))
		}
		f.warn(problem.PayloadDirectoryWritable, at, "the payload directory %s has mode %04o and is writable by others than root; no image can hold it, so make it 0755", e.Path, e.Mode)
	}
}

// lintVariants warns of variants that no composition puts into an image.
func (v *validation) lintVariants() {
	used := make([]bool, len(v.bundleList))
	walk := newClosureWalk(v.bundleList)
	for _, platform := range Platforms() {
		for _, image := range v.images(platform) {
			for _, b := range walk.from(image.roots) {
				used[b] = true
			}
		}
	}
	for i, b := range v.bundleList {
		if !used[i] {
			v.found.warn(problem.UnusedVariant, b.provider.place(strictjson.Pointer("variants", b.index)),
				"no composition uses the %s variant of %s; add one, or remove the variant", b.variant.Platform, b.key)
		}
	}
}

func (v *validation) lintToolSchema(n *node[ToolProvider], pointer, path string, f *findings) {
	text, ok := v.index.Texts[path]
	if !ok {
		return
	}
	if err := v.toolSchemas.check(text); err != nil {
		f.warn(problem.ToolSchemaInvalid, n.place(pointer+"/path"), "%s is no JSON Schema that compiles: %s", path, err)
	}
}

// toolSchemas remembers what was found out about tool schemas: many tools share one.
type toolSchemas struct{ checked sync.Map }

func (t *toolSchemas) check(text []byte) error {
	id := digest.FromBytes(text)
	if fault, ok := t.checked.Load(id); ok {
		err, _ := fault.(error)
		return err
	}
	err := schema.Compile(text)
	t.checked.Store(id, err)
	return err
}
