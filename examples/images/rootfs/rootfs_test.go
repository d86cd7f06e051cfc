package rootfs

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// distribution opens the time zones of the Go distribution that runs the tests.
func distribution(t *testing.T) *zip.Reader {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(goroot)), "lib/time/zoneinfo.zip"))
	require.NoError(t, err)
	t.Cleanup(func() { archive.Close() })
	return &archive.Reader
}

type archived struct {
	*tar.Header
	data []byte
}

func read(t *testing.T, archive []byte) (files map[string]archived, order []string) {
	t.Helper()
	files = map[string]archived{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, order
		}
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		files[header.Name] = archived{header, data}
		order = append(order, header.Name)
	}
}

func TestRootFilesystem(t *testing.T) {
	t.Parallel()
	var archive, again bytes.Buffer
	require.NoError(t, Write(&archive, distribution(t)))
	require.NoError(t, Write(&again, distribution(t)))
	require.Equal(t, archive.Bytes(), again.Bytes())

	files, order := read(t, archive.Bytes())
	require.Len(t, files, len(order), "a path occurs twice")
	seen := map[string]bool{"./": true}
	for _, name := range order {
		require.True(t, seen[path.Dir(strings.TrimSuffix(name, "/"))+"/"], "%s comes before its directory", name)
		seen[name] = true
		require.Equal(t, int64(Epoch), files[name].ModTime.Unix(), name)
		require.Empty(t, files[name].Uname+files[name].Gname, name)
		if files[name].Typeflag == tar.TypeReg {
			require.Equal(t, int64(0o644), files[name].Mode, "%s: nothing here is run", name)
		}
	}

	for name, want := range map[string]struct {
		mode  int64
		owner int
	}{
		"tmp/": {0o1777, 0}, "var/tmp/": {0o1777, 0}, "root/": {0o700, 0},
		"home/": {0o755, 0}, "home/nonroot/": {0o700, NonRoot}, "usr/share/zoneinfo/": {0o755, 0},
	} {
		require.Equal(t, byte(tar.TypeDir), files[name].Typeflag, name)
		require.Equal(t, want.mode, files[name].Mode, name)
		require.Equal(t, want.owner, files[name].Uid, name)
		require.Equal(t, want.owner, files[name].Gid, name)
	}
	for _, link := range []string{"etc/localtime", "etc/ssl/cert.pem"} {
		require.Contains(t, files, path.Join(path.Dir(link), files[link].Linkname), "%s leads nowhere", link)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(files["etc/passwd"].data)), "\n") {
		require.True(t, strings.HasSuffix(line, ":/sbin/nologin"), line)
	}
	require.Contains(t, string(files["etc/passwd"].data), "\nnonroot:x:65532:65532:")
	require.Contains(t, string(files["etc/group"].data), "\nnonroot:x:65532:")

	// The time zones are the real ones.
	kathmandu, err := time.LoadLocationFromTZData("Asia/Kathmandu", files["usr/share/zoneinfo/Asia/Kathmandu"].data)
	require.NoError(t, err)
	require.Equal(t, "05:45", time.Unix(Epoch, 0).In(kathmandu).Format("15:04"))
}

func TestEveryUnconditionalRootIsInTheBundle(t *testing.T) {
	t.Parallel()
	want, conditional := x509.NewCertPool(), 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			conditional++
			continue
		}
		certificate, err := x509.ParseCertificate(root.Certificate)
		require.NoError(t, err)
		want.AddCert(certificate)
	}
	require.NotZero(t, conditional, "nothing shows that conditional roots are left out")
	got := x509.NewCertPool()
	require.True(t, got.AppendCertsFromPEM(certificateAuthorities()))
	require.True(t, want.Equal(got))
}

func TestStrangeTimeZoneArchivesAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		header zip.FileHeader
		data   string
		want   string
	}{
		"a path that leads out": {zip.FileHeader{Name: "../../etc/shadow"}, "TZif2", `an entry "../../etc/shadow"`},
		"no time zone":          {zip.FileHeader{Name: "Etc/UTC"}, "#!/bin/sh", "Etc/UTC is no compiled time zone"},
		"a symlink":             {zip.FileHeader{Name: "Etc/UTC", ExternalAttrs: 0o120777 << 16, CreatorVersion: 3 << 8}, "TZif2", "an entry \"Etc/UTC\" (L"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var packed bytes.Buffer
			writer := zip.NewWriter(&packed)
			file, err := writer.CreateHeader(&tc.header)
			require.NoError(t, err)
			_, err = io.WriteString(file, tc.data)
			require.NoError(t, err)
			require.NoError(t, writer.Close())
			archive, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
			require.NoError(t, err)
			require.ErrorContains(t, Write(io.Discard, archive), tc.want)
		})
	}
}
