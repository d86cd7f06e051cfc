package schema

import "github.com/santhosh-tekuri/jsonschema/v6"

// CompileEmbedded gives tests the schemas as the library sees them.
var CompileEmbedded = compileEmbedded

// Translate gives tests the translation of a compiled schema, for its panics.
func Translate(s *jsonschema.Schema) {
	t := translator{seen: map[*jsonschema.Schema]*node{}}
	t.translate(s)
}
