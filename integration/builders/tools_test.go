//go:build integration

package builders_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
)

// patience bounds the waits for what must happen; it happens within a second on an idle machine.
const patience = 2 * time.Minute

// tool is a running tool in the graph of a build. It is a handle of the process: its number may be another's later.
type tool struct {
	name  string
	pidfd int
}

// tools are the tools that a daemon runs now, by the process ids of the machine.
func tools(b *daemon.Buildkitd) map[int]string {
	found := processes("/frontend\x00tool\x00", b)
	for pid, line := range found {
		found[pid] = strings.TrimRight(strings.TrimPrefix(line, "/frontend\x00tool\x00"), "\x00")
	}
	return found
}

// processes are those that a daemon runs whose command line begins with text: a NUL behind every word.
func processes(text string, b *daemon.Buildkitd) map[int]string {
	found := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		// A process that ends meanwhile has nothing to read, which is an answer too.
		line, _ := os.ReadFile(file)
		if !strings.HasPrefix(string(line), text) {
			continue
		}
		// Its root lies below the daemon's.
		mounts, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "mountinfo"))
		if !bytes.Contains(mounts, []byte(b.Root)) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		found[pid] = string(line)
	}
	return found
}

// running is a build that was started.
type running struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended

	mu  sync.Mutex
	log bytes.Buffer
}

// start starts a build; it is killed with the test.
func start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = r, r
	require.NoError(t, cmd.Start())
	go func() {
		defer close(r.done)
		r.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-r.done
	})
	return r
}

// Write takes what the build writes.
func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

// output is what the build has written so far.
func (r *running) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// reaches waits until something is so in the middle of the build.
func (r *running) reaches(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !so() {
		select {
		case <-r.done:
			require.Fail(t, "the build ended before "+what, r.output())
		default:
			require.True(t, time.Now().Before(deadline), "the build should reach %s", what)
		}
	}
}

// freeze waits until the daemon runs the named tool for the build and stops it there, so that it runs until it is killed.
func (r *running) freeze(t *testing.T, b *daemon.Buildkitd, name string) tool {
	t.Helper()
	var frozen tool
	r.reaches(t, "the tool "+name, func() bool {
		for pid, running := range tools(b) {
			if running != name {
				continue
			}
			pidfd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return false // it has ended; there may be another
			}
			if err := unix.PidfdSendSignal(pidfd, unix.SIGSTOP, nil, 0); err != nil {
				_ = unix.Close(pidfd)
				return false
			}
			frozen = tool{name, pidfd}
			return true
		}
		return false
	})
	t.Cleanup(func() { _ = unix.Close(frozen.pidfd) })
	return frozen
}

// requireEnd waits until the tool has ended.
func (f tool) requireEnd(t *testing.T) {
	t.Helper()
	poll := []unix.PollFd{{Fd: int32(f.pidfd), Events: unix.POLLIN}}
	deadline := time.Now().Add(patience)
	for {
		n, err := unix.Poll(poll, int(time.Until(deadline).Milliseconds()))
		if err == unix.EINTR && time.Now().Before(deadline) {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, 1, n, "the tool %s should have ended", f.name)
		return
	}
}
