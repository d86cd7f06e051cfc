package abi_test

import (
	"debug/elf"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/image/abi/elftest"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// root is a filesystem for tests: paths without a leading slash, and what lies there.
type root map[string]any

type (
	link string // a symlink's target
	text string // an executable text
	data string // a file that nobody can execute
)

func (r root) lookup(t testing.TB) abi.Lookup {
	entries := map[string]abi.Entry{}
	for p, what := range r {
		switch what := what.(type) {
		case nil:
			entries[p] = abi.Entry{Type: content.Directory, Mode: 0o755}
		case link:
			entries[p] = abi.Entry{Type: content.Symlink, Mode: 0o777, LinkTarget: string(what)}
		case elftest.File:
			entries[p] = abi.Entry{Type: content.File, Mode: 0o755, Facts: read(t, what.Bytes())}
		case text:
			entries[p] = abi.Entry{Type: content.File, Mode: 0o755, Facts: read(t, []byte(what))}
		case data:
			entries[p] = abi.Entry{Type: content.File, Mode: 0o644, Facts: read(t, []byte(what))}
		default:
			t.Fatalf("%s: %T", p, what)
		}
	}
	return func(p string) (abi.Entry, bool) { e, ok := entries[p]; return e, ok }
}

// files are the configuration files among the data.
func (r root) files() map[string][]byte {
	files := map[string][]byte{}
	for p, what := range r {
		if d, ok := what.(data); ok && abi.IsConfiguration(p) {
			files[p] = []byte(d)
		}
	}
	return files
}

const loader = "/lib64/ld-linux-x86-64.so.2"

// debian is a usr-merged base as Debian has it, as far as loaders and scripts care.
var debian = root{
	"bin": link("usr/bin"), "lib": link("usr/lib"), "lib64": link("usr/lib64"),
	"usr/lib64/ld-linux-x86-64.so.2":                link("../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
	"usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": elftest.File{Library: true, Soname: "ld-linux-x86-64.so.2", Defines: []string{"GLIBC_2.2.5", "GLIBC_2.3"}},
	"usr/lib/x86_64-linux-gnu/libc.so.6": elftest.File{Library: true, Soname: "libc.so.6", Needed: []string{"ld-linux-x86-64.so.2"},
		Defines: []string{"GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.36"}},
	"usr/lib/x86_64-linux-gnu/libz.so.1":   link("libz.so.1.3"),
	"usr/lib/x86_64-linux-gnu/libz.so.1.3": elftest.File{Library: true, Soname: "libz.so.1", Needed: []string{"libc.so.6"}},
	"usr/bin/dash":                         elftest.File{Loader: loader, Needed: []string{"libc.so.6"}},
	"usr/bin/sh":                           link("dash"),
	"usr/bin/env":                          elftest.File{Loader: loader, Needed: []string{"libc.so.6"}},
	"usr/bin/python3":                      link("python3.13"),
	"usr/bin/python3.13":                   elftest.File{Loader: loader, Needed: []string{"libpython3.13.so.1.0", "libc.so.6"}, RunPath: []string{"/usr/lib/python"}},
	"usr/lib/python/libpython3.13.so.1.0":  elftest.File{Library: true, Soname: "libpython3.13.so.1.0", Needed: []string{"libc.so.6"}},
	"etc/ssl/certs/ca-certificates.crt":    data("certificates"),
	"usr/share/data":                       data("text"),
}

// alpine is a base with musl.
var alpine = root{
	"lib/ld-musl-x86_64.so.1":   elftest.File{Library: true, Soname: "libc.musl-x86_64.so.1"},
	"lib/libc.musl-x86_64.so.1": link("ld-musl-x86_64.so.1"),
	"usr/lib/libz.so.1":         elftest.File{Library: true, Soname: "libz.so.1", Needed: []string{"libc.musl-x86_64.so.1"}},
	"bin/busybox":               elftest.File{Loader: "/lib/ld-musl-x86_64.so.1", Needed: []string{"libc.musl-x86_64.so.1"}},
	"bin/sh":                    link("/bin/busybox"),
}

func gnuProgram(needed ...string) elftest.File {
	return elftest.File{Loader: loader, Needed: append(needed, "libc.so.6")}
}

func library(soname string, needed ...string) elftest.File {
	return elftest.File{Library: true, Soname: soname, Needed: needed}
}

func gnu() suite.RuntimeNeeds { return suite.RuntimeNeeds{ABI: "gnu", CPUBaseline: "x86-64-v1"} }

func musl() suite.RuntimeNeeds { return suite.RuntimeNeeds{ABI: "musl", CPUBaseline: "x86-64-v1"} }

func static() suite.RuntimeNeeds { return suite.RuntimeNeeds{ABI: "static", CPUBaseline: "x86-64-v1"} }

// TestCheck holds every rule: what a bundle below /opt/x brings to a base, and the findings.
func TestCheck(t *testing.T) {
	tests := map[string]struct {
		base         root
		bundle       root // below opt/x
		runtime      suite.RuntimeNeeds
		searchPath   []string
		imagePath    []string
		architecture string
		want         []string // "rule path: message"
	}{
		"static": {debian, root{"bin/a": elftest.File{}}, static(), nil, nil, "", nil},
		"static with a loader": {debian, root{"bin/a": gnuProgram()}, static(), nil, nil, "", []string{
			`abi-loader opt/x/bin/a: needs the loader "/lib64/ld-linux-x86-64.so.2", but the bundle's abi is static; link it statically or declare gnu or musl`,
		}},
		"static with a library that needs another": {debian, root{"lib/a.so": library("", "libmissing.so")}, static(), nil, nil, "", []string{
			`abi-library opt/x/lib/a.so: needs the library "libmissing.so", but the bundle's abi is static; declare gnu or musl`,
		}},

		"another machine": {debian, root{"bin/a": elftest.File{Machine: elf.EM_AARCH64}}, static(), nil, nil, "", []string{
			`abi-machine opt/x/bin/a: is a native file for arm64, the image is for amd64`,
		}},
		"the other platform": {debian, root{"bin/a": elftest.File{Machine: elf.EM_AARCH64}}, static(), nil, nil, "arm64", nil},
		"broken executable": {debian, root{"bin/a": text("\x7fELF\x02\x01\x01 broken")}, static(), nil, nil, "", []string{
			`abi-malformed opt/x/bin/a: is an executable that no kernel can start: the file's 14 bytes end before the ELF header`,
		}},
		"broken data": {debian, root{"testdata/a": data("\x7fELF\x02\x01\x01 broken")}, static(), nil, nil, "", nil},

		"gnu": {debian, root{"bin/a": gnuProgram("libz.so.1")}, gnu(), nil, nil, "", nil},
		"gnu without its loader": {alpine, root{"bin/a": elftest.File{Loader: loader}}, gnu(), nil, nil, "", []string{
			`abi-loader opt/x/bin/a: needs the loader "/lib64/ld-linux-x86-64.so.2", which is not in the final filesystem; use a runtime base with that C library or bring it in the bundle`,
		}},
		"gnu with musl's loader": {alpine, root{"bin/a": elftest.File{Loader: "/lib/ld-musl-x86_64.so.1"}}, gnu(), nil, nil, "", []string{
			`abi-loader opt/x/bin/a: names the loader "/lib/ld-musl-x86_64.so.1"; a bundle whose abi is gnu needs one called ld-linux-x86-64.so.2`,
		}},
		"gnu on arm64 with amd64's loader": {debian, root{"bin/a": elftest.File{Machine: elf.EM_AARCH64, Loader: loader}}, gnu(), nil, nil, "arm64", []string{
			`abi-loader opt/x/bin/a: names the loader "/lib64/ld-linux-x86-64.so.2"; a bundle whose abi is gnu needs one called ld-linux-aarch64.so.1`,
		}},
		"relative loader": {debian, root{"bin/a": elftest.File{Loader: "ld-linux-x86-64.so.2"}}, gnu(), nil, nil, "", []string{
			`abi-loader opt/x/bin/a: names the loader "ld-linux-x86-64.so.2", which is no absolute path`,
		}},
		"loader that is a text": {root{"lib64/ld-linux-x86-64.so.2": text("no loader")}, root{"bin/a": elftest.File{Loader: loader}}, gnu(), nil, nil, "", []string{
			`abi-loader opt/x/bin/a: needs the loader "/lib64/ld-linux-x86-64.so.2", but /lib64/ld-linux-x86-64.so.2 is no ELF file for amd64`,
		}},
		"loader of the bundle": {root{}, root{
			"lib/ld-linux-x86-64.so.2": library("ld-linux-x86-64.so.2"), "lib/libc.so.6": library("libc.so.6", "ld-linux-x86-64.so.2"),
			"bin/a": elftest.File{Loader: "/opt/x/lib/ld-linux-x86-64.so.2", Needed: []string{"libc.so.6"}, RunPath: []string{"$ORIGIN/../lib"}},
		}, gnu(), nil, nil, "", nil},

		"missing library": {debian, root{"bin/a": gnuProgram("libmissing.so.1")}, gnu(), []string{"/opt/x/lib"}, nil, "", []string{
			`abi-library opt/x/bin/a: needs the library "libmissing.so.1", which is not in the final filesystem; looked in /opt/x/lib, /lib/x86_64-linux-gnu, /usr/lib/x86_64-linux-gnu, /lib64, /usr/lib64, /lib, /usr/lib`,
		}},
		"missing library of a library": {
			root{"usr/lib/liba.so": library("", "libmissing.so")}, root{"bin/a": elftest.File{Needed: []string{"liba.so"}}}, gnu(), nil, nil, "", []string{
				`abi-library opt/x/bin/a: loads /usr/lib/liba.so, which needs the library "libmissing.so", which is not in the final filesystem; looked in`,
			},
		},
		"missing library of the bundle's own library is reported once, at the library": {debian, root{
			"bin/a": elftest.File{Needed: []string{"liba.so"}}, "bin/b": elftest.File{Needed: []string{"liba.so"}},
			"lib/liba.so": library("", "libmissing.so"),
		}, gnu(), []string{"/opt/x/lib"}, nil, "", []string{
			`abi-library opt/x/lib/liba.so: needs the library "libmissing.so"`,
		}},
		"library that is no library": {debian, root{"bin/a": gnuProgram("liba.so"), "lib/liba.so": text("/* GNU ld script */")}, gnu(), []string{"/opt/x/lib"}, nil, "", []string{
			`abi-library opt/x/bin/a: needs the library "liba.so", which is not in the final filesystem; looked in /opt/x/lib/liba.so (no ELF file)`,
		}},
		"library for another machine is passed over": {
			root{"usr/lib/x86_64-linux-gnu/liba.so": elftest.File{Library: true, Machine: elf.EM_AARCH64}, "usr/lib/liba.so": library("")},
			root{"bin/a": elftest.File{Needed: []string{"liba.so"}}}, gnu(), nil, nil, "", nil,
		},
		"only a library for another machine": {
			root{"usr/lib/liba.so": elftest.File{Library: true, Machine: elf.EM_AARCH64}},
			root{"bin/a": elftest.File{Needed: []string{"liba.so"}}}, gnu(), nil, nil, "", []string{
				`abi-library opt/x/bin/a: needs the library "liba.so", which is not in the final filesystem; looked in /lib/x86_64-linux-gnu, /usr/lib/x86_64-linux-gnu, /lib64, /usr/lib64, /lib, /usr/lib/liba.so (for arm64)`,
			},
		},

		"library by RUNPATH": {debian, root{
			"bin/a": elftest.File{Loader: loader, Needed: []string{"liba.so"}, RunPath: []string{"${ORIGIN}/../lib"}}, "lib/liba.so": library(""),
		}, gnu(), nil, nil, "", nil},
		"RUNPATH is not inherited": {debian, root{
			"bin/a":       elftest.File{Loader: loader, Needed: []string{"liba.so"}, RunPath: []string{"$ORIGIN/../lib"}},
			"lib/liba.so": library("", "libb.so"), "lib/libb.so": library(""),
		}, gnu(), nil, nil, "", []string{`abi-library opt/x/lib/liba.so: needs the library "libb.so"`}},
		"RPATH is inherited": {debian, root{
			"bin/a":       elftest.File{Loader: loader, Needed: []string{"liba.so"}, RPath: []string{"$ORIGIN/../lib"}},
			"lib/liba.so": library("", "libb.so"), "lib/libb.so": library(""),
		}, gnu(), nil, nil, "", nil},
		"RUNPATH turns RPATH off": {debian, root{
			"bin/a":       elftest.File{Loader: loader, Needed: []string{"liba.so"}, RPath: []string{"/opt/x/lib"}, RunPath: []string{"/nowhere"}},
			"lib/liba.so": library(""),
		}, gnu(), nil, nil, "", []string{`abi-library opt/x/bin/a: needs the library "liba.so", which is not in the final filesystem; looked in /nowhere, /lib/x86`}},
		"a library's own RUNPATH turns inherited RPATH off": {debian, root{
			"bin/a":       elftest.File{Loader: loader, Needed: []string{"liba.so"}, RPath: []string{"/opt/x/lib"}},
			"lib/liba.so": elftest.File{Library: true, Needed: []string{"libb.so"}, RunPath: []string{"/nowhere"}}, "lib/libb.so": library(""),
		}, gnu(), nil, nil, "", []string{`abi-library opt/x/lib/liba.so: needs the library "libb.so"`}},
		"$LIB and $PLATFORM": {debian, root{
			"bin/a":                        elftest.File{Loader: loader, Needed: []string{"liba.so", "libb.so"}, RunPath: []string{"/opt/x/$LIB:/opt/x/${PLATFORM}"}},
			"lib/x86_64-linux-gnu/liba.so": library(""), "x86_64/libb.so": library(""),
		}, gnu(), nil, nil, "", nil},
		"a need with a slash": {debian, root{
			"bin/a": elftest.File{Loader: loader, Needed: []string{"/opt/x/lib/liba.so"}}, "lib/liba.so": library(""),
		}, gnu(), nil, nil, "", nil},
		"$ORIGIN of a program is where it lies, of a library where it was found": {debian, root{
			"current": link("versions/1"), "versions/1/bin/a": elftest.File{Loader: loader, Needed: []string{"liba.so"}, RunPath: []string{"$ORIGIN/../lib"}},
			"versions/1/lib/liba.so":  link("../real/liba.so"),
			"versions/1/real/liba.so": elftest.File{Library: true, Needed: []string{"libb.so"}, RunPath: []string{"$ORIGIN"}},
			"versions/1/lib/libb.so":  library(""),
		}, gnu(), nil, nil, "", nil},
		"a library that is loaded already satisfies a need by its soname": {debian, root{
			"bin/a":       elftest.File{Loader: loader, Needed: []string{"liba.so", "libb.so"}, RunPath: []string{"/opt/x/lib"}},
			"lib/liba.so": library("liba.so.1"), "lib/libb.so": library("", "liba.so.1"),
		}, gnu(), nil, nil, "", nil},
		"a plugin may rely on what its program loads": {debian, root{
			"bin/a":          elftest.File{Loader: loader, Needed: []string{"liba.so"}, RunPath: []string{"/opt/x/lib"}},
			"lib/liba.so":    library(""),
			"plugins/one.so": library("", "liba.so"),
		}, gnu(), nil, nil, "", nil},
		"a plugin may rely on what its script's interpreter loads": {debian, root{
			"bin/a": text("#!/usr/bin/env python3\n"), "lib/ext.so": library("", "libpython3.13.so.1.0"),
		}, gnu(), nil, nil, "", nil},
		"a plugin without such a program": {debian, root{"lib/ext.so": library("", "libpython3.13.so.1.0")}, gnu(), nil, nil, "", []string{
			`abi-library opt/x/lib/ext.so: needs the library "libpython3.13.so.1.0"`,
		}},
		"libraries that need each other": {debian, root{
			"lib/liba.so": library("", "libb.so"), "lib/libb.so": library("", "liba.so"),
		}, gnu(), []string{"/opt/x/lib"}, nil, "", nil},
		"links in a circle": {debian, root{"bin/a": gnuProgram("liba.so"), "lib/liba.so": link("liba.so")}, gnu(), []string{"/opt/x/lib"}, nil, "", []string{
			`abi-library opt/x/bin/a: needs the library "liba.so"`,
		}},
		"links cannot leave the root": {debian, root{"bin/a": gnuProgram("liba.so"), "lib/liba.so": link("../../../../../../usr/lib/x86_64-linux-gnu/libz.so.1")},
			gnu(), []string{"/opt/x/lib"}, nil, "", nil},

		"library by ld.so.conf and its includes": {
			root{
				"etc/ld.so.conf":            data("# comment\ninclude ld.so.conf.d/*.conf\n/conf # more\n"),
				"etc/ld.so.conf.d/one.conf": data("/one:/two\n"), "etc/ld.so.conf.d/other.txt": data("/three\n"),
				"conf/libconf.so": library(""), "one/libone.so": library(""), "two/libtwo.so": library(""), "three/libthree.so": library(""),
			},
			root{"bin/a": elftest.File{Needed: []string{"libconf.so", "libone.so", "libtwo.so", "libthree.so"}}}, gnu(), nil, nil, "", []string{
				`abi-library opt/x/bin/a: needs the library "libthree.so", which is not in the final filesystem; looked in /one, /two, /conf, /lib`,
			},
		},
		"ld.so.conf that includes itself": {
			root{"etc/ld.so.conf": data("include /etc/ld.so.conf\n/conf\n"), "conf/libconf.so": library("")},
			root{"bin/a": elftest.File{Needed: []string{"libconf.so"}}}, gnu(), nil, nil, "", nil,
		},
		"the cache says what ld.so.conf really leads to": {
			root{
				"etc/ld.so.conf":  data("/conf\n"),
				"etc/ld.so.cache": data(ldCache(cached{0x303, 0, "liba.so", "/elsewhere/liba.so"}, cached{0x303, 1 << 62, "libv3.so", "/v3/libv3.so"}, cached{0x3, 0, "lib32.so", "/lib32/lib32.so"})),
				"conf/libnew.so":  library(""), "elsewhere/liba.so": library(""), "v3/libv3.so": library(""), "lib32/lib32.so": library(""),
			},
			root{"bin/a": elftest.File{Needed: []string{"liba.so", "libnew.so", "libv3.so", "lib32.so"}}}, gnu(), nil, nil, "", []string{
				`abi-library opt/x/bin/a: needs the library "libnew.so"`, `abi-library opt/x/bin/a: needs the library "libv3.so"`, `abi-library opt/x/bin/a: needs the library "lib32.so"`,
			},
		},
		"a broken cache is no cache": {
			root{"etc/ld.so.conf": data("/conf\n"), "etc/ld.so.cache": data("glibc-ld.so.cache1.1" + strings.Repeat("\xff", 40)), "conf/libconf.so": library("")},
			root{"bin/a": elftest.File{Needed: []string{"libconf.so"}}}, gnu(), nil, nil, "", nil,
		},

		"symbol version": {debian, root{"bin/a": elftest.File{Loader: loader, Needed: []string{"libc.so.6", "libz.so.1"}, Versions: []elftest.Versions{
			{Library: "libc.so.6", Names: []string{"GLIBC_2.2.5", "GLIBC_2.38", "?GLIBC_2.40", "GLIBC_2.39"}},
			{Library: "libz.so.1", Names: []string{"ZLIB_1.2"}},
		}}}, gnu(), nil, nil, "", []string{
			`abi-symbol-version opt/x/bin/a: needs GLIBC_2.38, GLIBC_2.39 of "libc.so.6", but /lib/x86_64-linux-gnu/libc.so.6 does not define them; build it against an older library, or use a runtime base with a newer one`,
		}},
		"symbol version of the loader": {debian, root{"lib/liba.so": elftest.File{Library: true, Needed: []string{"ld-linux-x86-64.so.2"}, Versions: []elftest.Versions{
			{Library: "ld-linux-x86-64.so.2", Names: []string{"GLIBC_2.3", "GLIBC_2.35"}},
		}}}, gnu(), nil, nil, "", []string{
			`abi-symbol-version opt/x/lib/liba.so: needs GLIBC_2.35 of "ld-linux-x86-64.so.2", but /lib64/ld-linux-x86-64.so.2 does not define it`,
		}},
		"newer glibc than declared": {debian, root{"bin/a": elftest.File{Loader: loader, Needed: []string{"libc.so.6"}, Versions: []elftest.Versions{
			{Library: "libc.so.6", Names: []string{"GLIBC_2.34", "GLIBC_2.2.5"}},
		}}}, suite.RuntimeNeeds{ABI: "gnu", ABIVersion: "2.31", CPUBaseline: "x86-64-v1"}, nil, nil, "", []string{
			`abi-version opt/x/bin/a: needs glibc 2.34, abiVersion is "2.31"; declare what the files need`,
		}},
		"no newer glibc than declared": {debian, root{"bin/a": elftest.File{Loader: loader, Needed: []string{"libc.so.6"}, Versions: []elftest.Versions{
			{Library: "libc.so.6", Names: []string{"GLIBC_2.34", "GLIBC_2.2.5"}},
		}}}, suite.RuntimeNeeds{ABI: "gnu", ABIVersion: "2.34", CPUBaseline: "x86-64-v1"}, nil, nil, "", nil},

		"musl": {alpine, root{
			"bin/a": elftest.File{Loader: "/lib/ld-musl-x86_64.so.1", Needed: []string{"libz.so.1", "libc.so", "libm.so.6", "libpthread.so.0", "libc.musl-x86_64.so.1"}},
		}, musl(), nil, nil, "", nil},
		"musl inherits RUNPATH": {alpine, root{
			"bin/a":       elftest.File{Loader: "/lib/ld-musl-x86_64.so.1", Needed: []string{"liba.so"}, RunPath: []string{"$ORIGIN/../lib"}},
			"lib/liba.so": library("", "libb.so"), "lib/libb.so": library(""),
		}, musl(), nil, nil, "", nil},
		"musl knows no symbol versions": {root{
			"lib/ld-musl-x86_64.so.1": library(""), "lib/liba.so": elftest.File{Library: true, Defines: []string{"A_1"}},
		}, root{"bin/a": elftest.File{Loader: "/lib/ld-musl-x86_64.so.1", Needed: []string{"liba.so"}, Versions: []elftest.Versions{{Library: "liba.so", Names: []string{"A_2"}}}}},
			musl(), nil, nil, "", nil},
		"musl's path file": {
			root{"lib/ld-musl-x86_64.so.1": library(""), "etc/ld-musl-x86_64.path": data("/one\n/two:/three\n"), "three/liba.so": library(""), "usr/lib/libb.so": library("")},
			root{"bin/a": elftest.File{Loader: "/lib/ld-musl-x86_64.so.1", Needed: []string{"liba.so", "libb.so"}}}, musl(), nil, nil, "", []string{
				`abi-library opt/x/bin/a: needs the library "libb.so", which is not in the final filesystem; looked in /one, /two, /three`,
			},
		},
		"musl on a gnu base": {debian, root{"bin/a": elftest.File{Loader: "/lib/ld-musl-x86_64.so.1", Needed: []string{"libc.musl-x86_64.so.1"}}}, musl(), nil, nil, "", []string{
			`abi-loader opt/x/bin/a: needs the loader "/lib/ld-musl-x86_64.so.1"`,
		}},

		"CPU level": {debian, root{"bin/a": elftest.File{ISA: 3}}, suite.RuntimeNeeds{ABI: "static", CPUBaseline: "x86-64-v2"}, nil, nil, "", []string{
			`abi-cpu-baseline opt/x/bin/a: needs x86-64-v3, cpuBaseline is "x86-64-v2"; declare x86-64-v3 or build the file for less`,
		}},
		"CPU level within the baseline": {debian, root{"bin/a": elftest.File{ISA: 3}}, suite.RuntimeNeeds{ABI: "static", CPUBaseline: "x86-64-v3"}, nil, nil, "", nil},
		"CPU level and a baseline that names none": {debian, root{"bin/a": elftest.File{ISA: 2}, "bin/b": elftest.File{ISA: 1}},
			suite.RuntimeNeeds{ABI: "static", CPUBaseline: "generic"}, nil, nil, "", []string{
				`abi-cpu-baseline opt/x/bin/a: needs x86-64-v2, cpuBaseline is "generic"`,
			}},

		"script":                     {debian, root{"bin/a": text("#!/bin/sh\n")}, static(), nil, nil, "", nil},
		"script of the bundle's own": {root{}, root{"bin/a": text("#!/opt/x/bin/python -I\n"), "bin/python": elftest.File{}}, static(), nil, nil, "", nil},
		"script without interpreter": {debian, root{"bin/a": text("#!/bin/bash\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: needs the interpreter "/bin/bash", which is not in the final filesystem; use a runtime base that has it or bring it in the bundle`,
		}},
		"script from another system": {debian, root{"bin/a": text("#!/bin/sh\r\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: needs the interpreter "/bin/sh\u000d"`,
		}},
		"script with a relative interpreter": {debian, root{"bin/a": text("#!python3\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: names the interpreter "python3" by a relative path, which depends on the working directory; use an absolute one`,
		}},
		"script with a data file": {debian, root{"bin/a": text("#!/usr/share/data\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: needs the interpreter "/usr/share/data", but /usr/share/data cannot be executed: it is a file with mode 0644`,
		}},
		"script with an interpreter for another machine": {root{"bin/sh": elftest.File{Machine: elf.EM_AARCH64}}, root{"bin/a": text("#!/bin/sh\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: needs the interpreter "/bin/sh", which is for arm64; the image is for amd64`,
		}},
		"module with a first line":                    {debian, root{"lib/a.py": data("#!/nowhere/python\n")}, static(), nil, nil, "", nil},
		"script by env":                               {debian, root{"bin/a": text("#!/usr/bin/env python3\n")}, static(), nil, nil, "", nil},
		"script by env and a path":                    {debian, root{"bin/a": text("#!/usr/bin/env /usr/bin/python3\n")}, static(), nil, nil, "", nil},
		"script by env in the search path":            {debian, root{"bin/a": text("#!/usr/bin/env node\n"), "tools/node": elftest.File{}}, static(), []string{"/opt/x/tools"}, nil, "", nil},
		"script by env in the image's PATH":           {debian, root{"bin/a": text("#!/usr/bin/env node\n"), "tools/node": elftest.File{}}, static(), nil, []string{"/opt/x/tools"}, "", nil},
		"script by env -S":                            {debian, root{"bin/a": text("#!/usr/bin/env -S python3 -u\n")}, static(), nil, nil, "", nil},
		"script by env -S with options and variables": {debian, root{"bin/a": text("#!/usr/bin/env -iS -u HOME A=1 PATH=/usr/bin python3 -u\n")}, static(), nil, nil, "", nil},
		"script by env without program": {debian, root{"bin/a": text("#!/usr/bin/env\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: starts env, but names no program for it`,
		}},
		"script by env with an argument": {debian, root{"bin/a": text("#!/usr/bin/env python3 -u\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: starts env with "python3 -u", which env takes for the name of one program; split it with env -S`,
		}},
		"script by env with a missing program": {debian, root{"bin/a": text("#!/usr/bin/env -S PATH=/usr/bin:/opt/x/bin node\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: needs the program "node" by way of env, which is not in the final filesystem; looked in /usr/bin, /opt/x/bin`,
		}},
		"script by env -S with an open quote": {debian, root{"bin/a": text("#!/usr/bin/env -S 'python3\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: starts env -S with "'python3", which cannot be split into words`,
		}},
		"script by env -S with variables alone": {debian, root{"bin/a": text("#!/usr/bin/env -S A=1\n")}, static(), nil, nil, "", []string{
			`abi-interpreter opt/x/bin/a: starts env -S, but names no program for it`,
		}},

		"required base paths": {debian, root{"share/a": data("")}, suite.RuntimeNeeds{ABI: "static", RequiredBasePaths: []string{
			"/etc/ssl/certs/ca-certificates.crt", "/bin/sh", "/etc/localtime", "/opt/x/share/a",
		}}, nil, nil, "", []string{
			`abi-base-path etc/localtime: x@1.0.0 requires this path of the runtime base, which does not have it; choose a base that does, or take it out of requiredBasePaths`,
			`abi-base-path opt/x/share/a: x@1.0.0 requires this path of the runtime base`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			final := maps.Clone(tt.base)
			bundle := abi.Bundle{Component: "x@1.0.0", Objects: map[string]abi.Facts{}, Runtime: tt.runtime, SearchPath: tt.searchPath}
			for p, what := range tt.bundle {
				final[path.Join("opt/x", p)] = what
			}
			lookup := final.lookup(t)
			for p := range tt.bundle {
				if e, _ := lookup(path.Join("opt/x", p)); e.Facts != nil {
					bundle.Objects[path.Join("opt/x", p)] = *e.Facts
				}
			}
			architecture := tt.architecture
			if architecture == "" {
				architecture = "amd64"
			}
			subject := abi.Subject{
				Platform: suite.Platform{OS: "linux", Architecture: architecture},
				Final:    lookup, Base: tt.base.lookup(t), Files: tt.base.files(), Path: tt.imagePath,
				Bundles: []abi.Bundle{bundle},
			}
			findings, err := abi.Check(t.Context(), subject)
			require.NoError(t, err)
			again, err := abi.Check(t.Context(), subject)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(render(findings), render(again)), "equal subjects must give equal findings")

			got := render(findings)
			require.Len(t, got, len(tt.want), "%s", strings.Join(got, "\n"))
			for i, want := range tt.want {
				require.Truef(t, strings.HasPrefix(got[i], want), "want %s\n got %s", want, got[i])
			}
		})
	}
}

func render(findings []abi.Finding) []string {
	lines := make([]string, len(findings))
	for i, f := range findings {
		lines[i] = fmt.Sprintf("%s %s: %s", f.Rule.ID, f.Path, f.Message)
	}
	return lines
}

// TestCheckAcrossBundles holds that a bundle may run on what another one brings.
func TestCheckAcrossBundles(t *testing.T) {
	final := maps.Clone(debian)
	final["opt/runtime/bin/python"] = elftest.File{Loader: loader, Needed: []string{"libpy.so"}, RunPath: []string{"$ORIGIN/../lib"}}
	final["opt/runtime/lib/libpy.so"] = library("libpy.so", "libc.so.6")
	final["opt/app/bin/app"] = text("#!/opt/runtime/bin/python\n")
	final["opt/app/lib/ext.so"] = library("", "libpy.so")
	lookup := final.lookup(t)
	objects := func(prefix string) map[string]abi.Facts {
		objects := map[string]abi.Facts{}
		for p := range final {
			if e, _ := lookup(p); e.Facts != nil && strings.HasPrefix(p, prefix) {
				objects[p] = *e.Facts
			}
		}
		return objects
	}
	subject := abi.Subject{
		Platform: suite.Platforms()[0], Final: lookup, Base: debian.lookup(t),
		Bundles: []abi.Bundle{
			{Component: "app@1.0.0", Objects: objects("opt/app/"), Runtime: gnu()},
			{Component: "runtime@1.0.0", Objects: objects("opt/runtime/"), Runtime: gnu()},
		},
	}
	findings, err := abi.Check(t.Context(), subject)
	require.NoError(t, err)
	require.Empty(t, findings)

	delete(final, "opt/runtime/bin/python")
	subject.Final = final.lookup(t)
	findings, err = abi.Check(t.Context(), subject)
	require.NoError(t, err)
	require.Len(t, findings, 1)
	require.Equal(t, problem.ABIInterpreter, findings[0].Rule)
	require.Equal(t, "app@1.0.0", findings[0].Component)
}

// cached is one record of an ld.so.cache.
type cached struct {
	flags uint32
	hwcap uint64
	name  string
	path  string
}

// ldCache writes an ld.so.cache as ldconfig does.
func ldCache(records ...cached) string {
	const header, record = 48, 24
	strings := []byte{}
	at := func(s string) uint32 {
		offset := uint32(header + record*len(records) + len(strings))
		strings = append(append(strings, s...), 0)
		return offset
	}
	var body []byte
	for _, r := range records {
		body = append(body, encodeAll(r.flags, at(r.name), at(r.path), uint32(0), r.hwcap)...)
	}
	head := append([]byte("glibc-ld.so.cache1.1"), encodeAll(uint32(len(records)), uint32(len(strings)), [5]uint32{})...)
	return string(slices.Concat(head, body, strings))
}
