package abi_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// TestNativePrograms compiles programs and libraries with this machine's C compiler, and checks them
// against this machine's own filesystem as the runtime base.
func TestNativePrograms(t *testing.T) {
	for _, tool := range []string{"gcc", "ldd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	n := native{t, t.TempDir()}
	n.write("one.map", "ONE_1.0 { global: one; local: *; };\n")
	n.write("two.map", "ONE_1.0 { global: one; local: *; };\nONE_2.0 { global: two; } ONE_1.0;\n")
	n.write("one.c", "int one(void) { return 1; }\n")
	n.write("two.c", "int one(void) { return 1; }\nint two(void) { return 2; }\n")
	n.write("main.c", "extern int two(void);\nint main(void) { return two() - 2; }\n")
	n.mkdir("lib", "bin", "old")
	n.gcc("-shared", "-fPIC", "-Wl,-soname,libone.so.1", "-Wl,--version-script=two.map", "-o", "lib/libone.so.1", "two.c")
	n.gcc("-shared", "-fPIC", "-Wl,-soname,libone.so.1", "-Wl,--version-script=one.map", "-o", "old/libone.so.1", "one.c")
	n.gcc("-o", "bin/good", "main.c", "lib/libone.so.1", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib")
	n.gcc("-o", "bin/old", "main.c", "lib/libone.so.1", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../old")
	n.gcc("-o", "bin/lost", "main.c", "lib/libone.so.1")

	tests := map[string]struct {
		program string
		want    string // of the only finding
	}{
		"a library of the bundle's own by RUNPATH": {"bin/good", ""},
		"a library that lacks a symbol version":    {"bin/old", "needs ONE_2.0 of \"libone.so.1\", but " + n.dir + "/old/libone.so.1 does not define it"},
		"a library without a way to it":            {"bin/lost", "needs the library \"libone.so.1\", which is not in the final filesystem"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			at := strings.TrimPrefix(filepath.Join(n.dir, tt.program), "/")
			e, ok := hostLookup(t)(at)
			require.True(t, ok)
			config := map[string][]byte{}
			for _, p := range []string{"etc/ld.so.conf", "etc/ld.so.cache"} {
				if raw, err := os.ReadFile("/" + p); err == nil {
					config[p] = raw
				}
			}
			findings, err := abi.Check(t.Context(), abi.Subject{
				Platform: suite.Platform{OS: "linux", Architecture: runtime.GOARCH},
				Final:    hostLookup(t), Base: hostLookup(t), Files: config,
				Bundles: []abi.Bundle{{
					Component: "x@1.0.0", Objects: map[string]abi.Facts{at: *e.Facts},
					Runtime: suite.RuntimeNeeds{ABI: "gnu", CPUBaseline: "x86-64-v1"},
				}},
			})
			require.NoError(t, err)

			// What the machine's own loader says is the truth that the findings must agree with.
			output, runErr := exec.CommandContext(t.Context(), filepath.Join(n.dir, tt.program)).CombinedOutput()
			if tt.want == "" {
				require.Empty(t, render(findings))
				require.NoError(t, runErr, "%s", output)
				return
			}
			require.Error(t, runErr, "this machine's loader starts the program")
			require.Len(t, findings, 1)
			require.Equal(t, at, findings[0].Path)
			require.Contains(t, findings[0].Message, tt.want)
		})
	}
}

// TestNativeMusl links a program against a C library that is musl's by its names, and checks it against
// a filesystem that holds that library in musl's places. It needs no musl, since nothing runs.
func TestNativeMusl(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	libc, loader := "libc.musl-"+machine+".so.1", "ld-musl-"+machine+".so.1"
	n := native{t, t.TempDir()}
	n.write("libc.c", "int puts(const char *s) { return !s; }\n")
	n.write("own.c", "int puts(const char *s);\nint own(void) { return puts(\"own\"); }\n")
	n.write("main.c", "int own(void);\nint puts(const char *s);\nvoid _start(void) { own(); puts(0); for (;;); }\n")
	n.gcc("-nostdlib", "-shared", "-fPIC", "-Wl,-soname,"+libc, "-o", libc, "libc.c")
	n.gcc("-nostdlib", "-shared", "-fPIC", "-Wl,-soname,libown.so", "-o", "libown.so", "own.c", libc)
	n.gcc("-nostdlib", "-o", "program", "main.c", "libown.so", libc, "-Wl,--dynamic-linker=/lib/"+loader, "-Wl,-rpath,$ORIGIN/../lib")

	read := func(name string) abi.Entry {
		file, err := os.Open(filepath.Join(n.dir, name))
		require.NoError(t, err)
		defer file.Close()
		info, err := file.Stat()
		require.NoError(t, err)
		facts, err := abi.Read(file, info.Size())
		require.NoError(t, err)
		return abi.Entry{Type: content.File, Mode: 0o755, Facts: facts}
	}
	base := map[string]abi.Entry{"lib/" + loader: read(libc)}
	final := map[string]abi.Entry{"opt/x/bin/program": read("program"), "opt/x/lib/libown.so": read("libown.so")}
	maps.Copy(final, base)
	require.Equal(t, []string{"libown.so", libc}, final["opt/x/bin/program"].Facts.ELF.Needed)
	objects := map[string]abi.Facts{"opt/x/bin/program": *final["opt/x/bin/program"].Facts, "opt/x/lib/libown.so": *final["opt/x/lib/libown.so"].Facts}
	check := func(runtimeABI string) []string {
		lookup := func(entries map[string]abi.Entry) abi.Lookup {
			return func(p string) (abi.Entry, bool) { e, ok := entries[p]; return e, ok }
		}
		findings, err := abi.Check(t.Context(), abi.Subject{
			Platform: suite.Platform{OS: "linux", Architecture: runtime.GOARCH}, Final: lookup(final), Base: lookup(base),
			Bundles: []abi.Bundle{{
				Component: "x@1.0.0", Objects: objects, Runtime: suite.RuntimeNeeds{ABI: runtimeABI, CPUBaseline: "x86-64-v1"},
			}},
		})
		require.NoError(t, err)
		return render(findings)
	}
	require.Empty(t, check("musl"))
	require.Contains(t, strings.Join(check("gnu"), "\n"), "abi-loader opt/x/bin/program: names the loader")
	delete(final, "opt/x/lib/libown.so")
	require.Contains(t, strings.Join(check("musl"), "\n"), "abi-library opt/x/bin/program: needs the library \"libown.so\"")
}

// TestHostPrograms holds that what runs on this machine has no findings.
func TestHostPrograms(t *testing.T) {
	lookup := hostLookup(t)
	objects := map[string]abi.Facts{}
	for _, name := range []string{"sh", "ls", "env", "gcc", "ldd", "tar", "git", "python3", "perl"} {
		found, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		resolved, err := filepath.EvalSymlinks(found)
		require.NoError(t, err)
		if e, ok := lookup(strings.TrimPrefix(resolved, "/")); ok && e.Facts != nil {
			objects[strings.TrimPrefix(resolved, "/")] = *e.Facts
		}
	}
	for p, facts := range objects {
		if facts.ELF != nil && facts.ELF.Loader != "" && !strings.HasPrefix(filepath.Base(facts.ELF.Loader), "ld-linux") {
			t.Skipf("/%s needs %s: this machine's C library is not glibc", p, facts.ELF.Loader)
		}
	}
	config := map[string][]byte{}
	if raw, err := os.ReadFile("/etc/ld.so.cache"); err == nil {
		config["etc/ld.so.cache"] = raw
	}
	findings, err := abi.Check(t.Context(), abi.Subject{
		Platform: suite.Platform{OS: "linux", Architecture: runtime.GOARCH}, Final: lookup, Base: lookup, Files: config,
		Bundles: []abi.Bundle{{Component: "x@1.0.0", Objects: objects, Runtime: suite.RuntimeNeeds{ABI: "gnu", CPUBaseline: "x86-64-v4"}}},
	})
	require.NoError(t, err)
	require.Empty(t, render(findings))
}

type native struct {
	t   *testing.T
	dir string
}

func (n native) write(name, text string) {
	require.NoError(n.t, os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600))
}

func (n native) mkdir(names ...string) {
	for _, name := range names {
		require.NoError(n.t, os.Mkdir(filepath.Join(n.dir, name), 0o755))
	}
}

func (n native) gcc(args ...string) {
	cmd := exec.CommandContext(n.t.Context(), "gcc", args...)
	cmd.Dir = n.dir
	output, err := cmd.CombinedOutput()
	require.NoError(n.t, err, "%s", output)
}

// hostLookup looks into this machine's filesystem.
func hostLookup(t *testing.T) abi.Lookup {
	return func(p string) (abi.Entry, bool) {
		info, err := os.Lstat("/" + p)
		if err != nil {
			return abi.Entry{}, false
		}
		e := abi.Entry{Type: content.File, Mode: uint32(info.Mode().Perm())}
		switch {
		case info.IsDir():
			e.Type = content.Directory
		case info.Mode()&os.ModeSymlink != 0:
			e.Type = content.Symlink
			e.LinkTarget, err = os.Readlink("/" + p)
			require.NoError(t, err)
		case info.Mode().IsRegular():
			file, err := os.Open("/" + p)
			require.NoError(t, err)
			defer file.Close()
			e.Facts, err = abi.Read(file, info.Size())
			require.NoError(t, err)
		}
		return e, true
	}
}
