package image

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// labelPrefix begins the labels that say what an image was made of. They are the builder's alone.
const labelPrefix = "org.agentsuite."

// Labels of an image config.
const (
	LabelSuiteDigest                   = labelPrefix + "suite.digest"
	LabelBuildProfile                  = labelPrefix + "build-profile"
	LabelInventoryDigest               = labelPrefix + "inventory.digest"
	LabelBindingDigest                 = labelPrefix + "binding.digest"
	LabelAgent                         = labelPrefix + "agent"
	LabelCompositionDigest             = labelPrefix + "composition.digest"
	LabelToolProvider                  = labelPrefix + "tool-provider"
	LabelToolProviderCompositionDigest = labelPrefix + "tool-provider-composition.digest"
)

// Stacked tells whether a harness is the runtime base plus layers of its own: the diff ids of the base
// are the first ones of the harness. A base without layers is no base to be stacked on.
func Stacked(base, harness []digest.Digest) bool {
	return len(base) > 0 && len(base) <= len(harness) && slices.Equal(base, harness[:len(base)])
}

// derived is the image that the config is derived from.
func (in Inputs) derived() Source {
	if in.Harness != nil {
		return *in.Harness
	}
	return in.Base
}

// configProblems checks that the pinned images' configs can be derived from.
func configProblems(in Inputs, places *places) []problem.Problem {
	var problems []problem.Problem
	platform := in.Selection.Platform
	check := func(s Source, at problem.Place) {
		if got := (suite.Platform{OS: s.Config.OS, Architecture: s.Config.Architecture}); got != platform {
			problems = append(problems, problem.New(problem.ImageConfig, at,
				"%s is an image for %s, it is pinned for %s; pin the manifest of that platform", s.Pin.ImageRef, got, platform))
		}
	}
	check(in.Base, places.basePin())
	if in.Harness == nil {
		return problems
	}
	at := places.derivedPin()
	check(*in.Harness, at)
	if c := in.Harness.Config.Config; len(c.Entrypoint)+len(c.Cmd) == 0 {
		problems = append(problems, problem.New(problem.ImageProcess, at,
			"the config of the harness %s has neither an entrypoint nor a command, so nothing would run the agent; "+
				"build the harness with one", in.Harness.Pin.ImageRef))
	}
	return problems
}

// process is what an image runs, by its config.
type process struct {
	entrypoint, cmd, env []string
	dir                  string
}

func newProcess(in Inputs) process {
	c := in.derived().Config.Config
	p := process{entrypoint: c.Entrypoint, cmd: c.Cmd, env: slices.Clone(c.Env), dir: c.WorkingDir}
	if !path.IsAbs(p.dir) {
		p.dir = path.Join("/", p.dir)
	}
	if in.Harness == nil {
		v := in.Selection.Bundles[0].Variant
		p.entrypoint, p.cmd = append([]string{v.Entrypoint}, v.Arguments...), nil
	} else if !in.stacked() {
		p.env = mergeEnv(in.Base.Config.Config.Env, c.Env)
	}
	return p
}

// args is the whole command line.
func (p process) args() []string { return slices.Concat(p.entrypoint, p.cmd) }

// mergeEnv joins environments by name: a later value takes the place of an earlier one.
func mergeEnv(envs ...[]string) []string {
	var merged []string
	at := map[string]int{}
	for _, variable := range slices.Concat(envs...) {
		name, _, _ := strings.Cut(variable, "=")
		if i, ok := at[name]; ok {
			merged[i] = variable
			continue
		}
		at[name] = len(merged)
		merged = append(merged, variable)
	}
	return merged
}

// writablePaths is the union of the writable paths of the bundles, sorted, which puts a path before
// those below it.
func writablePaths(in Inputs) []string {
	var paths []string
	for _, b := range in.Selection.Bundles {
		paths = append(paths, b.Variant.WritablePaths...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// newConfig derives the config of the image from those of its inputs. The diff ids are left to whoever
// makes the layers.
func newConfig(in Inputs, user User, layers []Layer, labels map[string]string) dockerspec.DockerOCIImage {
	from := in.derived().Config.Config
	p := newProcess(in)
	created := epochTime(in)
	image := dockerspec.DockerOCIImage{
		Image: ocispec.Image{
			Created:  &created,
			Platform: ocispec.Platform{OS: in.Selection.Platform.OS, Architecture: in.Selection.Platform.Architecture},
			RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{}},
			History:  newHistory(in, layers),
		},
		Config: dockerspec.DockerOCIImageConfig{
			ImageConfig: ocispec.ImageConfig{
				User:         user.String(),
				ExposedPorts: maps.Clone(from.ExposedPorts),
				Env:          p.env,
				Entrypoint:   p.entrypoint,
				Cmd:          p.cmd,
				WorkingDir:   p.dir,
				Labels:       labels,
				StopSignal:   from.StopSignal,
			},
		},
	}
	for _, w := range writablePaths(in) {
		if image.Config.Volumes == nil {
			image.Config.Volumes = map[string]struct{}{}
		}
		image.Config.Volumes[w] = struct{}{}
	}
	if from.Healthcheck != nil {
		check := *from.Healthcheck
		image.Config.Healthcheck = &check
	}
	return image
}

func epochTime(in Inputs) time.Time {
	return time.Unix(in.Selection.Profile.Doc.SourceEpoch, 0).UTC()
}

// newHistory lists how every layer came about, one non-empty entry a layer. It is never left to the
// exporter, which would describe equal builds differently.
func newHistory(in Inputs, layers []Layer) []ocispec.History {
	bottom := in.Base
	if in.stacked() {
		bottom = *in.Harness
	}
	created := epochTime(in)
	history := imageHistory(bottom, created)
	for _, l := range layers {
		if l.Kind == LayerRuntimeBase || l.Kind == LayerHarnessStacked {
			continue
		}
		history = append(history, ocispec.History{Created: &created, CreatedBy: historyPrefix + l.Name})
	}
	return history
}

const historyPrefix = "agentsuite-llb: "

// imageHistory is a pinned image's own history as it is, if it explains the image's layers, else one
// entry a layer.
func imageHistory(s Source, created time.Time) []ocispec.History {
	layers := s.Config.RootFS.DiffIDs
	stated := 0
	for _, h := range s.Config.History {
		if !h.EmptyLayer {
			stated++
		}
	}
	if stated == len(layers) {
		return slices.Clone(s.Config.History)
	}
	history := make([]ocispec.History, len(layers))
	for i, layer := range layers {
		history[i] = ocispec.History{Created: &created, CreatedBy: fmt.Sprintf("%s%s layer %s", historyPrefix, s.Pin.ImageRef, layer)}
	}
	return history
}

// CheckLabels finds the labels that are not for the person who builds to set.
func CheckLabels(labels map[string]string) []problem.Problem {
	var problems []problem.Problem
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if strings.HasPrefix(name, labelPrefix) {
			problems = append(problems, problem.New(problem.LabelReserved, problem.Place{},
				"the label %s is one of those that say what the image was made of; leave it to the builder", problem.Quoted(name)))
		}
	}
	return problems
}

// newLabels are the labels of the image. binding is empty for a tool provider image.
func newLabels(in Inputs, inventory, binding digest.Digest) map[string]string {
	sel := in.Selection
	labels := map[string]string{}
	maps.Copy(labels, in.Labels)
	labels[LabelSuiteDigest] = in.SuiteDigest.String()
	labels[LabelBuildProfile] = sel.Profile.Doc.ID
	labels[LabelInventoryDigest] = inventory.String()
	if sel.Agent != nil {
		labels[LabelBindingDigest] = binding.String()
		labels[LabelAgent] = sel.Agent.Doc.ID
		labels[LabelCompositionDigest] = sel.Composition.Digest.String()
	} else {
		labels[LabelToolProvider] = sel.Target
		labels[LabelToolProviderCompositionDigest] = sel.ToolProviderComposition.Digest.String()
	}
	return labels
}

// newAnnotations are the annotations of the image manifest. They name the runtime base, which is what
// scanners look for below an application.
func newAnnotations(in Inputs) map[string]string {
	return map[string]string{
		ocispec.AnnotationBaseImageName:   Repository(in.Selection.RuntimeBase),
		ocispec.AnnotationBaseImageDigest: in.Selection.RuntimeBase.Image.Digest.String(),
	}
}
