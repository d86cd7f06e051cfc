// Command datetime is the tool provider datetime@1.0.0 of the example suite
// beside it: an MCP server over stdio whose only tool, current_time, tells the
// time in UTC.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A client ends the session by closing our standard input, or by a signal;
	// neither is a failure.
	err := newServer(time.Now).Run(ctx, &mcp.StdioTransport{})
	interrupted := ctx.Err() != nil
	stop()
	if err != nil && !interrupted {
		fmt.Fprintln(os.Stderr, "datetime:", err)
		os.Exit(1)
	}
}
