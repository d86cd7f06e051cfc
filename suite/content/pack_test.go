package content_test

import (
	"archive/tar"
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

var packed = []content.Form{content.FormOCILayout, content.FormOCILayoutTar, content.FormContentTarGzip}

func pack(tb testing.TB, src string, form content.Form) (path string, sum digest.Digest) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "out")
	sum, err := content.Pack(tb.Context(), src, path, form, content.PackOptions{Limits: content.DefaultLimits()})
	require.NoError(tb, err)
	return path, sum
}

// These digests are the identity of every suite that was ever packed. If this test fails, what changed
// must be changed back: a compressor of another version, another level, another header.
func TestPackedBytesNeverChange(t *testing.T) {
	// Enough to fill several blocks of the compressor, with what repeats and what does not.
	big := make([]byte, 1<<20)
	state := uint32(1)
	for i := range big {
		if state = state*1664525 + 1013904223; i%1000 < 600 {
			big[i] = byte(state >> 24)
		} else {
			big[i] = byte(i / 1000)
		}
	}
	dir := sampleDirectory(t)
	write(t, filepath.Join(dir, "tools/big"), string(big))

	path, manifest := pack(t, dir, content.FormContentTarGzip)
	layer, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "sha256:ab148cd34192aba3d54826cdedffaf5433d29cbacb99d75bfa3ef9d56225913c", digest.FromBytes(layer).String(), "the layer")
	require.Equal(t, "sha256:acde82990bf1c4ed64fb95509fbc47f6ae6d3555c7fcbf7fbf615a17bb8d7ead", manifest.String(), "the manifest")
	tarPath, _ := pack(t, dir, content.FormOCILayoutTar)
	layout, err := os.ReadFile(tarPath)
	require.NoError(t, err)
	require.Equal(t, "sha256:1f9e13929759b87f9767024cb35381323cef2b93c779cdb32d176a790f53173f", digest.FromBytes(layout).String(), "the layout tar")
}

func TestPackDependsOnContentOnly(t *testing.T) {
	one, two := sampleDirectory(t), sampleDirectory(t)
	require.NoError(t, filepath.WalkDir(two, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		if entry.IsDir() {
			// The modes of directories are no content; what umask somebody has must not matter.
			if err := os.Chmod(path, 0o775); err != nil {
				return err
			}
		}
		return os.Chtimes(path, time.Unix(1, 0), time.Unix(1000, 5))
	}))
	write(t, filepath.Join(two, "README.md"), "a build file")
	write(t, filepath.Join(two, ".dockerignore"), "junk")
	write(t, filepath.Join(two, "junk/file"), "junk")
	for _, form := range packed {
		onePath, oneSum := pack(t, one, form)
		twoPath, twoSum := pack(t, two, form)
		require.Equal(t, oneSum, twoSum)
		if form != content.FormOCILayout {
			onePath, twoPath = filepath.Dir(onePath), filepath.Dir(twoPath)
		}
		require.Equal(t, snapshot(t, onePath), snapshot(t, twoPath), form)
	}
}

func TestPackedLayer(t *testing.T) {
	path, _ := pack(t, sampleDirectory(t), content.FormContentTarGzip)
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	z, err := stdgzip.NewReader(file)
	require.NoError(t, err)
	require.Zero(t, z.ModTime)
	require.Empty(t, z.Name)
	archive, err := io.ReadAll(z)
	require.NoError(t, err)

	r := tar.NewReader(bytes.NewReader(archive))
	var names []string
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		names = append(names, strings.TrimSuffix(h.Name, "/"))
		require.Zero(t, h.Uid+h.Gid)
		require.Empty(t, h.Uname+h.Gname)
		require.Equal(t, time.Unix(0, 0), h.ModTime)
		require.Equal(t, h.Typeflag == tar.TypeDir, strings.HasSuffix(h.Name, "/"))
		if h.Typeflag == tar.TypeDir {
			require.EqualValues(t, 0o755, h.Mode)
		}
		want := tar.FormatUSTAR
		if h.Name == "tools/Größe" {
			want = tar.FormatPAX
			require.Equal(t, map[string]string{"path": h.Name}, h.PAXRecords)
		}
		require.Equal(t, want, h.Format, h.Name)
	}
	require.True(t, slices.IsSorted(names))
	end := len(bytes.TrimRight(archive, "\x00"))
	require.Len(t, archive, (end+511)/512*512+1024, "exactly two zero blocks")
}

func TestPackedLayout(t *testing.T) {
	dir, sum := pack(t, sampleDirectory(t), content.FormOCILayout)
	path, again := pack(t, sampleDirectory(t), content.FormOCILayoutTar)
	require.Equal(t, sum, again)

	manifest, err := os.ReadFile(filepath.Join(dir, "blobs/sha256", sum.Encoded()))
	require.NoError(t, err)
	layer := open(t, dir, defaults())
	noProblems(t, layer)
	require.Regexp(t, `^\{"schemaVersion":2,"mediaType":"application/vnd\.oci\.image\.manifest\.v1\+json","artifactType":"application/vnd\.agentsuite\.suite\.v1",`+
		`"config":\{"mediaType":"application/vnd\.oci\.empty\.v1\+json","digest":"sha256:`+emptyHex+`","size":2\},`+
		`"layers":\[\{"mediaType":"application/vnd\.agentsuite\.content\.v1\.tar\+gzip","digest":"sha256:[0-9a-f]{64}","size":[0-9]+\}\]\}$`, string(manifest))

	var fromTar []string
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Equal(t, time.Unix(0, 0), h.ModTime)
		body, err := io.ReadAll(r)
		require.NoError(t, err)
		if h.Typeflag == tar.TypeReg {
			onDisk, err := os.ReadFile(filepath.Join(dir, h.Name))
			require.NoError(t, err)
			require.Equal(t, onDisk, body, h.Name)
		}
		fromTar = append(fromTar, strings.TrimSuffix(h.Name, "/"))
	}
	require.True(t, slices.IsSorted(fromTar))
	var onDisk []string
	for _, line := range snapshot(t, dir) {
		onDisk = append(onDisk, strings.Fields(line)[1])
	}
	require.Equal(t, onDisk, fromTar)
}

// A layer and a manifest that exist stay what they are, also if we would write others.
func TestPackCarriesWhatExists(t *testing.T) {
	var b bytes.Buffer
	z, err := stdgzip.NewWriterLevel(&b, stdgzip.BestCompression)
	require.NoError(t, err)
	_, err = z.Write(tarOf(t, sample...))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	e := newEnvelope(b.Bytes())
	e.manifest["annotations"] = object{"org.opencontainers.image.title": "a hint"}
	layout := e.build(t)
	manifest := digest.FromString(jsonOf(t, e.manifest))

	sources := map[string]string{"layout": layout.directory(t), "layout tar": file(t, layout.tar(t)), "layer": file(t, b.Bytes())}
	for name, src := range sources {
		for _, form := range packed {
			path, sum := pack(t, src, form)
			index := open(t, path, content.Options{Limits: content.DefaultLimits(), Digest: true})
			noProblems(t, index)
			requireEqual(t, sampleEntries(), index.Entries)
			if name != "layer" {
				require.Equal(t, manifest, sum)
			}
			if form == content.FormContentTarGzip {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, b.Bytes(), data, name)
			} else {
				require.Equal(t, sum, index.SuiteDigest)
			}
		}
	}
}

func TestPackIsRepeatable(t *testing.T) {
	first, sum := pack(t, sampleDirectory(t), content.FormOCILayout)
	for _, form := range packed {
		path, again := pack(t, first, form)
		require.Equal(t, sum, again)
		requireEqual(t, open(t, first, defaults()), open(t, path, defaults()), cmpopts.IgnoreFields(content.Index{}, "Form", "SuiteDigest"))
	}
}

func TestPackLeavesNothingBehind(t *testing.T) {
	bad := sampleDirectory(t)
	require.NoError(t, os.Symlink("/", filepath.Join(bad, "out")))
	refused := errors.New("refused")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx   context.Context
		src   string
		form  content.Form
		check func(*content.Index) error
		want  string
	}{
		"problems":            {src: bad, want: `out: path (AS-PATH-001): the symlink's target "/" is refused`},
		"a check":             {src: sampleDirectory(t), check: func(*content.Index) error { return refused }, want: "refused"},
		"nothing to pack":     {src: filepath.Join(t.TempDir(), "none"), want: "no such file"},
		"a cancelled context": {ctx: cancelled, src: sampleDirectory(t), want: "context canceled"},
		"an unknown form":     {src: sampleDirectory(t), form: content.FormDirectory, want: `packing as "directory": expected one of oci-layout, oci-layout-tar and content-tar-gzip`},
	} {
		t.Run(name, func(t *testing.T) {
			forms := packed
			if test.form != "" {
				forms = []content.Form{test.form}
			}
			if test.ctx == nil {
				test.ctx = t.Context()
			}
			for _, form := range forms {
				dir := t.TempDir()
				_, err := content.Pack(test.ctx, test.src, filepath.Join(dir, "out"), form, content.PackOptions{Limits: content.DefaultLimits(), Check: test.check})
				require.ErrorContains(t, err, test.want)
				require.Empty(t, snapshot(t, dir))
			}
		})
	}
	var problems *problem.Error
	_, err := content.Pack(t.Context(), bad, filepath.Join(t.TempDir(), "out"), content.FormOCILayout, content.PackOptions{Limits: content.DefaultLimits()})
	require.ErrorAs(t, err, &problems)
}

func TestPackKeepsWhatIsThere(t *testing.T) {
	for _, form := range packed {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "out"), "precious")
		_, err := content.Pack(t.Context(), sampleDirectory(t), filepath.Join(dir, "out"), form, content.PackOptions{Limits: content.DefaultLimits()})
		require.ErrorIs(t, err, fs.ErrExist)
		require.Equal(t, []string{"-rw-r--r-- out = precious"}, snapshot(t, dir))

		require.NoError(t, os.Symlink("out", filepath.Join(dir, "link")))
		_, err = content.Pack(t.Context(), sampleDirectory(t), filepath.Join(dir, "link"), form, content.PackOptions{Limits: content.DefaultLimits()})
		require.ErrorIs(t, err, fs.ErrExist)
		require.Equal(t, []string{"Lrwxrwxrwx link -> out", "-rw-r--r-- out = precious"}, snapshot(t, dir))
	}
}

func TestCheckSeesWhatIsPacked(t *testing.T) {
	dir := sampleDirectory(t)
	require.NoError(t, os.Chmod(filepath.Join(dir, "tools"), 0o700)) // which packing levels
	var seen *content.Index
	sum, err := content.Pack(t.Context(), dir, filepath.Join(t.TempDir(), "out"), content.FormOCILayout, content.PackOptions{
		Limits: content.DefaultLimits(),
		Check:  func(index *content.Index) error { seen = index; return nil },
	})
	require.NoError(t, err)
	require.Equal(t, sum, seen.SuiteDigest)
	requireEqual(t, sampleEntries(), seen.Entries)
}
