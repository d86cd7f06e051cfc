// Package schematest holds Go types to the schemas of the documents that they describe.
package schematest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/schemas"
)

type schema struct {
	Ref        string             `json:"$ref"`
	Type       string             `json:"type"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Minimum    *int64             `json:"minimum"`
	Maximum    *int64             `json:"maximum"`
	Defs       map[string]*schema `json:"$defs"`
}

// Agree fails the test where the Go type of a document and the schema of a name differ: in the names
// of members, in their types, in the integers that fit, and in what may be absent, which is what has
// omitempty. Optional fields that the schema requires are listed as Type.Field.
func Agree(t testing.TB, name string, document any, optional ...string) {
	t.Helper()
	text, ok := schemas.Get(name)
	require.True(t, ok, "there is no schema %s", name)
	var root schema
	require.NoError(t, json.Unmarshal(text, &root))
	c := comparison{t: t, defs: root.Defs, optional: optional}
	c.compare(name, &root, reflect.TypeOf(document))
}

type comparison struct {
	t        testing.TB
	defs     map[string]*schema
	optional []string
}

func (c *comparison) compare(at string, s *schema, goType reflect.Type) {
	c.t.Helper()
	for s.Ref != "" && s.Type == "" {
		definition, ok := c.defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		require.True(c.t, ok, "%s: %s is not defined", at, s.Ref)
		s = definition
	}
	kind := goType.Kind()
	switch s.Type {
	case "object":
		require.Equal(c.t, reflect.Struct, kind, "%s is an object", at)
		c.object(at, s, goType)
	case "array":
		require.Equal(c.t, reflect.Slice, kind, "%s is an array", at)
		c.compare(at+"[]", s.Items, goType.Elem())
	case "string":
		require.Equal(c.t, reflect.String, kind, "%s is a string", at)
	case "boolean":
		require.Equal(c.t, reflect.Bool, kind, "%s is a boolean", at)
	case "integer":
		value := reflect.New(goType).Elem()
		require.True(c.t, value.CanInt() || value.CanUint(), "%s is an integer", at)
		if s.Minimum != nil {
			require.True(c.t, fits(value, *s.Minimum), "%s: %s does not hold %d", at, goType, *s.Minimum)
		}
		if s.Maximum != nil {
			require.True(c.t, fits(value, *s.Maximum), "%s: %s does not hold %d", at, goType, *s.Maximum)
		}
	default:
		require.Fail(c.t, "no known type", "%s has the type %q", at, s.Type)
	}
}

func fits(value reflect.Value, n int64) bool {
	if value.CanInt() {
		return !value.OverflowInt(n)
	}
	return n >= 0 && !value.OverflowUint(uint64(n))
}

func (c *comparison) object(at string, s *schema, goType reflect.Type) {
	members := map[string]bool{}
	for _, field := range reflect.VisibleFields(goType) {
		tag, tagged := field.Tag.Lookup("json")
		if !tagged || !field.IsExported() {
			require.True(c.t, field.Anonymous, "%s: field %s has no JSON name", at, field.Name)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		property, ok := s.Properties[name]
		require.True(c.t, ok, "%s: the schema has no member %s", at, name)
		members[name] = true

		required := slices.Contains(s.Required, name)
		if !slices.Contains(c.optional, goType.Name()+"."+field.Name) {
			require.Equal(c.t, !required, options == "omitempty", "%s.%s: the schema says that required is %v", at, name, required)
		}
		fieldType := field.Type
		if fieldType.Kind() == reflect.Pointer {
			require.False(c.t, required, "%s.%s is required and a pointer", at, name)
			fieldType = fieldType.Elem()
		}
		c.compare(at+"."+name, property, fieldType)
	}
	require.Equal(c.t, slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(members)), at)
}
