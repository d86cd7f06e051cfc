package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// asServer makes the test binary, started again with it in its environment,
// run the real main.
const asServer = "DATETIME_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func connect(t *testing.T, transport mcp.Transport, revision string) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	return session
}

func inMemory(t *testing.T, now func() time.Time) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	serverSession, err := newServer(now).Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	session := connect(t, ours, "")
	t.Cleanup(func() {
		require.NoError(t, session.Close())
		require.NoError(t, serverSession.Wait())
	})
	return session
}

func TestCurrentTimeAnswersInUTC(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("UTC-05:30", -(5*3600 + 30*60))
	for name, tc := range map[string]struct {
		now  time.Time
		want string
	}{
		"another zone becomes UTC":    {time.Date(2026, 2, 28, 20, 4, 5, 0, zone), "2026-03-01T01:34:05Z"},
		"parts of seconds are let go": {time.Date(2026, 2, 28, 23, 59, 59, 999_999_999, time.UTC), "2026-02-28T23:59:59Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := inMemory(t, func() time.Time { return tc.now })
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: toolName})
			require.NoError(t, err)
			require.False(t, result.IsError)
			require.Equal(t, map[string]any{"utc": tc.want}, result.StructuredContent)
		})
	}
}

func TestCurrentTimeRefusesArguments(t *testing.T) {
	t.Parallel()
	session := inMemory(t, time.Now)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: toolName, Arguments: map[string]any{"zone": "Asia/Tokyo"},
	})
	require.NoError(t, err)
	require.True(t, result.IsError, "the input schema is closed")
}

// The server and the suite that ships it must promise the same.
func TestServerKeepsItsContract(t *testing.T) {
	t.Parallel()
	type schemaRef struct{ Path string }
	var contract struct {
		ID, Version, Revision string
		Tools                 []struct {
			Name, Description         string
			InputSchema, OutputSchema schemaRef
		}
	}
	suiteDir := "suite"
	readJSON(t, filepath.Join(suiteDir, "tool-providers/datetime/1.0.0/tool-provider.json"), &contract)
	schema := func(ref schemaRef) (value any) {
		readJSON(t, filepath.Join(suiteDir, ref.Path), &value)
		return value
	}

	session := childProcess(t, contract.Revision)
	require.Equal(t, contract.Revision, session.InitializeResult().ProtocolVersion)
	require.Equal(t, contract.ID, session.InitializeResult().ServerInfo.Name)
	require.Equal(t, contract.Version, session.InitializeResult().ServerInfo.Version)

	offered, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, offered.Tools, len(contract.Tools))
	for i, declared := range contract.Tools {
		require.Equal(t, declared.Name, offered.Tools[i].Name)
		require.Equal(t, declared.Description, offered.Tools[i].Description)
		require.Equal(t, schema(declared.InputSchema), offered.Tools[i].InputSchema)
		require.Equal(t, schema(declared.OutputSchema), offered.Tools[i].OutputSchema)
	}
}

func TestChildProcessAnswersOverStdio(t *testing.T) {
	t.Parallel()
	session := childProcess(t, "")
	before := time.Now().Truncate(time.Second)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: toolName})
	after := time.Now()
	require.NoError(t, err)
	require.False(t, result.IsError)

	utc, _ := result.StructuredContent.(map[string]any)["utc"].(string)
	answered, err := time.Parse(time.RFC3339, utc)
	require.NoError(t, err)
	require.False(t, answered.Before(before), "%s is before the call at %s", answered, before)
	require.False(t, answered.After(after), "%s is after the answer at %s", answered, after)
}

// childProcess starts main as a process of its own; the process must end well
// when the session is closed.
func childProcess(t *testing.T, revision string) *mcp.ClientSession {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(executable)
	cmd.Env = []string{asServer + "=1"}
	cmd.Stderr = t.Output()
	session := connect(t, &mcp.CommandTransport{Command: cmd}, revision)
	t.Cleanup(func() {
		require.NoError(t, session.Close())
		require.True(t, cmd.ProcessState.Success(), "%s", cmd.ProcessState)
	})
	return session
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}
