package content_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// at calls a function once so many bytes have been read.
type at struct {
	r io.Reader
	n int64
	f func()
}

func (a *at) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if a.n -= int64(n); a.n <= 0 && a.f != nil {
		a.f()
		a.f = nil
	}
	return n, err
}

func TestCancelWhileReadingAStream(t *testing.T) {
	body := bytes.Repeat([]byte("incompressible? no, but long. "), 1<<17)
	layer := layerOf(t, member{name: "large", body: string(body)}, member{name: "more", body: string(body)})
	layout := newEnvelope(layer).build(t).tar(t)
	for name, data := range map[string][]byte{"layer": layer, "layout tar": layout} {
		ctx, cancel := context.WithCancel(t.Context())
		opts := defaults()
		opts.Extract = filepath.Join(t.TempDir(), "content")
		_, err := content.OpenReader(ctx, &at{bytes.NewReader(data), int64(len(data) / 2), cancel}, opts)
		require.ErrorIs(t, err, context.Canceled, name)
		require.Empty(t, snapshot(t, filepath.Dir(opts.Extract)), name)
	}
}

// Hashing a file of gigabytes must end when its result is not wanted any more.
func TestCancelWhileHashing(t *testing.T) {
	dir := t.TempDir()
	large, err := os.Create(filepath.Join(dir, "large"))
	require.NoError(t, err)
	require.NoError(t, large.Truncate(4<<30)) // takes no room on the disk
	require.NoError(t, large.Close())
	for _, digest := range []bool{false, true} {
		// How soon is measured; on a busy machine not every attempt counts.
		best := time.Hour
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			_, err = content.Open(ctx, dir, content.Options{Limits: content.DefaultLimits(), Digest: digest})
			deadline, _ := ctx.Deadline()
			best = min(best, time.Since(deadline))
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if best < 100*time.Millisecond {
				break
			}
		}
		require.Less(t, best, 100*time.Millisecond)
	}
}

// Trouble of the reader is trouble, wherever it comes up, and no fault of the suite.
func TestBrokenReader(t *testing.T) {
	layer := layerOf(t, sample...)
	layout := newEnvelope(layer).build(t).tar(t)
	for name, data := range map[string][]byte{"layer": layer, "layout tar": layout} {
		for n := 0; n < len(data); n += 97 {
			_, err := content.OpenReader(t.Context(), io.MultiReader(bytes.NewReader(data[:n]), broken{}), defaults())
			require.ErrorIs(t, err, os.ErrPermission, "%s, after %d bytes", name, n)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, os.ErrPermission }

// A pipe that nobody writes to, and one that is written to no further, are waited for no longer than wanted.
func TestCancelWhileWaitingForAPipe(t *testing.T) {
	layer := layerOf(t, sample...)
	for name, written := range map[string][]byte{"nobody came": nil, "nobody goes on": layer[:len(layer)/2]} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pipe")
			require.NoError(t, mkfifo(path))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if written != nil {
				writer, err := os.OpenFile(path, os.O_RDWR, 0)
				require.NoError(t, err)
				defer writer.Close()
				_, err = writer.Write(written)
				require.NoError(t, err)
			}
			_, err := content.Open(ctx, path, defaults())
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}
