package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// commandLimit bounds a client's command whose context has no deadline: far more than any build here needs.
const commandLimit = 10 * time.Minute

// builderName is what buildx calls the daemon.
const builderName = "integration"

// Buildx runs buildx commands against one buildkitd through its remote driver. Its configuration lies in a
// directory of its own, so it neither sees nor changes the user's builders and credentials.
type Buildx struct {
	tools Tools
	dir   string
	// builder and env say where it builds.
	builder string
	env     []string
}

// NewBuildx configures buildx for daemon in the directory dir, which must exist and which the caller removes.
func NewBuildx(ctx context.Context, tools Tools, dir string, daemon *Buildkitd) (*Buildx, error) {
	x, err := newBuildx(tools, dir, builderName)
	if err != nil {
		return nil, err
	}
	_, err = x.Run(ctx, "create", "--name", builderName, "--driver", "remote", daemon.Address)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// NewDockerBuildx configures buildx for the builder that a Docker engine has in itself.
func NewDockerBuildx(tools Tools, dir string, engine *Dockerd) (*Buildx, error) {
	return newBuildx(tools, dir, "default", "DOCKER_HOST="+engine.Address)
}

func newBuildx(tools Tools, dir, builder string, env ...string) (*Buildx, error) {
	return &Buildx{tools: tools, dir: dir, builder: builder, env: env}, os.MkdirAll(filepath.Join(dir, "docker"), 0o700)
}

// Append makes another daemon a node of the builder, for the platforms that are named.
func (x *Buildx) Append(ctx context.Context, daemon *Buildkitd, platforms ...string) error {
	_, err := x.Run(ctx, "create", "--append", "--name", builderName, "--driver", "remote", "--platform", strings.Join(platforms, ","), daemon.Address)
	return err
}

// Environ is what a program needs in its environment, besides the usual, to use buildx the same way.
func (x *Buildx) Environ() []string {
	return append(slices.Clone(x.env),
		"BUILDX_CONFIG="+filepath.Join(x.dir, "buildx"),
		"DOCKER_CONFIG="+filepath.Join(x.dir, "docker"),
		"BUILDX_BUILDER="+x.builder,
	)
}

// Command prepares `buildx args…`. Its environment is small and fixed, so that no variable of the caller
// (SOURCE_DATE_EPOCH, BUILDKIT_…, a proxy) leaks into a build; append to Env what a test wants there. When ctx ends, the
// command's whole process group is killed.
func (x *Buildx) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, x.tools.Buildx, args...)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + x.dir, "BUILDKIT_PROGRESS=plain", "NO_COLOR=1",
	}, x.Environ()...)
	if args[0] == "create" {
		cmd.Env = cmd.Env[:len(cmd.Env)-1] // the builder that BUILDX_BUILDER names is still to be made
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Output is what a command wrote.
type Output struct {
	Stdout string
	// Stderr holds buildx's progress and its error message.
	Stderr string
}

// Run runs `buildx args…` to its end, or for ten minutes if ctx has no deadline. The output is there also
// when the command failed; the error then holds the end of it.
func (x *Buildx) Run(ctx context.Context, args ...string) (Output, error) {
	ctx, cancel := withLimit(ctx)
	defer cancel()
	return runCommand(ctx, x.Command(ctx, args...))
}

// runCommand runs cmd and collects what it writes.
func runCommand(ctx context.Context, cmd *exec.Cmd) (Output, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	out := Output{Stdout: stdout.String(), Stderr: stderr.String()}
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return out, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out.Stderr)
}

// withLimit gives ctx the usual deadline unless it has one.
func withLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, commandLimit, fmt.Errorf("not done within %v", commandLimit))
}
