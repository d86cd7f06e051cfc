package main

import (
	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/llb/tool"
)

// newToolCommand is how this program serves as the tool of a build that it started itself.
func newToolCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "tool NAME",
		Short:  "Run a step of a build inside the build",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE:   func(cmd *cobra.Command, args []string) error { return tool.Run(cmd.Context(), args) },
	}
}
