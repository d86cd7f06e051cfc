//go:build integration

package builders_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

const (
	predicateBinding    = image.PredicateTypeBinding
	predicateProvenance = "https://slsa.dev/provenance/v1"
	predicateSPDX       = "https://spdx.dev/Document"
)

// maxProvenanceBytes is the size that a provenance with everything in it stays within: it tells of operations, not of the
// bytes that they move.
const maxProvenanceBytes = 96 << 10

const spdx = `{"spdxVersion":"SPDX-2.3","SPDXID":"SPDXRef-DOCUMENT","dataLicense":"CC0-1.0","name":"of-the-variant",` +
	`"documentNamespace":"https://provider.example/sbom","creationInfo":{"created":"2020-01-01T00:00:00Z","creators":["Tool: author"]}}`

// statement is an in-toto statement about an image.
type statement struct {
	Subject []struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	Predicate json.RawMessage `json:"predicate"`
}

// statements are the statements about an image by predicate type.
func statements(t *testing.T, l testenv.Layout, of testenv.LayoutImage) map[string][]statement {
	t.Helper()
	found := map[string][]statement{}
	if of.Attestations == nil {
		return found
	}
	for _, layer := range of.Attestations.Layers {
		var s statement
		l.JSON(t, layer.Digest, &s)
		kind := layer.Annotations["in-toto.io/predicate-type"]
		found[kind] = append(found[kind], s)
		for _, subject := range s.Subject {
			require.Equal(t, of.Descriptor.Digest.Encoded(), subject.Digest["sha256"], kind)
		}
	}
	return found
}

func counts(found map[string][]statement) map[string]int {
	n := map[string]int{}
	for kind, s := range found {
		n[kind] = len(s)
	}
	return n
}

// scannerImage builds the SBOM scanner and pushes it.
func scannerImage(t *testing.T, b testenv.Builder) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(dir, "scanner"), "./testdata/scanner")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return testenv.Push(t, b.Buildx, example.Registry, "scanner", "FROM scratch\nCOPY scanner /\nENTRYPOINT [\"/scanner\"]\n", dir).Ref()
}

// Whenever a build asks for attestations, every image carries the statement about what it was built from, beside whatever
// was asked for; a build that asks for none has a plain image.
func TestAttestations(t *testing.T) {
	t.Parallel()
	b := example.Builder(t, daemon.BuildkitdOptions{})
	scanner := scannerImage(t, b)
	d := smallDraft(t)
	d.providers[0].sbom = spdx
	d.providers = append(d.providers, provider{id: "plain"})
	dir := d.write(t)
	// A statement's subject is an image by its name.
	both := append(d.contexts(), "--platform", "linux/amd64,linux/arm64", "--tag", "registry.example/builders/agent")

	for _, test := range []struct {
		name string
		args []string
		want map[string]int
	}{
		{"none", []string{"--provenance=false", "--sbom=false"}, map[string]int{}},
		{"default", nil, map[string]int{predicateBinding: 1, predicateSPDX: 1, predicateProvenance: 1}},
		{"sbom alone", []string{"--provenance=false", "--attest", "type=sbom,generator=" + scanner},
			map[string]int{predicateBinding: 1, predicateSPDX: 2}},
		{"everything", []string{"--attest", "type=provenance,mode=max,version=v1", "--attest", "type=sbom,generator=" + scanner},
			map[string]int{predicateBinding: 1, predicateSPDX: 2, predicateProvenance: 1}},
		{"of a tool provider", []string{"--target", "tool@1.0.0"}, map[string]int{predicateBinding: 1, predicateSPDX: 1, predicateProvenance: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := b.BuildLayout(t, dir, append(test.args, both...)...)
			require.Len(t, l.Images, 2)
			for platform, img := range l.Images {
				found := statements(t, l, img)
				require.Equal(t, test.want, counts(found), platform)
				if len(test.want) == 0 {
					continue
				}
				checkBindingStatement(t, found[predicateBinding][0], img, d)
				require.JSONEq(t, spdx, string(ofVariant(t, found[predicateSPDX])))
			}
		})
	}
}

// ofVariant finds the SBOM that the suite holds, and checks that every other one is the scanner's about the image.
func ofVariant(t *testing.T, sboms []statement) (found json.RawMessage) {
	t.Helper()
	for _, s := range sboms {
		if strings.Contains(string(s.Predicate), "of-the-variant") {
			found = s.Predicate
			continue
		}
		require.Contains(t, string(s.Predicate), `"root/tool/bin/tool"`)
		require.Contains(t, string(s.Predicate), `".agentsuite/inventory.json"`)
	}
	return found
}

func checkBindingStatement(t *testing.T, s statement, img testenv.LayoutImage, d draft) {
	t.Helper()
	require.NotEmpty(t, s.Subject, "an image's name")
	var predicate image.BindingPredicate
	require.NoError(t, json.Unmarshal(s.Predicate, &predicate))
	labels := img.Config.Config.Labels
	require.Equal(t, labels["org.agentsuite.suite.digest"], predicate.SuiteDigest.String())
	require.Equal(t, baseName, strings.Split(predicate.Images[0].Ref, "@")[0])
	require.Equal(t, img.Manifest.Annotations["org.opencontainers.image.base.digest"], predicate.Images[0].Digest.String())
	if composition := predicate.ToolProviderComposition; composition != nil {
		require.Nil(t, predicate.Binding)
		require.Len(t, predicate.Images, 1)
		require.Len(t, predicate.Bundles, 1)
		require.Contains(t, string(composition), `"id":"tool"`)
		return
	}
	require.Equal(t, harnessName, strings.Split(predicate.Images[1].Ref, "@")[0])
	require.Len(t, predicate.Bundles, len(d.providers))
	require.Equal(t, labels["org.agentsuite.inventory.digest"], predicate.Binding.Inventory.Digest.String())
	require.Equal(t, labels["org.agentsuite.composition.digest"], predicate.Binding.Composition.Digest.String())
	binding, err := json.Marshal(predicate.Binding)
	require.NoError(t, err)
	canonical, err := canonicalJSON(binding)
	require.NoError(t, err)
	require.Equal(t, labels["org.agentsuite.binding.digest"], digest.FromBytes(canonical).String())
}

// The provenance of a build tells where everything came from, and holds neither the bytes of a payload nor the inventory,
// however many entries a base has.
func TestProvenanceStaysSmall(t *testing.T) {
	t.Parallel()
	b := example.Builder(t, daemon.BuildkitdOptions{})
	const marker = "never-in-a-provenance"
	sizes := map[string]int{}
	for name, entries := range map[string]int{"small": 10, "large": 20_000} {
		var files []ocitest.Entry
		for i := range entries {
			files = append(files, ocitest.File("srv/"+marker+"-"+strconv.Itoa(i), 0o644, ""))
		}
		d := smallDraft(t)
		d.base = smallBase(t, ocitest.NewLayer(t, append([]ocitest.Entry{ocitest.Directory("srv", 0o755)}, files...)...))
		d.providers[0].files = map[string]string{"data": strings.Repeat(marker+" ", entries)}
		l := b.BuildLayout(t, d.write(t), append(d.contexts(), "--attest", "type=provenance,mode=max")...)
		for _, img := range l.Images {
			found := statements(t, l, img)[predicateProvenance]
			require.Len(t, found, 1)
			text := string(found[0].Predicate)
			require.Less(t, len(text), maxProvenanceBytes, name)
			require.NotContains(t, text, marker, name)
			for _, decoded := range base64Strings(t, found[0].Predicate) {
				require.NotContains(t, decoded, marker, name)
			}
			for _, pinned := range []string{
				baseName + "@" + img.Manifest.Annotations[ocispecs.AnnotationBaseImageDigest],
			} {
				require.Contains(t, text, strings.TrimPrefix(pinned, baseName+"@sha256:"), "the base is among the materials")
			}
			sizes[name] = len(text)
		}
	}
	require.InDelta(t, sizes["small"], sizes["large"], 256, "its size does not depend on the filesystem's")
	t.Logf("a provenance with mode=max has %d bytes", sizes["large"])
}

// base64Strings are all strings in a JSON value that are base64, decoded.
func base64Strings(t *testing.T, text []byte) (decoded []string) {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(text, &value))
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, element := range v {
				walk(element)
			}
		case string:
			if raw, err := base64.StdEncoding.DecodeString(v); err == nil {
				decoded = append(decoded, string(raw))
			}
		}
	}
	walk(value)
	require.NotEmpty(t, decoded, "the operations' bytes are among them")
	return decoded
}

// Labels and annotations that a build is given stand beside ours.
func TestLabelsAndAnnotations(t *testing.T) {
	t.Parallel()
	b := example.Builder(t, daemon.BuildkitdOptions{})
	d := smallDraft(t)
	l := b.BuildLayout(t, d.write(t), append(d.contexts(), "--platform", "linux/amd64,linux/arm64",
		"--label", "com.example.team=writers", "--annotation", "manifest:com.example.note=hello", "--annotation", "index:com.example.index=all",
	)...)
	var index ocispecs.Index
	l.JSON(t, l.Digest, &index)
	require.Equal(t, "all", index.Annotations["com.example.index"])
	require.Len(t, l.Images, 2)
	for platform, img := range l.Images {
		labels := img.Config.Config.Labels
		require.Equal(t, "writers", labels["com.example.team"], platform)
		require.Equal(t, "agent", labels["org.agentsuite.agent"], platform)
		require.Equal(t, map[string]string{
			"com.example.note":                 "hello",
			ocispecs.AnnotationBaseImageName:   baseName,
			ocispecs.AnnotationBaseImageDigest: img.Manifest.Annotations[ocispecs.AnnotationBaseImageDigest],
		}, img.Manifest.Annotations, platform)
		require.NotEmpty(t, img.Manifest.Annotations[ocispecs.AnnotationBaseImageDigest], platform)
	}

	// A label of the base is no label of the image.
	var config dockerspec.DockerOCIImage
	config.Config.Labels = map[string]string{"of.the.base": "x", "org.agentsuite.agent": "other"}
	d.base = pinImage(t, config, ocitest.NewLayer(t, ocitest.Directory("root", 0o700)))
	img := b.BuildLayout(t, d.write(t), d.contexts()...).Images["linux/amd64"]
	require.NotContains(t, img.Config.Config.Labels, "of.the.base")
	require.Equal(t, "agent", img.Config.Config.Labels["org.agentsuite.agent"])
}
