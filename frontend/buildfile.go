package frontend

import (
	"context"
	"fmt"
	"path"

	"github.com/moby/buildkit/frontend/dockerui"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

const filenameOption = "filename"

// checkBuildFile refuses a build file that does more than name this frontend: whatever else stood there
// would be silently without effect. Reading the suite checks those that lie beside it; a build may name
// another with --file.
func (b *build) checkBuildFile(ctx context.Context) error {
	name := b.docker.BuildOpts().Opts[filenameOption]
	if path.Base(name) == suite.ManifestPath {
		return nil
	}
	// Reading an entry file makes a client prefer the .dockerignore beside that file, and a suite has but
	// one: so another client reads it.
	docker, err := dockerui.NewClient(b.solver.client)
	if err != nil {
		return fmt.Errorf("reading the build's options: %w", err)
	}
	file, err := docker.ReadEntrypoint(ctx, "Dockerfile")
	if err != nil {
		return fmt.Errorf("reading the build file: %w", err)
	}
	if wrong := content.CheckBuildFile(file.Data); wrong != nil {
		return problem.AsError([]problem.Problem{problem.New(problem.BuildFile, problem.Place{Path: file.Filename},
			"the build file is refused: %v; expected a \"# syntax=\" line and nothing else but blank lines and comments", wrong)})
	}
	return nil
}
