package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// stopGrace is how long a server may take to end after SIGTERM before it is killed.
const stopGrace = 20 * time.Second

// process is a running server: the head of its own process group, so that a terminal's Ctrl-C reaches whoever started
// it and not the server behind their back, and bound to the life of its parent, so that nothing outlives a parent
// that was killed.
type process struct {
	name    string
	cmd     *exec.Cmd
	logPath string

	// done is closed when the process has ended.
	done chan struct{}

	// asked is set once somebody wanted the process to end.
	asked atomic.Bool
}

// startProcess starts cmd with its output going to a file at logPath, after what earlier runs left there, and to
// every one of watchers.
func startProcess(name string, cmd *exec.Cmd, logPath string, watchers ...io.Writer) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	cmd.Stdout = log
	if len(watchers) > 0 {
		cmd.Stdout = io.MultiWriter(append(watchers, log)...)
	}
	cmd.Stderr = cmd.Stdout
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL

	p := &process{name: name, cmd: cmd, logPath: logPath, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel ties the death signal to the thread that forked, not to the process: keep that thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // how it ended stays in cmd.ProcessState
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return p, nil
}

// stop ends the process and waits until it is gone: politely, then after stopGrace by force. Its error tells that the
// process had ended on its own before, or that it had to be killed.
func (p *process) stop() error {
	if p.asked.Swap(true) {
		<-p.done
		return nil
	}
	select {
	case <-p.done:
		return p.died()
	default:
	}
	// It may end in this very moment; then there is nothing left to signal, which is as good.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-p.done:
		return nil
	case <-grace.C:
		p.kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM and was killed; its log:\n%s", p.name, stopGrace, p.logTail())
	}
}

// kill ends the whole process group at once and waits until it is gone.
func (p *process) kill() {
	p.asked.Store(true)
	select {
	case <-p.done:
		return // its id may be another's by now
	default:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

// died describes a process that ended without being asked to.
func (p *process) died() error {
	return fmt.Errorf("%s ended on its own (%v); its log:\n%s", p.name, p.cmd.ProcessState, p.logTail())
}

// logTail is the end of the process's output, enough to tell what went wrong.
func (p *process) logTail() string {
	const limit = 16 << 10
	content, err := os.ReadFile(p.logPath)
	if errors.Is(err, fs.ErrNotExist) {
		return "(removed)"
	} else if err != nil {
		return err.Error()
	}
	if len(content) > limit {
		content = content[len(content)-limit:]
		if _, rest, ok := bytes.Cut(content, []byte("\n")); ok {
			content = rest
		}
	}
	return string(content)
}
