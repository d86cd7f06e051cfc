package abi

import (
	"path"
	"strings"

	"github.com/google/shlex"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// defaultPath is what execvp and shells search when there is no PATH.
var defaultPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// checkScript checks that a script can be started. A script that nobody can execute is a module or a
// text, whatever its first line looks like.
func (c *checker) checkScript(b Bundle, p string, line []string) {
	if !c.executable(p) {
		return
	}
	if !c.checkProgram(b, p, "the interpreter", line[0]) || path.Base(line[0]) != "env" {
		return
	}
	program, directories, complaint := envProgram(line)
	switch {
	case complaint != "":
		c.report(problem.ABIInterpreter, b, p, "%s", complaint)
	case strings.Contains(program, "/"):
		c.checkProgram(b, p, "the program", program)
	default:
		if _, looked, ok := c.lookPath(b, directories, program); !ok {
			c.report(problem.ABIInterpreter, b, p, "needs the program %s by way of env, which is not in the final filesystem; looked in %s",
				problem.Quoted(program), places(looked))
		}
	}
}

// checkProgram reports a program that does not exist or cannot be executed, and tells whether it is
// fine.
func (c *checker) checkProgram(b Bundle, p, what, program string) bool {
	if !path.IsAbs(program) {
		c.report(problem.ABIInterpreter, b, p, "names %s %s by a relative path, which depends on the working directory; use an absolute one",
			what, problem.Quoted(program))
		return false
	}
	switch target, e, ok := c.final.resolve(program); {
	case !ok:
		c.report(problem.ABIInterpreter, b, p, "needs %s %s, which is not in the final filesystem; "+
			"use a runtime base that has it or bring it in the bundle", what, problem.Quoted(program))
	case !runnable(e):
		c.report(problem.ABIInterpreter, b, p, "needs %s %s, but /%s cannot be executed: it is a %s with mode %04o",
			what, problem.Quoted(program), problem.Cut(target), e.Type, e.Mode&0o7777)
	case e.Facts != nil && e.Facts.ELF != nil && e.Facts.ELF.Machine != c.Platform.Architecture:
		c.report(problem.ABIInterpreter, b, p, "needs %s %s, which is for %s; the image is for %s",
			what, problem.Quoted(program), e.Facts.ELF.Machine, c.Platform.Architecture)
	default:
		return true
	}
	return false
}

// lookPath looks for a program by name: in directories if env was given a PATH of its own, else in the
// bundle's search path and then the image's PATH.
func (c *checker) lookPath(b Bundle, directories []string, program string) (found string, looked []string, ok bool) {
	if directories == nil {
		directories = append(append([]string{}, b.SearchPath...), firstNonEmpty(c.Path, defaultPath)...)
	}
	for _, directory := range directories {
		candidate := path.Join(directory, program)
		if _, e, ok := c.final.resolve(candidate); ok && runnable(e) {
			return candidate, nil, true
		}
		looked = append(looked, directory)
	}
	return "", looked, false
}

// interpreterObject finds the native program that runs a script.
func (c *checker) interpreterObject(b Bundle, line []string) (*object, bool) {
	program := line[0]
	if path.Base(program) == "env" {
		name, directories, complaint := envProgram(line)
		if complaint != "" {
			return nil, false
		}
		if program = name; !strings.Contains(name, "/") {
			program, _, _ = c.lookPath(b, directories, name)
		}
	}
	_, e, ok := c.final.resolve(program)
	if !ok || e.Facts == nil || e.Facts.ELF == nil || e.Facts.ELF.Malformed != "" || e.Facts.ELF.Machine != c.Platform.Architecture {
		return nil, false
	}
	return &object{path: program, file: e.Facts.ELF}, true
}

// envProgram says which program env starts for a script line, and where it looks for it if the line
// sets PATH. The kernel hands everything behind env over as one argument; -S makes env split it.
func envProgram(line []string) (program string, directories []string, complaint string) {
	if len(line) < 2 {
		return "", nil, "starts env, but names no program for it"
	}
	text, split := cutSplitOption(line[1])
	if !split {
		if strings.ContainsAny(text, " \t") {
			return "", nil, "starts env with " + problem.Quoted(text) + ", which env takes for the name of one program; split it with env -S"
		}
		return text, nil, ""
	}
	words, err := shlex.Split(text)
	if err != nil {
		return "", nil, "starts env -S with " + problem.Quoted(text) + ", which cannot be split into words: " + err.Error()
	}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		name, value, assignment := strings.Cut(word, "=")
		switch {
		case word == "-u" || word == "-C" || word == "--unset" || word == "--chdir":
			words = words[min(1, len(words)):]
		case strings.HasPrefix(word, "-"):
		case assignment && name == "PATH":
			directories = strings.Split(value, ":")
		case assignment:
		default:
			return word, directories, ""
		}
	}
	return "", nil, "starts env -S, but names no program for it"
}

// cutSplitOption cuts env's -S, alone, with other letters before it, or in its long form.
func cutSplitOption(argument string) (rest string, found bool) {
	if rest, ok := strings.CutPrefix(argument, "--split-string"); ok {
		return strings.TrimLeft(rest, "= \t"), true
	}
	options, rest, ok := strings.Cut(argument, "S")
	if !ok || !strings.HasPrefix(options, "-") || strings.Trim(options[1:], "iv0") != "" {
		return argument, false
	}
	return strings.TrimLeft(rest, " \t"), true
}

func runnable(e Entry) bool { return e.Type != content.Directory && e.Mode&0o111 != 0 }
