package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// node is a compiled schema in the form that the evaluation needs.
type node struct {
	// rule is what a value breaks that fails here; nil inherits from the schema that leads here.
	rule *problem.Rule
	// expected says what the schema permits, to follow "expected"; empty where the keyword says it.
	expected string
	// forbidden is the schema false: the member must be absent.
	forbidden bool

	kind    strictjson.Kind
	integer bool
	enum    []literal

	required    []string
	members     map[string]*node
	names       []string
	closed      bool
	dependents  []dependent
	anyRequired []string

	minItems, maxItems int
	unique             bool
	items              *node

	minLength, maxLength int
	pattern              jsonschema.Regexp
	format               format
	minimum, maximum     *int64

	ref *node
	all []*node
	not *node

	condition       *node
	then, otherwise *node
}

type literal struct {
	kind strictjson.Kind
	text string
	bool bool
}

func (l literal) equals(v *strictjson.Value) bool {
	return l.kind == v.Kind && l.text == v.Text && l.bool == v.Bool
}

func (l literal) String() string {
	switch l.kind {
	case strictjson.String:
		return `"` + l.text + `"`
	case strictjson.Bool:
		return fmt.Sprint(l.bool)
	default:
		return l.text
	}
}

var kinds = map[string]strictjson.Kind{
	"object":  strictjson.Object,
	"array":   strictjson.Array,
	"string":  strictjson.String,
	"number":  strictjson.Number,
	"integer": strictjson.Number,
	"boolean": strictjson.Bool,
}

type dependent struct {
	member   string
	required []string
}

const (
	// anyKind stands for the absence of a type keyword.
	anyKind = strictjson.Null + 1
	// none stands for the absence of a bound.
	none = -1
)

// translator makes nodes of compiled schemas. It panics on a keyword that it does not know, so that no
// rule of an embedded schema can be passed over; a test translates them all.
type translator struct {
	seen map[*jsonschema.Schema]*node
}

func (t *translator) translate(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	if n, ok := t.seen[s]; ok {
		return n
	}
	n := &node{kind: anyKind, minItems: none, maxItems: none, minLength: none, maxLength: none}
	t.seen[s] = n
	if s.Bool != nil {
		n.forbidden = !*s.Bool
		return n
	}
	refuseUnknownKeywords(s)
	definition := definitions[definitionName(s.Location)]
	n.rule, n.expected = definition.rule, definition.expected
	if n.expected == "" && (s.Pattern != nil || s.Format != nil || s.MinLength != nil && *s.MinLength > 1) {
		n.expected = phrase(s.Description)
	}
	t.general(n, s)
	t.object(n, s)
	n.minItems, n.maxItems, n.unique = orNone(s.MinItems), orNone(s.MaxItems), s.UniqueItems
	n.items = t.translate(s.Items2020)
	n.minLength, n.maxLength, n.pattern = orNone(s.MinLength), orNone(s.MaxLength), s.Pattern
	n.minimum, n.maximum = integer(s.Minimum), integer(s.Maximum)
	if s.Format != nil {
		n.format = formats[s.Format.Name]
		// The format decides alone. Pattern and length, which tell editors most of it, are slower.
		n.pattern, n.minLength, n.maxLength = nil, none, none
	}
	n.ref, n.not = t.translate(s.Ref), t.translate(s.Not)
	if n.not != nil && n.not.ref != nil {
		// The definition says what is not permitted.
		n.not = n.not.ref
	}
	for _, part := range s.AllOf {
		n.all = append(n.all, t.translate(part))
	}
	n.condition, n.then, n.otherwise = t.translate(s.If), t.translate(s.Then), t.translate(s.Else)
	return n
}

func (t *translator) general(n *node, s *jsonschema.Schema) {
	if s.Types != nil {
		n.kind = kinds[s.Types.ToStrings()[0]]
		n.integer = s.Types.ToStrings()[0] == "integer"
	}
	if s.Const != nil {
		n.enum = []literal{literalOf(*s.Const)}
	}
	if s.Enum != nil {
		for _, value := range s.Enum.Values {
			n.enum = append(n.enum, literalOf(value))
		}
	}
}

func (t *translator) object(n *node, s *jsonschema.Schema) {
	n.required = s.Required
	n.names = slices.Sorted(maps.Keys(s.Properties))
	n.members = make(map[string]*node, len(s.Properties))
	for _, name := range n.names {
		n.members[name] = t.translate(s.Properties[name])
	}
	if s.AdditionalProperties != nil {
		n.closed = s.AdditionalProperties == false
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentRequired)) {
		n.dependents = append(n.dependents, dependent{name, s.DependentRequired[name]})
	}
	// Of anyOf only one use is known: at least one of some members is required.
	for _, choice := range s.AnyOf {
		n.anyRequired = append(n.anyRequired, choice.Required...)
	}
}

func refuseUnknownKeywords(s *jsonschema.Schema) {
	anyOfOther := slices.ContainsFunc(s.AnyOf, func(choice *jsonschema.Schema) bool {
		return len(choice.Required) != 1 || len(choice.Properties) > 0 || choice.Ref != nil || choice.Types != nil
	})
	additional := s.AdditionalProperties != nil && s.AdditionalProperties != false
	manyTypes := s.Types != nil && len(s.Types.ToStrings()) > 1
	unknownFormat := s.Format != nil && formats[s.Format.Name] == nil
	switch {
	case anyOfOther, additional, manyTypes, unknownFormat, (s.Minimum == nil) != (s.Maximum == nil),
		s.RecursiveRef != nil, s.DynamicRef != nil, s.OneOf != nil,
		s.MaxProperties != nil, s.MinProperties != nil, s.PropertyNames != nil, s.PatternProperties != nil,
		s.Dependencies != nil, s.DependentSchemas != nil, s.UnevaluatedProperties != nil,
		s.Contains != nil, s.MinContains != nil, s.MaxContains != nil, s.Items != nil, s.AdditionalItems != nil,
		s.PrefixItems != nil, s.UnevaluatedItems != nil,
		s.ContentEncoding != nil, s.ContentMediaType != nil, s.ContentSchema != nil,
		s.ExclusiveMaximum != nil, s.ExclusiveMinimum != nil, s.MultipleOf != nil:
		panic("schema: " + s.Location + " uses keywords in a way that the evaluation does not know")
	}
}

func literalOf(value any) literal {
	switch value := value.(type) {
	case string:
		return literal{kind: strictjson.String, text: value}
	case bool:
		return literal{kind: strictjson.Bool, bool: value}
	case json.Number:
		return literal{kind: strictjson.Number, text: value.String()}
	default:
		panic(fmt.Sprintf("schema: a %T as const or enum is not known", value))
	}
}

func orNone(n *int) int {
	if n == nil {
		return none
	}
	return *n
}

func integer(r *big.Rat) *int64 {
	if r == nil {
		return nil
	}
	if !r.IsInt() || !r.Num().IsInt64() {
		panic("schema: a bound is no integer")
	}
	n := r.Num().Int64()
	return &n
}

// definitionName returns NAME of …#/$defs/NAME, or the schema's file name for the schema as a whole.
func definitionName(location string) string {
	file, pointer, _ := strings.Cut(location, "#")
	if pointer == "" {
		return file[strings.LastIndexByte(file, '/')+1:]
	}
	name, ok := strings.CutPrefix(pointer, "/$defs/")
	if !ok || strings.Contains(name, "/") {
		return ""
	}
	return name
}

// phrase makes a description continue a sentence: "An identifier: …." becomes "an identifier: …".
func phrase(description string) string {
	description = strings.TrimSuffix(description, ".")
	if description == "" {
		return ""
	}
	return strings.ToLower(description[:1]) + description[1:]
}
