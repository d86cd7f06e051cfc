package strictjson_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

const sample = `{
  "name": "caf\u00e9",
	"list": [1, {"a/b": {"~": true}}, null, []],
  "ünï": "ß", "x": false
}
`

func TestPlace(t *testing.T) {
	doc, problems := parse(sample)
	require.Empty(t, problems)
	for _, test := range []struct {
		pointer      string
		found        bool
		line, column int
	}{
		{"", true, 1, 1},
		{"/name", true, 2, 11},
		{"/list", true, 3, 10},
		{"/list/0", true, 3, 11},
		{"/list/1/a~1b/~0", true, 3, 28},
		{"/list/2", true, 3, 36},
		// Columns count bytes: ü and ï have two each.
		{"/x", true, 4, 23},
		// Of what is missing, the deepest value on the way.
		{"/missing", false, 1, 1},
		{"/list/9/a", false, 3, 10},
		{"/list/01", false, 3, 10},
		{"/list/-", false, 3, 10},
		{"/list/1/a~1b/c", false, 3, 22},
		{"/name/x", false, 2, 11},
		{"no pointer", false, 1, 1},
	} {
		t.Run(test.pointer, func(t *testing.T) {
			_, found := doc.Lookup(test.pointer)
			require.Equal(t, test.found, found)
			require.Equal(t, problem.Place{Path: "a.json", Pointer: test.pointer, Line: test.line, Column: test.column}, doc.Place(test.pointer))
		})
	}
}

func TestPointer(t *testing.T) {
	for _, test := range []struct {
		tokens          []any
		pointer, dotted string
	}{
		{nil, "", "the document"},
		{[]any{"toolProviders", 0, "executionMode"}, "/toolProviders/0/executionMode", "toolProviders[0].executionMode"},
		{[]any{"a/b~c", 12}, "/a~1b~0c/12", `["a/b~c"][12]`},
		{[]any{""}, "/", `[""]`},
		{[]any{"x\n"}, "/x\n", `["x\u000a"]`},
		{[]any{strings.Repeat("y", 90)}, "/" + strings.Repeat("y", 90), `["` + strings.Repeat("y", 80) + `…"]`},
	} {
		require.Equal(t, test.pointer, strictjson.Pointer(test.tokens...))
		require.Equal(t, test.dotted, strictjson.Dotted(test.pointer))
	}
	require.Panics(t, func() { strictjson.Pointer(1.5) })
}

func TestAny(t *testing.T) {
	doc, problems := parse(sample)
	require.Empty(t, problems)
	require.Empty(t, cmp.Diff(decoded(t, []byte(sample)), doc.Root.Any()))

	doc, _ = parse(`{"a":1,"a":2}`)
	v, ok := doc.Lookup("/a")
	require.True(t, ok)
	require.Equal(t, "1", v.Text)
	require.Equal(t, map[string]any{"a": json.Number("1")}, doc.Root.Any())
}

func TestDecode(t *testing.T) {
	doc, _ := parse(`{"id":"x","list":[1,2],"on":true}`)
	var into struct {
		ID   string `json:"id"`
		List []int  `json:"list"`
		On   *bool  `json:"on"`
	}
	require.NoError(t, doc.Decode(&into))
	require.Equal(t, "x", into.ID)
	require.Equal(t, []int{1, 2}, into.List)
	require.True(t, *into.On)

	var wrong []string
	require.Error(t, doc.Decode(&wrong))
}

// The example of RFC 8785, section 3.2.4, and that order and white space do not matter.
func TestDigest(t *testing.T) {
	canonical := `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`
	doc, problems := parse(`{
	  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
	  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
	  "literals": [null, true, false]
	}`)
	require.Empty(t, problems)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			got, err := doc.Digest()
			require.NoError(t, err)
			require.Equal(t, digest.FromString(canonical), got)
		})
	}
	wait.Wait()

	broken, _ := parse(`{"a":1,"a":2}`)
	_, err := broken.Digest()
	require.Error(t, err)
}

func TestDigestBlanked(t *testing.T) {
	doc, _ := parse(`{"variants":[{"b":{"variantDigest":"kept"}, "variantDigest" : "sha256:…" , "a":1}]}`)
	got, err := doc.DigestBlanked("/variants/0", "variantDigest")
	require.NoError(t, err)
	require.Equal(t, digest.FromString(`{"a":1,"b":{"variantDigest":"kept"},"variantDigest":""}`), got)

	_, err = doc.DigestBlanked("/variants/1", "variantDigest")
	require.ErrorContains(t, err, `no value at "/variants/1"`)
	_, err = doc.DigestBlanked("/variants/0", "c/d")
	require.ErrorContains(t, err, `no value at "/variants/0/c~1d"`)
}
