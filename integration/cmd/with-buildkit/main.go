// Command with-buildkit runs another command beside a buildkitd and a registry of its own, which end with it:
//
//	with-buildkit [--root DIR] [--registry-port PORT] -- COMMAND [ARGUMENT…]
//
// The command finds in its environment
//
//	BUILDKIT_HOST    the address of the buildkitd
//	REGISTRY         the registry's host and port, as image references start
//	BUILDX_BUILDER   the builder that buildx reaches the buildkitd by, with
//	BUILDX_CONFIG    and
//	DOCKER_CONFIG    directories that hold nothing of the user's
//	PATH             with buildkitd's and buildx's directory in front
//
// Its exit status is the command's, or 2 if a server could not be started or did not last. It needs root; it opens nothing but
// loopback ports and private sockets, and has nothing to do with a Docker engine that may run here.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
)

func main() { os.Exit(execute()) }

// execute runs what the command line says and returns the exit status.
func execute() (status int) {
	var opts options
	cmd := &cobra.Command{
		Use:           "with-buildkit [flags] -- COMMAND [ARGUMENT...]",
		Short:         "Run a command beside a buildkitd and a registry of its own",
		Args:          cobra.MinimumNArgs(1),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			status, err = run(cmd.Context(), opts, args)
			return err
		},
	}
	cmd.Flags().StringVar(&opts.root, "root", "",
		"keep the cache and the registry's content in this directory (default: a fresh one, removed afterwards)")
	cmd.Flags().IntVar(&opts.registryPort, "registry-port", 0, "the registry's port on loopback (default: a free one)")

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "with-buildkit: %v\n", err)
		return 2
	}
	return status
}

type options struct {
	root         string
	registryPort int
}

// run starts the servers, runs the command, stops the servers, and returns the command's exit status. The error tells
// that a server or the command could not be started, or that a server did not last.
func run(ctx context.Context, opts options, command []string) (status int, err error) {
	// A Ctrl-C is the command's to obey, which is in the terminal's foreground group too; the servers have to outlive
	// it by a moment. A SIGTERM comes to this process alone and is passed on.
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	defer signal.Stop(interrupt)

	tools, err := daemon.FindTools()
	if err != nil {
		return 0, err
	}
	deferred := func(stop func() error) {
		if stopErr := stop(); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
	}

	root := func(name string) string {
		if opts.root == "" {
			return ""
		}
		return filepath.Join(opts.root, name)
	}
	registry, err := daemon.StartRegistry(ctx, tools, daemon.RegistryOptions{Root: root("registry"), Port: opts.registryPort})
	if err != nil {
		return 0, err
	}
	defer deferred(registry.Stop)
	say("registry %s listens on %s", tools.Registry, registry.Host)

	buildkitd, err := daemon.StartBuildkitd(ctx, tools, daemon.BuildkitdOptions{
		Root: root("buildkitd"), Registries: []string{registry.Host},
	})
	if err != nil {
		return 0, err
	}
	defer deferred(buildkitd.Stop)
	say("buildkitd %s listens on %s, its cache lies in %s", tools.Buildkitd, buildkitd.Address, buildkitd.Root)

	config, err := os.MkdirTemp("", "buildx-")
	if err != nil {
		return 0, err
	}
	defer deferred(func() error { return os.RemoveAll(config) })
	buildx, err := daemon.NewBuildx(ctx, tools, config, buildkitd)
	if err != nil {
		return 0, err
	}

	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Without its servers it has nothing left to do. The kernel counts the end of the thread that forks as its parent's.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), buildx.Environ()...)
	cmd.Env = append(cmd.Env,
		"BUILDKIT_HOST="+buildkitd.Address,
		"REGISTRY="+registry.Host,
		"PATH="+tools.BinDir()+string(os.PathListSeparator)+os.Getenv("PATH"))

	select {
	case <-interrupt:
		return 0, errors.New("interrupted before the command was started")
	default:
	}
	defer say("stopping buildkitd and the registry")
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		return exitStatus(exit), nil
	} else if err != nil {
		return 0, err
	}
	return 0, nil
}

// exitStatus is the command's status as a shell would give it: 128 and the signal for one that a signal ended.
func exitStatus(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "==> "+format+"\n", args...)
}
