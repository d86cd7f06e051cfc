package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// tree is a label with what belongs to it below.
type tree struct {
	label    string
	branches []*tree
}

// add adds a branch and returns it.
func (t *tree) add(format string, args ...any) *tree {
	branch := &tree{label: problem.Printable(fmt.Sprintf(format, args...))}
	t.branches = append(t.branches, branch)
	return branch
}

func (t *tree) print(w io.Writer) {
	fmt.Fprintln(w, t.label)
	t.printBranches(w, "")
}

func (t *tree) printBranches(w io.Writer, indent string) {
	for i, branch := range t.branches {
		edge, below := "├─ ", "│  "
		if i == len(t.branches)-1 {
			edge, below = "└─ ", "   "
		}
		fmt.Fprintln(w, indent+edge+branch.label)
		branch.printBranches(w, indent+below)
	}
}

// tree shows a plan to people.
func (p planned) tree() *tree {
	t := &tree{label: fmt.Sprintf("%s %s", p.Target, p.Platform)}
	t.add("suite %s", p.SuiteDigest)
	t.add("source epoch %d (%s)", p.SourceEpoch, time.Unix(p.SourceEpoch, 0).UTC().Format(time.RFC3339))
	p.addLayers(t.add("layers"))
	p.addInventory(t.add("inventory %s, %s", p.Inventory.Digest, problem.Counted(len(p.inventory.Entries), "entry")))
	if p.Binding != nil {
		t.add("binding %s", p.Binding.Digest)
	}
	p.addConfig(t.add("config"))
	attestations := t.add("attestations")
	for _, a := range p.Attestations {
		attestations.add("%s", strings.TrimSpace(a.PredicateType+" "+a.Component))
	}
	return t
}

func (p planned) addLayers(t *tree) {
	for _, layer := range p.Layers {
		switch layer.Kind {
		case image.LayerRuntimeBase, image.LayerHarnessStacked:
			t.add("%s: %s, untouched", layer.Name, problem.Counted(len(layer.DiffIDs), "layer"))
		case image.LayerHarnessBeside:
			t.add("%s: copied into one layer", layer.Name)
		case image.LayerBundles:
			branch := t.add("%s", layer.Name)
			for _, b := range layer.Bundles {
				branch.add("%s at %s: %s, %s", b.Component, b.InstallRoot, problem.Counted(b.Entries, "entry"), bytesize(b.Size))
			}
		case image.LayerMetadata:
			branch := t.add("%s: %s", layer.Name, problem.Counted(len(layer.Files), "file"))
			for _, f := range layer.Files {
				branch.add("/%s, %s", strings.TrimPrefix(f.Path, "/"), bytesize(f.Size))
			}
			for _, e := range layer.Restored {
				branch.add("/%s restored to mode %04o, owner %d:%d", e.Path, e.Mode, e.UID, e.GID)
			}
		}
	}
}

// addInventory summarises the final inventory by component, in the order of the layers.
func (p planned) addInventory(t *tree) {
	type sum struct {
		entries int
		bytes   int64
	}
	sums := map[string]sum{}
	var order []string
	for _, e := range p.inventory.Entries {
		s, known := sums[e.Component]
		if !known {
			order = append(order, e.Component)
		}
		s.entries++
		if e.Type == content.File {
			s.bytes += e.Size
		}
		sums[e.Component] = s
	}
	slices.Sort(order)
	for _, component := range order {
		t.add("%s: %s, %s", component, problem.Counted(sums[component].entries, "entry"), bytesize(sums[component].bytes))
	}
}

func (p planned) addConfig(t *tree) {
	config := p.Config.Config
	t.add("user %s", config.User)
	for _, words := range []struct {
		name  string
		words []string
	}{{"entrypoint", config.Entrypoint}, {"command", config.Cmd}} {
		if len(words.words) > 0 {
			t.add("%s %q", words.name, words.words)
		}
	}
	t.add("working directory %s", config.WorkingDir)
	for _, variable := range config.Env {
		// A value in an image is public, but a plan is pasted into more places than an image.
		name, _, _ := strings.Cut(variable, "=")
		t.add("environment %s", name)
	}
	for _, volume := range slices.Sorted(maps.Keys(config.Volumes)) {
		t.add("writable %s", volume)
	}
	for _, name := range slices.Sorted(maps.Keys(config.Labels)) {
		t.add("label %s=%s", name, config.Labels[name])
	}
}

// bytesize renders a number of bytes for people.
func bytesize(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1000, "kMGT"
	for size >= 999.95 && len(unit) > 1 {
		size, unit = size/1000, unit[1:]
	}
	return fmt.Sprintf("%.1f %cB", size, unit[0])
}
