package abi

import (
	"path"
	"strings"
	"testing"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// FuzzConfiguration reads hostile configuration of loaders.
func FuzzConfiguration(f *testing.F) {
	f.Add([]byte(ldCacheMagic+strings.Repeat("\x00", 100)), []byte("include ld.so.conf.d/*.conf\n/a:/b # c\nhwcap 1\n"), []byte("/lib:/usr/lib\n"))
	f.Add([]byte(ldCacheMagic+"\x01\x00\x00\x00"+strings.Repeat("\x30", 100)), []byte("include /etc/ld.so.conf\ninclude [\n"), []byte(""))
	f.Fuzz(func(t *testing.T, cache, conf, musl []byte) {
		c := readConfiguration(map[string][]byte{
			ldCachePath: cache, ldConfPath: conf, ldConfDir + "a.conf": conf, "etc/ld-musl-x86_64.path": musl,
		}, "amd64")
		if len(c.directories) > maxConfDirectories {
			t.Fatalf("there are %d directories", len(c.directories))
		}
	})
}

// FuzzCheck checks files with hostile facts in a filesystem with hostile links.
func FuzzCheck(f *testing.F) {
	f.Add("/lib64/ld-linux-x86-64.so.2", "liba.so", "$ORIGIN/../lib:${LIB}", "../..//opt", "-S PATH=/opt python3 -u")
	f.Add("ld", "/a/$LIB/../b", "$PLATFORM:$ORIGINAL", "/opt/x", "-iS -u A B=c 'd")
	f.Fuzz(func(t *testing.T, loader, needed, runPath, target, line string) {
		file := &ELF{
			Machine: "amd64", Loader: loader, Needed: []string{needed}, RunPath: strings.Split(runPath, ":"),
			Versions: map[string][]string{needed: {loader}},
		}
		objects := map[string]Facts{
			"opt/x/a": {ELF: file}, "opt/x/b": {Interpreter: []string{"/usr/bin/env", line}}, "opt/x/c": {Interpreter: []string{loader, line}},
		}
		lookup := func(p string) (Entry, bool) {
			if p != path.Clean(p) || strings.HasPrefix(p, "/") || p == ".." || strings.HasPrefix(p, "../") {
				t.Fatalf("looks for %q", p)
			}
			if facts, ok := objects[p]; ok {
				return Entry{Type: content.File, Mode: 0o755, Facts: &facts}, true
			}
			if strings.HasSuffix(p, "lib") || p == "usr/bin/env" {
				return Entry{Type: content.Symlink, Mode: 0o777, LinkTarget: target}, true
			}
			return Entry{}, false
		}
		for _, abi := range []string{abiStatic, abiGNU, abiMusl} {
			_, err := Check(t.Context(), Subject{
				Platform: suite.Platforms()[0], Final: lookup, Base: lookup,
				Bundles: []Bundle{{Component: "x@1.0.0", Objects: objects, Runtime: suite.RuntimeNeeds{ABI: abi, RequiredBasePaths: []string{target}}, SearchPath: []string{target}}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
