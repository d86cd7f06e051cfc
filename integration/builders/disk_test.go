//go:build integration

package builders_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/buildkit/client"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// smallDisk is a directory on a file system of its own that is full after so many bytes.
func smallDisk(t *testing.T, bytes int64) string {
	t.Helper()
	dir := stateDir(t)
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)))
	// Lazily: an ended daemon's namespaces may go a moment after it.
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// randomDraft is a suite with a payload that no compression makes smaller.
func randomDraft(t *testing.T, bytes int) draft {
	t.Helper()
	d := smallDraft(t)
	random := make([]byte, bytes)
	_, err := rand.Read(random)
	require.NoError(t, err)
	d.providers[0].write = func(t testing.TB, dir string) { writeFile(t, dir, "random", random, 0o644) }
	return d
}

// Wherever a builder's disk gets full (while the suite is sent, while its files are copied, while the layer is made), the
// build fails with one error that says so, nothing is pushed, and a build that fits succeeds after it.
func TestFullDiskOfTheBuilder(t *testing.T) {
	t.Parallel()
	const payload = 32 << 20
	d := randomDraft(t, payload)
	d.platforms = suite.Platforms()[:1]
	large := d.write(t)
	small := smallDraft(t)
	smallDir := small.write(t)
	// The daemon, with the frontend in it, takes some 30 MB; to that comes room for so many copies of the payload.
	for name, size := range map[string]int64{
		"sending": 30<<20 + payload/2, "copying": 30<<20 + payload*3/2, "compressing": 30<<20 + payload*5/2,
	} {
		t.Run(name, func(t *testing.T) {
			disk := smallDisk(t, size)
			b := example.Builder(t, daemon.BuildkitdOptions{Root: disk})
			ref := example.Registry.Host + "/full-disk/" + name
			out, err := b.Build(t, large, append(d.contexts(), "--provenance=false", "--output", "type=image,push=true,name="+ref)...)
			requireOneError(t, out, err, "no space left on device")
			require.Empty(t, tagged(t, ref))

			// Even to forget something a daemon has to write.
			require.NoError(t, unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", 2*size)))
			require.NoError(t, testenv.Client(t, b.Buildkitd).Prune(t.Context(), nil, client.PruneAll))
			_, err = b.Build(t, smallDir, append(small.contexts(), "--provenance=false", "--output", "type=image,push=true,name="+ref)...)
			require.NoError(t, err)
			require.NotEmpty(t, tagged(t, ref))
		})
	}
}

// A disk that gets full under the file that the command line writes leaves no file, and what was there before stays.
func TestFullDiskOfTheClient(t *testing.T) {
	t.Parallel()
	d := randomDraft(t, 16<<20)
	dir := d.write(t)
	b := example.Builder(t, daemon.BuildkitdOptions{})
	disk := smallDisk(t, 4<<20)
	dest := filepath.Join(disk, "image.tar")
	require.NoError(t, os.WriteFile(dest, []byte("before"), 0o644))
	build := start(t, doors["agentsuite-llb"](t, b, dir, append(d.contexts(), "--output", "type=oci,dest="+dest)...))
	<-build.done
	require.Error(t, build.err)
	require.Contains(t, build.output(), "no space left on device")
	require.NotContains(t, build.output(), "panic")
	before, err := os.ReadFile(dest)
	require.NoError(t, err)
	require.Equal(t, "before", string(before))
	left, err := os.ReadDir(disk)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
