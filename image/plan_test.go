package image_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// outline is a layer as kind, name and what is in it.
func outline(l image.Layer) string {
	parts := []string{string(l.Kind), l.Name}
	for _, d := range l.DiffIDs {
		parts = append(parts, "="+d.Encoded()[:4])
	}
	for _, b := range l.Bundles {
		parts = append(parts, fmt.Sprintf("%s>%s -%v %d/%d", b.PayloadRoot, b.InstallRoot, b.Excluded, b.Entries, b.Size))
	}
	for _, e := range l.Restored {
		parts = append(parts, fmt.Sprintf("%s:%o:%d:%d", e.Path, e.Mode, e.UID, e.GID))
	}
	return strings.Join(parts, " ")
}

func outlines(plan *image.Plan) []string {
	var all []string
	for _, l := range plan.Layers {
		all = append(all, outline(l))
	}
	return all
}

func TestPlanLayers(t *testing.T) {
	in := world{t: t}.inputs()
	baseRef, harnessRef := in.Base.Pin.ImageRef, in.Harness.Pin.ImageRef
	short := func(s string) string { return "=" + digest.FromString(s).Encoded()[:4] }
	ignoring := func(in *image.Inputs) {
		in.Index.Ignored = []string{"tool-providers/a/linux-amd64-old", "tool-providers/a/linux-amd64/tmp/x", "tool-providers/a/linux-amd64/[draft]", "README.md"}
	}
	for name, tc := range map[string]struct {
		world world
		want  []string
	}{
		"beside": {world{bundles: []bundle{tool("a"), at("/tmp/b", tool("b"))}, change: ignoring}, []string{
			"runtime-base runtime base " + baseRef + " " + short("base layer"),
			"harness-beside harness " + harnessRef,
			"bundles bundle a@1.0.0 tool-providers/a/linux-amd64>/opt/a -[[draft] tmp/x] 2/1",
			"bundles bundle b@1.0.0 tool-providers/b/linux-amd64>/tmp/b -[] 2/1",
			"metadata metadata opt:775:0:0 tmp:1777:0:0",
		}},
		"stacked": {world{stacked: true, bundles: []bundle{at("/srv/a", tool("a"))}}, []string{
			"runtime-base runtime base " + baseRef + " " + short("base layer"),
			"harness-stacked harness " + harnessRef + " " + short("harness layer"),
			"bundles bundle a@1.0.0 tool-providers/a/linux-amd64>/srv/a -[] 2/1",
			"metadata metadata",
		}},
		"tool provider": {world{provider: true, bundles: []bundle{at("/srv/a", tool("a"))}}, []string{
			"runtime-base runtime base " + baseRef + " " + short("base layer"),
			"bundles bundle a@1.0.0 tool-providers/a/linux-amd64>/srv/a -[] 2/1",
			"metadata metadata",
		}},
		"no bundle": {world{}, []string{
			"runtime-base runtime base " + baseRef + " " + short("base layer"),
			"harness-beside harness " + harnessRef,
			"metadata metadata",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.world.t = t
			plan := tc.world.plan()
			require.Equal(t, tc.want, outlines(plan))
			require.Equal(t, map[string]string{
				"org.opencontainers.image.base.name":   "registry.example/base",
				"org.opencontainers.image.base.digest": digest.FromString("base").String(),
			}, plan.Annotations)
		})
	}
}

func TestPlanFoldsBundles(t *testing.T) {
	var bundles []bundle
	for i := range 130 {
		id := fmt.Sprintf("t%03d", i)
		bundles = append(bundles, at("/srv/"+id, tool(id, file("data", 0o644, strings.Repeat("x", 1000-i)))))
	}
	plan := world{t: t, bundles: bundles, change: func(in *image.Inputs) {
		for i := range 19 {
			in.Base.Config.RootFS.DiffIDs = append(in.Base.Config.RootFS.DiffIDs, digest.FromString(fmt.Sprint(i)))
		}
	}}.plan()
	layers := 0
	for _, l := range plan.Layers {
		layers += max(len(l.DiffIDs), 1)
	}
	require.Equal(t, image.MaxLayers, layers)
	stated := 0
	for _, h := range plan.Config.History {
		if !h.EmptyLayer {
			stated++
		}
	}
	require.Equal(t, layers, stated)
	shared := plan.Layers[len(plan.Layers)-2]
	// 20 layers of the base, one of the harness, one of metadata: 98 are left, the last one shared.
	require.Len(t, shared.Bundles, 130-97)
	require.Equal(t, "t097@1.0.0", shared.Bundles[0].Component)
	require.True(t, strings.HasPrefix(shared.Name, "33 bundles t097@1.0.0 t098@1.0.0 "), shared.Name)
}

func TestPlanMetadata(t *testing.T) {
	files := func(plan *image.Plan) map[string]string {
		layer := plan.Layers[len(plan.Layers)-1]
		got := map[string]string{}
		for _, f := range layer.Files {
			require.EqualValues(t, 0o444, f.Mode)
			source := f.Content
			if f.Text != "" {
				source = "text"
				require.Equal(t, digest.FromString(f.Text), f.Digest)
				require.EqualValues(t, len(f.Text), f.Size)
			}
			got[f.Path] = source
		}
		var dirs []string
		for _, d := range layer.Directories {
			require.Equal(t, content.Directory, d.Type)
			require.EqualValues(t, 0o555, d.Mode)
			dirs = append(dirs, d.Path)
		}
		require.IsIncreasing(t, dirs)
		got["directories"] = strings.Join(dirs, " ")
		return got
	}
	b := tool("a")
	w := world{t: t, bundles: []bundle{b}}
	require.Equal(t, map[string]string{
		".agentsuite/agent.json":                                       "agents/clock.json",
		".agentsuite/binding.json":                                     "text",
		".agentsuite/composition.json":                                 "text",
		".agentsuite/instructions.md":                                  "instructions/clock.md",
		".agentsuite/inventory.json":                                   "", // composing wrote it
		".agentsuite/runtime.json":                                     "text",
		".agentsuite/tool-providers/a/1.0.0/tool-provider.json":        "tool-providers/a/tool-provider.json",
		".agentsuite/tool-providers/a/1.0.0/schemas/a_tool.input.json": "tool-providers/a/in.json",
		"directories": ".agentsuite .agentsuite/tool-providers .agentsuite/tool-providers/a .agentsuite/tool-providers/a/1.0.0 .agentsuite/tool-providers/a/1.0.0/schemas",
	}, files(w.plan()))
	w.provider = true
	w.change = func(in *image.Inputs) {
		in.Selection.Bundles[0].Provider.Doc.Tools[0].OutputSchema = &suite.FileReference{Path: "tool-providers/a/in.json"}
	}
	require.Equal(t, map[string]string{
		".agentsuite/inventory.json":                                    "",
		".agentsuite/runtime.json":                                      "text",
		".agentsuite/tool-provider-composition.json":                    "tool-provider-compositions/x.json",
		".agentsuite/tool-providers/a/1.0.0/tool-provider.json":         "tool-providers/a/tool-provider.json",
		".agentsuite/tool-providers/a/1.0.0/schemas/a_tool.input.json":  "tool-providers/a/in.json",
		".agentsuite/tool-providers/a/1.0.0/schemas/a_tool.output.json": "tool-providers/a/in.json",
		"directories": ".agentsuite .agentsuite/tool-providers .agentsuite/tool-providers/a .agentsuite/tool-providers/a/1.0.0 .agentsuite/tool-providers/a/1.0.0/schemas",
	}, files(w.plan()))
}

func TestBinding(t *testing.T) {
	w := world{t: t, bundles: []bundle{tool("a")}}
	plan, in := w.plan(), w.inputs()
	var text, composition string
	for _, f := range plan.Layers[len(plan.Layers)-1].Files {
		switch f.Path {
		case image.BindingPath:
			text = f.Text
		case image.CompositionPath:
			composition = f.Text
		}
	}
	require.Equal(t, digest.FromString(text), plan.Binding.Digest)
	require.Equal(t, in.Selection.Composition.Digest, digest.FromString(composition), "the embedded bytes have the composition's identity")
	want := fmt.Sprintf(`{"agent":"clock","buildProfile":"default","composition":{"digest":"%s","mediaType":"application/vnd.agentsuite.composition.v1+json","size":%d},`+
		`"inventory":{"digest":"%s","mediaType":"application/vnd.agentsuite.sandbox.inventory.v1+json","size":%d},`+
		`"mediaType":"application/vnd.agentsuite.sandbox.binding.v1+json","platform":{"architecture":"amd64","os":"linux"},"schemaVersion":"1.0.0-draft","suiteDigest":"%s"}`,
		in.Selection.Composition.Digest, len(composition), plan.Inventory.Digest, plan.Inventory.Size, in.SuiteDigest)
	require.Equal(t, want, text)
}

func TestAttestations(t *testing.T) {
	sbom := `{"spdxVersion": "SPDX-2.3"}`
	withSBOM := func(mediaType string) func(*image.Inputs) {
		return func(in *image.Inputs) {
			in.Index.Entries = append(in.Index.Entries, content.Entry{Path: "z.json", Type: content.File, Size: int64(len(sbom)), Digest: digest.FromString(sbom)})
			in.Selection.Bundles[0].Variant.SBOM = &suite.Descriptor{MediaType: mediaType, Digest: digest.FromString(sbom), Size: int64(len(sbom))}
		}
	}
	w := world{t: t, bundles: []bundle{tool("a")}, change: withSBOM("application/spdx+json")}
	plan, in := w.plan(), w.inputs()
	require.Len(t, plan.Attestations, 2)
	require.Equal(t, image.Attestation{PredicateType: "https://spdx.dev/Document", Content: "z.json", Component: "a@1.0.0"}, plan.Attestations[1])
	require.Equal(t, "https://agentsuite.dev/attestation/binding/v1", plan.Attestations[0].PredicateType)
	var predicate image.BindingPredicate
	require.NoError(t, json.Unmarshal([]byte(plan.Attestations[0].Text), &predicate))
	require.Empty(t, cmp.Diff(image.BindingPredicate{
		Binding:     predicate.Binding,
		SuiteDigest: in.SuiteDigest,
		Images: []image.PredicateImage{
			{Component: "runtime-base", Ref: in.Base.Pin.ImageRef, Digest: in.Base.Pin.Image.Digest},
			{Component: "harness", Ref: in.Harness.Pin.ImageRef, Digest: in.Harness.Pin.Image.Digest},
		},
		Bundles: []image.PredicateBundle{{
			ID: "a", Version: "1.0.0",
			ManifestDigest: in.Selection.Composition.Doc.ToolProviders[0].ManifestDigest,
			VariantDigest:  in.Selection.Composition.Doc.ToolProviders[0].VariantDigest,
		}},
	}, predicate))
	require.Equal(t, plan.Inventory, predicate.Binding.Inventory)

	w.change = withSBOM("text/unheard-of")
	plan = w.plan()
	require.Len(t, plan.Attestations, 1)
	require.Len(t, plan.Warnings, 1)
	require.Equal(t, `the SBOM of a@1.0.0 has the media type "text/unheard-of", which no attestation is known for, so it is not attached; use application/spdx+json or application/vnd.cyclonedx+json`, plan.Warnings[0].Message)

	// Bytes that the suite does not hold cannot be attached, which is no fault.
	w.change = func(in *image.Inputs) {
		in.Selection.Bundles[0].Variant.SBOM = &suite.Descriptor{MediaType: "application/spdx+json", Digest: digest.FromString("elsewhere"), Size: 9}
	}
	plan = w.plan()
	require.Len(t, plan.Attestations, 1)
	require.Empty(t, plan.Warnings)

	w.change, w.provider = nil, true
	plan, in = w.plan(), w.inputs()
	predicate = image.BindingPredicate{}
	require.NoError(t, json.Unmarshal([]byte(plan.Attestations[0].Text), &predicate))
	require.Nil(t, predicate.Binding)
	require.JSONEq(t, string(in.Index.Texts["tool-provider-compositions/x.json"]), string(predicate.ToolProviderComposition))
	require.Len(t, predicate.Images, 1)
}

// A plan is plain data: it survives JSON, and equal inputs give equal plans.
func TestPlanIsData(t *testing.T) {
	w := world{t: t, bundles: []bundle{tool("a"), at("/tmp/<b>", tool("b"))}}
	plan := w.plan()
	text, err := json.Marshal(plan)
	require.NoError(t, err)
	again, err := json.Marshal(w.plan())
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
	var decoded image.Plan
	require.NoError(t, json.Unmarshal(text, &decoded))
	require.Empty(t, cmp.Diff(plan, &decoded))
	require.Less(t, len(text), 16<<10, "a plan holds no payload and no inventory")
}

func TestPlanRefusesProblems(t *testing.T) {
	w := world{t: t, bundles: []bundle{at("/lib/a", tool("a"))}}
	composed, _ := w.compose()
	_, err := image.NewPlan(w.inputs(), composed)
	require.ErrorContains(t, err, "through /lib")
}

// What an image's composition says travels as JSON too.
func TestComposedIsData(t *testing.T) {
	composed, _ := world{t: t, bundles: []bundle{at("/lib/a", tool("a")), tool("b")}, change: func(in *image.Inputs) {
		in.Harness.Config.Config.User = "root"
	}}.compose()
	require.NotEmpty(t, composed.Problems)
	require.NotEmpty(t, composed.Warnings)
	var buf bytes.Buffer
	require.NoError(t, json.NewEncoder(&buf).Encode(composed))
	var decoded image.Composed
	require.NoError(t, json.NewDecoder(&buf).Decode(&decoded))
	require.Empty(t, cmp.Diff(composed, &decoded))
}
