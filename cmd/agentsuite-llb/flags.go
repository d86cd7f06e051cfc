package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// This file holds the flags that several commands have, so that each is spelt, explained and read alike.

// choice is a flag that takes one of several words.
type choice struct {
	value string
	among []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.among, "|") }

func (c *choice) Set(value string) error {
	if slices.Contains(c.among, value) {
		c.value = value
		return nil
	}
	if meant, ok := problem.Suggest(value, c.among); ok {
		return fmt.Errorf("did you mean %s? There are %s", meant, strings.Join(c.among, ", "))
	}
	return fmt.Errorf("there are %s", strings.Join(c.among, ", "))
}

// addFormatFlag gives a command --format text|json.
func addFormatFlag(cmd *cobra.Command) *choice {
	format := &choice{value: "text", among: []string{"text", "json"}}
	cmd.Flags().Var(format, "format", "what to print: text for people, or one JSON document for programs, also on failure")
	complete(cmd, "format", format.among)
	return format
}

func complete(cmd *cobra.Command, flag string, words []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was just added
	}
}

// addTargetFlag gives a command --target.
func addTargetFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("target", "", "agent, or id@version of a tool provider (default: the only agent)")
}

// addLabelFlag gives a command --label, which parsePairs reads.
func addLabelFlag(cmd *cobra.Command) *[]string {
	return cmd.Flags().StringArray("label", nil, "`NAME=VALUE` to add to the image's labels")
}

// parsePairs reads the values of a flag that are NAME=VALUE.
func parsePairs(cmd *cobra.Command, flag string, values []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, text := range values {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, misuse(cmd, "--%s %s is not NAME=VALUE", flag, problem.Quoted(text))
		}
		pairs[name] = value
	}
	return pairs, nil
}

// parsePlatforms reads the values of a flag that are platforms of this draft.
func parsePlatforms(cmd *cobra.Command, flag string, values ...string) ([]suite.Platform, error) {
	var platforms []suite.Platform
	for _, value := range values {
		system, architecture, _ := strings.Cut(value, "/")
		platform := suite.Platform{OS: system, Architecture: architecture}
		if !slices.Contains(suite.Platforms(), platform) {
			return nil, misuse(cmd, "--%s %s is neither linux/amd64 nor linux/arm64", flag, problem.Quoted(value))
		}
		if !slices.Contains(platforms, platform) {
			platforms = append(platforms, platform)
		}
	}
	return platforms, nil
}

// contexts say where pinned images lie.
type contexts []image.Context

// addContextFlag gives a command --build-context, which parseContexts reads.
func addContextFlag(cmd *cobra.Command) *[]string {
	return cmd.Flags().StringArray("build-context", nil, "where a pinned image lies: `REPOSITORY=oci-layout://DIR` or =docker-image://REPOSITORY")
}

func parseContexts(cmd *cobra.Command, values []string) (contexts, error) {
	var parsed contexts
	for _, value := range values {
		name, place, _ := strings.Cut(value, "=")
		context, err := image.ParseContext(name, place)
		if err != nil || context.Scheme != image.ContextLayout && context.Scheme != image.ContextRepository {
			return nil, misuse(cmd, "--build-context %s is neither REPOSITORY=oci-layout://DIR nor REPOSITORY=docker-image://REPOSITORY", problem.Quoted(value))
		}
		parsed = append(parsed, context)
	}
	return parsed, nil
}

// place returns where a pinned image lies; nothing for its own registry.
func (c contexts) place(pin suite.BaseImage) string {
	if context := image.FindContext(c, pin); context != nil {
		return context.Place()
	}
	return ""
}
