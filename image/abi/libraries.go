package abi

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// object is a file that a loader would have loaded.
type object struct {
	// path is the absolute path that the loader opened; $ORIGIN is its directory.
	path string
	file *ELF
	// parent is the object whose need loaded this one first; nil for the root.
	parent *object
}

// need is something that a loader would look for and not find.
type need struct {
	by   *object
	name string
	// looked are the places where the loader would have looked, each with what is wrong there.
	looked []string
}

// process is a program, or a library by itself, and all that its loader loads for it.
type process struct {
	bundle Bundle
	root   *object
	// loaded are the objects by every name that satisfies a need: as they were asked for, and by their
	// own soname.
	loaded  map[string]*object
	order   []*object
	missing []need
}

// checkLibraries follows what every native file of every bundle needs. Programs come first: what they
// load is there already when a plugin is loaded into them, so a plugin need not find it by itself.
func (c *checker) checkLibraries() {
	var plugins []*process
	lent := map[string]bool{}
	for _, b := range c.Bundles {
		for _, p := range slices.Sorted(maps.Keys(b.Objects)) {
			switch facts := b.Objects[p]; {
			case facts.ELF == nil:
				// A script's interpreter loads the bundle's plugins, wherever it comes from.
				if program, ok := c.interpreterObject(b, facts.Interpreter); ok {
					c.lend(lent, c.load(b, program))
				}
			case facts.ELF.Malformed != "" || facts.ELF.Machine != c.Platform.Architecture:
			case facts.ELF.Executable:
				process := c.load(b, &object{path: "/" + p, file: facts.ELF})
				c.lend(lent, process)
				c.reportMissing(process)
				c.checkSymbolVersions(process)
			default:
				plugins = append(plugins, &process{bundle: b, root: &object{path: "/" + p, file: facts.ELF}})
			}
		}
	}
	for _, plugin := range plugins {
		process := c.load(plugin.bundle, plugin.root)
		process.missing = slices.DeleteFunc(process.missing, func(n need) bool { return lent[n.name] })
		c.reportMissing(process)
		c.checkSymbolVersions(process)
	}
}

func (c *checker) lend(lent map[string]bool, p *process) {
	for name := range p.loaded {
		lent[name] = true
	}
}

// load walks needs breadth first, as loaders do.
func (c *checker) load(b Bundle, root *object) *process {
	p := &process{bundle: b, root: root, loaded: map[string]*object{}, order: []*object{root}}
	byPath := map[string]*object{}
	if target, _, ok := c.final.resolve(root.path); ok {
		byPath[target] = root
	}
	if root.file.Soname != "" {
		p.loaded[root.file.Soname] = root
	}
	// The loader is part of every process: the kernel maps it before anything is looked for.
	if loader := c.loaderObject(b, root); loader != nil {
		p.loaded[path.Base(loader.path)] = loader
		if loader.file.Soname != "" {
			p.loaded[loader.file.Soname] = loader
		}
	}
	for i := 0; i < len(p.order); i++ {
		by := p.order[i]
		var directories []string // the same for all its needs
		for n, name := range by.file.Needed {
			if c.final.err != nil {
				return p
			}
			if n == 0 {
				directories = c.directories(b, by, root)
			}
			if p.loaded[name] != nil || b.Runtime.ABI == abiMusl && isMuslItself(name) {
				continue
			}
			found, looked := c.find(b, by, directories, name)
			if found == nil {
				p.missing = append(p.missing, need{by: by, name: name, looked: looked})
				continue
			}
			target, _, _ := c.final.resolve(found.path)
			if known := byPath[target]; known != nil {
				found = known
			} else {
				byPath[target] = found
				p.order = append(p.order, found)
			}
			p.loaded[name] = found
			if found.file.Soname != "" && p.loaded[found.file.Soname] == nil {
				p.loaded[found.file.Soname] = found
			}
		}
	}
	return p
}

// loaderObject is the loader of a process, or for a library by itself the one that its ABI has by
// convention; nil if there is none.
func (c *checker) loaderObject(b Bundle, root *object) *object {
	name := root.file.Loader
	if name == "" {
		name = "/lib/" + loaderName(b.Runtime.ABI, c.Platform.Architecture)
		if b.Runtime.ABI == abiGNU && c.Platform.Architecture == "amd64" {
			name = "/lib64/" + path.Base(name)
		}
	}
	_, e, ok := c.final.resolve(name)
	if !ok || e.Facts == nil || e.Facts.ELF == nil {
		return nil
	}
	return &object{path: name, file: e.Facts.ELF}
}

// find looks for a library as the loader of the bundle's ABI does, in directories before the system's.
func (c *checker) find(b Bundle, by *object, directories []string, name string) (*object, []string) {
	if strings.Contains(name, "/") {
		var looked []string
		for _, candidate := range c.expand(name, by) {
			if found := c.open(candidate, by, &looked); found != nil {
				return found, nil
			}
		}
		return nil, looked
	}
	var looked []string
	for _, directory := range directories {
		if found := c.open(path.Join(directory, name), by, &looked); found != nil {
			return found, nil
		}
	}
	if b.Runtime.ABI != abiMusl {
		for _, candidate := range c.configured.cached[name] {
			if found := c.open(candidate, by, &looked); found != nil {
				return found, nil
			}
		}
	}
	for _, directory := range c.systemDirectories(b.Runtime.ABI) {
		if found := c.open(path.Join(directory, name), by, &looked); found != nil {
			return found, nil
		}
	}
	return nil, looked
}

// open tries one candidate and adds to looked what it found instead. As loaders do, it passes over
// files for other machines.
func (c *checker) open(candidate string, by *object, looked *[]string) *object {
	_, e, ok := c.final.resolve(candidate)
	switch {
	case ok && e.Facts != nil && e.Facts.ELF != nil && e.Facts.ELF.Malformed == "" && e.Facts.ELF.Machine == c.Platform.Architecture:
		return &object{path: candidate, file: e.Facts.ELF, parent: by}
	case len(*looked) == maxLooked:
	case !ok:
		*looked = append(*looked, path.Dir(candidate))
	case e.Facts == nil || e.Facts.ELF == nil || e.Facts.ELF.Malformed != "":
		*looked = append(*looked, candidate+" (no ELF file)")
	default:
		*looked = append(*looked, fmt.Sprintf("%s (for %s)", candidate, e.Facts.ELF.Machine))
	}
	return nil
}

// maxLooked is how many places are remembered of those where a library was looked for: some of them come
// again, and a message names a dozen.
const maxLooked = 100

// directories are those that come before the system's: RPATH, RUNPATH, the bundle's search path.
func (c *checker) directories(b Bundle, by, root *object) []string {
	var directories []string
	if b.Runtime.ABI == abiMusl {
		// To musl RPATH and RUNPATH are one, and both are inherited.
		for o := by; o != nil; o = o.parent {
			directories = append(directories, c.expandAll(firstNonEmpty(o.file.RunPath, o.file.RPath), o)...)
		}
	} else {
		if len(by.file.RunPath) == 0 {
			inherited := false
			for o := by; o != nil; o = o.parent {
				directories = append(directories, c.expandAll(effectiveRPath(o), o)...)
				inherited = inherited || o == root
			}
			if !inherited {
				directories = append(directories, c.expandAll(effectiveRPath(root), root)...)
			}
		}
		directories = append(directories, c.expandAll(by.file.RunPath, by)...)
	}
	directories = append(directories, b.SearchPath...)
	c.final.count(len(directories)) // what is inherited of many parents adds up
	return directories
}

// effectiveRPath is an object's RPATH, which a RUNPATH beside it turns off.
func effectiveRPath(o *object) []string {
	if len(o.file.RunPath) > 0 {
		return nil
	}
	return o.file.RPath
}

func firstNonEmpty(a, b []string) []string {
	if len(a) > 0 {
		return a
	}
	return b
}

// systemDirectories are those that the loader searches by itself. GNU loaders have theirs compiled
// in, and distributions differ, so all that are in use are tried. ld.so.conf counts where no cache
// made from it says what is really found.
func (c *checker) systemDirectories(abi string) []string {
	if abi == abiMusl {
		if c.configured.musl != nil {
			return c.configured.musl
		}
		return []string{"/lib", "/usr/local/lib", "/usr/lib"}
	}
	var directories []string
	if c.configured.cached == nil {
		directories = slices.Clone(c.configured.directories)
	}
	for _, lib := range c.libNames() {
		directories = append(directories, "/"+lib, "/usr/"+lib)
	}
	return directories
}

// libNames are what $LIB may stand for.
func (c *checker) libNames() []string {
	return []string{"lib/" + c.hardware() + "-linux-gnu", "lib64", "lib"}
}

// hardware is what $PLATFORM stands for, and what begins Debian's names of directories.
func (c *checker) hardware() string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[c.Platform.Architecture]
}

var tokens = regexp.MustCompile(`\$(\{\w+\}|\w+)`)

func (c *checker) expandAll(paths []string, o *object) []string {
	var expanded []string
	for _, p := range paths {
		expanded = append(expanded, c.expand(p, o)...)
	}
	return expanded
}

// expand replaces the dynamic string tokens of a path in an object. What is not absolute then depends
// on where the process was started and names no place.
func (c *checker) expand(p string, o *object) []string {
	libs := []string{""}
	if strings.Contains(p, "$LIB") || strings.Contains(p, "${LIB}") {
		libs = c.libNames()
	}
	var expanded []string
	for _, lib := range libs {
		if candidate := c.replaceTokens(p, o, lib); path.IsAbs(candidate) {
			expanded = append(expanded, candidate)
		}
	}
	return expanded
}

// replaceTokens is empty for what becomes longer than a path can be.
func (c *checker) replaceTokens(p string, o *object, lib string) string {
	var b strings.Builder
	rest := p
	for b.Len()+len(rest) > 0 && b.Len() <= maxPathLength {
		at := tokens.FindStringIndex(rest)
		if at == nil {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:at[0]])
		switch token := rest[at[0]:at[1]]; strings.Trim(token, "${}") {
		case "ORIGIN":
			b.WriteString(c.origin(o))
		case "LIB":
			b.WriteString(lib)
		case "PLATFORM":
			b.WriteString(c.hardware())
		default:
			b.WriteString(token)
		}
		rest = rest[at[1]:]
	}
	c.final.count(1 + (len(p)+b.Len())/64)
	if b.Len() > maxPathLength {
		return ""
	}
	return b.String()
}

// origin is the directory that $ORIGIN stands for: of a program where the file really lies, since the
// kernel says so, of a library where the loader found it.
func (c *checker) origin(o *object) string {
	if o.parent == nil {
		if target, _, ok := c.final.resolve(o.path); ok {
			return path.Dir("/" + target)
		}
	}
	return path.Dir(o.path)
}

// isMuslItself tells whether musl's loader takes a library's name for itself: it is libc, libm,
// libpthread and the others in one file, whatever follows in the name.
func isMuslItself(name string) bool {
	rest, ok := strings.CutPrefix(name, "lib")
	before, _, dot := strings.Cut(rest, ".")
	return ok && dot && slices.Contains([]string{"c", "pthread", "rt", "m", "dl", "util", "xnet"}, before) ||
		strings.HasPrefix(name, "ld-musl-")
}

// once tells whether a finding is new; many programs lead to the same library.
func (c *checker) once(parts ...string) bool {
	key := strings.Join(parts, "\x00")
	if c.reported[key] {
		return false
	}
	c.reported[key] = true
	return true
}

// attribute says which file of the bundle a need is reported at, and how the message calls the file
// that has it.
func attribute(p *process, by *object) (at, who string) {
	if _, own := p.bundle.Objects[strings.TrimPrefix(by.path, "/")]; own {
		return strings.TrimPrefix(by.path, "/"), ""
	}
	return strings.TrimPrefix(p.root.path, "/"), "loads " + by.path + ", which "
}

func (c *checker) reportMissing(p *process) {
	for _, n := range p.missing {
		if !c.once("library", n.by.path, n.name) {
			continue
		}
		at, who := attribute(p, n.by)
		if p.bundle.Runtime.ABI == abiStatic {
			c.report(problem.ABILibrary, p.bundle, at, "%sneeds the library %s, but the bundle's abi is static; declare gnu or musl",
				who, problem.Quoted(n.name))
			continue
		}
		c.report(problem.ABILibrary, p.bundle, at, "%sneeds the library %s, which is not in the final filesystem; looked in %s",
			who, problem.Quoted(n.name), places(n.looked))
	}
}

// places lists where something was looked for, each place once.
func places(looked []string) string {
	const most = 12
	var unique []string
	for _, place := range looked {
		if !slices.Contains(unique, place) {
			unique = append(unique, place)
		}
		if len(unique) > most {
			break
		}
	}
	switch {
	case len(unique) == 0:
		return "no directory"
	case len(unique) > most:
		unique = append(unique[:most:most], "and more")
	}
	for i, place := range unique {
		unique[i] = problem.Cut(place)
	}
	return strings.Join(unique, ", ")
}

// checkSymbolVersions compares the symbol versions that the objects of a process need with those that
// the libraries define. The GNU loader refuses a library that lacks one, and only warns about a
// library that defines none at all; musl's ignores versions.
func (c *checker) checkSymbolVersions(p *process) {
	if p.bundle.Runtime.ABI != abiGNU {
		return
	}
	for _, o := range p.order {
		for _, library := range slices.Sorted(maps.Keys(o.file.Versions)) {
			provider := p.loaded[library]
			if provider == nil || len(provider.file.Defines) == 0 {
				continue
			}
			var lacking []string
			defined := c.defined(provider.file)
			c.final.count(len(o.file.Versions[library]))
			if c.final.err != nil {
				return
			}
			for _, version := range o.file.Versions[library] {
				if !defined[version] && c.once("version", o.path, provider.path, version) {
					lacking = append(lacking, version)
				}
			}
			if len(lacking) == 0 {
				continue
			}
			at, who := attribute(p, o)
			c.report(problem.ABISymbols, p.bundle, at, "%sneeds %s of %s, but %s does not define %s; "+
				"build it against an older library, or use a runtime base with a newer one",
				who, problem.Cut(strings.Join(lacking, ", ")), problem.Quoted(library), provider.path,
				map[bool]string{true: "it", false: "them"}[len(lacking) == 1])
		}
	}
}

// defined are the symbol versions that a library defines.
func (c *checker) defined(library *ELF) map[string]bool {
	defined, ok := c.definitions[library]
	if !ok {
		defined = make(map[string]bool, len(library.Defines))
		for _, version := range library.Defines {
			defined[version] = true
		}
		c.definitions[library] = defined
	}
	return defined
}
