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
	v, _, found := d.resolve(pointer)
	return v, found
}

// resolve walks down the pointer as far as the document goes. It returns the value reached, where the
// name that led to it stands (the value's own offset for an element or the root), and whether that is
// the value pointed to.
func (d *Document) resolve(pointer string) (v *Value, nameOffset int, found bool) {
	v, nameOffset = d.Root, d.Root.Offset
	if pointer == "" {
		return v, nameOffset, true
	}
	if pointer[0] != '/' {
		return v, nameOffset, false
	}
next:
	for token := range tokens(pointer) {
		switch v.Kind {
		case Object:
			for i := range v.Members {
				if m := &v.Members[i]; m.Name == token {
					v, nameOffset = m.Value, m.NameOffset
					continue next
				}
			}
		case Array:
			if i, ok := index(token); ok && i < len(v.Items) {
				v, nameOffset = v.Items[i], v.Items[i].Offset
				continue next
			}
		}
		return v, nameOffset, false
	}
	return v, nameOffset, true
}

// Place returns the line and column of the value at the pointer. For a value that does not exist it
// is the place of the deepest value on the way there. The place keeps the pointer as given.
func (d *Document) Place(pointer string) problem.Place {
	v, _, _ := d.resolve(pointer)
	return d.At(pointer, v.Offset)
}

// NamePlace is like [Document.Place], but for a member it is the place of its name.
func (d *Document) NamePlace(pointer string) problem.Place {
	_, offset, _ := d.resolve(pointer)
	return d.At(pointer, offset)
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

// Strings yields every string value of the document with its pointer, in document order. Member names
// are no values.
func (d *Document) Strings() iter.Seq2[string, *Value] {
	return func(yield func(string, *Value) bool) {
		walkStrings(make([]byte, 0, 64), d.Root, yield)
	}
}

func walkStrings(pointer []byte, v *Value, yield func(string, *Value) bool) bool {
	switch v.Kind {
	case String:
		return yield(string(pointer), v)
	case Object:
		for i := range v.Members {
			m := &v.Members[i]
			if !walkStrings(append(append(pointer, '/'), pointerEscaper.Replace(m.Name)...), m.Value, yield) {
				return false
			}
		}
	case Array:
		for i, item := range v.Items {
			if !walkStrings(strconv.AppendInt(append(pointer, '/'), int64(i), 10), item, yield) {
				return false
			}
		}
	}
	return true
}
