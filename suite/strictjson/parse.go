package strictjson

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Parse reads one document. It takes over the data, which must not be modified afterwards.
//
// The document is nil when its text cannot be read to the end (a syntax error, nesting or size over
// the limit), or when it holds more members or values, or longer names, than the limits allow. Everything else that is wrong is
// collected, and the document is returned beside the problems: repeated names, unpaired surrogates,
// invalid UTF-8 inside strings, numbers that do not survive an IEEE double, objects with too many
// members. At most [MaxProblems] are reported, and one that says so.
func Parse(path string, data []byte, limits Limits) (*Document, []problem.Problem) {
	p := &parser{path: path, data: data, limits: limits}
	if int64(len(data)) > limits.DocumentBytes {
		p.report(problem.JSONLimit, 0, "the document has %d bytes; the limit is %d", len(data), limits.DocumentBytes)
		return nil, p.problems
	}
	if len(data) > 0 {
		// Strings without escapes are parts of the document's own memory. The documents of a suite
		// stay in memory while it is checked, so a copy of their text would double that.
		p.text = unsafe.String(&data[0], len(data))
	}
	root := p.document()
	if p.more {
		p.problems = append(p.problems, p.problem(problem.JSONLimit, 0, "",
			"the document has more problems; only the first %d are listed", MaxProblems))
	}
	if root == nil || p.over {
		return nil, p.problems
	}
	return &Document{Path: path, Data: data, Root: root}, p.problems
}

type parser struct {
	path   string
	data   []byte
	text   string
	pos    int
	limits Limits

	depth, members, values int
	// over is set once the document holds more than the limits allow: from there on it is only
	// checked, not kept.
	over bool

	problems []problem.Problem
	more     bool

	// pointer is the path of member names and indexes to the value being read, for problems.
	pointer []step

	// Values, members and items are cut from slabs: a document is a handful of allocations.
	slab        []Value
	memberSlab  []Member
	itemSlab    []*Value
	memberStack []Member
	itemStack   []*Value
	discarded   Value
	order       []int
}

type step struct {
	name  string
	index int
}

func (p *parser) pointerString() string {
	var b strings.Builder
	for _, s := range p.pointer {
		if s.index >= 0 {
			b.WriteString(Pointer(s.index))
		} else {
			b.WriteString(Pointer(s.name))
		}
	}
	return b.String()
}

func (p *parser) problem(rule *problem.Rule, offset int, pointer, format string, args ...any) problem.Problem {
	line, column := position(p.data, offset)
	return problem.New(rule, problem.Place{Path: p.path, Pointer: pointer, Line: line, Column: column}, format, args...)
}

// report collects a problem of the value being read.
func (p *parser) report(rule *problem.Rule, offset int, format string, args ...any) {
	if len(p.problems) >= MaxProblems {
		p.more = true
		return
	}
	p.problems = append(p.problems, p.problem(rule, offset, p.pointerString(), format, args...))
}

// fail reports what ends the reading. It is reported even after MaxProblems others.
func (p *parser) fail(rule *problem.Rule, offset int, format string, args ...any) *Value {
	p.problems = append(p.problems, p.problem(rule, offset, p.pointerString(), format, args...))
	return nil
}

// exceed reports a limit after which the document is no longer kept. Only the first one is reported:
// whatever made the document too large exceeds again and again.
func (p *parser) exceed(offset int, format string, args ...any) {
	if !p.over {
		p.over = true
		p.report(problem.JSONLimit, offset, format, args...)
	}
}

func (p *parser) document() *Value {
	switch {
	case bytes.HasPrefix(p.data, []byte("\xef\xbb\xbf")):
		p.report(problem.JSONEncoding, 0, "the document begins with a byte order mark; save it as UTF-8 without one")
		p.pos = 3
	case bytes.HasPrefix(p.data, []byte("\xff\xfe")), bytes.HasPrefix(p.data, []byte("\xfe\xff")):
		return p.fail(problem.JSONEncoding, 0, "the document is UTF-16; save it as UTF-8")
	}
	p.space()
	root := p.value()
	if root == nil {
		return nil
	}
	p.space()
	if p.pos < len(p.data) {
		return p.fail(problem.JSONSyntax, p.pos, "expected nothing but white space after the document's value, found %s", p.found())
	}
	return root
}

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end; a NUL in the text is found wrong like any other byte
// that is not expected.
func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

// found describes what stands at the current position without repeating more than a character of it.
func (p *parser) found() string {
	if p.pos >= len(p.data) {
		return "the end of the document"
	}
	switch rest := p.data[p.pos:]; {
	case rest[0] == '\'':
		return "a single quotation mark (JSON strings stand in double ones)"
	case rest[0] == '/' || rest[0] == '#':
		return fmt.Sprintf("%q (JSON has no comments)", rest[:1])
	case rest[0] == '"':
		return "a string"
	case rest[0] < utf8.RuneSelf:
		return fmt.Sprintf("%q", rest[:1])
	default:
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size <= 1 {
			return fmt.Sprintf("the byte 0x%02x, which is not UTF-8", rest[0])
		}
		return fmt.Sprintf("the character U+%04X", r)
	}
}

func (p *parser) newValue(kind Kind, offset int) *Value {
	p.values++
	if p.values > p.limits.DocumentValues {
		p.exceed(offset, "the document has more than %d values, which is the limit", p.limits.DocumentValues)
	}
	v := &p.discarded
	if !p.over {
		if len(p.slab) == cap(p.slab) {
			p.slab = make([]Value, 0, p.expected(bytesPerValue))
		}
		p.slab = p.slab[:len(p.slab)+1]
		v = &p.slab[len(p.slab)-1]
	}
	*v = Value{Kind: kind, Offset: offset}
	return v
}

func (p *parser) value() *Value {
	start := p.pos
	switch c := p.peek(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		text, ok := p.string()
		if !ok {
			return nil
		}
		v := p.newValue(String, start)
		v.Text, v.End = text, p.pos
		return v
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't' || c == 'f' || c == 'n':
		return p.literal()
	default:
		return p.fail(problem.JSONSyntax, start, "expected a value, found %s", p.found())
	}
}

var literals = []struct {
	text string
	kind Kind
	bool bool
}{{"true", Bool, true}, {"false", Bool, false}, {"null", Null, false}}

func (p *parser) literal() *Value {
	start := p.pos
	for _, l := range literals {
		if strings.HasPrefix(p.text[start:], l.text) {
			p.pos += len(l.text)
			v := p.newValue(l.kind, start)
			v.Bool, v.End = l.bool, p.pos
			return v
		}
	}
	return p.fail(problem.JSONSyntax, start, "expected a value, found a word that is none of true, false and null")
}

func (p *parser) enter(offset int) bool {
	p.depth++
	if p.depth > p.limits.Depth {
		p.fail(problem.JSONLimit, offset, "arrays and objects are nested deeper than %d levels, which is the limit", p.limits.Depth)
		return false
	}
	return true
}

func (p *parser) object() *Value {
	start := p.pos
	if !p.enter(start) {
		return nil
	}
	v := p.newValue(Object, start)
	base, count := len(p.memberStack), 0
	p.pos++
	p.space()
	for p.peek() != '}' {
		if count > 0 {
			if p.peek() != ',' {
				return p.fail(problem.JSONSyntax, p.pos, `expected "," or the "}" of the object that begins at line %d, found %s`, p.line(start), p.found())
			}
			comma := p.pos
			p.pos++
			p.space()
			if p.peek() == '}' {
				return p.fail(problem.JSONSyntax, comma, "expected no comma after an object's last member")
			}
		}
		if !p.member(start, &count) {
			return nil
		}
		p.space()
	}
	p.pos++
	p.depth--
	if count > p.limits.ObjectMembers {
		p.report(problem.JSONLimit, start, "the object has %d members; the limit is %d", count, p.limits.ObjectMembers)
	}
	members := p.memberStack[base:]
	p.memberStack = p.memberStack[:base]
	if p.over {
		// v may be the shared discarded value, which inner values have overwritten.
		return &p.discarded
	}
	p.duplicates(members)
	v.Members, v.End = cut(&p.memberSlab, members, p.expected(bytesPerMember)), p.pos
	return v
}

func (p *parser) member(object int, count *int) bool {
	nameOffset := p.pos
	if p.peek() != '"' {
		p.fail(problem.JSONSyntax, p.pos, `expected a member's name in double quotes or the "}" of the object that begins at line %d, found %s`, p.line(object), p.found())
		return false
	}
	name, ok := p.string()
	if !ok {
		return false
	}
	if len(name) > p.limits.NameBytes {
		p.exceed(nameOffset, "a member's name has %d bytes; the limit is %d", len(name), p.limits.NameBytes)
		name = ""
	}
	p.pointer = append(p.pointer, step{name: name, index: -1})
	p.space()
	if p.peek() != ':' {
		p.fail(problem.JSONSyntax, p.pos, `expected ":" after the name %s, found %s`, problem.Quoted(name), p.found())
		return false
	}
	p.pos++
	p.space()
	*count++
	p.members++
	if p.members > p.limits.DocumentMembers {
		p.exceed(nameOffset, "the document has more than %d members, which is the limit", p.limits.DocumentMembers)
	}
	value := p.value()
	if value == nil {
		return false
	}
	p.pointer = p.pointer[:len(p.pointer)-1]
	if !p.over {
		p.memberStack = append(p.memberStack, Member{Name: name, NameOffset: nameOffset, Value: value})
	}
	return true
}

func (p *parser) array() *Value {
	start := p.pos
	if !p.enter(start) {
		return nil
	}
	v := p.newValue(Array, start)
	base, count := len(p.itemStack), 0
	p.pos++
	p.space()
	for p.peek() != ']' {
		if count > 0 {
			if p.peek() != ',' {
				return p.fail(problem.JSONSyntax, p.pos, `expected "," or the "]" of the array that begins at line %d, found %s`, p.line(start), p.found())
			}
			comma := p.pos
			p.pos++
			p.space()
			if p.peek() == ']' {
				return p.fail(problem.JSONSyntax, comma, "expected no comma after an array's last element")
			}
		}
		p.pointer = append(p.pointer, step{index: count})
		item := p.value()
		if item == nil {
			return nil
		}
		p.pointer = p.pointer[:len(p.pointer)-1]
		if !p.over {
			p.itemStack = append(p.itemStack, item)
		}
		count++
		p.space()
	}
	p.pos++
	p.depth--
	items := p.itemStack[base:]
	p.itemStack = p.itemStack[:base]
	if p.over {
		return &p.discarded
	}
	v.Items, v.End = cut(&p.itemSlab, items, p.expected(bytesPerItem)), p.pos
	return v
}

// cut copies values into a slab and returns the copy. A slab that is full is followed by one for as
// many values as are expected.
func cut[T any](slab *[]T, values []T, expected int) []T {
	if len(values) > cap(*slab)-len(*slab) {
		*slab = make([]T, 0, max(len(values), expected))
	}
	start := len(*slab)
	*slab = append(*slab, values...)
	return (*slab)[start:len(*slab):len(*slab)]
}

// How much text a value, a member and an element of an array usually take.
const (
	bytesPerValue  = 24
	bytesPerMember = 28
	bytesPerItem   = 96
)

// expected tells for how many values the next slab should have room, by the text that is left.
func (p *parser) expected(bytesPerOne int) int {
	const least, most = 4, 512
	return min(max((len(p.data)-p.pos)/bytesPerOne, least), most)
}

func (p *parser) line(offset int) int {
	line, _ := position(p.data, offset)
	return line
}

// pairwise is the number of members up to which comparing each with each is the quickest way to find
// a repeated name. Beyond it they are sorted, so that a hostile object costs no more than n log n.
const pairwise = 24

func (p *parser) duplicates(members []Member) {
	if len(members) <= pairwise {
		for i := 1; i < len(members); i++ {
			for j := range i {
				if members[i].Name == members[j].Name {
					p.duplicate(&members[j], &members[i])
					break
				}
			}
		}
		return
	}
	p.order = p.order[:0]
	for i := range members {
		p.order = append(p.order, i)
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return strings.Compare(members[a].Name, members[b].Name) })
	first := p.order[0]
	for _, i := range p.order[1:] {
		if members[i].Name == members[first].Name {
			p.duplicate(&members[first], &members[i])
		} else {
			first = i
		}
	}
}

func (p *parser) duplicate(first, second *Member) {
	if len(p.problems) >= MaxProblems {
		p.more = true
		return
	}
	p.pointer = append(p.pointer, step{name: second.Name, index: -1})
	p.report(problem.JSONDuplicate, second.NameOffset,
		"member %s stands twice in this object; the first is at line %d", problem.Quoted(second.Name), p.line(first.NameOffset))
	p.pointer = p.pointer[:len(p.pointer)-1]
}
