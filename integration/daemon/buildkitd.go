package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"text/template"

	"github.com/moby/buildkit/client"
)

// BuildkitdOptions say how a buildkitd is started; the zero value gives one with an empty cache that is removed after it.
type BuildkitdOptions struct {
	// Root keeps the daemon's cache. If empty, it is a fresh directory below the build folder that Stop removes.
	// Two daemons that run at the same time cannot share one.
	Root string

	// Registries are the hosts, "127.0.0.1:PORT", that are spoken to by plain HTTP.
	Registries []string

	// Offline puts the daemon, and with it everything that it runs, into a network namespace without any interface
	// that is up, so that whatever tries to reach a network fails. Its own socket stays reachable.
	Offline bool

	// Platforms are what the daemon claims to build for, its own first. If empty, it finds out.
	Platforms []string
}

// Buildkitd is a running buildkitd with an OCI worker.
type Buildkitd struct {
	// Address is the URL of its socket, as BUILDKIT_HOST and `buildctl --addr` take it.
	Address string

	// Root is the directory that holds its cache.
	Root string

	process *process
	cleanup func() error
}

// buildkitdConfig leaves nothing to the defaults of the machine: no file below /etc, no shared socket below /run,
// no CNI plugins, no garbage collection in the middle of a measurement.
var buildkitdConfig = template.Must(template.New("buildkitd.toml").Parse(`root = {{printf "%q" .Root}}
provenanceEnvDir = {{printf "%q" .ProvenanceEnvDir}}

[otel]
  socketPath = {{printf "%q" .TraceSocket}}
[cdi]
  disabled = true
[worker.containerd]
  enabled = false
[worker.oci]
  enabled = true
  snapshotter = "overlayfs"
  binary = {{printf "%q" .Runc}}
  networkMode = "host"
  gc = false
{{- if .Platforms}}
  platforms = [{{range $i, $p := .Platforms}}{{if $i}}, {{end}}{{printf "%q" $p}}{{end}}]
{{- end}}
{{range .Registries}}
[registry.{{printf "%q" .}}]
  http = true
{{end}}`))

// StartBuildkitd starts a buildkitd and returns when it has answered.
//
// The daemon is process 1 of a process namespace of its own and has a mount namespace of its own. However it ends, the
// kernel then ends every container that it runs and drops every mount that it made.
func StartBuildkitd(ctx context.Context, tools Tools, opts BuildkitdOptions) (_ *Buildkitd, err error) {
	var undo []func() error
	cleanup := func() error {
		var errs []error
		for i := len(undo) - 1; i >= 0; i-- {
			errs = append(errs, undo[i]())
		}
		undo = nil
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, cleanup())
		}
	}()

	root, removeRoot, err := tools.rootDir("buildkitd", opts.Root)
	if err != nil {
		return nil, err
	}
	undo = append(undo, removeRoot)
	if err := refuseOverlay(root); err != nil {
		return nil, err
	}

	// A socket's path is limited to 108 bytes, which a checkout's may exceed.
	run, err := os.MkdirTemp("", "buildkitd-")
	if err != nil {
		return nil, err
	}
	undo = append(undo, func() error { return os.RemoveAll(run) })

	var config bytes.Buffer
	if err := buildkitdConfig.Execute(&config, map[string]any{
		"Root":             filepath.Join(root, "state"),
		"ProvenanceEnvDir": filepath.Join(root, "provenance.d"),
		"TraceSocket":      filepath.Join(run, "otel.sock"),
		"Runc":             tools.Runc,
		"Registries":       opts.Registries,
		"Platforms":        opts.Platforms,
	}); err != nil {
		return nil, err
	}
	configPath := filepath.Join(root, "buildkitd.toml")
	if err := os.WriteFile(configPath, config.Bytes(), 0o644); err != nil {
		return nil, err
	}
	tmp := filepath.Join(root, "tmp")
	if err := os.MkdirAll(tmp, 0o711); err != nil {
		return nil, err
	}

	socket, listener, err := listen(run, "buildkitd.sock")
	if err != nil {
		return nil, err
	}
	defer listener.Close()

	// The shell gives the new process namespace its own /proc and then becomes buildkitd.
	cmd := exec.Command("/bin/sh", "-c", `mount -t proc proc /proc && exec "$0" "$@"`,
		tools.Buildkitd, "--config", configPath, "--addr", "fd://")
	cmd.Dir = root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "TMPDIR=" + tmp,
		"LISTEN_FDS=1", "LISTEN_PID=1",
	}
	cmd.ExtraFiles = []*os.File{listener}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWPID,
		Unshareflags: syscall.CLONE_NEWNS,
	}
	if opts.Offline {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	}
	process, err := startProcess("buildkitd", cmd, filepath.Join(root, "buildkitd.log"))
	if err != nil {
		return nil, err
	}
	daemon := &Buildkitd{Address: "unix://" + socket, Root: root, process: process, cleanup: cleanup}
	if err := daemon.waitReady(ctx); err != nil {
		process.kill()
		return nil, err
	}
	return daemon, nil
}

// listen makes a socket that is handed over already listening, as an init system does it: a client can connect from the
// start and is answered when the daemon is ready, so nobody has to try again and again.
func listen(dir, name string) (path string, file *os.File, err error) {
	path = filepath.Join(dir, name)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return "", nil, err
	}
	listener.SetUnlinkOnClose(false)
	file, err = listener.File()
	return path, file, errors.Join(err, listener.Close())
}

// waitReady returns when the daemon has listed its worker.
func (b *Buildkitd) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no answer within %v", startLimit))
	defer cancel()
	c, err := b.Client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()

	answer := make(chan error, 1)
	go func() {
		workers, err := c.ListWorkers(ctx)
		if err == nil && len(workers) != 1 {
			err = fmt.Errorf("expected one worker, found %d", len(workers))
		}
		answer <- err
	}()
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("waiting for buildkitd: %w; its log:\n%s", err, b.process.logTail())
		}
		return nil
	case <-b.process.done:
		return b.process.died()
	}
}

// Client connects to the daemon. The caller closes the client.
func (b *Buildkitd) Client(ctx context.Context) (*client.Client, error) {
	return client.New(ctx, b.Address)
}

// Done is closed when the daemon has ended, whoever wanted it.
func (b *Buildkitd) Done() <-chan struct{} { return b.process.done }

// Log is the end of what the daemon wrote.
func (b *Buildkitd) Log() string { return b.process.logTail() }

// Stop ends the daemon in good order and removes what it may remove. Its error tells that the daemon had ended before
// on its own, or did not end when it was asked to.
func (b *Buildkitd) Stop() error {
	return errors.Join(b.process.stop(), b.cleanup())
}

// Kill ends the daemon as a crash would, in the middle of whatever it does, and leaves its root for a next one to start from.
// Stop is still to be called.
func (b *Buildkitd) Kill() { b.process.kill() }

// rootDir is given if that is not empty, else a fresh directory. The function it returns removes the fresh one and
// leaves a given one alone.
func (t Tools) rootDir(name, given string) (string, func() error, error) {
	if given == "" {
		dir, err := t.stateDir(name)
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	dir, err := filepath.Abs(given)
	if err != nil {
		return "", nil, err
	}
	return dir, func() error { return nil }, os.MkdirAll(dir, 0o755)
}

// overlayMagic is the file system type of overlayfs in statfs(2).
const overlayMagic = 0x794c7630

// refuseOverlay tells in plain words what buildkitd would say in the kernel's: overlayfs does not stack on itself.
func refuseOverlay(dir string) error {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if stat.Type == overlayMagic {
		return fmt.Errorf("%s lies on overlayfs, where buildkitd's overlayfs snapshotter cannot work: "+
			"mount another file system (a volume, a tmpfs) at the checkout's build folder", dir)
	}
	return nil
}
