//go:build integration

package construction_test

import (
	"archive/tar"
	"slices"
	"testing"
	"time"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite"
)

var (
	amd64 = suite.Platform{OS: "linux", Architecture: "amd64"}
	arm64 = suite.Platform{OS: "linux", Architecture: "arm64"}
)

// img is an image to pin: the same layers and config for every platform of the test.
type img struct {
	layers []ocitest.Layer
	config dockerspec.DockerOCIImageConfig
	// at is the layout of an image that is written already.
	at string
}

// layer is a layer of entries that are as old as the hills, and one another's elders: whatever of its times survived into
// a generated layer would be seen.
func layer(t *testing.T, entries ...ocitest.Entry) ocitest.Layer {
	t.Helper()
	for i := range entries {
		entries[i].ModTime = time.Unix(1_000_000_000+int64(i), 0)
		if entries[i].Format == tar.FormatUnknown {
			entries[i].Format = tar.FormatPAX
		}
	}
	return ocitest.NewLayer(t, entries...)
}

// withLayer is the image with one more layer.
func (i img) withLayer(t *testing.T, entries ...ocitest.Entry) img {
	t.Helper()
	i.layers = append(slices.Clip(i.layers), layer(t, entries...))
	return i
}

// withConfig is the image with another config.
func (i img) withConfig(change func(*dockerspec.DockerOCIImageConfig)) img {
	change(&i.config)
	return i
}

// layout writes the image, for every platform, into an OCI layout and returns its directory.
func (i img) layout(t *testing.T, platforms ...suite.Platform) string {
	t.Helper()
	if i.at != "" {
		return i.at
	}
	layout := ocitest.NewLayout()
	for _, platform := range platforms {
		descriptor := layout.Image(t, platform, dockerspec.DockerOCIImage{Config: i.config}, i.layers...)
		layout.Index.Manifests = append(layout.Index.Manifests, descriptor)
	}
	return layout.WriteDir(t)
}

// The user databases of the small Debian.
const (
	passwd = "root:x:0:0:root:/root:/bin/bash\nwww-data:x:33:33::/var/www:/usr/sbin/nologin\napp:x:1000:1234::/home/app:/bin/sh\n"
	group  = "root:x:0:\nmail:x:8:\nwww-data:x:33:\nstaff:x:50:\napp:x:1234:\n"
)

// debian is a base of a few entries in which all the things are that trip a composition up: merged /usr, links to /run, a
// sticky /tmp, a private /root, set-group directories of other groups, an /opt with an odd mode.
func debian(t *testing.T, more ...ocitest.Entry) img {
	t.Helper()
	return img{config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{
		User: "1000:1234", Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"},
	}}}.withLayer(t, append([]ocitest.Entry{
		ocitest.Symlink("bin", "usr/bin"), ocitest.Symlink("lib", "usr/lib"), ocitest.Symlink("lib64", "usr/lib64"), ocitest.Symlink("sbin", "usr/sbin"),
		ocitest.Directory("dev", 0o755), ocitest.Directory("etc", 0o755), ocitest.Directory("home", 0o755), ocitest.Directory("proc", 0o555),
		ocitest.Directory("run", 0o755), ocitest.Directory("run/lock", 0o1777), ocitest.Directory("srv", 0o755), ocitest.Directory("sys", 0o555),
		ocitest.Directory("opt", 0o775).Owned(0, 50), ocitest.Directory("root", 0o700), ocitest.Directory("tmp", 0o1777),
		ocitest.Directory("usr", 0o755), ocitest.Directory("usr/bin", 0o755), ocitest.Directory("usr/lib", 0o755), ocitest.Directory("usr/lib64", 0o755),
		ocitest.Directory("usr/local", 0o755), ocitest.Directory("usr/local/bin", 0o755), ocitest.Directory("usr/sbin", 0o755),
		ocitest.Directory("var", 0o755), ocitest.Symlink("var/run", "/run"), ocitest.Symlink("var/lock", "/run/lock"),
		ocitest.Directory("var/local", 0o2775).Owned(0, 50), ocitest.Directory("var/mail", 0o2775).Owned(0, 8), ocitest.Directory("var/tmp", 0o1777),
		ocitest.File("etc/passwd", 0o644, passwd), ocitest.File("etc/group", 0o644, group), ocitest.File("etc/shadow", 0o640, "root:*:::::::\n").Owned(0, 42),
		ocitest.File("etc/debian_version", 0o644, "13.1\n"), ocitest.Symlink("etc/mtab", "../proc/mounts"),
		ocitest.File("root/.bashrc", 0o644, "# bash\n"),
		ocitest.File("usr/bin/dash", 0o755, "dash\n"), ocitest.Symlink("usr/bin/sh", "dash"), ocitest.File("usr/bin/env", 0o755, "env\n"),
		ocitest.File("usr/bin/perl", 0o755, "perl\n"), ocitest.Hardlink("usr/bin/perl5", "usr/bin/perl", 0o755),
	}, more...)...)
}

// beside is a harness that is an image of its own.
func beside(t *testing.T, more ...ocitest.Entry) img {
	t.Helper()
	return img{config: harnessConfig()}.withLayer(t, append([]ocitest.Entry{
		ocitest.File("usr/local/bin/harness", 0o755, "harness\n"),
	}, more...)...)
}

// stacked is a harness on top of a base.
func stacked(t *testing.T, base img, more ...ocitest.Entry) img {
	t.Helper()
	return img{layers: base.layers, config: harnessConfig()}.withLayer(t, append([]ocitest.Entry{
		ocitest.File("usr/local/bin/harness", 0o755, "harness\n"),
	}, more...)...)
}

func harnessConfig() dockerspec.DockerOCIImageConfig {
	return dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{
		User: "65532:65532", Entrypoint: []string{"/usr/local/bin/harness"}, Env: []string{"PATH=/usr/local/bin:/usr/bin"}, WorkingDir: "/srv",
	}}
}
