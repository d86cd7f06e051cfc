// Command prepare makes everything of the examples that a build with BuildKit
// starts from: the suite with its payloads in place, and the contexts of the
// images in the repository's docker-bake.hcl. Two runs with the same Go version
// write the same bytes, on every machine.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentsuite/agentsuite-llb/examples/images/rootfs"
)

// platform is a Go target; instructionSet pins the oldest CPU that the example
// suite promises to run on (cpuBaseline), whatever the caller's environment says.
type platform struct {
	os, arch       string
	instructionSet string
}

var platforms = []platform{
	{"linux", "amd64", "GOAMD64=v1"},
	{"linux", "arm64", "GOARM64=v8.0"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var out string
	cmd := &cobra.Command{
		Use:   "prepare",
		Short: "Compile the examples and lay out what their images are built from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			module, err := goOutput(cmd.Context(), "list", "-m", "-f", "{{.Dir}}", "github.com/agentsuite/agentsuite-llb/examples")
			if err != nil {
				return fmt.Errorf("finding the examples; run this inside of their module: %w", err)
			}
			if out == "" {
				out = filepath.Join(module, "..", "build", "examples")
			}
			if err := prepare(cmd.Context(), module, out, platforms); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), out)
			return nil
		},
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	cmd.Flags().StringVar(&out, "out", "", "directory to write datetime/ and images/ into (default: build/examples of the repository)")
	err := cmd.ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

// prepare writes out/datetime and out/images for the given platforms from the
// examples module in the directory module.
func prepare(ctx context.Context, module, out string, platforms []platform) error {
	err := replaceDir(filepath.Join(out, "datetime"), "agentsuite.json", func(dir string) error {
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(module, "datetime", "suite"))); err != nil {
			return fmt.Errorf("copying the suite's documents: %w", err)
		}
		for _, p := range platforms {
			payload := filepath.Join(dir, "tool-providers/datetime/1.0.0", p.os+"-"+p.arch)
			if err := p.compile(ctx, module, "./datetime", filepath.Join(payload, "bin/datetime")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return replaceDir(filepath.Join(out, "images"), "runtime-base/rootfs.tar", func(dir string) error {
		if err := writeRootfs(ctx, filepath.Join(dir, "runtime-base/rootfs.tar")); err != nil {
			return err
		}
		for _, p := range platforms {
			if err := p.compile(ctx, module, "./harness", filepath.Join(dir, "harness", p.os+"_"+p.arch, "harness")); err != nil {
				return err
			}
		}
		return nil
	})
}

// compile builds the command pkg of the module as a static, reproducible
// executable.
func (p platform) compile(ctx context.Context, module, pkg, executable string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-C", module, "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid=", "-o", executable, pkg)
	// Whatever of the caller's environment could change the bytes is overruled.
	cmd.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, p.instructionSet,
		"CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s for %s/%s: %w\n%s", pkg, p.os, p.arch, err, output)
	}
	return nil
}

func writeRootfs(ctx context.Context, path string) error {
	goroot, err := goOutput(ctx, "env", "GOROOT")
	if err != nil {
		return fmt.Errorf("finding the Go distribution: %w", err)
	}
	zoneinfo, err := zip.OpenReader(filepath.Join(goroot, "lib/time/zoneinfo.zip"))
	if err != nil {
		return fmt.Errorf("opening the time zones of the Go distribution: %w", err)
	}
	defer zoneinfo.Close()
	var archive bytes.Buffer
	if err := rootfs.Write(&archive, &zoneinfo.Reader); err != nil {
		return fmt.Errorf("making the runtime base's filesystem: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, archive.Bytes(), 0o644)
}

func goOutput(ctx context.Context, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "go", args...).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, exit.Stderr)
	}
	return strings.TrimSpace(string(output)), err
}

// replaceDir makes dir anew: fill writes into a directory beside it that takes
// its place once complete. An existing dir must hold the file witness, which
// tells that an earlier run made it; anything else stays as it is.
func replaceDir(dir, witness string, fill func(dir string) error) (err error) {
	_, err = os.Lstat(dir)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if exists {
		if _, err := os.Stat(filepath.Join(dir, witness)); err != nil {
			return fmt.Errorf("%s exists and was not made by this command, as it holds no %s; name another place with --out", dir, witness)
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()

	fresh, old := filepath.Join(temporary, "new"), filepath.Join(temporary, "old")
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return err
	}
	if err := fill(fresh); err != nil {
		return err
	}
	if err := normalizeModes(fresh); err != nil {
		return err
	}
	if exists {
		if err := os.Rename(dir, old); err != nil {
			return err
		}
	}
	return os.Rename(fresh, dir)
}

// normalizeModes undoes what umask and checkout did to the modes below dir:
// they end up in payloads and images.
func normalizeModes(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if d.IsDir() || info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	})
}
