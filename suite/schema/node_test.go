package schema_test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/schema"
)

// What the evaluation does not know it refuses, rather than letting a rule of a schema go unenforced.
func TestTranslationRefusesUnknownKeywords(t *testing.T) {
	translate := func(text string) func() {
		parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err)
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		require.NoError(t, compiler.AddResource("test:///schema.json", parsed))
		compiled := compiler.MustCompile("test:///schema.json")
		return func() { schema.Translate(compiled) }
	}
	require.NotPanics(t, translate(`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"additionalProperties":false}`))
	for _, text := range []string{
		`{"oneOf":[true]}`, `{"anyOf":[{"required":["a","b"]}]}`, `{"anyOf":[{"type":"string","required":["a"]}]}`,
		`{"type":["string","null"]}`, `{"additionalProperties":{"type":"string"}}`, `{"patternProperties":{"a":true}}`, `{"propertyNames":{"minLength":1}}`,
		`{"minProperties":1}`, `{"maxProperties":1}`, `{"dependentSchemas":{"a":true}}`, `{"unevaluatedProperties":false}`, `{"unevaluatedItems":false}`,
		`{"contains":true}`, `{"prefixItems":[true]}`, `{"multipleOf":2}`, `{"exclusiveMinimum":1}`, `{"exclusiveMaximum":1}`, `{"minimum":1}`, `{"minimum":0.5,"maximum":1}`,
		`{"format":"date"}`, `{"const":[]}`, `{"enum":[null]}`, `{"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a"}}}`,
		`{"properties":{"a":{"items":{"not":{"oneOf":[true]}}}}}`,
	} {
		require.Panics(t, translate(text), text)
	}
}
