package schemas_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/schemas"
)

var names = []string{
	"agent", "build-profile", "composition", "eval-case", "eval-index", "manifest", "sandbox-binding",
	"sandbox-inventory", "tool-provider", "tool-provider-catalog", "tool-provider-composition",
}

func load(t *testing.T, name string) map[string]any {
	text, ok := schemas.Get(name)
	require.True(t, ok)
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return schema.(map[string]any)
}

func TestNames(t *testing.T) {
	require.Equal(t, names, schemas.Names())
	_, ok := schemas.Get("no-such")
	require.False(t, ok)
	_, ok = schemas.Get("../schemas/agent")
	require.False(t, ok)
}

func TestForMediaType(t *testing.T) {
	for _, name := range names {
		properties := load(t, name)["properties"].(map[string]any)
		mediaType := properties["mediaType"].(map[string]any)["const"].(string)
		got, ok := schemas.ForMediaType(mediaType)
		require.True(t, ok, mediaType)
		require.Equal(t, name, got)
	}
	for _, mediaType := range []string{
		"", "application/json", "application/vnd.agentsuite..v1+json", "application/vnd.agentsuite.agent.v2+json",
		"application/vnd.agentsuite.suite.v1", "application/vnd.agentsuite.tool-provider.v1+json",
	} {
		_, ok := schemas.ForMediaType(mediaType)
		require.False(t, ok, mediaType)
	}
}

func TestSchemasConformToTheirMetaschema(t *testing.T) {
	for _, name := range names {
		schema := load(t, name)
		require.Equal(t, "https://json-schema.org/draft/2020-12/schema", schema["$schema"])
		require.Equal(t, "https://agentsuite.dev/schemas/1.0.0-draft/"+name+".schema.json", schema["$id"])
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(refuse{})
		require.NoError(t, compiler.AddResource(schema["$id"].(string), schema))
		_, err := compiler.Compile(schema["$id"].(string))
		require.NoError(t, err, name)
	}
}

type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside of the schema", url)
}

// Definitions are repeated so that every schema is complete; repeated ones must not drift apart.
func TestDefinitionsOfOneNameAreEqual(t *testing.T) {
	seen := map[string]any{}
	for _, name := range names {
		definitions, _ := load(t, name)["$defs"].(map[string]any)
		for definition, text := range definitions {
			if first, ok := seen[definition]; ok {
				require.Empty(t, cmp.Diff(first, text), "%s in %s", definition, name)
			}
			seen[definition] = text
		}
	}
}

// Objects are closed, everything is explained, and whatever is defined is used.
func TestSchemasAreClosedAndExplained(t *testing.T) {
	for _, name := range names {
		schema := load(t, name)
		definitions, _ := schema["$defs"].(map[string]any)
		used := map[string]bool{}
		var walk func(at string, s map[string]any, conditional bool)
		walk = func(at string, s map[string]any, conditional bool) {
			reference, _ := s["$ref"].(string)
			if reference != "" {
				definition, ok := strings.CutPrefix(reference, "#/$defs/")
				require.True(t, ok, "%s: %s leaves the schema", at, reference)
				require.Contains(t, definitions, definition, at)
				used[definition] = true
			}
			if !conditional && reference == "" {
				require.Contains(t, s, "type", at)
			}
			if s["type"] == "object" {
				require.Equal(t, false, s["additionalProperties"], at)
				require.NotEmpty(t, s["required"], at)
			}
			properties, _ := s["properties"].(map[string]any)
			required, _ := s["required"].([]any)
			for _, member := range required {
				if !conditional {
					require.Contains(t, properties, member, at)
				}
			}
			for member, property := range properties {
				property, ok := property.(map[string]any)
				if !ok {
					require.True(t, conditional, "%s: %s is a boolean schema", at, member)
					continue
				}
				if !conditional {
					require.True(t, explained(property, definitions), "%s: nothing explains %s", at, member)
				}
				walk(at+"/properties/"+member, property, conditional)
			}
			if items, ok := s["items"].(map[string]any); ok {
				walk(at+"/items", items, conditional)
			}
			for _, keyword := range []string{"if", "then", "else", "not"} {
				if part, ok := s[keyword].(map[string]any); ok {
					walk(at+"/"+keyword, part, true)
				}
			}
			for _, keyword := range []string{"allOf", "anyOf"} {
				parts, _ := s[keyword].([]any)
				for _, part := range parts {
					walk(at+"/"+keyword, part.(map[string]any), true)
				}
			}
		}
		walk(name, schema, false)
		for _, definition := range slices.Sorted(maps.Keys(definitions)) {
			d := definitions[definition].(map[string]any)
			require.NotEmpty(t, d["title"], "%s: %s has no title", name, definition)
			require.NotEmpty(t, d["description"], "%s: %s has no description", name, definition)
			walk(name+"/$defs/"+definition, d, d["type"] == nil)
		}
		for _, definition := range slices.Sorted(maps.Keys(definitions)) {
			require.True(t, used[definition], "%s: nothing uses %s", name, definition)
		}
	}
}

func explained(schema, definitions map[string]any) bool {
	if schema["description"] != nil {
		return true
	}
	reference, _ := schema["$ref"].(string)
	definition, ok := definitions[strings.TrimPrefix(reference, "#/$defs/")].(map[string]any)
	return ok && definition["description"] != nil
}

// Editors know neither Go's regular expressions nor its white space: patterns keep to what ECMA-262 in
// its Unicode mode and RE2 understand alike.
func TestPatternsArePortable(t *testing.T) {
	foreign := regexp.MustCompile(`\(\?[^:]|\\[AzQEpPxCsSwWdDbB]`)
	for _, name := range names {
		text, _ := schemas.Get(name)
		for _, match := range regexp.MustCompile(`"pattern": ("(?:[^"\\]|\\.)*")`).FindAllSubmatch(text, -1) {
			var pattern string
			require.NoError(t, json.Unmarshal(match[1], &pattern))
			_, err := regexp.Compile(pattern)
			require.NoError(t, err)
			require.NotRegexp(t, foreign, strings.ReplaceAll(pattern, `\x00`, ""))
		}
	}
}
