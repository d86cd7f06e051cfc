package verify

import (
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// checkSuite holds what the image embeds against the suite.
func (v *verification) checkSuite() {
	if v.opts.Suite == nil || v.report.Target == "" {
		return
	}
	sel, err := v.opts.Suite.Select(v.report.Target, v.image.Platform)
	if err != nil {
		v.problem(problem.VerifySuite, "", "%v", err)
		return
	}
	if want := v.opts.SuiteDigest; want != "" && v.report.SuiteDigest != want {
		v.problem(problem.VerifySuite, "", "the image was built from the suite %s, this one is %s", orUnstated(v.report.SuiteDigest), want)
	}
	if got := v.report.BuildProfile; got != "" && got != sel.Profile.Doc.ID {
		v.problem(problem.VerifySuite, "", "the image was built with the build profile %s, the suite selects %s", problem.Quoted(got), sel.Profile.Doc.ID)
	}
	compare := func(path string, got, want digest.Digest, what string) {
		if got != want {
			v.problem(problem.VerifySuite, path, "the embedded %s is %s, the suite has %s", what, got, want)
		}
	}
	if v.composition != nil && sel.Composition != nil {
		compare(image.CompositionPath, v.composition.identity, sel.Composition.Digest, "composition")
	}
	if v.providerComposition != nil && sel.ToolProviderComposition != nil {
		compare(image.ToolProviderCompositionPath, v.providerComposition.identity, sel.ToolProviderComposition.Digest, "tool provider composition")
	}
	if v.agent != nil && sel.Agent != nil {
		compare(image.AgentPath, v.agent.identity, sel.Agent.Digest, "agent")
	}
	if text, ok := v.kept[image.InstructionsPath]; ok && sel.Agent != nil {
		compare(image.InstructionsPath, digest.FromBytes(text), sel.Agent.Doc.Instructions.Digest, "instructions")
	}
	for _, b := range sel.Bundles {
		if r := v.providers[b.Key()]; r != nil {
			compare(r.doc.Path, r.identity, b.Provider.Digest, "manifest of "+b.Key().String())
		} else if _, known := v.providers[b.Key()]; !known {
			v.problem(problem.VerifySuite, "", "the suite puts %s into the image, which has no manifest of it", b.Key())
		}
	}
	for key := range v.providers {
		if !slices.ContainsFunc(sel.Bundles, func(b suite.Bundle) bool { return b.Key() == key }) {
			v.problem(problem.VerifySuite, image.ToolProviderDir(key), "the image has %s, which the suite does not put into it", key)
		}
	}
	v.checkInputs(sel)
}

func orUnstated(d digest.Digest) string {
	if d == "" {
		return "of no stated digest"
	}
	return string(d)
}

// checkInputs holds the given pinned images against the build profile.
func (v *verification) checkInputs(sel *suite.Selection) {
	check := func(given *ociimage.Image, pin *suite.BaseImage, what string) {
		if given == nil || pin == nil {
			return
		}
		if got := given.Descriptor.Digest; got != pin.Image.Digest {
			v.problem(problem.VerifyInputs, "", "the given %s is %s, the build profile %s pins %s", what, got, sel.Profile.Doc.ID, pin.Image.Digest)
		}
	}
	check(v.opts.Base, &sel.RuntimeBase, "runtime base")
	check(v.opts.Harness, sel.Harness, "harness")
	if v.opts.Harness != nil && sel.Harness == nil {
		v.problem(problem.VerifyInputs, "", "%s", fmt.Sprintf("a harness is given, but %s is a tool provider, whose image has none", sel.Target))
	}
}
