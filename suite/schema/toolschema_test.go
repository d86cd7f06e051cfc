package schema_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/schema"
)

func TestCompile(t *testing.T) {
	for _, text := range []string{
		`true`, `{}`, ` {"type": "object"} `,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"integer"}],"unevaluatedItems":false}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[true],"dependencies":{"a":["b"]}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#"}}}`,
		`{"$id":"https://example.org/tool","$ref":"other","$defs":{"o":{"$id":"other","type":"string"}}}`,
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
		// ECMA-262 has these, RE2 leaves them out.
		`{"pattern":"^(?=a)(?<!b)a\\/\\u0061{2000}$"}`,
		`{"format":"no-such-format","x-other":1}`,
	} {
		require.NoError(t, schema.Compile([]byte(text)), text)
	}
	for text, want := range map[string]string{
		``:                                       `line 1, column 1: expected a value, found the end of the document`,
		`{"type":"strin"}`:                       `type: value must be one of`,
		`{"type":7}`:                             `type: `,
		`[]`:                                     `got array, want boolean or object`,
		`{"properties":{"a b":{"minimum":"1"}}}`: `properties["a b"].minimum: got string, want number`,
		`{"pattern":"("}`:                        `pattern: `,
		`{"$ref":"#/$defs/missing"}`:             `missing`,
		`{"$ref":"other.json"}`:                  `no reference out of a schema is followed`,
		`{"$schema":"https://example.org/own","type":"object"}`: `it refers to "https://example.org/own", and no reference out of a schema is followed`,
		`{"a":1,"a":2}`:           `line 1, column 8: member "a" stands twice`,
		`{"minimum":1e999999999}`: `found a greater one`,
		`{"pattern":"` + strings.Repeat("a", 5000) + `"}`:                `pattern: `,
		`{"description":"` + strings.Repeat("a", 1<<20) + `"}`:           `the limit is 1048576`,
		strings.Repeat(`{"not":`, 200) + "{}" + strings.Repeat("}", 200): `nested deeper than 64 levels`,
	} {
		t.Run(fmt.Sprintf("%.50s", text), func(t *testing.T) {
			err := schema.Compile([]byte(text))
			require.ErrorContains(t, err, want)
			require.Less(t, len(err.Error()), 300)
		})
	}
}

// Neither files nor networks are reached, however a schema names them.
func TestCompileReachesNothing(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(file, []byte(`{}`), 0o600))
	for _, location := range []string{server.URL + "/schema.json", "file://" + file, file, "../other/schema.json"} {
		for _, text := range []string{`{"$ref":%q}`, `{"$dynamicRef":%q}`, `{"$schema":%q}`, `{"$defs":{"a":{"items":{"$ref":%q}}},"$ref":"#/$defs/a"}`,
			`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":%q}`} {
			require.ErrorContains(t, schema.Compile(fmt.Appendf(nil, text, location)), "no reference out of a schema is followed", location)
		}
	}
	require.False(t, asked)
}

// A schema that is as large as the limits allow is compiled in a moment.
func TestCompileIsBounded(t *testing.T) {
	wide := `{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"not":{"pattern":"(\\pL{1000}){1000}","minimum":1e300}},`, 1600), ",") + `]}`
	start := time.Now()
	require.NoError(t, schema.Compile([]byte(wide)))
	require.Less(t, time.Since(start), 20*time.Second)
}
