package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
)

// startLimit is how long a server may take until it answers.
const startLimit = 60 * time.Second

// RegistryOptions say how a registry is started; the zero value gives one that forgets everything.
type RegistryOptions struct {
	// Root keeps the registry's content. If empty, it is a fresh directory below the build folder that Stop removes.
	Root string

	// Port is the TCP port on loopback; 0 takes a free one.
	Port int
}

// Registry is a running OCI registry without authentication that speaks plain HTTP on loopback.
type Registry struct {
	// Host is where it listens, "127.0.0.1:PORT", as it stands at the start of image references.
	Host string

	process *process
	cleanup func() error
}

// StartRegistry starts a registry and returns when it listens.
func StartRegistry(ctx context.Context, tools Tools, opts RegistryOptions) (_ *Registry, err error) {
	root, cleanup, err := tools.rootDir("registry", opts.Root)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, cleanup())
		}
	}()

	// JSON is YAML, and the encoder quotes better than a template.
	config, err := json.Marshal(map[string]any{
		"version": "0.1",
		"log":     map[string]any{"accesslog": map[string]any{"disabled": true}},
		"storage": map[string]any{
			"filesystem": map[string]any{"rootdirectory": filepath.Join(root, "data")},
			"delete":     map[string]any{"enabled": true},
		},
		"http": map[string]any{
			"addr":   "127.0.0.1:" + strconv.Itoa(opts.Port),
			"secret": "unused by a registry of one instance",
		},
	})
	if err != nil {
		return nil, err
	}
	configPath := filepath.Join(root, "config.yml")
	if err := os.WriteFile(configPath, config, 0o644); err != nil {
		return nil, err
	}

	cmd := exec.Command(tools.Registry, "serve", configPath)
	cmd.Dir = root
	// Without the variable it would try to send traces to a collector on loopback.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "OTEL_TRACES_EXPORTER=none"}
	watch := &listenWatch{found: make(chan string, 1)}
	process, err := startProcess("registry", cmd, filepath.Join(root, "registry.log"), watch)
	if err != nil {
		return nil, err
	}

	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case host := <-watch.found:
		return &Registry{Host: host, process: process, cleanup: cleanup}, nil
	case <-process.done:
		return nil, process.died()
	case <-ctx.Done():
		process.kill()
		return nil, context.Cause(ctx)
	case <-limit.C:
		process.kill()
		return nil, fmt.Errorf("registry did not listen within %v; its log:\n%s", startLimit, process.logTail())
	}
}

// Push copies the one image, or the one index, of an OCI layout into a repository, where it is tagged latest, and returns
// its digest.
func (r *Registry) Push(ctx context.Context, layout, repository string) (digest.Digest, error) {
	data, err := os.ReadFile(filepath.Join(layout, ocispecs.ImageIndexFile))
	if err != nil {
		return "", err
	}
	var index ocispecs.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return "", fmt.Errorf("reading the index of %s: %w", layout, err)
	}
	if len(index.Manifests) != 1 {
		return "", fmt.Errorf("expected one image in %s, found %d", layout, len(index.Manifests))
	}
	source, err := oci.NewFromFS(ctx, os.DirFS(layout))
	if err != nil {
		return "", err
	}
	target, err := remote.NewRepository(r.Host + "/" + repository)
	if err != nil {
		return "", err
	}
	target.PlainHTTP = true
	pushed, err := oras.Copy(ctx, source, index.Manifests[0].Digest.String(), target, "latest", oras.DefaultCopyOptions)
	return pushed.Digest, err
}

// Log is the end of what the registry wrote.
func (r *Registry) Log() string { return r.process.logTail() }

// Stop ends the registry and removes what it may remove.
func (r *Registry) Stop() error {
	return errors.Join(r.process.stop(), r.cleanup())
}

// listenWatch finds in the registry's log the address that it listens on: the one way to learn a port that the
// kernel chose, and written only once connections are accepted.
type listenWatch struct {
	mu    sync.Mutex
	seen  []byte
	done  bool
	found chan string
}

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:[0-9]+)[^0-9]`)

func (w *listenWatch) Write(chunk []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return len(chunk), nil
	}
	w.seen = append(w.seen, chunk...)
	if match := listening.FindSubmatch(w.seen); match != nil {
		w.done, w.seen = true, nil
		w.found <- string(match[1])
	}
	return len(chunk), nil
}
