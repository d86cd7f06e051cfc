package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

func newPlanCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan PATH",
		Short: "Show what the images of a suite will hold",
		Long: `Show what the image of an agent or a tool provider will hold on each platform: its layers, a summary of the final
inventory, the binding, and the config. Nothing is built, and no daemon is needed; the pinned images are read from their
registries, or from where --build-context says that they lie.`,
		Example: `  agentsuite-llb plan ./suite --target writer
  agentsuite-llb plan ./suite --platform linux/arm64 --format json | jq '.plans[0].layers[].name'
  agentsuite-llb plan ./suite --build-context registry.example/base=oci-layout://build/base`,
		Args: oneArgument("give the suite to plan the images of, " + suiteForms),
	}
	target := addTargetFlag(cmd)
	platforms := cmd.Flags().StringSlice("platform", nil, "platforms to plan for (default: all that the target has a composition for)")
	places := addContextFlag(cmd)
	labels := addLabelFlag(cmd)
	format := addFormatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p := planner{}
		var err error
		if p.contexts, err = parseContexts(cmd, *places); err != nil {
			return err
		}
		if p.labels, err = parsePairs(cmd, "label", *labels); err != nil {
			return err
		}
		wanted, err := parsePlatforms(cmd, "platform", *platforms...)
		if err != nil {
			return err
		}
		plans, err := p.plans(cmd.Context(), s, args[0], *target, wanted)
		if err != nil {
			return err
		}
		if format.value == "json" {
			return s.printJSON(planJSON{Valid: true, Plans: bare(plans)})
		}
		for _, plan := range plans {
			s.messages().printProblems(suite.NewExcerpts(s.index, nil, plan.Warnings), nil, plan.Warnings)
			plan.tree().print(s.results())
		}
		return nil
	}
	return cmd
}

// planJSON is the result of planning for programs.
type planJSON struct {
	Valid bool          `json:"valid"`
	Plans []*image.Plan `json:"plans"`
}

func bare(plans []planned) []*image.Plan {
	list := make([]*image.Plan, len(plans))
	for i, p := range plans {
		list[i] = p.Plan
	}
	return list
}

// planned is a plan with the inventory that composing made.
type planned struct {
	*image.Plan
	inputs    image.Inputs
	inventory image.Inventory
}

// planner plans images without a daemon.
type planner struct {
	contexts contexts
	labels   map[string]string
}

// plans plans the images of a target for each platform.
func (p planner) plans(ctx context.Context, s *streams, path, target string, platforms []suite.Platform) (_ []planned, err error) {
	scratch, err := os.MkdirTemp("", programName+"-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	extracted := filepath.Join(scratch, "content")
	index, graph, _, err := s.validSuite(ctx, path, content.Options{Digest: true, Extract: extracted})
	if err != nil {
		return nil, err
	}
	dir := path
	if index.Form != content.FormDirectory {
		dir = extracted
	}
	if len(platforms) == 0 {
		found, err := graph.Target(target)
		if err != nil {
			return nil, err
		}
		platforms = found.Platforms
	}
	objects, err := image.ScanContent(ctx, dir, index)
	if err != nil {
		return nil, err
	}
	var plans []planned
	for _, platform := range platforms {
		selection, err := graph.Select(target, platform)
		if err != nil {
			return nil, err
		}
		plan, err := p.plan(ctx, image.Inputs{
			Selection: selection, Index: index, SuiteDigest: index.SuiteDigest, Objects: objects, Labels: p.labels,
		})
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

// plan reads the pinned images of a selection, which completes the inputs, and plans the image.
func (p planner) plan(ctx context.Context, in image.Inputs) (planned, error) {
	var (
		scans image.Scans
		err   error
	)
	if in.Base, scans.Base, err = p.read(ctx, "runtime base", in.Selection.RuntimeBase); err != nil {
		return planned{}, err
	}
	if pin := in.Selection.Harness; pin != nil {
		var harness image.Source
		if harness, scans.Harness, err = p.read(ctx, "harness", *pin); err != nil {
			return planned{}, err
		}
		in.Harness = &harness
	}
	recipe, err := image.NewRecipe(in)
	if err != nil {
		return planned{}, err
	}
	composed, text, err := image.Compose(ctx, recipe, scans)
	if err != nil {
		return planned{}, err
	}
	plan, err := image.NewPlan(in, composed)
	if err != nil {
		return planned{}, err
	}
	result := planned{Plan: plan, inputs: in}
	return result, json.Unmarshal(text, &result.inventory)
}

// read reads the config and the filesystem of a pinned image from where it lies.
func (p planner) read(ctx context.Context, role string, pin suite.BaseImage) (_ image.Source, _ *image.Scan, err error) {
	place := p.contexts.place(pin)
	defer func() {
		switch {
		case err != nil && place == "":
			err = fmt.Errorf("reading the %s: %w; if it does not lie there, say where with --build-context %s=oci-layout://DIR", role, err, image.Repository(pin))
		case err != nil:
			err = fmt.Errorf("reading the %s: %w", role, err)
		}
	}()
	pinned, err := ociimage.Pinned(ctx, pin, place, ociimage.Options{})
	if err != nil {
		return image.Source{}, nil, err
	}
	defer func() { err = errors.Join(err, pinned.Close()) }()
	rootfs, err := pinned.Flatten(ctx, ociimage.Keep{})
	if err != nil {
		return image.Source{}, nil, err
	}
	return image.Source{Pin: pin, Config: pinned.Config}, rootfs.Scan, nil
}
