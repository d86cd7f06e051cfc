// Command frontend is the program of the frontend image: BuildKit runs it without arguments to build,
// and the builds that it emits run it as "frontend tool NAME".
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/moby/buildkit/frontend/gateway/grpcclient"
	"github.com/moby/buildkit/util/appcontext"

	"github.com/agentsuite/agentsuite-llb/frontend"
	"github.com/agentsuite/agentsuite-llb/llb/tool"
)

// A process that ends soon lets its garbage lie. frontendBytes is what the frontend then keeps to: the largest
// suite needs about half of it, and a builder may run many frontends at once. A tool is alone with a large filesystem
// and knows no bound, but begins to collect when ballastBytes are full.
const (
	frontendBytes = 100 << 20
	ballastBytes  = 64 << 20
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "frontend:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx := appcontext.Context()
	switch {
	case len(args) == 0:
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(frontendBytes)
		return grpcclient.RunFromEnvironment(ctx, frontend.Build)
	case args[0] == "tool":
		// Memory that is never touched is none, but counts in what the collector's pace is measured by.
		ballast := make([]byte, ballastBytes)
		defer runtime.KeepAlive(ballast)
		return tool.Run(ctx, args[1:])
	}
	return fmt.Errorf("unknown argument %q: BuildKit runs this program without arguments, its builds run it as \"frontend tool NAME\"", args[0])
}
