// Command frontend is the program of the frontend image: BuildKit runs it without arguments to build,
// and the builds that it emits run it as "frontend tool NAME".
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/moby/buildkit/frontend/gateway/grpcclient"
	"github.com/moby/buildkit/util/appcontext"

	"github.com/agentsuite/agentsuite-llb/frontend"
	"github.com/agentsuite/agentsuite-llb/llb/tool"
)

// ballastBytes is how much garbage may lie before collecting it begins: this program does one thing and ends, most often
// long before that.
const ballastBytes = 64 << 20

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "frontend:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	// Memory that is never touched is none, but counts in what the collector's pace is measured by.
	ballast := make([]byte, ballastBytes)
	defer runtime.KeepAlive(ballast)
	ctx := appcontext.Context()
	switch {
	case len(args) == 0:
		return grpcclient.RunFromEnvironment(ctx, frontend.Build)
	case args[0] == "tool":
		return tool.Run(ctx, args[1:])
	}
	return fmt.Errorf("unknown argument %q: BuildKit runs this program without arguments, its builds run it as \"frontend tool NAME\"", args[0])
}
