// Package strictjson reads the documents of a suite by the strict JSON profile of the specification
// (section 5.3) in one pass, and remembers where every value stands, so that whatever is wrong with a
// document, now or later, can be shown at its line and column.
package strictjson

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/gowebpki/jcs"
	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Limits bounds what [Parse] reads. Every limit counts; none is switched off by zero.
type Limits struct {
	// DocumentBytes is the size of a document's text.
	DocumentBytes int64
	// Depth is the nesting of arrays and objects; a root that is one counts as 1.
	Depth int
	// ObjectMembers is the number of members of one object.
	ObjectMembers int
	// DocumentMembers is the number of members of all objects of a document together.
	DocumentMembers int
	// DocumentValues is the number of all values of a document, array elements and scalars included.
	// The specification leaves it open; without it, a few bytes of text an element would become many
	// times as much memory.
	DocumentValues int
	// NameBytes is the length of a member's name. The specification leaves it open; names that its
	// schemas know are short, and a pointer repeats the names on the way to every value.
	NameBytes int
}

// DefaultLimits returns the limits of section 5.2, and 250,000 values a document and 256 bytes a
// member's name where the specification has none.
func DefaultLimits() Limits {
	return Limits{
		DocumentBytes:   4 << 20,
		Depth:           100,
		ObjectMembers:   1_024,
		DocumentMembers: 100_000,
		DocumentValues:  250_000,
		NameBytes:       256,
	}
}

// MaxProblems is the number of problems that [Parse] reports of one document; one more then says that
// there are others.
const MaxProblems = 100

// Kind is the JSON type of a [Value].
type Kind uint8

// The kinds of values.
const (
	Object Kind = iota
	Array
	String
	Number
	Bool
	Null
)

// String names the kind as JSON Schema does.
func (k Kind) String() string {
	return [...]string{"object", "array", "string", "number", "boolean", "null"}[k]
}

// Value is one JSON value of a document, read-only.
type Value struct {
	// Text is the decoded text of a string, or the literal of a number as written.
	Text string
	// Members are an object's members in document order, repeated names included.
	Members []Member
	// Items are an array's elements.
	Items []*Value
	// Offset and End delimit the value in the document's data.
	Offset, End int
	// Kind tells which of the other fields apply.
	Kind Kind
	// Bool is the value of a boolean.
	Bool bool
}

// Member is one member of an object.
type Member struct {
	// Name is the decoded name.
	Name string
	// Value is the member's value.
	Value *Value
	// NameOffset is where the name's opening quotation mark stands in the document's data.
	NameOffset int
}

// Member returns the value of the named member, the first one if the name is repeated.
func (v *Value) Member(name string) (*Value, bool) {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value, true
		}
	}
	return nil, false
}

// Any converts the value to what encoding/json would make of it, numbers being json.Number. Of
// repeated names the first counts.
func (v *Value) Any() any {
	switch v.Kind {
	case Object:
		object := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			if _, ok := object[m.Name]; !ok {
				object[m.Name] = m.Value.Any()
			}
		}
		return object
	case Array:
		array := make([]any, len(v.Items))
		for i, item := range v.Items {
			array[i] = item.Any()
		}
		return array
	case String:
		return v.Text
	case Number:
		return json.Number(v.Text)
	case Bool:
		return v.Bool
	default:
		return nil
	}
}

// Document is a document that could be read to its end. It is safe for concurrent use.
type Document struct {
	// Path is the content path that the document was read from.
	Path string
	// Data is the text as written. It must not be modified: the strings of the values are parts of it.
	Data []byte
	// Root is the document's value.
	Root *Value

	identity  sync.Once
	digest    digest.Digest
	digestErr error
}

// Decode stores the document in the Go value that into points to, by the rules of encoding/json. Only
// a document without problems, its schema included, is decoded faithfully.
func (d *Document) Decode(into any) error {
	return json.Unmarshal(d.Data, into)
}

// Digest returns the identity of the document: SHA-256 over its RFC 8785 form (section 6.1). It fails
// only for a document that [Parse] found problems in.
func (d *Document) Digest() (digest.Digest, error) {
	d.identity.Do(func() {
		d.digest, d.digestErr = CanonicalDigest(d.Data)
	})
	return d.digest, d.digestErr
}

// DigestBlanked returns the canonical digest of the value at the pointer in the form in which its
// member of the given name, at the top of that value, is the empty string. That is how a variant's
// identity is defined (section 6.3).
func (d *Document) DigestBlanked(pointer, member string) (digest.Digest, error) {
	v, ok := d.Lookup(pointer)
	if !ok {
		return "", noValue(pointer)
	}
	blank, ok := v.Member(member)
	if !ok {
		return "", noValue(pointer + Pointer(member))
	}
	text := make([]byte, 0, v.End-v.Offset)
	text = append(text, d.Data[v.Offset:blank.Offset]...)
	text = append(text, `""`...)
	text = append(text, d.Data[blank.End:v.End]...)
	return CanonicalDigest(text)
}

func noValue(pointer string) error {
	return fmt.Errorf("the document has no value at %s", problem.Quoted(pointer))
}

// CanonicalDigest returns SHA-256 over the RFC 8785 form of a JSON text. The text must be one that [Parse] has
// no problem with, because the canonical form of anything else means nothing.
func CanonicalDigest(text []byte) (digest.Digest, error) {
	canonical, err := jcs.Transform(text)
	if err != nil {
		return "", err
	}
	return digest.FromBytes(canonical), nil
}
