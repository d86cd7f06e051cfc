//go:build integration

package construction_test

import (
	"archive/tar"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
)

// capable gives a file the capability to bind low ports, as its inode carries it: revision 2, effective, CAP_NET_BIND_SERVICE.
func capable(e ocitest.Entry) ocitest.Entry {
	e.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"}
	return e
}

// What the layers of a harness do to each other is its own affair, and never reaches the base that it stands beside; a
// harness on top of the base changes of the base what it likes.
func TestHarnessLayers(t *testing.T) {
	t.Parallel()
	const component = image.ComponentHarness
	for name, test := range map[string]struct {
		harness func(t *testing.T, base img) img
		want    []image.Entry
		gone    []string
		warning string
	}{
		"beside, deleting what it added and the base has too": {
			harness: func(t *testing.T, _ img) img {
				return beside(t, ocitest.File("etc/debian_version", 0o644, "mine\n"), ocitest.File("etc/mine", 0o644, "x")).
					withLayer(t, ocitest.Whiteout("etc/debian_version"), ocitest.Whiteout("etc/mine"))
			},
			want: []image.Entry{file("etc/debian_version", 0o644, image.ComponentRuntimeBase), file("etc/passwd", 0o644, image.ComponentRuntimeBase)},
			gone: []string{"etc/mine"},
		},
		"beside, emptying a directory that the base has too": {
			harness: func(t *testing.T, _ img) img {
				return beside(t, ocitest.File("etc/debian_version", 0o644, "mine\n"), ocitest.File("usr/bin/mine", 0o755, "x")).
					withLayer(t, ocitest.Opaque("etc"), ocitest.File("etc/other", 0o644, "other"), ocitest.Whiteout("usr/bin"))
			},
			want: []image.Entry{file("etc/debian_version", 0o644, image.ComponentRuntimeBase), file("etc/other", 0o644, component), file("usr/bin/env", 0o755, image.ComponentRuntimeBase)},
			gone: []string{"usr/bin/mine"},
		},
		"beside, replacing a directory by a file and back": {
			harness: func(t *testing.T, _ img) img {
				return beside(t, ocitest.File("srv/x/y", 0o644, "y")).withLayer(t, ocitest.Whiteout("srv/x"), ocitest.File("srv/x", 0o600, "x")).
					withLayer(t, ocitest.Directory("srv/x", 0o711), ocitest.File("srv/x/z", 0o644, "z"))
			},
			want: []image.Entry{directory("srv/x", 0o711, component), file("srv/x/z", 0o644, component)},
			gone: []string{"srv/x/y"},
		},
		"beside, of the same distribution": {
			harness: func(t *testing.T, _ img) img {
				i := debian(t, ocitest.File("usr/bin/of-the-harness", 0o755, "x"))
				i.config = harnessConfig()
				return i.withLayer(t, ocitest.File("usr/local/bin/harness", 0o755, "harness\n"))
			},
			want: []image.Entry{
				file("usr/bin/env", 0o755, image.ComponentRuntimeBase), file("usr/bin/of-the-harness", 0o755, component), directory("tmp", 0o1777, image.ComponentRuntimeBase),
				owned(directory("opt", 0o775, image.ComponentRuntimeBase), 0, 50), link("bin", "usr/bin", image.ComponentRuntimeBase),
			},
		},
		"stacked, deleting and replacing": {
			harness: func(t *testing.T, base img) img {
				return stacked(t, base, ocitest.File("etc/debian_version", 0o644, "mine\n"), ocitest.File("etc/mine", 0o644, "x")).
					withLayer(t, ocitest.Whiteout("etc/debian_version"), ocitest.Whiteout("etc/mine"), ocitest.Opaque("root"), ocitest.Directory("lib64", 0o755), ocitest.File("lib64/x", 0o644, "x"))
			},
			want: []image.Entry{file("etc/passwd", 0o644, image.ComponentRuntimeBase), directory("root", 0o700, image.ComponentRuntimeBase), directory("lib64", 0o755, component), file("lib64/x", 0o644, component)},
			gone: []string{"etc/debian_version", "etc/mine", "root/.bashrc"},
		},
		"stacked, with nothing of its own": {
			harness: func(_ *testing.T, base img) img {
				return img{layers: base.layers, config: harnessConfig()}.withConfig(func(c *dockerspec.DockerOCIImageConfig) { c.Entrypoint = []string{"/usr/bin/dash"} })
			},
			want: []image.Entry{file("etc/passwd", 0o644, image.ComponentRuntimeBase)},
		},
		"hard links beside": {
			harness: func(t *testing.T, _ img) img {
				return beside(t, ocitest.File("usr/bin/busybox", 0o755, "busybox\n"), ocitest.Hardlink("usr/bin/cat", "usr/bin/busybox", 0o755), ocitest.Hardlink("srv/deep/ls", "usr/bin/busybox", 0o755)).
					withLayer(t, ocitest.File("usr/bin/cat", 0o755, "busybox\n"), ocitest.Hardlink("usr/bin/late", "usr/bin/cat", 0o755), ocitest.Whiteout("usr/bin/busybox"))
			},
			want: []image.Entry{file("usr/bin/cat", 0o755, component), file("srv/deep/ls", 0o755, component), file("usr/bin/late", 0o755, component)},
			gone: []string{"usr/bin/busybox"},
		},
		"hard links on top": {
			harness: func(t *testing.T, base img) img {
				return stacked(t, base, ocitest.File("usr/bin/perl", 0o755, "perl\n"), ocitest.Hardlink("usr/bin/perl5.40", "usr/bin/perl", 0o755), ocitest.File("usr/bin/perl5", 0o755, "another\n"))
			},
			want: []image.Entry{file("usr/bin/perl", 0o755, image.ComponentRuntimeBase), file("usr/bin/perl5", 0o755, component), file("usr/bin/perl5.40", 0o755, component)},
		},
		"set-id files beside": {
			harness: func(t *testing.T, _ img) img {
				return beside(t, ocitest.File("usr/bin/su", 0o4755, "su\n"), ocitest.File("usr/bin/wall", 0o2755, "wall\n").Owned(0, 5))
			},
			want:    []image.Entry{file("usr/bin/su", 0o4755, component), owned(file("usr/bin/wall", 0o2755, component), 0, 5)},
			warning: "in the harness, /usr/bin/su has mode 4755",
		},
		"set-id files on top": {
			harness: func(t *testing.T, base img) img { return stacked(t, base, ocitest.File("usr/bin/su", 0o4755, "su\n")) },
			want:    []image.Entry{file("usr/bin/su", 0o4755, component)},
			warning: "in the harness, /usr/bin/su has mode 4755",
		},
		"capabilities beside": {
			harness: func(t *testing.T, _ img) img {
				return beside(t, capable(ocitest.File("usr/bin/ping", 0o755, "ping\n")))
			},
			want:    []image.Entry{file("usr/bin/ping", 0o755, component)},
			warning: "in the harness, /usr/bin/ping has capabilities",
		},
		"capabilities on top": {
			harness: func(t *testing.T, base img) img {
				return stacked(t, base, capable(ocitest.File("usr/bin/ping", 0o755, "ping\n")))
			},
			want:    []image.Entry{file("usr/bin/ping", 0o755, component)},
			warning: "in the harness, /usr/bin/ping has capabilities",
		},
		"odd names and owners": {
			harness: func(t *testing.T, _ img) img {
				return beside(t, ocitest.File("srv/new\nline", 0o644, "1").Owned(4294967294, 4294967294), ocitest.File("srv/"+strings.Repeat("n", 255), 0o000, ""), ocitest.Symlink("srv/"+strings.Repeat("l", 200), strings.Repeat("../", 600)+"x"))
			},
			want: []image.Entry{owned(file("srv/new\nline", 0o644, component), 4294967294, 4294967294)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := debian(t)
			a := spec{base: base, harness: test.harness(t, base), providers: []provider{tool("a")}}.author(t)
			inventories := map[string]image.Inventory{}
			for way, copied := range both {
				b := a.build(t, request{copied: copied})
				inventory := b.requireHonest(t, amd64)
				a.requireVerified(t, b, amd64)
				for _, want := range test.want {
					requireEntry(t, inventory, want)
				}
				for _, path := range test.gone {
					require.Nil(t, entry(inventory, path), path)
				}
				if test.warning != "" {
					require.Contains(t, strings.Join(b.warnings, "\n"), test.warning, way)
				}
				inventories[way] = inventory
			}
			require.Empty(t, cmp.Diff(inventories["merge"], inventories["copy"]))
		})
	}
}

// A file keeps its capabilities, of which an inventory says nothing and a sandbox takes no notice.
func TestCapabilitiesSurvive(t *testing.T) {
	t.Parallel()
	const record = "SCHILY.xattr.security.capability"
	ping := capable(ocitest.File("usr/bin/ping", 0o755, "ping\n"))
	base := debian(t, capable(ocitest.File("usr/bin/arping", 0o755, "arping\n")))
	for name, harness := range map[string]img{"beside": beside(t, ping), "stacked": stacked(t, base, ping)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := spec{base: base, harness: harness, providers: []provider{tool("a")}}.author(t)
			for way, copied := range both {
				b := a.build(t, request{copied: copied})
				found := map[string]string{}
				for _, l := range b.layout.Images[amd64.String()].Manifest.Layers {
					b.walk(t, l, func(h *tar.Header) {
						if value, ok := h.PAXRecords[record]; ok {
							found[h.Name] = value
						}
					})
				}
				want := ping.PAXRecords[record]
				require.Equal(t, map[string]string{"usr/bin/ping": want, "usr/bin/arping": want}, found, way)
			}
		})
	}
}

// The config is the harness's, or what it leaves open; everything that would run at another time is left out.
func TestHarnessConfigs(t *testing.T) {
	t.Parallel()
	full := dockerspec.DockerOCIImageConfig{
		ImageConfig: ocispecs.ImageConfig{
			User: "1000:1234", Env: []string{"PATH=/opt/harness/bin:/usr/bin", "HARNESS=1"}, Entrypoint: []string{"/usr/local/bin/harness", "serve"}, Cmd: []string{"--quiet"},
			WorkingDir: "/srv/work", StopSignal: "SIGINT", ExposedPorts: map[string]struct{}{"8080/tcp": {}}, Labels: map[string]string{"maintainer": "somebody"},
			Volumes: map[string]struct{}{"/data": {}},
		},
		DockerOCIImageConfigExt: dockerspec.DockerOCIImageConfigExt{
			Healthcheck: &dockerspec.HealthcheckConfig{Test: []string{"CMD", "/usr/local/bin/harness", "healthy"}, Interval: time.Second},
			OnBuild:     []string{"RUN false"}, Shell: []string{"/bin/sh"},
		},
	}
	baseEnv := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	for name, test := range map[string]struct {
		config dockerspec.DockerOCIImageConfig
		onTop  bool
		want   dockerspec.DockerOCIImageConfig // but for labels
		warns  string
	}{
		"everything, beside": {config: full, want: dockerspec.DockerOCIImageConfig{
			ImageConfig: ocispecs.ImageConfig{
				User: "1000:1234", Env: []string{"PATH=/opt/harness/bin:/usr/bin", "LANG=C.UTF-8", "HARNESS=1"}, Entrypoint: full.Entrypoint, Cmd: full.Cmd,
				WorkingDir: "/srv/work", StopSignal: "SIGINT", ExposedPorts: full.ExposedPorts, Volumes: map[string]struct{}{"/var/work": {}},
			},
			DockerOCIImageConfigExt: dockerspec.DockerOCIImageConfigExt{Healthcheck: full.Healthcheck},
		}},
		"everything, on top": {config: full, onTop: true, want: dockerspec.DockerOCIImageConfig{
			ImageConfig: ocispecs.ImageConfig{
				User: "1000:1234", Env: full.Env, Entrypoint: full.Entrypoint, Cmd: full.Cmd,
				WorkingDir: "/srv/work", StopSignal: "SIGINT", ExposedPorts: full.ExposedPorts, Volumes: map[string]struct{}{"/var/work": {}},
			},
			DockerOCIImageConfigExt: dockerspec.DockerOCIImageConfigExt{Healthcheck: full.Healthcheck},
		}},
		"a command alone": {
			config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{Cmd: []string{"/usr/local/bin/harness"}}},
			want:   dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{User: "65532:65532", Env: baseEnv, Cmd: []string{"/usr/local/bin/harness"}, WorkingDir: "/", Volumes: map[string]struct{}{"/var/work": {}}}},
			warns:  "the image is configured to run as no user in particular, so it runs as 65532:65532",
		},
		"a command alone, on top": {
			config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{Cmd: []string{"/usr/local/bin/harness"}, User: "root"}},
			onTop:  true,
			want:   dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{User: "65532:65532", Cmd: []string{"/usr/local/bin/harness"}, WorkingDir: "/", Volumes: map[string]struct{}{"/var/work": {}}}},
			warns:  `the image is configured to run as "root", which is root, so it runs as 65532:65532`,
		},
		"a user by name": {
			config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{User: "app", Entrypoint: []string{"/usr/local/bin/harness"}}},
			want:   dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{User: "1000:1234", Env: baseEnv, Entrypoint: []string{"/usr/local/bin/harness"}, WorkingDir: "/", Volumes: map[string]struct{}{"/var/work": {}}}},
		},
		"a user and a group by name, on top": {
			config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{User: "www-data:staff", Entrypoint: []string{"/usr/local/bin/harness"}, WorkingDir: "relative"}},
			onTop:  true,
			want:   dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{User: "33:50", Entrypoint: []string{"/usr/local/bin/harness"}, WorkingDir: "/relative", Volumes: map[string]struct{}{"/var/work": {}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := debian(t)
			harness := beside(t)
			if test.onTop {
				harness = stacked(t, base)
			}
			harness.config = test.config
			a := spec{base: base, harness: harness, providers: []provider{tool("a").with(map[string]any{"writablePaths": []string{"/var/work"}})}}.author(t)
			b := a.build(t, request{})
			b.requireHonest(t, amd64)
			i := b.open(t, amd64)
			for label := range i.Config.Config.Labels {
				require.True(t, strings.HasPrefix(label, "org.agentsuite."), "label %s of the harness is left out", label)
			}
			got := i.Config.Config
			got.Labels = nil
			require.Empty(t, cmp.Diff(test.want, got))
			if test.warns == "" {
				require.Empty(t, b.warnings)
			} else {
				require.Contains(t, strings.Join(b.warnings, "\n"), test.warns)
			}
		})
	}
}

// A harness that cannot become an image says why.
func TestRefusedHarnesses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config func(*dockerspec.DockerOCIImageConfig)
		want   string
	}{
		"no process":    {func(c *dockerspec.DockerOCIImageConfig) { c.Entrypoint, c.Cmd = nil, nil }, "has neither an entrypoint nor a command"},
		"unknown user":  {func(c *dockerspec.DockerOCIImageConfig) { c.User = "nobody" }, `the user "nobody" is not in /etc/passwd`},
		"unknown group": {func(c *dockerspec.DockerOCIImageConfig) { c.User = "app:wheel" }, `the group "wheel" is not in /etc/group`},
		"user too high": {func(c *dockerspec.DockerOCIImageConfig) { c.User = "4294967295" }, `"4294967295" is above 4294967294`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := spec{harness: beside(t).withConfig(test.config)}.author(t)
			_, err := a.tryBuild(t, world.buildkitd, request{})
			require.ErrorContains(t, err, "build (ASI-RUN-001)")
			require.ErrorContains(t, err, test.want)
		})
	}
}
