package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// buildkitModule is the module whose version tells which BuildKit this program was written for.
const buildkitModule = "github.com/moby/buildkit"

// versions is what the version command prints.
type versions struct {
	Version  string `json:"version"`
	Spec     string `json:"spec"`
	BuildKit string `json:"buildkit"`
	Go       string `json:"go"`
}

// currentVersions reads the versions that the Go toolchain built in.
func currentVersions() versions {
	v := versions{Version: "(unknown)", Spec: suite.SpecVersion, BuildKit: "(unknown)", Go: "(unknown)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version, v.Go = info.Main.Version, info.GoVersion
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, module := range info.Deps {
		if module.Path == buildkitModule {
			v.BuildKit = module.Version
		}
	}
	return v
}

func newVersionCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program, the specification and BuildKit",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse(cmd, "no argument is expected, but there is %s", problem.Quoted(args[0]))
			}
			return nil
		},
	}
	format := addFormatFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		v := currentVersions()
		if format.value == "json" {
			return s.printJSON(v)
		}
		_, err := fmt.Fprintf(s.out, "%s %s\nAgentSuite %s\nBuildKit   %s\nGo         %s\n", programName, v.Version, v.Spec, v.BuildKit, v.Go)
		return err
	}
	return cmd
}
