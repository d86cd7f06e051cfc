package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The identity and the tool that suite/tool-providers declares for this server.
const (
	providerID      = "datetime"
	providerVersion = "1.0.0"

	toolName        = "current_time"
	toolDescription = "Returns the current time in UTC, in RFC 3339 form."
)

// The server offers the very schema files that the suite declares, so that the
// contract and its implementation cannot drift apart.
var (
	//go:embed suite/tool-providers/datetime/1.0.0/schemas/current_time.input.json
	inputSchema json.RawMessage
	//go:embed suite/tool-providers/datetime/1.0.0/schemas/current_time.output.json
	outputSchema json.RawMessage
)

// timeInput has no members: the input schema is a closed empty object.
type timeInput struct{}

// timeOutput is the structured result of current_time.
type timeOutput struct {
	// UTC is in RFC 3339 form with whole seconds and the zone written Z.
	UTC string `json:"utc"`
}

// newServer returns the MCP server. Every call of its tool asks now.
func newServer(now func() time.Time) *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: providerID, Version: providerVersion},
		// Without this the SDK would announce a logging capability.
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}},
	)
	closedWorld := false
	mcp.AddTool(server, &mcp.Tool{
		Name:         toolName,
		Description:  toolDescription,
		InputSchema:  inputSchema,
		OutputSchema: outputSchema,
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closedWorld},
	}, func(context.Context, *mcp.CallToolRequest, timeInput) (*mcp.CallToolResult, timeOutput, error) {
		return nil, timeOutput{UTC: now().UTC().Format(time.RFC3339)}, nil
	})
	return server
}
