package abi

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"strings"
)

// maxScriptLine is how much of a script the kernel looks at (BINPRM_BUF_SIZE).
const maxScriptLine = 256

// Read returns the facts of the size bytes of r, or nil if they are neither an ELF executable, nor an
// ELF shared object, nor a script. It reads a few kilobytes, whatever the size. The only errors are
// those of r; what is wrong with the bytes themselves is [ELF.Malformed].
func Read(r io.ReaderAt, size int64) (*Facts, error) {
	head := make([]byte, min(size, maxScriptLine))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return nil, err
	}
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		if interpreter := splitScriptLine(line, size > maxScriptLine); interpreter != nil {
			return &Facts{Interpreter: interpreter}, nil
		}
		return nil, nil
	}
	if !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		return nil, nil
	}
	file, err := readELF(r, size)
	var malformed malformedError
	switch {
	case errors.As(err, &malformed):
		file.Malformed = string(malformed)
	case err != nil:
		return nil, err
	case file == nil:
		return nil, nil
	}
	return &Facts{ELF: file}, nil
}

// splitScriptLine splits what follows "#!" as Linux does (fs/binfmt_script.c): blanks are trimmed at
// both ends, the first word is the interpreter, the rest of the line is one argument. The kernel
// refuses a line that its buffer cuts inside the interpreter's name, and an empty one.
func splitScriptLine(line []byte, truncated bool) []string {
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line, truncated = line[:end], false
	}
	text := string(line)
	if nul := strings.IndexByte(text, 0); nul >= 0 {
		text, truncated = text[:nul], false
	}
	text = strings.TrimLeft(text, " \t")
	interpreter, argument, blank := cutBlank(text)
	if interpreter == "" || truncated && !blank {
		return nil
	}
	if argument = strings.Trim(argument, " \t"); argument == "" {
		return []string{interpreter}
	}
	return []string{interpreter, argument}
}

func cutBlank(s string) (before, after string, found bool) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
