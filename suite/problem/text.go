package problem

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/secret"
)

// Printable makes text from a suite or an image safe for a terminal and a log: control characters,
// bidirectional controls and invalid UTF-8 become visible escapes. Newlines and tabs too, so a
// message stays one line.
func Printable(s string) string {
	if !slices.ContainsFunc([]rune(s), unprintable) && strings.ToValidUTF8(s, "") == s {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\uFFFD' && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unprintable(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r == '\u061c', r == '\u200e', r == '\u200f', r == '\u2028', r == '\u2029', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\ufeff':
		return true
	}
	return false
}

// quotedRunes bounds what a message repeats of a suite's text: enough to recognise a name, too little
// to flood a terminal.
const quotedRunes = 80

// Quoted renders text from a suite or an image inside a message: in double quotes, cut after 80
// characters, with control characters made visible and credential-shaped literals left out. It must not be
// used for evaluation operands, which no message repeats.
func Quoted(s string) string {
	return `"` + Printable(Cut(s)) + `"`
}

// lookedBytes is how much of a text Cut looks at: more than it shows, since half a credential no longer
// looks like one.
const lookedBytes = 4 << 10

// Cut shortens text to 80 characters; what it leaves out is shown by an ellipsis. Credential-shaped literals
// are left out before, so that none is shown in part.
func Cut(s string) string {
	shown := secret.Redact(s[:min(len(s), lookedBytes)])
	n := 0
	for i := range shown {
		if n == quotedRunes {
			return shown[:i] + "…"
		}
		n++
	}
	return shown
}

// shown makes a message, or the place of one, fit to be shown.
func shown(s string) string { return Printable(secret.Redact(s)) }

// Counted renders a number of things, whose noun is in the singular: "1 entry", "2 entries".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Join lists parts of a sentence: commas between them, and a word before the last, as in "a, b or c".
func Join(parts []string, last string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " " + last + " " + parts[len(parts)-1]
}
