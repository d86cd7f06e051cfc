package image_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// tool is a bundle with nothing in it that could collide.
func tool(id string, files ...image.Entry) bundle {
	return bundle{id: id, files: append([]image.Entry{dir("bin", 0o755), file("bin/"+id, 0o755, id)}, files...)}
}

func at(root string, b bundle) bundle {
	b.root = root
	return b
}

func writable(b bundle, paths ...string) bundle {
	b.variant = func(v *suite.Variant) { v.WritablePaths = paths }
	return b
}

func TestComposeRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		world world
		want  []string
	}{
		"bundle over a base file": {
			world{bundles: []bundle{at("/usr", bundle{id: "a", files: []image.Entry{file("bin/env", 0o755, "mine")}})}},
			[]string{"tool-providers/a/tool-provider.json:24:22: tool-provider (ASI-FS-001): /usr/bin/env is brought by the runtime base and, differently, by bundle a@1.0.0: size 3 and 4; let one of them leave it out, or make them identical"},
		},
		"every collision is listed": {
			world{bundles: []bundle{at("/usr", bundle{id: "a", files: []image.Entry{
				file("bin/env", 0o711, "env"), file("bin/dash", 0o755, "hush"), link("bin/sh", "bash"), file("bin/a", 0o755, "a"),
			}})}},
			[]string{
				"/usr/bin/dash is brought by the runtime base and, differently, by bundle a@1.0.0: bytes sha256:",
				"/usr/bin/env is brought by the runtime base and, differently, by bundle a@1.0.0: mode 0755 and 0711;",
				`/usr/bin/sh is brought by the runtime base and, differently, by bundle a@1.0.0: link target "dash" and "bash";`,
			},
		},
		"two bundles": {
			world{bundles: []bundle{at("/opt/x", tool("a", file("f", 0o644, "1"))), at("/opt/x", tool("b", file("f", 0o644, "2"), file("bin/a", 0o755, "a")))}},
			[]string{"tool-providers/b/tool-provider.json:24:22: tool-provider (ASI-FS-001): /opt/x/f is brought by bundle a@1.0.0 and, differently, by bundle b@1.0.0: bytes"},
		},
		"types differ": {
			world{bundles: []bundle{at("/usr", bundle{id: "a", files: []image.Entry{dir("bin/env", 0o755)}})}},
			[]string{"/usr/bin/env is brought by the runtime base and, differently, by bundle a@1.0.0: a file and a directory;"},
		},
		"an inventoried directory with another mode": {
			world{bundles: []bundle{at("/usr", bundle{id: "a", files: []image.Entry{dir("bin", 0o700), file("bin/a", 0o755, "a")}})}},
			[]string{"/usr/bin is brought by the runtime base and, differently, by bundle a@1.0.0: mode 0755 and 0700;"},
		},
		"an inventoried directory of another owner": {
			world{base: debian(owned(dir("srv/x", 0o755), 5, 6)), bundles: []bundle{at("/srv", bundle{id: "a", files: []image.Entry{dir("x", 0o755)}})}},
			[]string{"/srv/x is brought by the runtime base and, differently, by bundle a@1.0.0: owner 5:6 and 0:0;"},
		},
		"harness beside over a base file": {
			world{harness: scanOf(file("etc/debian_version", 0o644, "12.0\n"), file("usr/bin/harness", 0o755, "h"))},
			[]string{"etc/debian_version: build (ASI-FS-001): /etc/debian_version is brought by the runtime base and, differently, by the harness: bytes"},
		},
		"harness beside that is not usr-merged": {
			world{harness: scanOf(file("lib/x/y", 0o644, "h"), file("lib/z", 0o644, "h"))},
			[]string{"lib: build (ASI-FS-001): /lib is brought by the runtime base and, differently, by the harness: a symlink and a directory;"},
		},
		"an empty directory of a harness beside": {
			world{harness: scanOf(dir("tmp", 0o755), file("usr/bin/harness", 0o755, "h"))},
			[]string{"tmp: build (ASI-FS-001): /tmp is brought by the runtime base and, differently, by the harness: mode 1777 and 0755;"},
		},
		"bundle over a harness": {
			world{bundles: []bundle{at("/usr", bundle{id: "a", files: []image.Entry{file("bin/harness", 0o755, "mine")}})}},
			[]string{"/usr/bin/harness is brought by the harness and, differently, by bundle a@1.0.0: size 7 and 4;"},
		},
		"install root below a symlink": {
			world{bundles: []bundle{at("/lib/foo", tool("a", file("f", 0o644, "f")))}},
			[]string{`tool-provider (ASI-FS-001): bundle a@1.0.0 would be installed through /lib, which is a symlink to "usr/lib" in the runtime base (for instance /lib/foo/bin); set installRoot to /usr/lib/foo`},
		},
		"install root below an absolute symlink": {
			world{bundles: []bundle{at("/var/run/foo", tool("a"))}},
			[]string{`through /var/run, which is a symlink to "/run" in the runtime base (for instance /var/run/foo/bin); set installRoot to /run/foo`},
		},
		"install root at a symlink": {
			world{bundles: []bundle{at("/lib", tool("a"))}},
			[]string{`through /lib, which is a symlink to "usr/lib" in the runtime base (for instance /lib/bin); set installRoot to /usr/lib`},
		},
		"payload directory over a symlink": {
			world{bundles: []bundle{at("/var", bundle{id: "a", files: []image.Entry{dir("lock/x/y", 0o755)}})}},
			[]string{`through /var/lock, which is a symlink to "/run/lock" in the runtime base (for instance /var/lock/x/y); use /run/lock in its place`},
		},
		"inventoried payload directory over a symlink": {
			world{bundles: []bundle{at("/var", bundle{id: "a", files: []image.Entry{dir("lock", 0o755), file("lock/x", 0o644, "x")}})}},
			[]string{`through /var/lock, which is a symlink to "/run/lock" in the runtime base (for instance /var/lock); use /run/lock in its place`},
		},
		"below a symlink of another bundle": {
			world{bundles: []bundle{at("/opt", bundle{id: "a", files: []image.Entry{link("x", "y")}}), at("/opt/x", tool("b"))}},
			[]string{`bundle b@1.0.0 would be installed through /opt/x, which is a symlink to "y" in bundle a@1.0.0 (for instance /opt/x/bin); set installRoot to /opt/y`},
		},
		"below a symlink that leads nowhere": {
			world{base: debian(link("loop", "loop")), bundles: []bundle{at("/loop/x", tool("a"))}},
			[]string{`which is a symlink to "loop" in the runtime base (for instance /loop/x/bin); install it elsewhere`},
		},
		"below a file": {
			world{bundles: []bundle{at("/etc/passwd/x", tool("a"))}},
			[]string{"bundle a@1.0.0 would be installed through /etc/passwd, which is a regular file in the runtime base (for instance /etc/passwd/x/bin); install it elsewhere"},
		},
		"metadata in the base": {
			world{base: debian(file(".agentsuite/binding.json", 0o444, "{}"))},
			[]string{".agentsuite: build (ASI-FS-001): the runtime base has a /.agentsuite of its own; build it without"},
		},
		"metadata in the harness": {
			world{harness: scanOf(dir(".agentsuite", 0o555))},
			[]string{"the harness has a /.agentsuite of its own;"},
		},
		"bundle file below a writable path": {
			world{bundles: []bundle{writable(tool("a", file("var/x", 0o644, "x")), "/opt/a/var")}},
			[]string{`bundle a@1.0.0 needs "/opt/a/var" writable, but bundle a@1.0.0 brings /opt/a/var, which would be hidden; move one of them`},
		},
		"bundle directory at another's writable path": {
			world{bundles: []bundle{writable(tool("a"), "/opt/b/var"), tool("b", dir("var", 0o755))}},
			[]string{`bundle a@1.0.0 needs "/opt/b/var" writable, but bundle b@1.0.0 brings /opt/b/var,`},
		},
		"harness file below a writable path": {
			world{harness: scanOf(file("work/x", 0o644, "x")), bundles: []bundle{writable(tool("a"), "/work")}},
			[]string{`build (ASI-FS-001): bundle a@1.0.0 needs "/work" writable, but the harness brings /work, which would be hidden`},
		},
		"stacked harness file below a writable path": {
			world{stacked: true, base: debian(), harness: scanOf(append(debian().Entries, file("tmp/x", 0o644, "x"))...), bundles: []bundle{writable(tool("a"), "/tmp")}},
			[]string{`needs "/tmp" writable, but the harness brings /tmp/x, which would be hidden`},
		},
		"writable path that a symlink leads to files": {
			world{bundles: []bundle{writable(at("/run/a", tool("a")), "/var/run")}},
			[]string{`needs "/var/run" writable, but bundle a@1.0.0 brings /run/a,`},
		},
		"writable path that leads to a reserved one": {
			world{base: debian(link("p", "/proc/sys")), bundles: []bundle{writable(tool("a"), "/p/x")}},
			[]string{`the writable path "/p/x" leads to /proc/sys/x and would hide /proc, which the runtime mounts; choose another one`},
		},
		"writable path through a file": {
			world{bundles: []bundle{writable(tool("a"), "/etc/passwd/x")}},
			[]string{`needs "/etc/passwd/x" writable, but no directory can be mounted there`},
		},
		"writable file": {
			world{bundles: []bundle{writable(tool("a"), "/etc/passwd")}},
			[]string{`needs "/etc/passwd" writable, but no directory can be mounted there`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.world.t = t
			composed, _ := tc.world.compose()
			got := lines(composed.Problems)
			require.Len(t, got, len(tc.want), "%q", got)
			for i, want := range tc.want {
				require.Contains(t, got[i], want)
			}
		})
	}
}

func TestComposeKeepsDirectories(t *testing.T) {
	for name, tc := range map[string]struct {
		world    world
		restored []image.Entry
	}{
		"on the way through private, sticky and foreign directories": {
			world{bundles: []bundle{at("/root/a", tool("a")), at("/tmp/b/c", tool("b")), at("/var/local/d", tool("d"))}},
			[]image.Entry{dir("root", 0o700), dir("tmp", 0o1777), owned(dir("var/local", 0o2775), 0, 50)},
		},
		"an odd /opt": {
			world{bundles: []bundle{tool("a"), tool("b")}},
			[]image.Entry{dir("opt", 0o775)},
		},
		"plain parents need nothing": {
			world{bundles: []bundle{at("/srv/x/y", tool("a"))}},
			nil,
		},
		"harness beside through private directories": {
			world{harness: scanOf(dir("root", 0o755), file("root/.profile", 0o644, "x"), dir("tmp", 0o755), file("tmp/x", 0o644, "x"))},
			[]image.Entry{dir("root", 0o700), dir("tmp", 0o1777)},
		},
		"harness beside with the same directories": {
			world{harness: scanOf(dir("root", 0o700), file("root/.profile", 0o644, "x"))},
			nil,
		},
		"a harness's own directory keeps its mode": {
			world{harness: scanOf(owned(dir("private", 0o700), 7, 7), file("private/x", 0o644, "x")), bundles: []bundle{at("/private/a", tool("a"))}},
			[]image.Entry{owned(dir("private", 0o700), 7, 7)},
		},
		"one bundle lists what is another's way": {
			world{bundles: []bundle{
				at("/srv/x", bundle{id: "a", files: []image.Entry{dir("in", 0o750), file("in/a", 0o644, "a")}}),
				at("/srv/x/in", tool("b")),
			}},
			[]image.Entry{dir("srv/x/in", 0o750)},
		},
		"the order of the bundles does not matter": {
			world{bundles: []bundle{
				at("/srv/x/in", tool("b")),
				at("/srv/x", bundle{id: "a", files: []image.Entry{dir("in", 0o750), file("in/a", 0o644, "a")}}),
			}},
			[]image.Entry{dir("srv/x/in", 0o750)},
		},
		"parents that only the restored directory's own way would spoil": {
			world{bundles: []bundle{
				at("/srv/x", bundle{id: "a", files: []image.Entry{dir("in", 0o700), dir("in/deep", 0o711), file("in/deep/a", 0o644, "a")}}),
				at("/srv/x", bundle{id: "b", files: []image.Entry{dir("in", 0o700), file("in/deep/b", 0o644, "b")}}),
			}},
			[]image.Entry{dir("srv/x/in", 0o700), dir("srv/x/in/deep", 0o711)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.world.t = t
			composed, inventory := tc.world.compose()
			require.Empty(t, lines(composed.Problems))
			require.Len(t, composed.Restored, len(tc.restored), "%v", composed.Restored)
			for i, want := range tc.restored {
				got := composed.Restored[i]
				got.Component = ""
				require.Equal(t, want, got)
				final := entryAt(t, inventory, want.Path)
				final.Component = ""
				require.Equal(t, want, final)
			}
		})
	}
}

func TestComposeComponents(t *testing.T) {
	harness := scanOf(
		file("usr/bin/harness", 0o755, "h"), file("etc/debian_version", 0o644, "13.1\n"), dir("srv", 0o755),
	)
	w := world{t: t, harness: harness, bundles: []bundle{
		at("/srv/x", bundle{id: "a", files: []image.Entry{file("same", 0o644, "s"), file("bin/a", 0o755, "a")}, hardlinks: map[string]string{"hard": "same"}}),
		at("/srv/x", bundle{id: "b", files: []image.Entry{file("same", 0o644, "s"), link("l", "same")}}),
	}}
	_, inventory := w.compose()
	require.Equal(t, suite.Header{SchemaVersion: suite.SpecVersion, MediaType: image.MediaTypeInventory}, inventory.Header)
	require.Equal(t, amd64, inventory.Platform)
	components := map[string]string{}
	for _, e := range inventory.Entries {
		components[e.Path] = e.Component
	}
	want := map[string]string{
		"etc/debian_version": "runtime-base", // the harness brings it too
		"usr/bin/env":        "runtime-base",
		"srv":                "runtime-base",
		"usr/bin/harness":    "harness",
		"srv/x":              "a@1.0.0", // on the way to both
		"srv/x/same":         "a@1.0.0",
		"srv/x/hard":         "a@1.0.0",
		"srv/x/bin":          "a@1.0.0",
		"srv/x/l":            "b@1.0.0",

		".agentsuite":                  "agentsuite",
		".agentsuite/agent.json":       "agentsuite",
		".agentsuite/composition.json": "agentsuite",
		".agentsuite/instructions.md":  "agentsuite",
		".agentsuite/runtime.json":     "agentsuite",
		".agentsuite/tool-providers/a/1.0.0/schemas/a_tool.input.json": "agentsuite",
	}
	for p, component := range want {
		require.Equal(t, component, components[p], p)
	}
	require.NotContains(t, components, ".agentsuite/binding.json")
	require.NotContains(t, components, ".agentsuite/inventory.json")
	require.NotContains(t, components, "")

	hard := entryAt(t, inventory, "srv/x/hard")
	hard.Path = "srv/x/same"
	require.Equal(t, entryAt(t, inventory, "srv/x/same"), hard, "a hardlink is the file that it names")
}

func TestComposeStacked(t *testing.T) {
	base := debian(file("etc/gone", 0o644, "gone"))
	// The harness deletes a file of the base, changes a file and a directory's mode, and adds one.
	harness := debian(file("usr/bin/harness", 0o4755, "h"))
	for i := range harness.Entries {
		switch e := &harness.Entries[i]; e.Path {
		case "etc/debian_version":
			*e = file(e.Path, 0o644, "changed")
		case "opt":
			e.Mode = 0o711
		}
	}
	composed, inventory := world{t: t, stacked: true, base: base, harness: harness, bundles: []bundle{tool("a")}}.compose()
	require.Empty(t, lines(composed.Problems))
	for p, component := range map[string]string{
		"etc/debian_version": "harness", "opt": "harness", "usr/bin/harness": "harness", "usr/bin/env": "runtime-base", "etc": "runtime-base",
	} {
		require.Equal(t, component, entryAt(t, inventory, p).Component, p)
	}
	require.EqualValues(t, 0o4755, entryAt(t, inventory, "usr/bin/harness").Mode)
	for _, e := range inventory.Entries {
		require.NotEqual(t, "etc/gone", e.Path)
	}
	require.Len(t, composed.Restored, 1)
	require.EqualValues(t, 0o711, composed.Restored[0].Mode, "the directory is put back as the harness has it")
}

func TestComposeRepeatsScans(t *testing.T) {
	withFindings := func(scan *image.Scan) *image.Scan {
		scan.Problems = append(scan.Problems, problem.New(problem.ImageEntryType, problem.Place{Path: "dev/null"}, "/dev/null is a character device"))
		scan.Warnings = append(scan.Warnings, problem.Warning{Rule: problem.SetIDFile, Place: problem.Place{Path: "usr/bin/su"}, Message: "/usr/bin/su has mode 4755"})
		return scan
	}
	harness := func() *image.Scan { return scanOf(file("usr/bin/harness", 0o755, "h")) }
	messages := func(w world) (all []string) {
		w.t = t
		composed, _ := w.compose()
		all = lines(composed.Problems)
		for _, warning := range composed.Warnings {
			all = append(all, warning.Message)
		}
		return all
	}
	require.Equal(t, []string{
		"dev/null: build (ASI-FS-001): in the runtime base, /dev/null is a character device",
		"in the runtime base, /usr/bin/su has mode 4755",
	}, messages(world{base: withFindings(debian()), harness: harness()}))
	require.Equal(t, []string{
		"dev/null: build (ASI-FS-001): in the harness, /dev/null is a character device",
		"in the harness, /usr/bin/su has mode 4755",
	}, messages(world{harness: withFindings(harness())}))
	require.Equal(t, []string{
		"dev/null: build (ASI-FS-001): in the runtime base, /dev/null is a character device",
		"in the runtime base, /usr/bin/su has mode 4755",
	}, messages(world{stacked: true, base: withFindings(debian()), harness: withFindings(debian())}), "what a stacked harness has from the base is said once")

	tooLarge := &image.Scan{Problems: []problem.Problem{problem.New(problem.ImageLimit, problem.Place{}, "the filesystem has too much")}}
	require.Equal(t, []string{"build (ASI-FS-001): in the runtime base, the filesystem has too much"},
		messages(world{base: tooLarge, bundles: []bundle{writable(tool("a"), "/etc/passwd")}}), "half a filesystem is not judged")
}

// A bundle may need what the base, the harness beside it or another bundle brings.
func TestComposeFindsWhatBundlesNeed(t *testing.T) {
	libc := "usr/lib/x86_64-linux-gnu/libc.so.6"
	needy := tool("a", file("bin/run", 0o755, "#!"))
	needy.objects = map[string]abi.Facts{
		"bin/a":   {ELF: &abi.ELF{Machine: "amd64", Executable: true, Loader: "/lib64/ld-linux-x86-64.so.2", Needed: []string{"libc.so.6", "libb.so"}, RunPath: []string{"$ORIGIN/../../b/lib"}}},
		"bin/run": {Interpreter: []string{"/usr/bin/env", "harness"}},
	}
	needy.variant = func(v *suite.Variant) { v.Runtime = suite.RuntimeNeeds{ABI: "gnu", CPUBaseline: "x86-64-v1"} }
	lib := bundle{id: "b", files: []image.Entry{file("lib/libb.so", 0o644, "b")}, objects: map[string]abi.Facts{
		"lib/libb.so": {ELF: &abi.ELF{Machine: "amd64", Soname: "libb.so", Needed: []string{"libc.so.6"}}},
	}, variant: needy.variant}
	harness := scanOf(file("usr/bin/harness", 0o755, "h"))
	harness.Objects["usr/bin/harness"] = abi.Facts{ELF: &abi.ELF{Machine: "amd64", Executable: true}}

	composed, _ := world{t: t, harness: harness, bundles: []bundle{needy, lib}}.compose()
	require.Empty(t, lines(composed.Problems))

	base := debian()
	delete(base.Objects, libc)
	base.Entries = slices.DeleteFunc(base.Entries, func(e image.Entry) bool { return e.Path == libc })
	composed, _ = world{t: t, base: base, bundles: []bundle{needy, lib}, change: func(in *image.Inputs) {
		in.Harness.Config.Config.Env = []string{"PATH=/nowhere"}
		in.Base.Config.Config.Env = nil
	}}.compose()
	got := strings.Join(lines(composed.Problems), "\n")
	require.Contains(t, got, "/opt/a/bin/a: ")
	require.Contains(t, got, "libc.so.6")
	require.Contains(t, got, "/opt/a/bin/run: ", "env looks in the image's PATH")
}

func TestComposeListsBoundedly(t *testing.T) {
	var files, base []image.Entry
	for i := range 250 {
		files = append(files, file(fmt.Sprintf("f%03d", i), 0o644, "mine"))
		base = append(base, file(fmt.Sprintf("srv/f%03d", i), 0o644, "yours"))
	}
	composed, _ := world{t: t, base: debian(base...), bundles: []bundle{at("/srv", bundle{id: "a", files: files})}}.compose()
	require.Len(t, composed.Problems, 101)
	require.Equal(t, "tool-provider (ASI-FS-001): 150 more problems of this kind are not listed", composed.Problems[0].String())

	var unlisted []image.Entry
	for i := range 103 {
		unlisted = append(unlisted, dir(fmt.Sprintf("d%03d", i), 0o755))
	}
	composed, _ = world{t: t, bundles: []bundle{{id: "a", files: []image.Entry{file("bin/a", 0o755, "a")}, unlisted: unlisted}}}.compose()
	require.Len(t, composed.Problems, 101)
	require.Equal(t, "tool-provider (ASI-FS-001): 3 more problems of this kind are not listed", composed.Problems[0].String())
}
