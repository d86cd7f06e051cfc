//go:build integration

package builders_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// fault answers a request itself, in a way that no registry should, and tells so; else the registry answers.
type fault func(w http.ResponseWriter, r *http.Request) bool

// status answers requests with an HTTP status.
func status(code int) fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, `{"errors":[]}`, code)
		return true
	}
}

// cut ends the connection in the middle: at once for a request, after half of what was promised for a blob.
func cut(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Length", strconv.Itoa(1000))
		_, _ = w.Write(make([]byte, 500))
	}
	panic(http.ErrAbortHandler)
}

// other serves as many bytes as were asked for, and others.
func other(size int64) fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write(make([]byte, size))
		return true
	}
}

// faulty is the registry behind a proxy that makes it fail.
type faulty struct {
	host string
	// hit counts how often the fault was met.
	hit atomic.Int32
}

// newFaulty fails for the requests that a method and a part of the path select.
func newFaulty(t *testing.T, method, part string, f fault) *faulty {
	t.Helper()
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: example.Registry.Host})
		r.Out.Host = r.In.Host // the registry answers with locations at the proxy
	}}
	result := &faulty{}
	proxy.ErrorLog = log.New(io.Discard, "", 0) // that a client gave up is no news here
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Method, method) && strings.Contains(r.URL.Path, part) {
			result.hit.Add(1)
			if f(w, r) {
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	result.host = strings.TrimPrefix(server.URL, "http://")
	return result
}

// requireOneError holds that a failed build says what went wrong once, at the end, in words for the person who builds.
func requireOneError(t *testing.T, out daemon.Output, err error, words ...string) {
	t.Helper()
	require.Error(t, err)
	var found []string
	for line := range strings.Lines(out.Stderr) {
		if strings.HasPrefix(line, "ERROR: ") {
			found = append(found, line)
		}
	}
	require.Len(t, found, 1, out.Stderr)
	for _, word := range words {
		require.Contains(t, found[0], word)
	}
	require.NotContains(t, out.Stderr, "panic")
	t.Log(found[0])
}

// Whatever a registry does when an image is pulled, the build fails with one error that says which image and why.
func TestPullFaults(t *testing.T) {
	t.Parallel()
	base := example.Image(t, "runtime-base").Images["linux/amd64"]
	config, layer := base.Manifest.Config.Digest.Encoded(), base.Manifest.Layers[0]
	// Layers are fetched when an image's files are looked at.
	const composing = "composing clock for linux/amd64"
	for name, test := range map[string]struct {
		part  string
		fault fault
		want  []string
	}{
		"manifest 500":  {"/manifests/", status(500), []string{"runtime base linux/amd64", "500 Internal Server Error", "--build-context"}},
		"manifest 401":  {"/manifests/", status(401), []string{"runtime base linux/amd64", "401 Unauthorized", "--build-context"}},
		"manifest 404":  {"/manifests/", status(404), []string{"runtime base linux/amd64", "not found", "--build-context"}},
		"config 500":    {config, status(500), []string{"runtime base linux/amd64", "500 Internal Server Error"}},
		"layer 500":     {layer.Digest.Encoded(), status(500), []string{composing, "500 Internal Server Error"}},
		"layer 401":     {layer.Digest.Encoded(), status(401), []string{composing, "401 Unauthorized"}},
		"layer cut off": {layer.Digest.Encoded(), cut, []string{composing, "EOF"}},
		"layer changed": {layer.Digest.Encoded(), other(layer.Size), []string{composing, "unexpected commit digest"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := newFaulty(t, "", test.part, test.fault)
			b := example.Builder(t, daemon.BuildkitdOptions{Registries: []string{registry.host}})
			contexts := example.FromRegistry()
			contexts[1] = testenv.BaseName + "=docker-image://" + registry.host + "/agentsuite/runtime-base"
			name := example.Registry.Host + "/pull-faults/" + strings.ReplaceAll(name, " ", "-")
			out, err := b.Build(t, example.Suite, append(contexts, "--output", "type=image,push=true,name="+name)...)
			requireOneError(t, out, err, test.want...)
			require.Contains(t, out.Stderr, `>>>       "imageRef": "`+testenv.BaseName+"@sha256:", "the lines that pin the image")
			require.Positive(t, registry.hit.Load())
			require.Empty(t, tagged(t, name))
		})
	}
}

// Whatever a registry does when an image is pushed, the build fails with one error, and what a tag named before it names
// after it.
func TestPushFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method, part string
		fault        fault
		want         []string
	}{
		"manifest 500":   {"PUT", "/manifests/", status(500), []string{"500 Internal Server Error"}},
		"manifest 401":   {"PUT", "/manifests/", status(401), []string{"401 Unauthorized"}},
		"index 500":      {"PUT", "/manifests/latest", status(500), []string{"500 Internal Server Error"}},
		"upload 500":     {"POST", "/blobs/uploads/", status(500), []string{"500 Internal Server Error"}},
		"upload 401":     {"POST", "/blobs/uploads/", status(401), []string{"401 Unauthorized"}},
		"upload cut off": {"PUT", "/blobs/uploads/", cut, []string{"failed to push"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := newFaulty(t, test.method, test.part, test.fault)
			b := example.Builder(t, daemon.BuildkitdOptions{Registries: []string{registry.host}})
			repository := "/push-faults/" + strings.ReplaceAll(name, " ", "-")
			args := append(example.FromRegistry(), "--platform", "linux/amd64,linux/arm64", "--provenance=false")
			push := func(host string, more ...string) (daemon.Output, error) {
				return b.Build(t, example.Suite, append(append(args, "--output", "type=image,push=true,name="+host+repository+":latest"), more...)...)
			}
			out, err := push(registry.host)
			requireOneError(t, out, err, append(test.want, repository)...)
			require.Positive(t, registry.hit.Load())
			require.Empty(t, tagged(t, example.Registry.Host+repository), "nothing has a name that is not all there")
			if test.method != http.MethodPut {
				return
			}

			_, err = push(example.Registry.Host)
			require.NoError(t, err)
			before := tagged(t, example.Registry.Host+repository)
			require.NotEmpty(t, before)
			out, err = push(registry.host, "--label", "changed=yes")
			requireOneError(t, out, err, append(test.want, repository)...)
			require.Equal(t, before, tagged(t, example.Registry.Host+repository))
		})
	}
}

// tagged is the digest that the registry has for a repository's tag latest; empty if there is no such tag.
func tagged(t *testing.T, name string) string {
	t.Helper()
	host, repository, _ := strings.Cut(name, "/")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, "http://"+host+"/v2/"+repository+"/manifests/latest", nil)
	require.NoError(t, err)
	request.Header.Set("Accept", ocispecs.MediaTypeImageManifest+", "+ocispecs.MediaTypeImageIndex)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	if response.StatusCode == http.StatusNotFound {
		return ""
	}
	require.Equal(t, http.StatusOK, response.StatusCode)
	return response.Header.Get("Docker-Content-Digest")
}
