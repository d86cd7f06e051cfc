//go:build integration

package construction_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
)

// realDebian is the image of a Debian system for amd64 of 10,000 files, in one layer. The tests share its layout.
func realDebian(t *testing.T) img {
	t.Helper()
	debianOnce.Do(func() {
		raw, err := os.ReadFile(filepath.Join(world.tools.Checkout, "build/debian/rootfs.tar"))
		require.NoError(t, err, "run `make rootfs` as root")
		i := img{
			layers: []ocitest.Layer{{MediaType: ocispecs.MediaTypeImageLayer, Blob: raw, DiffID: digest.FromBytes(raw)}},
			config: dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{User: "65532:65532", Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}}},
		}
		at := filepath.Join(world.dir, "debian")
		require.NoError(t, os.Rename(i.layout(t, amd64), at))
		i.layers[0].Blob, i.at = nil, at
		debianImage = i
	})
	require.NotEmpty(t, debianImage.at, "making the image failed before")
	return debianImage
}

var (
	debianOnce  sync.Once
	debianImage img
)

// compiled are programs and libraries that a real compiler made for amd64, by file name.
func compiled(t *testing.T) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	source := func(name, text string) { writeFile(t, dir, name, text) }
	compile := func(compiler string, args ...string) {
		cmd := exec.CommandContext(t.Context(), compiler, args...)
		cmd.Dir = dir
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v\n%s\nIf the compiler is missing, run `make packages` as root.", cmd.Args, output)
	}
	source("greet.c", `const char *greeting(void) { return "hello from a library"; }`)
	source("main.c", `#include <stdio.h>
const char *greeting(void);
int main(void) { puts(greeting()); return 0; }`)
	source("alone.c", `#include <stdio.h>
int main(void) { puts("hello alone"); return 0; }`)
	source("start.c", `void from_the_future(void); void _start(void) { from_the_future(); }`)
	source("future.c", `void from_the_future(void) {}`)
	source("future.map", `GLIBC_2.99 { global: from_the_future; };`)

	compile("gcc", "-shared", "-fPIC", "-Wl,-soname,libgreet.so.1", "-o", "libgreet.so.1", "greet.c")
	compile("gcc", "-o", "greet", "main.c", "./libgreet.so.1", "-Wl,-rpath,$ORIGIN/../lib")
	compile("gcc", "-o", "greet-lost", "main.c", "-L.", "-l:libgreet.so.1")
	compile("gcc", "-O2", "-march=x86-64-v3", "-Wl,-z,x86-64-v3", "-o", "v3", "alone.c")
	compile("gcc", "-static", "-o", "static", "alone.c")
	compile("musl-gcc", "-o", "musl", "alone.c")
	compile("musl-gcc", "-static", "-o", "musl-static", "alone.c")
	// A C library of a version to come, and a program that was linked with it.
	compile("gcc", "-shared", "-nostdlib", "-fPIC", "-Wl,-soname,libc.so.6", "-Wl,--version-script=future.map", "-o", "future.so", "future.c")
	compile("gcc", "-nostdlib", "-o", "future", "start.c", "./future.so")

	source("arm64/go.mod", "module hello\n\ngo 1.24\n")
	source("arm64/main.go", "package main\n\nfunc main() { println(\"hello\") }\n")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "arm64.bin"), ".")
	build.Dir, build.Env = filepath.Join(dir, "arm64"), append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64", "GOFLAGS=", "GOWORK=off")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))

	return func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(data)
	}
}

// muslLoader is the C library of musl, which is its loader too, as the host has it.
func muslLoader(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/lib/ld-musl-x86_64.so.1")
	require.NoError(t, err, "run `make packages` as root")
	return string(data)
}

// runtimeNeeds are a variant's needs of the runtime base.
func runtimeNeeds(abi string, more ...any) map[string]any {
	needs := map[string]any{"abi": abi, "cpuBaseline": "x86-64-v1"}
	for i := 0; i < len(more); i += 2 {
		needs[more[i].(string)] = more[i+1]
	}
	return map[string]any{"runtime": needs}
}

// Real programs on a real Debian: what the checks let pass runs, and what cannot run is refused, with what is missing.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	of := compiled(t)
	program := func(name string, more ...ocitest.Entry) provider {
		return provider{id: "a", payload: append([]ocitest.Entry{ocitest.File("bin/a", 0o755, of(name))}, more...)}
	}
	script := func(text string) provider {
		return provider{id: "a", payload: []ocitest.Entry{ocitest.File("bin/a", 0o755, text)}}
	}
	library := ocitest.File("lib/libgreet.so.1", 0o644, of("libgreet.so.1"))
	withMusl := program("musl").with(runtimeNeeds("musl"))
	withMusl.needs = []string{"musl"}
	musl := provider{id: "musl", root: "/usr/lib", payload: []ocitest.Entry{ocitest.File("ld-musl-x86_64.so.1", 0o755, muslLoader(t))}}.with(runtimeNeeds("musl"))
	certificates := "/etc/ssl/certs/ca-certificates.crt"

	for name, test := range map[string]struct {
		providers []provider // the first is the image's
		small     bool       // on the small Debian, which has no program that runs
		runs      string     // what the process writes
		refused   []string   // or why there is none
	}{
		"glibc, with a library of its own":            {providers: []provider{program("greet", library).with(runtimeNeeds("gnu"))}, runs: "hello from a library\n"},
		"glibc, without its library":                  {providers: []provider{program("greet").with(runtimeNeeds("gnu"))}, refused: []string{"build (ASI-ABI-001)", `/opt/a/bin/a: needs the library "libgreet.so.1", which is not in the final filesystem; looked in /opt/a/lib`}},
		"glibc, with its library where nobody looks":  {providers: []provider{program("greet-lost", library).with(runtimeNeeds("gnu"))}, refused: []string{`needs the library "libgreet.so.1"`}},
		"glibc, its library for another machine":      {providers: []provider{program("greet", ocitest.File("lib/libgreet.so.1", 0o644, of("arm64.bin"))).with(runtimeNeeds("gnu"))}, refused: []string{"/opt/a/lib/libgreet.so.1: is a native file for arm64, the image is for amd64", `needs the library "libgreet.so.1"`}},
		"glibc of a version to come":                  {providers: []provider{program("future").with(runtimeNeeds("gnu"))}, refused: []string{"build (ASI-ABI-001)", "GLIBC_2.99", "libc.so.6"}},
		"glibc, declared static":                      {providers: []provider{program("greet", library)}, refused: []string{`needs the loader "/lib64/ld-linux-x86-64.so.2", but the bundle's abi is static`}},
		"glibc, declared musl":                        {providers: []provider{program("greet", library).with(runtimeNeeds("musl"))}, refused: []string{"a bundle whose abi is musl needs one called ld-musl-x86_64.so.1"}},
		"glibc on a base without it":                  {providers: []provider{program("greet", library).with(runtimeNeeds("gnu"))}, small: true, refused: []string{`needs the loader "/lib64/ld-linux-x86-64.so.2", which is not in the final filesystem`}},
		"static glibc":                                {providers: []provider{program("static")}, runs: "hello alone\n"},
		"static musl":                                 {providers: []provider{program("musl-static")}, runs: "hello alone\n"},
		"musl, on a base without it":                  {providers: []provider{program("musl").with(runtimeNeeds("musl"))}, refused: []string{`needs the loader "/lib/ld-musl-x86_64.so.1", which is not in the final filesystem`}},
		"musl, brought by another bundle":             {providers: []provider{withMusl, musl}, runs: "hello alone\n"},
		"another machine's":                           {providers: []provider{program("arm64.bin")}, refused: []string{"/opt/a/bin/a: is a native file for arm64, the image is for amd64"}},
		"a processor above the baseline":              {providers: []provider{program("v3").with(runtimeNeeds("gnu"))}, refused: []string{`needs x86-64-v3, cpuBaseline is "x86-64-v1"`}},
		"a processor as declared":                     {providers: []provider{program("v3").with(runtimeNeeds("gnu", "cpuBaseline", "x86-64-v3"))}, runs: "hello alone\n"},
		"half a program":                              {providers: []provider{script(of("static")[:100])}, refused: []string{"is an executable that no kernel can start"}},
		"a Python script":                             {providers: []provider{script("#!/usr/bin/env python3\nprint('hello from', 'Python')\n")}, runs: "hello from Python\n"},
		"a Python script, on a base without Python":   {providers: []provider{script("#!/usr/bin/env python3\nprint('hello')\n")}, small: true, refused: []string{"build (ASI-ABI-001)", "/opt/a/bin/a", "python3"}},
		"a script for an interpreter that nobody has": {providers: []provider{script("#!/opt/perl/bin/perl\n1;\n")}, refused: []string{"/opt/perl/bin/perl"}},
		"a path that the base has":                    {providers: []provider{program("static").with(runtimeNeeds("static", "requiredBasePaths", []string{certificates, "/bin/sh"}))}, runs: "hello alone\n"},
		"a path that the base lacks":                  {providers: []provider{program("static").with(runtimeNeeds("static", "requiredBasePaths", []string{certificates, "/opt/oracle"}))}, refused: []string{"/opt/oracle: a@1.0.0 requires this path of the runtime base, which does not have it"}},
		"a path that only a bundle brings":            {providers: []provider{program("static").with(runtimeNeeds("static", "requiredBasePaths", []string{"/opt/a/bin/a"}))}, refused: []string{"requires this path of the runtime base"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := debian(t)
			if !test.small {
				base = realDebian(t)
			}
			a := spec{base: base, providers: test.providers}.author(t)
			out, err := a.run(t, request{target: "a@1.0.0"})
			if test.refused != nil {
				require.Error(t, err)
				for _, want := range test.refused {
					require.ErrorContains(t, err, want)
				}
				return
			}
			require.NoError(t, err, out)
			require.Equal(t, test.runs, out)
		})
	}
}

// The whole of a real Debian with everything beside and on top of it.
func TestRealDebian(t *testing.T) {
	t.Parallel()
	a := spec{base: realDebian(t), providers: []provider{tool("a"), tool("b").at("/root/b"), tool("c").at("/tmp/c"), linked("d")}}.author(t)
	for way, copied := range both {
		b := a.build(t, request{copied: copied})
		inventory := b.requireHonest(t, amd64)
		a.requireVerified(t, b, amd64)
		require.Greater(t, len(inventory.Entries), 9000, way)
		pinned, _ := a.layers(t, b, amd64)
		require.Equal(t, a.spec.base.layers[0].DiffID, pinned[0].Digest, "the layer is not even compressed")
		requireEntry(t, inventory, directory("root", 0o700, "runtime-base"))
		requireEntry(t, inventory, directory("tmp", 0o1777, "runtime-base"))
	}
}
