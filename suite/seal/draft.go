package seal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// draft is a document while it is being sealed: its text as the author wrote it, and the splices that
// bring its values up to date. Whatever no splice covers keeps every byte.
type draft struct {
	doc *strictjson.Document
	// splices are sorted and never overlap. Those at one offset apply in the order of their making.
	splices  []*splice
	inserted map[insertion]*splice
	style    style
}

type splice struct {
	offset, end int
	text        string
	// value is the end of the text of an inserted member: the member's value.
	value string
}

// insertion names a member that the author left out, by where its object begins and its name.
type insertion struct {
	object int
	name   string
}

// style is how a document's author writes JSON.
type style struct {
	// newline begins a line; it is empty when the whole document is one line.
	newline string
	// unit is one step of indentation.
	unit string
	// colon and comma stand between a name and its value, and between values on one line.
	colon, comma string
}

func newDraft(doc *strictjson.Document) *draft {
	d := &draft{doc: doc, inserted: map[insertion]*splice{}, style: style{colon: ": ", comma: ", "}}
	if doc.Root.Kind == strictjson.Object && len(doc.Root.Members) > 0 {
		first := &doc.Root.Members[0]
		d.style.colon = d.colon(first)
		if d.style.colon == ":" {
			d.style.comma = ","
		}
		if lead, ok := d.lead(first.NameOffset); ok {
			d.style.unit = strings.TrimLeft(lead, "\r\n")
			d.style.newline = strings.TrimSuffix(lead, d.style.unit)
		}
	}
	return d
}

// colon returns what stands between a member's name and its value, without line breaks.
func (d *draft) colon(m *strictjson.Member) string {
	text := d.doc.Data[m.NameOffset:m.Value.Offset]
	colon := string(text[bytes.LastIndexByte(text, '"')+1:])
	if strings.ContainsAny(colon, "\r\n") {
		return ": "
	}
	return colon
}

// lead returns the line break and the indentation in front of an offset, and whether the offset is the
// first thing on its line.
func (d *draft) lead(offset int) (string, bool) {
	data := d.doc.Data
	i := offset
	for i > 0 && (data[i-1] == ' ' || data[i-1] == '\t') {
		i--
	}
	if i == 0 || data[i-1] != '\n' {
		return "", false
	}
	i--
	if i > 0 && data[i-1] == '\r' {
		i--
	}
	return string(data[i:offset]), true
}

// lineIndent returns the line break and indentation of the line that an offset lies on; empty in a
// document of one line.
func (d *draft) lineIndent(offset int) string {
	if d.style.newline == "" {
		return ""
	}
	data := d.doc.Data
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	i := start
	for i < len(data) && (data[i] == ' ' || data[i] == '\t') {
		i++
	}
	return d.style.newline + string(data[start:i])
}

// changed tells whether the sealed text differs from the author's.
func (d *draft) changed() bool { return len(d.splices) > 0 }

// text returns the sealed text.
func (d *draft) text() []byte { return d.render(0, len(d.doc.Data)) }

// textOf returns the sealed text of one value.
func (d *draft) textOf(v *strictjson.Value) []byte { return d.render(v.Offset, v.End) }

func (d *draft) render(offset, end int) []byte {
	out := make([]byte, 0, end-offset)
	first, last := d.within(offset, end)
	for _, s := range d.splices[first:last] {
		out = append(out, d.doc.Data[offset:s.offset]...)
		out = append(out, s.text...)
		offset = s.end
	}
	return append(out, d.doc.Data[offset:end]...)
}

// within returns which splices lie in a range of the text. What is inserted at its very end belongs to
// whatever surrounds it.
func (d *draft) within(offset, end int) (first, last int) {
	return d.search(offset), d.search(end)
}

func (d *draft) search(offset int) int {
	i, _ := slices.BinarySearchFunc(d.splices, offset, func(s *splice, o int) int { return cmp.Compare(s.offset, o) })
	return i
}

// replace puts other text in the place of a value. Splices inside the value go with it.
func (d *draft) replace(v *strictjson.Value, text string) {
	first, last := d.within(v.Offset, v.End)
	var with []*splice
	if string(d.doc.Data[v.Offset:v.End]) != text {
		with = []*splice{{offset: v.Offset, end: v.End, text: text}}
	}
	d.splices = slices.Replace(d.splices, first, last, with...)
}

// originalOffset returns where in the author's text the place at a line and column of the sealed text
// comes from. What a splice wrote comes from where the splice begins.
func (d *draft) originalOffset(line, column int) int {
	sealed := d.text()
	offset := 0
	for ; line > 1; line-- {
		i := bytes.IndexByte(sealed[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
	}
	offset += column - 1
	for _, s := range d.splices {
		switch {
		case offset < s.offset:
			return offset
		case offset < s.offset+len(s.text):
			return s.offset
		}
		offset += s.end - s.offset - len(s.text)
	}
	return min(offset, len(d.doc.Data))
}

// putString makes a member the given string; see [draft.put].
func (d *draft) putString(object *strictjson.Value, name, value string, behind ...string) {
	d.put(object, name, quote(value), behind...)
}

// put makes a member the value of a JSON text. A scalar that says the same already, however it is
// escaped, stays as it is written; a member that is missing goes behind the first of the named members
// that exists, else to the end.
func (d *draft) put(object *strictjson.Value, name, text string, behind ...string) {
	v, ok := object.Member(name)
	switch {
	case !ok:
		d.insert(object, name, text, behind)
	case v.Kind == strictjson.String && quote(v.Text) == text:
		d.replace(v, string(d.doc.Data[v.Offset:v.End]))
	default:
		d.replace(v, text)
	}
}

// update puts several members, each that is missing behind the one before.
func (d *draft) update(object *strictjson.Value, fields []field) {
	behind := ""
	for _, f := range fields {
		d.put(object, f.name, f.text, behind)
		behind = f.name
	}
}

// putArray makes a member an array of the given items, each the text of a value. Items that are in
// place stay there; otherwise the array is written anew in the way in which it is written now.
func (d *draft) putArray(object *strictjson.Value, name string, texts []string, behind ...string) {
	list, ok := object.Member(name)
	switch {
	case !ok:
		d.insert(object, name, d.arrayText(nil, d.memberIndent(object), texts), behind)
	case list.Kind != strictjson.Array:
		d.replace(list, d.arrayText(nil, d.lineIndent(list.Offset), texts))
	case !slices.EqualFunc(list.Items, texts, func(item *strictjson.Value, text string) bool { return string(d.textOf(item)) == text }):
		d.replace(list, d.arrayText(list, d.lineIndent(list.Offset), texts))
	}
}

// insert adds a member that the object lacks. A second insertion of the same member overrules the
// first.
func (d *draft) insert(object *strictjson.Value, name, text string, behind []string) {
	key := insertion{object.Offset, name}
	s := d.inserted[key]
	if s != nil {
		s.text = strings.TrimSuffix(s.text, s.value) + text
		s.value = text
		return
	}
	s = &splice{value: text}
	d.inserted[key] = s
	if len(object.Members) == 0 {
		s.offset = object.Offset + 1
		s.text = quote(name) + d.style.colon + text
		if first, last := d.within(s.offset, s.offset+1); first < last {
			s.text = d.style.comma + s.text
		}
	} else {
		anchor := len(object.Members) - 1
		for _, sibling := range behind {
			i := slices.IndexFunc(object.Members, func(m strictjson.Member) bool { return m.Name == sibling })
			if i >= 0 {
				anchor = i
				break
			}
		}
		m := &object.Members[anchor]
		s.offset = m.Value.End
		s.text = "," + d.memberLead(object, anchor) + quote(name) + d.colon(m) + text
	}
	s.end = s.offset
	// Behind what was inserted here before.
	d.splices = slices.Insert(d.splices, d.search(s.offset+1), s)
}

// memberLead returns the white space in front of a member as it would be if it were not the first.
func (d *draft) memberLead(object *strictjson.Value, i int) string {
	if lead, ok := d.lead(object.Members[i].NameOffset); ok {
		return lead
	}
	return strings.TrimPrefix(d.style.comma, ",")
}

// memberIndent returns the line break and indentation of an object's members; empty when the object is
// written on one line.
func (d *draft) memberIndent(object *strictjson.Value) string {
	if len(object.Members) == 0 {
		return ""
	}
	lead, _ := d.lead(object.Members[0].NameOffset)
	return lead
}

// arrayText renders an array. An existing one that is not empty shows how; else there is one item a
// line, unless indent, the line break and indentation of the line that the array begins on, is empty.
func (d *draft) arrayText(existing *strictjson.Value, indent string, texts []string) string {
	if len(texts) == 0 {
		return "[]"
	}
	between, after := indent+d.style.unit, indent
	if existing != nil && len(existing.Items) > 0 {
		between, _ = d.lead(existing.Items[0].Offset)
		after, _ = d.lead(existing.End - 1)
	} else if indent == "" {
		between = ""
	}
	if between == "" {
		return "[" + strings.Join(texts, d.style.comma) + "]"
	}
	return "[" + between + strings.Join(texts, ","+between) + after + "]"
}

// itemIndent tells how a new object in a list is written: with the line break and indentation of its
// members' surroundings if the first object there is written over several lines, else empty.
func (d *draft) itemIndent(list *strictjson.Value) string {
	if list == nil || len(list.Items) == 0 || d.memberIndent(list.Items[0]) == "" {
		return ""
	}
	return d.lineIndent(list.Items[0].Offset)
}

// field is a member of an object, with its value's JSON text.
type field struct{ name, text string }

// objectText renders an object on one line, or one member a line when indent, the line break and
// indentation of the line that it begins on, is given.
func (d *draft) objectText(indent string, fields []field) string {
	between, before, after := d.style.comma, "", ""
	if indent != "" {
		before, after = indent+d.style.unit, indent
		between = "," + before
	}
	members := make([]string, len(fields))
	for i, f := range fields {
		members[i] = quote(f.name) + d.style.colon + f.text
	}
	return "{" + before + strings.Join(members, between) + after + "}"
}

// quote writes a string as JSON. Unlike json.Marshal it leaves <, > and & readable.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
