package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/schemas"
	"github.com/agentsuite/agentsuite-llb/suite/schema"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// FuzzCheck holds that every document is judged as the library judges it, that problems have places in
// the document, and that nothing panics.
func FuzzCheck(f *testing.F) {
	names := schemas.Names()
	for i, name := range names {
		f.Add(uint8(i), full(f, name))
	}
	f.Add(uint8(0), []byte(`{"schemaVersion":"1.0.0-draft","mediaType":7,"":{}}`))
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		doc, problems := strictjson.Parse("f.json", text, strictjson.DefaultLimits())
		if doc == nil {
			return
		}
		name := names[int(kind)%len(names)]
		if len(problems) == 0 {
			check(t, name, text)
		}
		for _, p := range schema.Check(doc, mediaType(name)) {
			require.True(t, p.Line >= 1 && p.Column >= 1 && p.Column <= len(text)+1, "%v", p)
		}
	})
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"pattern":"^(?=a)","$ref":"#/$defs/b"}},"$defs":{"b":{}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"$ref":"#"}]}`,
		`{"$id":"https://example.org/a","$ref":"b.json"}`, `true`, `{"$dynamicRef":"#x","$dynamicAnchor":"x"}`,
		`{"minimum":1e300,"multipleOf":0}`, `{"$vocabulary":{"x":true},"$schema":"file:///etc/passwd"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		_ = schema.Compile(text)
	})
}
