//go:build integration

package builders_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// maxFrontendBytes bounds the memory of the process that is the frontend.
const maxFrontendBytes = 150 << 20

// frontendWatch samples the peak memory of the packaged frontend while it runs.
type frontendWatch struct {
	stop, stopped chan struct{}
	peak          int64
}

// watchFrontend watches every frontend process of a daemon.
func watchFrontend(b *daemon.Buildkitd) *frontendWatch {
	w := &frontendWatch{stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(w.stopped)
		// The kernel keeps the peak for as long as the process lives, so what matters is to look often.
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
			for pid, line := range processes("/frontend\x00", b) {
				if line == "/frontend\x00" { // not a tool
					w.peak = max(w.peak, peakMemory(pid))
				}
			}
		}
	}()
	return w
}

// done ends the watch and returns the peak in bytes.
func (w *frontendWatch) done() int64 {
	close(w.stop)
	<-w.stopped
	return w.peak
}

// peakMemory is the most resident memory that a process ever had; 0 if it has ended.
func peakMemory(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kilobytes << 10
}

// requireSmallFrontend builds by both doors and holds how much memory the packaged frontend has taken.
func requireSmallFrontend(t *testing.T, b testenv.Builder, dir string, args ...string) testenv.Layout {
	t.Helper()
	watch := watchFrontend(b.Buildkitd)
	built := b.BuildLayout(t, dir, args...)
	peak := watch.done()
	t.Logf("the packaged frontend took %d MB", peak>>20)
	require.Positive(t, peak)
	require.Less(t, peak, int64(maxFrontendBytes))

	// The command line is the client too, which walks and sends the suite.
	build := start(t, doors["agentsuite-llb"](t, b, dir, append(args, "--output", "type=oci,compression=uncompressed,dest="+filepath.Join(stateDir(t), "image.tar"))...))
	own := int64(0)
	for running := true; running; {
		select {
		case <-build.done:
			running = false
		case <-time.After(2 * time.Millisecond):
			own = max(own, peakMemory(build.cmd.Process.Pid))
		}
	}
	require.NoError(t, build.err, build.output())
	t.Logf("the command line, client and frontend, took %d MB", own>>20)
	return built
}

// largeBase is a base with a number of small files.
func largeBase(t *testing.T, files int) pinned {
	t.Helper()
	const perDirectory = 1000
	entries := []ocitest.Entry{ocitest.Directory("srv", 0o755)}
	for i := range files {
		dir := fmt.Sprintf("srv/%04d", i/perDirectory)
		if i%perDirectory == 0 {
			entries = append(entries, ocitest.Directory(dir, 0o755))
		}
		entries = append(entries, ocitest.File(fmt.Sprintf("%s/%06d", dir, i), 0o644, ""))
	}
	return smallBase(t, ocitest.NewLayer(t, entries...))
}

// A base of 300,000 files has an inventory that no message to a daemon could hold.
func TestLargeFilesystem(t *testing.T) {
	const files = 300_000
	d := smallDraft(t)
	d.platforms = suite.Platforms()[:1]
	d.base = largeBase(t, files)
	b := example.Builder(t, daemon.BuildkitdOptions{})
	l := requireSmallFrontend(t, b, d.write(t), d.contexts()...)
	img := l.Images["linux/amd64"]
	inventory := layerFile(t, l, img.Manifest.Layers[len(img.Manifest.Layers)-1].Digest.Encoded(), image.InventoryPath)
	require.Greater(t, len(inventory), 16<<20)
	require.Equal(t, files, bytes.Count(inventory, []byte(`"path":"srv/`))-files/1000)
	t.Logf("the inventory has %d MB", len(inventory)>>20)
}

// A suite with as many entries as the specification allows, every one of them in an inventory.
func TestSuiteOfManyEntries(t *testing.T) {
	const providers, files, links = 10, 1_000, 8_800
	d := smallDraft(t)
	d.platforms = suite.Platforms()[:1]
	d.providers = nil
	for i := range providers {
		d.providers = append(d.providers, provider{id: fmt.Sprintf("many-%d", i), write: func(t testing.TB, dir string) {
			for n := range files {
				name := fmt.Sprintf("data/%03d", n)
				writeText(t, dir, name, name)
			}
			for n := range links {
				require.NoError(t, os.Symlink(fmt.Sprintf("%03d", n%files), fmt.Sprintf("%s/data/link-%05d", dir, n)))
			}
		}})
	}
	b := example.Builder(t, daemon.BuildkitdOptions{})
	requireSmallFrontend(t, b, d.write(t), d.contexts()...)
}

// A suite with a payload of 1 GiB; PAYLOAD_BYTES=4290772992 makes it as large as the specification allows.
func TestLargePayload(t *testing.T) {
	size := int64(1 << 30)
	if text, ok := os.LookupEnv("PAYLOAD_BYTES"); ok {
		var err error
		size, err = strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
	}
	d := smallDraft(t)
	d.platforms = suite.Platforms()[:1]
	d.providers[0].write = func(t testing.TB, dir string) {
		at := filepath.Join(dir, "large")
		require.NoError(t, os.WriteFile(at, nil, 0o644))
		require.NoError(t, os.Truncate(at, size))
	}
	b := example.Builder(t, daemon.BuildkitdOptions{})
	started := time.Now()
	l := requireSmallFrontend(t, b, d.write(t), d.contexts()...)
	t.Logf("%d MB took %v", size>>20, time.Since(started).Round(time.Second))
	img := l.Images["linux/amd64"]
	var found bool
	for _, layer := range img.Manifest.Layers {
		walkLayer(t, l, layer.Digest.Encoded(), func(header *tar.Header, _ io.Reader) {
			if header.Name == "root/tool/large" {
				found = true
				require.Equal(t, size, header.Size)
			}
		})
	}
	require.True(t, found)
}

// 130 bundles are more than an image may have layers: the smallest share one, and all are there, stamped with the epoch.
func TestManyBundles(t *testing.T) {
	const n = 130
	d := smallDraft(t)
	d.platforms = suite.Platforms()[:1]
	d.providers = bundles(n)
	b := example.Builder(t, daemon.BuildkitdOptions{})
	l := b.BuildLayout(t, d.write(t), d.contexts()...)
	img := l.Images["linux/amd64"]
	require.Len(t, img.Manifest.Layers, image.MaxLayers)
	require.Len(t, img.Config.History, image.MaxLayers)
	texts := map[string]int{}
	for i, layer := range img.Manifest.Layers[1:] { // the base's is as it was
		walkLayer(t, l, layer.Digest.Encoded(), func(header *tar.Header, _ io.Reader) {
			require.Equal(t, int64(sourceEpoch), header.ModTime.Unix(), "%s in layer %d", header.Name, i+1)
			if strings.HasSuffix(header.Name, "/share/text") {
				texts[header.Name]++
			}
		})
	}
	require.Len(t, texts, n)
	for name, times := range texts {
		require.Equal(t, 1, times, name)
	}
}

// walkLayer reads a layer blob.
func walkLayer(t *testing.T, l testenv.Layout, blob string, visit func(*tar.Header, io.Reader)) {
	t.Helper()
	file, err := os.Open(filepath.Join(l.Dir, "blobs/sha256", blob))
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		visit(header, archive)
	}
}

// layerFile is the content of a file in a layer.
func layerFile(t *testing.T, l testenv.Layout, blob, name string) (content []byte) {
	t.Helper()
	walkLayer(t, l, blob, func(header *tar.Header, r io.Reader) {
		if header.Name == name {
			var err error
			content, err = io.ReadAll(r)
			require.NoError(t, err)
		}
	})
	require.NotNil(t, content, name)
	return content
}
