//go:build integration

package construction_test

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// Whatever cannot be one filesystem is refused with a text that says where, what and what to do, however layers are joined.
func TestRefusedFilesystems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec spec
		// spoil changes the sealed suite in a way that leaves its digests as they are.
		spoil func(t *testing.T, dir string)
		want  []string // all of them in the error
	}{
		"bytes differ from the base's": {
			spec: spec{providers: []provider{{id: "a", root: "/usr", payload: []ocitest.Entry{ocitest.File("bin/env", 0o755, "ENV\n")}}}},
			want: []string{"tool-provider (ASI-FS-001)", "/usr/bin/env is brought by the runtime base and, differently, by bundle a@1.0.0: bytes sha256:"},
		},
		"every collision is listed": {
			spec: spec{providers: []provider{{id: "a", root: "/usr", payload: []ocitest.Entry{
				ocitest.File("bin/env", 0o711, "env\n"), ocitest.File("bin/dash", 0o755, "longer\n"), ocitest.Symlink("bin/sh", "env"),
				ocitest.File("bin/perl5/x", 0o755, "x"),
			}}}},
			want: []string{
				"/usr/bin/env is brought by the runtime base and, differently, by bundle a@1.0.0: mode 0755 and 0711",
				"/usr/bin/dash is brought by the runtime base and, differently, by bundle a@1.0.0: size 5 and 7",
				`/usr/bin/sh is brought by the runtime base and, differently, by bundle a@1.0.0: link target "dash" and "env"`,
				"bundle a@1.0.0 would be installed through /usr/bin/perl5, which is a regular file in the runtime base",
			},
		},
		"another owner": {
			spec: spec{providers: []provider{{id: "a", root: "/etc", payload: []ocitest.Entry{ocitest.File("a", 0o755, "a"), ocitest.File("shadow", 0o640, "root:*:::::::\n")}}}},
			want: []string{"/etc/shadow is brought by the runtime base and, differently, by bundle a@1.0.0: owner 0:42 and 0:0"},
		},
		"another type": {
			spec: spec{providers: []provider{{id: "a", root: "/etc", payload: []ocitest.Entry{ocitest.File("x", 0o755, "x"), ocitest.Symlink("passwd", "x")}}}},
			want: []string{"/etc/passwd is brought by the runtime base and, differently, by bundle a@1.0.0: a file and a symlink"},
		},
		"an inventoried directory with another mode": {
			spec: spec{providers: []provider{{id: "a", root: "/usr", payload: []ocitest.Entry{ocitest.Directory("bin", 0o700), ocitest.File("bin/a", 0o755, "a")}}}},
			want: []string{"/usr/bin is brought by the runtime base and, differently, by bundle a@1.0.0: mode 0755 and 0700"},
		},
		"the harness beside the base": {
			spec: spec{harness: beside(t, ocitest.File("etc/debian_version", 0o644, "12.0\n"))},
			want: []string{"build (ASI-FS-001)", "/etc/debian_version is brought by the runtime base and, differently, by the harness: bytes sha256:"},
		},
		"a harness that is not usr-merged": {
			spec: spec{harness: beside(t, ocitest.File("lib/x.so", 0o644, "x"))},
			want: []string{"build (ASI-FS-001)", "/lib is brought by the runtime base and, differently, by the harness: a symlink and a directory"},
		},
		"an empty directory of the harness with another mode": {
			spec: spec{harness: beside(t, ocitest.Directory("tmp", 0o755))},
			want: []string{"/tmp is brought by the runtime base and, differently, by the harness: mode 1777 and 0755"},
		},
		"a bundle and the harness": {
			spec: spec{providers: []provider{{id: "a", root: "/usr/local", payload: []ocitest.Entry{ocitest.File("bin/harness", 0o755, "other\n")}}}},
			want: []string{"/usr/local/bin/harness is brought by the harness and, differently, by bundle a@1.0.0"},
		},
		"a bundle and a stacked harness": {
			spec: spec{
				harness:   stacked(t, debian(t)),
				providers: []provider{{id: "a", root: "/usr/local", payload: []ocitest.Entry{ocitest.File("bin/harness", 0o755, "other\n")}}},
			},
			want: []string{"/usr/local/bin/harness is brought by the harness and, differently, by bundle a@1.0.0"},
		},
		"below a relative symlink": {
			spec: spec{providers: []provider{tool("a").at("/lib/foo")}},
			want: []string{`bundle a@1.0.0 would be installed through /lib, which is a symlink to "usr/lib" in the runtime base`, "set installRoot to /usr/lib/foo"},
		},
		"below an absolute symlink": {
			spec: spec{providers: []provider{tool("a").at("/var/run/foo")}},
			want: []string{`bundle a@1.0.0 would be installed through /var/run, which is a symlink to "/run" in the runtime base`, "set installRoot to /run/foo"},
		},
		"a payload directory over a symlink": {
			spec: spec{providers: []provider{{id: "a", root: "/var", payload: []ocitest.Entry{ocitest.File("lock/a", 0o755, "a")}}}},
			want: []string{`through /var/lock, which is a symlink to "/run/lock" in the runtime base`, "use /run/lock in its place"},
		},
		"in the metadata":   {spec: spec{providers: []provider{tool("a").at("/.agentsuite/a")}}, want: []string{`installRoot "/.agentsuite/a" lies in /.agentsuite, which holds the image's own metadata`}},
		"in /proc":          {spec: spec{providers: []provider{tool("a").at("/proc/a")}}, want: []string{`installRoot "/proc/a" lies in /proc, which the runtime mounts`}},
		"in /sys":           {spec: spec{providers: []provider{tool("a").at("/sys")}}, want: []string{`installRoot "/sys" lies in /sys, which the runtime mounts`}},
		"in /dev":           {spec: spec{providers: []provider{tool("a").at("/dev/a")}}, want: []string{`installRoot "/dev/a" lies in /dev, which the runtime mounts`}},
		"a whiteout":        {spec: spec{providers: []provider{tool("a", ocitest.File(".wh.passwd", 0o644, "")).at("/etc")}}, want: []string{"tool-provider (ASI-FS-001)", "/etc/.wh.passwd", "whiteout"}},
		"an opaque marker":  {spec: spec{providers: []provider{tool("a", ocitest.Symlink("x/.wh..wh..opq", "y"))}}, want: []string{"/opt/a/x/.wh..wh..opq", "whiteout"}},
		"below a whiteout":  {spec: spec{providers: []provider{tool("a").at("/opt/.wh.a/b")}}, want: []string{"/opt/.wh.a", "whiteout"}},
		"metadata in base":  {spec: spec{base: debian(t, ocitest.File(".agentsuite/binding.json", 0o444, "{}"))}, want: []string{"the runtime base has a /.agentsuite of its own"}},
		"metadata in image": {spec: spec{harness: beside(t, ocitest.Directory(".agentsuite", 0o555))}, want: []string{"the harness has a /.agentsuite of its own"}},
		"unlisted directory with another mode": {
			spec:  spec{providers: []provider{tool("a", ocitest.Directory("in", 0o755), ocitest.File("in/f", 0o644, "f"))}},
			spoil: func(t *testing.T, dir string) { chmod(t, dir, "in", 0o750) },
			want:  []string{"tool-provider (ASI-FS-001)", "the payload directory tool-providers/a/linux-amd64/in has mode 0750 and the inventory does not list it; list it or give it mode 0755"},
		},
		"unlisted empty directory": {
			spec: spec{providers: []provider{tool("a")}},
			spoil: func(t *testing.T, dir string) {
				require.NoError(t, os.Mkdir(filepath.Join(dir, "tool-providers/a/linux-amd64/empty"), 0o755))
			},
			want: []string{"the payload directory tool-providers/a/linux-amd64/empty holds nothing that the inventory lists; list it or remove it"},
		},
		"writable directory": {
			spec:  spec{providers: []provider{tool("a", ocitest.Directory("in", 0o755), ocitest.File("in/f", 0o644, "f"))}},
			spoil: func(t *testing.T, dir string) { chmod(t, dir, "in", 0o775) },
			want:  []string{"security (ASI-FS-001)", "the payload directory tool-providers/a/linux-amd64/in has mode 0775"},
		},
		"device": {
			spec: spec{base: debian(t, ocitest.Entry{Header: tar.Header{Typeflag: tar.TypeChar, Name: "dev/null", Mode: 0o666, Devmajor: 1, Devminor: 3}})},
			want: []string{"build (ASI-FS-001)", "in the runtime base, /dev/null is a character device"},
		},
		"FIFO": {
			spec: spec{harness: beside(t, ocitest.Entry{Header: tar.Header{Typeflag: tar.TypeFifo, Name: "run/initctl", Mode: 0o600}})},
			want: []string{"build (ASI-FS-001)", "in the harness, /run/initctl is a FIFO"},
		},
		"name that is not UTF-8": {
			spec: spec{base: debian(t, ocitest.Entry{Header: tar.Header{Typeflag: tar.TypeReg, Name: "etc/caf\xe9", Mode: 0o644, Format: tar.FormatGNU}})},
			want: []string{"build (ASI-FS-001)", "is no UTF-8"},
		},
		"writable path over the bundle's own": {
			spec: spec{providers: []provider{tool("a", ocitest.File("var/x", 0o644, "x")).with(map[string]any{"writablePaths": []string{"/opt/a/var"}})}},
			want: []string{`bundle a@1.0.0 needs "/opt/a/var" writable, but bundle a@1.0.0 brings /opt/a/var, which would be hidden`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := test.spec.author(t)
			if test.spoil != nil {
				test.spoil(t, a.dir)
			}
			for way, copied := range both {
				_, err := a.tryBuild(t, world.buildkitd, request{copied: copied})
				require.Error(t, err, way)
				for _, want := range test.want {
					require.ErrorContains(t, err, want, way)
				}
			}
		})
	}
}

func chmod(t *testing.T, dir, below string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.Chmod(filepath.Join(dir, "tool-providers/a/linux-amd64", below), mode))
}

// What fits together gives the filesystem that the inventory says, by either way of joining layers, and the same by both.
func TestComposedFilesystems(t *testing.T) {
	t.Parallel()
	odd := ocitest.Directory("opt", 0o775).Owned(0, 50)
	for name, test := range map[string]struct {
		spec spec
		// want are entries of the final filesystem, all of them but for size and digest.
		want []image.Entry
	}{
		"identical file of base and harness": {
			spec: spec{harness: beside(t, ocitest.File("etc/debian_version", 0o644, "13.1\n"), ocitest.Directory("etc", 0o755))},
			want: []image.Entry{file("etc/debian_version", 0o644, image.ComponentRuntimeBase)},
		},
		"identical file of base and bundle": {
			spec: spec{providers: []provider{{id: "a", root: "/usr", payload: []ocitest.Entry{ocitest.File("bin/env", 0o755, "env\n"), ocitest.Symlink("bin/sh", "dash")}}}},
			want: []image.Entry{file("usr/bin/env", 0o755, image.ComponentRuntimeBase), link("usr/bin/sh", "dash", image.ComponentRuntimeBase)},
		},
		"identical files of two bundles": {
			spec: spec{providers: []provider{
				tool("a", ocitest.File("f", 0o644, "f"), ocitest.Directory("d", 0o750)).at("/srv/x"),
				tool("b", ocitest.File("f", 0o644, "f"), ocitest.Directory("d", 0o750)).at("/srv/x"),
			}},
			want: []image.Entry{file("srv/x/f", 0o644, "a@1.0.0"), directory("srv/x/d", 0o750, "a@1.0.0"), file("srv/x/bin/b", 0o755, "b@1.0.0")},
		},
		"through directories of other modes and owners": {
			spec: spec{providers: []provider{tool("a"), tool("b").at("/root/deep/b"), tool("c").at("/tmp/c"), tool("d").at("/var/local/d"), tool("e").at("/var/tmp"), tool("f").at("/run/lock/f")}},
			want: []image.Entry{
				owned(directory("opt", 0o775, image.ComponentRuntimeBase), 0, 50), directory("root", 0o700, image.ComponentRuntimeBase),
				directory("root/deep", 0o755, "b@1.0.0"), directory("tmp", 0o1777, image.ComponentRuntimeBase),
				owned(directory("var/local", 0o2775, image.ComponentRuntimeBase), 0, 50), directory("var/tmp", 0o1777, image.ComponentRuntimeBase),
				directory("run/lock", 0o1777, image.ComponentRuntimeBase), directory("var/local/d", 0o755, "d@1.0.0"),
			},
		},
		"a harness beside with other directories": {
			spec: spec{harness: beside(t,
				ocitest.Directory("opt", 0o711), ocitest.File("opt/x", 0o644, "x"), ocitest.Directory("root", 0o755), ocitest.File("root/x", 0o644, "x"),
				ocitest.Directory("tmp", 0o700), ocitest.File("tmp/x", 0o600, "x").Owned(7, 8), ocitest.Directory("private", 0o700).Owned(65532, 65532),
				ocitest.Directory("private/in", 0o2770).Owned(65532, 7), ocitest.File("private/in/x", 0o640, "x").Owned(65532, 7),
			), providers: []provider{tool("a").at("/private/in/a")}},
			want: []image.Entry{
				owned(directory("opt", 0o775, image.ComponentRuntimeBase), 0, 50), directory("root", 0o700, image.ComponentRuntimeBase), directory("tmp", 0o1777, image.ComponentRuntimeBase),
				owned(file("tmp/x", 0o600, image.ComponentHarness), 7, 8), owned(directory("private", 0o700, image.ComponentHarness), 65532, 65532),
				owned(directory("private/in", 0o2770, image.ComponentHarness), 65532, 7), owned(file("private/in/x", 0o640, image.ComponentHarness), 65532, 7),
			},
		},
		"a stacked harness with other directories": {
			spec: spec{harness: stacked(t, debian(t), ocitest.Directory("opt", 0o711), ocitest.Directory("root", 0o750), ocitest.File("tmp/x", 0o644, "x"), ocitest.File("usr/bin/env", 0o755, "another env\n")), providers: []provider{tool("a"), tool("b").at("/root/b")}},
			want: []image.Entry{
				directory("opt", 0o711, image.ComponentHarness), directory("root", 0o750, image.ComponentHarness),
				directory("tmp", 0o1777, image.ComponentRuntimeBase), file("tmp/x", 0o644, image.ComponentHarness), file("usr/bin/env", 0o755, image.ComponentHarness),
			},
		},
		"one bundle's directory on another's way": {
			spec: spec{providers: []provider{
				tool("a", ocitest.Directory("in", 0o750), ocitest.Directory("in/deep", 0o700), ocitest.File("in/deep/a", 0o600, "a")).at("/srv/x"), tool("b").at("/srv/x/in/deep/b"),
			}},
			want: []image.Entry{directory("srv/x/in", 0o750, "a@1.0.0"), directory("srv/x/in/deep", 0o700, "a@1.0.0"), directory("srv/x/in/deep/b", 0o755, "b@1.0.0")},
		},
		"the other order": {
			spec: spec{providers: []provider{
				tool("a").at("/srv/x/in/deep/b"), tool("b", ocitest.Directory("in", 0o750), ocitest.Directory("in/deep", 0o700), ocitest.File("in/deep/a", 0o600, "a")).at("/srv/x"),
			}},
			want: []image.Entry{directory("srv/x/in", 0o750, "b@1.0.0"), directory("srv/x/in/deep", 0o700, "b@1.0.0"), directory("srv/x/in/deep/b", 0o755, "a@1.0.0")},
		},
		"names that patterns would take for others": {
			spec: spec{providers: []provider{tool("a",
				ocitest.File("a*b", 0o644, "1"), ocitest.File("[c]", 0o644, "2"), ocitest.File("!d", 0o644, "3"), ocitest.File("#e", 0o644, "4"), ocitest.File(" f ", 0o644, "5"),
				ocitest.File("g?h/i j", 0o644, "6"), ocitest.File("ü/é", 0o644, "7"), ocitest.File("-n", 0o644, "8"), ocitest.File("new\nline", 0o644, "9"),
			).at("/opt/a b*[c]")}},
			want: []image.Entry{file("opt/a b*[c]/a*b", 0o644, "a@1.0.0"), file("opt/a b*[c]/ f ", 0o644, "a@1.0.0"), file("opt/a b*[c]/new\nline", 0o644, "a@1.0.0")},
		},
		"modes of files and directories": {
			spec: spec{providers: []provider{tool("a",
				ocitest.File("none", 0o000, "none"), ocitest.File("read", 0o444, "read"), ocitest.File("search", 0o511, "search"), ocitest.Directory("empty", 0o755),
				ocitest.Directory("closed", 0o000), ocitest.File("closed/f", 0o600, "f"), ocitest.Directory("closed/deep", 0o500), ocitest.File("closed/deep/f", 0o600, "f"),
			).at("/srv/not there/a")}},
			want: []image.Entry{
				file("srv/not there/a/none", 0o000, "a@1.0.0"), file("srv/not there/a/read", 0o444, "a@1.0.0"), file("srv/not there/a/search", 0o511, "a@1.0.0"),
				directory("srv/not there/a/empty", 0o755, "a@1.0.0"), directory("srv/not there/a/closed", 0o000, "a@1.0.0"), directory("srv/not there/a/closed/deep", 0o500, "a@1.0.0"),
				file("srv/not there/a/closed/deep/f", 0o600, "a@1.0.0"),
			},
		},
		"a base of no layers": {
			spec: spec{base: img{layers: []ocitest.Layer{}}, providers: []provider{tool("a")}},
			want: []image.Entry{file("opt/a/bin/a", 0o755, "a@1.0.0"), directory("opt", 0o755, "a@1.0.0"), file("usr/local/bin/harness", 0o755, image.ComponentHarness)},
		},
		"a harness of no layers": {
			spec: spec{harness: img{layers: []ocitest.Layer{}}.withConfig(func(c *dockerspec.DockerOCIImageConfig) { c.Entrypoint = []string{"/usr/bin/dash"} }), providers: []provider{tool("a")}},
			want: []image.Entry{file("opt/a/bin/a", 0o755, "a@1.0.0")},
		},
		"nothing but an agent": {
			spec: spec{},
			want: []image.Entry{file("usr/local/bin/harness", 0o755, image.ComponentHarness)},
		},
		"links of a payload": {
			spec: spec{providers: []provider{tool("a", ocitest.Symlink("lib", "bin"), ocitest.Symlink("bin/self", "a"), ocitest.Symlink("nowhere", "missing/at/all"))}},
			want: []image.Entry{link("opt/a/lib", "bin", "a@1.0.0"), link("opt/a/bin/self", "a", "a@1.0.0"), link("opt/a/nowhere", "missing/at/all", "a@1.0.0")},
		},
		"a base with an odd root": {
			spec: spec{base: debian(t, ocitest.Directory(".", 0o711).Owned(3, 4), odd), harness: beside(t, ocitest.Directory(".", 0o700).Owned(5, 6)), providers: []provider{tool("a").at("/a")}},
			want: []image.Entry{directory("a", 0o755, "a@1.0.0")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := test.spec.author(t)
			inventories := map[string]image.Inventory{}
			for way, copied := range both {
				b := a.build(t, request{copied: copied})
				inventory := b.requireHonest(t, amd64)
				a.requireVerified(t, b, amd64)
				inventories[way] = inventory
				for _, want := range test.want {
					requireEntry(t, inventory, want)
				}
			}
			require.Empty(t, cmp.Diff(inventories["merge"], inventories["copy"]))
		})
	}
}

func file(p string, mode uint32, component string) image.Entry {
	return image.Entry{Path: p, Type: content.File, Mode: mode, Component: component}
}

func directory(p string, mode uint32, component string) image.Entry {
	return image.Entry{Path: p, Type: content.Directory, Mode: mode, Component: component}
}

func link(p, target, component string) image.Entry {
	return image.Entry{Path: p, Type: content.Symlink, Mode: 0o777, LinkTarget: target, Component: component}
}

func owned(e image.Entry, uid, gid int) image.Entry {
	e.UID, e.GID = uid, gid
	return e
}
