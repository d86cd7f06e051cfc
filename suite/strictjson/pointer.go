package strictjson

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// Pointer joins member names (string) and array indexes (int) to an RFC 6901 pointer, escaping the
// names. A token of another type is a mistake of the caller and panics.
func Pointer(tokens ...any) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		switch token := token.(type) {
		case string:
			b.WriteString(pointerEscaper.Replace(token))
		case int:
			b.WriteString(strconv.Itoa(token))
		default:
			panic("strictjson: a pointer is made of strings and ints")
		}
	}
	return b.String()
}

// Dotted renders a pointer for people, as in toolProviders[0].executionMode. Names that are not plain
// words are quoted. The pointer of the whole document gives "the document".
func Dotted(pointer string) string {
	if pointer == "" {
		return "the document"
	}
	var b strings.Builder
	for token := range tokens(pointer) {
		switch {
		case isIndex(token):
			b.WriteString("[" + token + "]")
		case isWord(token):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(token)
		default:
			b.WriteString("[" + problem.Quoted(token) + "]")
		}
	}
	return b.String()
}

func tokens(pointer string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			if !yield(pointerUnescaper.Replace(token)) {
				return
			}
		}
	}
}

func isIndex(token string) bool {
	_, ok := index(token)
	return ok
}

// index reads an array index as RFC 6901 writes it: digits without a leading zero.
func index(token string) (int, bool) {
	if token == "" || len(token) > 9 || token[0] == '0' && len(token) > 1 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

func isWord(token string) bool {
	for _, c := range []byte(token) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return token != "" && len(token) <= 80
}

// Lookup returns the value at an RFC 6901 pointer. Of repeated names the first counts.
func (d *Document) Lookup(pointer string) (*Value, bool) {
	v, found := d.resolve(pointer)
	return v, found
}

// resolve walks down the pointer as far as the document goes. It returns the value reached, and whether that is
// the value pointed to.
func (d *Document) resolve(pointer string) (v *Value, found bool) {
	v = d.Root
	if pointer == "" {
		return v, true
	}
	if pointer[0] != '/' {
		return v, false
	}
	for token := range tokens(pointer) {
		next, ok := v.child(token)
		if !ok {
			return v, false
		}
		v = next
	}
	return v, true
}

// child returns the value that one token of a pointer leads to.
func (v *Value) child(token string) (*Value, bool) {
	switch v.Kind {
	case Object:
		return v.Member(token)
	case Array:
		if i, ok := index(token); ok && i < len(v.Items) {
			return v.Items[i], true
		}
	}
	return nil, false
}

// Place returns the line and column of the value at the pointer. For a value that does not exist it
// is the place of the deepest value on the way there. The place keeps the pointer as given.
func (d *Document) Place(pointer string) problem.Place {
	v, _ := d.resolve(pointer)
	return d.At(pointer, v.Offset)
}

// At returns the place of a byte of the document that belongs to the value at the pointer. It serves
// a walk over the values, which knows offsets and need not look the pointer up.
func (d *Document) At(pointer string, offset int) problem.Place {
	line, column := position(d.Data, offset)
	return problem.Place{Path: d.Path, Pointer: pointer, Line: line, Column: column}
}

// position counts lines and columns, in bytes, from 1.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	return 1 + bytes.Count(before, []byte{'\n'}), len(before) - bytes.LastIndexByte(before, '\n')
}
