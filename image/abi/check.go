package abi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Entry is what a check needs to know of one entry of a filesystem.
type Entry struct {
	Type content.Type
	// Mode holds the permission bits.
	Mode uint32
	// LinkTarget is a symlink's target as written.
	LinkTarget string
	// Facts are those of an ELF file or a script, else nil.
	Facts *Facts
}

// Lookup finds the entry at a path without a leading slash, a symlink itself and not what it points
// to. Directories that are only on the way to other entries need not be found.
type Lookup func(path string) (Entry, bool)

// Subject is a composed filesystem and the bundles in it that must run there.
type Subject struct {
	Platform suite.Platform
	// Final is the filesystem as processes will see it, Base the runtime base alone.
	Final, Base Lookup
	// Files holds the bytes of the files that [IsConfiguration] names, by path.
	Files map[string][]byte
	// Path are the directories of the image's PATH; nil if it sets none.
	Path    []string
	Bundles []Bundle
}

// Bundle is one bundle of a [Subject].
type Bundle struct {
	// Component names the bundle in findings.
	Component string
	// Objects are the facts of the bundle's ELF files and scripts, by path in the filesystem.
	Objects    map[string]Facts
	Runtime    suite.RuntimeNeeds
	SearchPath []string
}

// Finding is one need of a bundle that the filesystem does not meet.
type Finding struct {
	Rule      *problem.Rule
	Component string
	// Path is the file that has the need, without a leading slash; of a required base path the path
	// itself.
	Path string
	// Message says what is needed, where it was looked for and what to do; the path of the file is not
	// in it.
	Message string
}

// The names of the ABIs that a variant may declare.
const (
	abiStatic = "static"
	abiGNU    = "gnu"
	abiMusl   = "musl"
)

// checker checks one subject.
type checker struct {
	Subject
	// final and base follow paths in the filesystems of these names.
	final, base *resolver
	findings    []Finding
	// configured are the directories and libraries that the GNU loader's configuration adds.
	configured configuration
	// reported are findings about shared objects, which many executables can lead to.
	reported map[string]bool
	// definitions are the symbol versions that libraries define.
	definitions map[*ELF]map[string]bool
}

// Check returns what the bundles need and the filesystem does not offer, in an order that depends on
// nothing but the subject. Loaders, libraries, symbol versions, interpreters, machine and CPU level
// are judged by what the files say of themselves; nothing is executed. The error is that of the
// context, or an error that says that the files lead to more look-ups than any real image does.
func Check(ctx context.Context, s Subject) ([]Finding, error) {
	return newChecker(ctx, s).check()
}

func newChecker(ctx context.Context, s Subject) *checker {
	return &checker{
		Subject: s, final: newResolver(ctx, s.Final), base: newResolver(ctx, s.Base), reported: map[string]bool{}, definitions: map[*ELF]map[string]bool{},
		configured: readConfiguration(s.Files, s.Platform.Architecture),
	}
}

func (c *checker) check() ([]Finding, error) {
	for _, b := range c.Bundles {
		c.checkBasePaths(b)
		for _, p := range slices.Sorted(maps.Keys(b.Objects)) {
			c.checkObject(b, p, b.Objects[p])
		}
	}
	c.checkLibraries()
	return c.findings, cmp.Or(c.base.err, c.final.err)
}

// maxFindings is how many findings are listed: far more than anybody reads.
const maxFindings = 10_000

func (c *checker) report(rule *problem.Rule, b Bundle, p, format string, args ...any) {
	if len(c.findings) == maxFindings {
		return
	}
	c.findings = append(c.findings, Finding{
		Rule: rule, Component: b.Component, Path: p,
		Message: problem.Printable(fmt.Sprintf(format, args...)),
	})
}

func (c *checker) checkBasePaths(b Bundle) {
	for _, required := range b.Runtime.RequiredBasePaths {
		if _, _, ok := c.base.resolve(required); !ok && c.base.err == nil {
			c.report(problem.ABIBasePath, b, strings.TrimPrefix(required, "/"),
				"%s requires this path of the runtime base, which does not have it; choose a base that does, "+
					"or take it out of requiredBasePaths", b.Component)
		}
	}
}

// checkObject checks what one file needs by itself; libraries come later, since programs can lend
// theirs to the plugins they load.
func (c *checker) checkObject(b Bundle, p string, facts Facts) {
	if facts.ELF == nil {
		c.checkScript(b, p, facts.Interpreter)
		return
	}
	file := facts.ELF
	switch {
	case file.Malformed != "":
		if c.executable(p) {
			c.report(problem.ABIMalformed, b, p, "is an executable that no kernel can start: %s", file.Malformed)
		}
		return
	case file.Machine != c.Platform.Architecture:
		c.report(problem.ABIMachine, b, p, "is a native file for %s, the image is for %s", file.Machine, c.Platform.Architecture)
		return
	}
	c.checkBaseline(b, p, file)
	c.checkVersion(b, p, file)
	if file.Loader != "" {
		c.checkLoader(b, p, file)
	}
}

func (c *checker) executable(p string) bool {
	_, e, ok := c.final.resolve("/" + p)
	return ok && e.Mode&0o111 != 0
}

func (c *checker) checkBaseline(b Bundle, p string, file *ELF) {
	// A baseline that names no level promises no more than every processor has.
	declared := max(isaLevel(b.Runtime.CPUBaseline), 1)
	if needed := isaLevel(file.ISANeeded); needed > declared {
		c.report(problem.ABIBaseline, b, p, "needs %s, cpuBaseline is %s; declare %[1]s or build the file for less",
			file.ISANeeded, problem.Quoted(b.Runtime.CPUBaseline))
	}
}

func (c *checker) checkLoader(b Bundle, p string, file *ELF) {
	abi := b.Runtime.ABI
	if abi == abiStatic {
		c.report(problem.ABILoader, b, p, "needs the loader %s, but the bundle's abi is static; link it statically or declare gnu or musl",
			problem.Quoted(file.Loader))
		return
	}
	if want := loaderName(abi, c.Platform.Architecture); path.Base(file.Loader) != want {
		c.report(problem.ABILoader, b, p, "names the loader %s; a bundle whose abi is %s needs one called %s",
			problem.Quoted(file.Loader), abi, want)
		return
	}
	if !path.IsAbs(file.Loader) {
		c.report(problem.ABILoader, b, p, "names the loader %s, which is no absolute path", problem.Quoted(file.Loader))
		return
	}
	switch target, e, ok := c.final.resolve(file.Loader); {
	case !ok:
		c.report(problem.ABILoader, b, p, "needs the loader %s, which is not in the final filesystem; "+
			"use a runtime base with that C library or bring it in the bundle", problem.Quoted(file.Loader))
	case e.Facts == nil || e.Facts.ELF == nil || e.Facts.ELF.Machine != c.Platform.Architecture:
		c.report(problem.ABILoader, b, p, "needs the loader %s, but /%s is no ELF file for %s",
			problem.Quoted(file.Loader), target, c.Platform.Architecture)
	case e.Mode&0o111 == 0:
		c.report(problem.ABILoader, b, p, "needs the loader %s, but /%s has mode %04o and cannot be executed",
			problem.Quoted(file.Loader), target, e.Mode&0o7777)
	}
}

// loaderName is the file name of the dynamic loader of an ABI on an architecture.
func loaderName(abi, architecture string) string {
	switch abi + "/" + architecture {
	case abiGNU + "/amd64":
		return "ld-linux-x86-64.so.2"
	case abiGNU + "/arm64":
		return "ld-linux-aarch64.so.1"
	case abiMusl + "/amd64":
		return "ld-musl-x86_64.so.1"
	case abiMusl + "/arm64":
		return "ld-musl-aarch64.so.1"
	}
	return ""
}
