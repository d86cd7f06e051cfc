package strictjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// string reads a string that begins at the current position.
func (p *parser) string() (string, bool) {
	start := p.pos
	p.pos++
	ascii := true
	for ; p.pos < len(p.data); p.pos++ {
		switch c := p.data[p.pos]; {
		case c == '"':
			text := p.text[start+1 : p.pos]
			p.pos++
			if !ascii && !utf8.ValidString(text) {
				text = p.validUTF8(text, start+1)
			}
			return text, true
		case c == '\\':
			return p.escapedString(start)
		case c < 0x20:
			return p.controlCharacter()
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return p.unterminated(start)
}

// escapedString continues a string at its first escape.
func (p *parser) escapedString(start int) (string, bool) {
	var b strings.Builder
	plain := start + 1
	flush := func() {
		text := p.text[plain:p.pos]
		if !utf8.ValidString(text) {
			text = p.validUTF8(text, plain)
		}
		b.WriteString(text)
	}
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			flush()
			p.pos++
			return b.String(), true
		case c == '\\':
			flush()
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			b.WriteRune(r)
			plain = p.pos
		case c < 0x20:
			return p.controlCharacter()
		default:
			p.pos++
		}
	}
	return p.unterminated(start)
}

func (p *parser) controlCharacter() (string, bool) {
	switch c := p.data[p.pos]; c {
	case '\n', '\r':
		p.fail(problem.JSONSyntax, p.pos, `expected the string to end on its line; a line break inside is written \n`)
	default:
		p.fail(problem.JSONSyntax, p.pos, `expected no control character inside a string; 0x%02x is written \u%04x`, c, c)
	}
	return "", false
}

func (p *parser) unterminated(start int) (string, bool) {
	p.pos = len(p.data)
	p.fail(problem.JSONSyntax, p.pos, "expected the end of the string that begins at line %d, found the end of the document", p.line(start))
	return "", false
}

// validUTF8 reports the first invalid byte of a string's text, and makes the text valid.
func (p *parser) validUTF8(text string, offset int) string {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size <= 1 {
				p.report(problem.JSONEncoding, offset+i, "expected UTF-8, found the byte 0x%02x, which is none", text[i])
				break
			}
		}
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads one escape sequence, or two that make a surrogate pair.
func (p *parser) escape() (rune, bool) {
	start := p.pos
	p.pos++
	if p.pos == len(p.data) {
		p.fail(problem.JSONSyntax, p.pos, "expected the rest of an escape sequence, found the end of the document")
		return 0, false
	}
	c := p.data[p.pos]
	if c != 'u' {
		if escapes[c] == 0 {
			p.fail(problem.JSONSyntax, start, `expected an escape sequence (\" \\ \/ \b \f \n \r \t or \u with four hexadecimal digits), found another one`)
			return 0, false
		}
		p.pos++
		return rune(escapes[c]), true
	}
	r, ok := p.hexadecimal(start)
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if r < 0xdc00 && strings.HasPrefix(p.text[p.pos:], `\u`) {
		second := p.pos
		p.pos++
		low, ok := p.hexadecimal(second)
		if !ok {
			return 0, false
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, true
		}
		// The second one is no partner; it stands for itself, so it is read again.
		p.pos = second
	}
	p.report(problem.JSONEncoding, start, `expected surrogates in pairs, found \u%04x alone`, r)
	return utf8.RuneError, true
}

// hexadecimal reads the u and the four digits of the escape that begins at start.
func (p *parser) hexadecimal(start int) (rune, bool) {
	if p.pos+5 > len(p.data) {
		p.fail(problem.JSONSyntax, start, `expected four hexadecimal digits after \u, found the end of the document`)
		return 0, false
	}
	var r rune
	for _, c := range p.data[p.pos+1 : p.pos+5] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			p.fail(problem.JSONSyntax, start, `expected four hexadecimal digits after \u, found something else`)
			return 0, false
		}
	}
	p.pos += 5
	return r, true
}

// exactDigits is the length up to which every decimal integer is a double.
const exactDigits = 15

func (p *parser) number() *Value {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	integer := p.pos
	if p.digits() == 0 {
		return p.fail(problem.JSONSyntax, p.pos, "expected a digit after the minus sign, found %s", p.found())
	}
	if p.data[integer] == '0' && p.pos > integer+1 {
		return p.fail(problem.JSONSyntax, start, "expected a number without leading zeros")
	}
	exact := true
	if p.peek() == '.' {
		exact = false
		p.pos++
		if p.digits() == 0 {
			return p.fail(problem.JSONSyntax, p.pos, "expected a digit after the decimal point, found %s", p.found())
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		exact = false
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if p.digits() == 0 {
			return p.fail(problem.JSONSyntax, p.pos, "expected a digit in the exponent, found %s", p.found())
		}
	}
	literal := p.text[start:p.pos]
	if !exact || len(literal) > exactDigits || literal == "-0" {
		if fault := numberFault(literal, exact); fault != "" {
			p.report(problem.JSONNumber, start, "%s", fault)
		}
	}
	v := p.newValue(Number, start)
	v.Text, v.End = literal, p.pos
	return v
}

func (p *parser) digits() int {
	start := p.pos
	for p.pos < len(p.data) && p.data[p.pos] >= '0' && p.data[p.pos] <= '9' {
		p.pos++
	}
	return p.pos - start
}

// numberFault says what an IEEE double would make of the number that was not written.
func numberFault(literal string, integer bool) string {
	f, err := strconv.ParseFloat(literal, 64)
	switch {
	case err != nil:
		return "expected a number within the range of an IEEE double, found a greater one"
	case f == 0 && literal[0] == '-':
		return "expected 0 without a minus sign"
	case f == 0 && strings.ContainsAny(mantissa(literal), "123456789"):
		return "expected a number within the range of an IEEE double, found one so small that it becomes 0"
	case integer && strconv.FormatFloat(f, 'f', 0, 64) != literal:
		return fmt.Sprintf("expected an integer that an IEEE double holds, found one that becomes %s", problem.Cut(strconv.FormatFloat(f, 'f', 0, 64)))
	}
	return ""
}

func mantissa(literal string) string {
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		return literal[:i]
	}
	return literal
}
