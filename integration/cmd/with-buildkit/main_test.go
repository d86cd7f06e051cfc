//go:build integration

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// TestRun ends the command in every way that a person or a program may choose, and holds that its environment works while it
// runs and that its servers are gone after it.
func TestRun(t *testing.T) {
	t.Parallel()
	testenv.Tools(t)
	binary := filepath.Join(t.TempDir(), "with-buildkit")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))

	const wait = "; echo $BUILDKIT_HOST; read -r _"
	terminate := func(signal syscall.Signal) func(int, io.Closer) error {
		return func(pid int, _ io.Closer) error { return syscall.Kill(pid, signal) }
	}
	for name, test := range map[string]struct {
		script string
		end    func(pid int, stdin io.Closer) error
		status int
	}{
		"exit": {
			script: "buildctl debug workers >&2 && buildx inspect >&2" + wait + "; exit 7",
			end:    func(_ int, stdin io.Closer) error { return stdin.Close() },
			status: 7,
		},
		"interrupt from the terminal": {
			script: ":" + wait,
			end:    func(pid int, _ io.Closer) error { return syscall.Kill(-pid, syscall.SIGINT) },
			status: 128 + int(syscall.SIGINT),
		},
		"terminate": {script: ":" + wait, end: terminate(syscall.SIGTERM), status: 128 + int(syscall.SIGTERM)},
		"kill":      {script: ":" + wait, end: terminate(syscall.SIGKILL), status: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, binary, "--root", testenv.StateDir(t), "--", "sh", "-c", test.script)
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			cmd.WaitDelay = 10 * time.Second
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			address, err := bufio.NewReader(stdout).ReadString('\n')
			require.NoError(t, err, &stderr)

			require.NoError(t, test.end(cmd.Process.Pid, stdin))
			_ = cmd.Wait() // its status is looked at next
			require.Equal(t, test.status, cmd.ProcessState.ExitCode(), &stderr)
			if test.status == -1 {
				// The kernel ends the servers after their parent; killing is not waiting.
				require.Eventually(t, func() bool { return !answers(ctx, address) }, 10*time.Second, 10*time.Millisecond)
			}
			require.False(t, answers(ctx, address))
		})
	}

	out, err = exec.CommandContext(t.Context(), binary, "--", "no-such-command").CombinedOutput()
	require.ErrorContains(t, err, "exit status 2")
	require.Contains(t, string(out), `with-buildkit: exec: "no-such-command": executable file not found in $PATH`)
}

// answers tells whether something still accepts connections at a unix:// address.
func answers(ctx context.Context, address string) bool {
	path := strings.TrimPrefix(strings.TrimSpace(address), "unix://")
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
