package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Dockerd is a running Docker engine whose images lie in its classic store: layers of the overlay2 graph driver, where
// BuildKit has no MergeOp. It is built by `make compat` alone.
type Dockerd struct {
	// Address is the URL of its socket, as DOCKER_HOST takes it.
	Address string

	socket  string
	root    string
	process *process
	cleanup func() error
}

// StartDockerd starts an engine without networks and without anything of the machine's own engine, and returns when it has
// answered. It is process 1 of its namespaces, as a buildkitd of [StartBuildkitd] is.
func StartDockerd(ctx context.Context, tools Tools) (_ *Dockerd, err error) {
	program := filepath.Join(tools.BinDir(), "dockerd", "dockerd")
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("run `make compat` for the older daemons and the Docker engine: %w", err)
	}
	root, removeRoot, err := tools.rootDir("dockerd", "")
	if err != nil {
		return nil, err
	}
	// A socket's path is limited to 108 bytes, and it makes some of its own.
	run, err := os.MkdirTemp("", "dockerd-")
	if err != nil {
		return nil, errors.Join(err, removeRoot())
	}
	cleanup := func() error { return errors.Join(os.RemoveAll(run), removeRoot()) }
	defer func() {
		if err != nil {
			err = errors.Join(err, cleanup())
		}
	}()
	if err := refuseOverlay(root); err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"features":         map[string]bool{"containerd-snapshotter": false},
		"storage-driver":   "overlay2",
		"data-root":        filepath.Join(root, "data"),
		"exec-root":        filepath.Join(run, "exec"),
		"pidfile":          filepath.Join(run, "pid"),
		"hosts":            []string{"fd://"},
		"bridge":           "none",
		"iptables":         false,
		"ip6tables":        false,
		"ip-forward":       false,
		"ip-masq":          false,
		"userland-proxy":   false,
		"cdi-spec-dirs":    []string{},
		"shutdown-timeout": 5,
	})
	if err != nil {
		return nil, err
	}
	configPath := filepath.Join(root, "daemon.json")
	if err := os.WriteFile(configPath, config, 0o644); err != nil {
		return nil, err
	}
	socket, listener, err := listen(run, "docker.sock")
	if err != nil {
		return nil, err
	}
	defer listener.Close()

	cmd := exec.Command("/bin/sh", "-c", `mount -t proc proc /proc && exec "$0" "$@"`, program, "--config-file", configPath)
	cmd.Dir = root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "LISTEN_FDS=1", "LISTEN_PID=1"}
	cmd.ExtraFiles = []*os.File{listener}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	process, err := startProcess("dockerd", cmd, filepath.Join(root, "dockerd.log"))
	if err != nil {
		return nil, err
	}
	d := &Dockerd{Address: "unix://" + socket, socket: socket, root: root, process: process, cleanup: cleanup}
	if err := d.waitReady(ctx); err != nil {
		process.kill()
		return nil, err
	}
	return d, nil
}

func (d *Dockerd) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no answer within %v", startLimit))
	defer cancel()
	answer := make(chan error, 1)
	go func() {
		response, err := d.Get(ctx, "/_ping")
		if err == nil {
			err = response.Body.Close()
		}
		answer <- err
	}()
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("waiting for dockerd: %w; its log:\n%s", err, d.process.logTail())
		}
		return nil
	case <-d.process.done:
		return d.process.died()
	}
}

// Get asks the engine's API for path. The caller closes the body; a status that is not 200 is an error.
func (d *Dockerd) Get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker"+path, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", d.socket)
		},
		DisableKeepAlives: true,
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("dockerd answers %s to GET %s", response.Status, path), response.Body.Close())
	}
	return response, nil
}

// Log is the end of what the engine wrote.
func (d *Dockerd) Log() string { return d.process.logTail() }

// Stop ends the engine and removes what it wrote.
func (d *Dockerd) Stop() error { return errors.Join(d.process.stop(), d.cleanup()) }
