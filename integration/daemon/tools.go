// Package daemon starts the real servers that tests, benchmarks and the demonstration talk to: buildkitd, an OCI
// registry, and a buildx that is set up to use them. Everything they write lies below the checkout's build folder,
// everything listens on loopback or a private socket, and Stop leaves neither process nor mount behind.
//
// The package knows nothing of package testing; integration/testenv puts it at a test's disposal.
package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modulePath is the first line of the go.mod that marks the top of the checkout.
const modulePath = "module github.com/agentsuite/agentsuite-llb\n"

// Tools are the absolute paths of the programs that the servers and clients run from.
type Tools struct {
	// Checkout is the top directory of the repository.
	Checkout string

	Buildkitd string
	Buildctl  string
	Buildx    string
	Registry  string

	// Runc is the OCI runtime that buildkitd runs its containers with, taken from PATH.
	Runc string
}

// FindTools locates the checkout around the working directory and the programs in it. Its error names every missing
// program at once and the command that provides it, and says so when the caller is not root.
func FindTools() (Tools, error) {
	checkout, err := findCheckout()
	if err != nil {
		return Tools{}, err
	}
	tools := Tools{Checkout: checkout}
	var unbuilt, uninstalled []string
	for _, program := range []struct {
		name string
		path *string
	}{
		{"buildkitd", &tools.Buildkitd},
		{"buildctl", &tools.Buildctl},
		{"buildx", &tools.Buildx},
		{"registry", &tools.Registry},
	} {
		*program.path = filepath.Join(tools.BinDir(), program.name)
		if _, err := os.Stat(*program.path); err != nil {
			unbuilt = append(unbuilt, program.name)
		}
	}
	for _, program := range []struct {
		name string
		path *string
	}{
		{"runc", &tools.Runc},
		{"mount", new(string)}, // the shell in front of buildkitd finds it by itself
	} {
		if *program.path, err = exec.LookPath(program.name); err != nil {
			uninstalled = append(uninstalled, program.name)
		}
	}

	var problems []error
	if len(unbuilt) > 0 {
		problems = append(problems, fmt.Errorf("%s not found in %s: run `make tools` in %s",
			strings.Join(unbuilt, ", "), tools.BinDir(), checkout))
	}
	if len(uninstalled) > 0 {
		problems = append(problems, fmt.Errorf("%s not found in PATH: run `make packages` in %s as root",
			strings.Join(uninstalled, ", "), checkout))
	}
	if uid := os.Geteuid(); uid != 0 {
		problems = append(problems, fmt.Errorf(
			"buildkitd needs root for its mounts and namespaces, this is uid %d: run the same command as root", uid))
	}
	if err := errors.Join(problems...); err != nil {
		return Tools{}, fmt.Errorf("cannot start the integration servers:\n%w", err)
	}
	return tools, nil
}

// BinDir is where `make tools` puts the programs.
func (t Tools) BinDir() string { return filepath.Join(t.Checkout, "build", "bin") }

// stateDir makes a fresh directory below the build folder for one server.
func (t Tools) stateDir(name string) (string, error) {
	parent := filepath.Join(t.Checkout, "build", "state")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, name+"-")
}

// findCheckout walks from the working directory upwards to the repository's own go.mod, past those of its other modules.
func findCheckout() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		switch {
		case err == nil && strings.HasPrefix(string(content), modulePath):
			return dir, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		case dir == filepath.Dir(dir):
			return "", fmt.Errorf("%s is not inside a checkout: no parent has a go.mod that starts %q", start, modulePath)
		}
	}
}
