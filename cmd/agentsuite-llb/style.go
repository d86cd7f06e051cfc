package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// style is how text looks where it is printed.
type style struct {
	// excerpts shows the lines that problems point to.
	excerpts bool
	colour   bool
}

// newStyle looks at what a writer is: a terminal gets excerpts and, unless NO_COLOR or TERM say
// otherwise, colour.
func newStyle(w io.Writer, getenv func(string) string) style {
	f, ok := w.(*os.File)
	if !ok {
		return style{}
	}
	info, err := f.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return style{excerpts: terminal, colour: terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// ANSI colours.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
	faint  = "2"
)

// paint colours text, where there is colour.
func (s style) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// page is where text is printed, and how it looks there.
type page struct {
	io.Writer
	style
}

// printProblems prints one block for each problem and warning, with excerpts where there are some.
func (p page) printProblems(excerpts *suite.Excerpts, problems []problem.Problem, warnings []problem.Warning) {
	for _, found := range problems {
		class := fmt.Sprintf("%s (%s)", found.Rule.Category, found.Rule.Requirement)
		fmt.Fprintf(p, "%s%s: %s\n", p.place(found.Place), p.paint(red, class), found.Message)
		p.printExcerpt(excerpts, found.Place, red)
	}
	for _, found := range warnings {
		class := "warning (" + found.Rule.Name + ")"
		fmt.Fprintf(p, "%s%s: %s %s\n", p.place(found.Place), p.paint(yellow, class), found.Message, p.paint(faint, "("+found.Rule.URL()+")"))
		p.printExcerpt(excerpts, found.Place, yellow)
	}
}

// place renders a place with the colon that follows it; nothing for the subject as a whole.
func (s style) place(at problem.Place) string {
	text := at.String()
	if text == "" {
		return ""
	}
	return s.paint(bold, text) + ": "
}

// excerptWidth is how much of a line an excerpt shows, in characters.
const excerptWidth = 100

// printExcerpt shows the line of a place with a mark below its column.
func (p page) printExcerpt(excerpts *suite.Excerpts, at problem.Place, colour string) {
	if !p.excerpts {
		return
	}
	_, lines := excerpts.Lines(at, 0)
	if len(lines) == 0 {
		return
	}
	before, line := excerpt(lines[0], at.Column-1)
	number := fmt.Sprintf("%5d", at.Line)
	fmt.Fprintf(p, "%s %s\n", p.paint(faint, number+" │"), line)
	fmt.Fprintf(p, "%s %s%s\n", p.paint(faint, "      │"), strings.Repeat(" ", before), p.paint(colour, "^"))
}

// excerpt cuts a line to a readable width around a byte offset and returns how many characters stand
// before it in what is left.
func excerpt(line []byte, offset int) (before int, cut string) {
	offset = min(max(offset, 0), len(line))
	// No character has more than four bytes, and a line can have millions.
	start, end := max(offset-4*excerptWidth, 0), min(offset+4*excerptWidth, len(line))
	head, tail := excerptRunes(line[start:offset]), excerptRunes(line[offset:end])
	if len(head)+len(tail) > excerptWidth {
		if keep := excerptWidth / 2; len(head) > keep {
			head = slices.Concat([]rune{'…'}, head[len(head)-keep:])
		}
		if keep := excerptWidth - len(head); len(tail) > keep {
			tail = append(tail[:keep:keep], '…')
		}
	}
	return len(head), string(head) + string(tail)
}

func excerptRunes(part []byte) []rune {
	return []rune(problem.Printable(strings.ReplaceAll(string(part), "\t", " ")))
}
