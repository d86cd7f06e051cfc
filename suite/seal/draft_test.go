package seal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

func newTestDraft(t *testing.T, text string) *draft {
	t.Helper()
	doc, problems := strictjson.Parse("d.json", []byte(text), strictjson.DefaultLimits())
	require.Empty(t, problems)
	return newDraft(doc)
}

func TestDraftKeepsTheAuthorsFormatting(t *testing.T) {
	type edit = func(*draft, *value)
	put := func(name, text string, behind ...string) edit {
		return func(d *draft, root *value) { d.put(root, name, text, behind...) }
	}
	tests := map[string]struct {
		text string
		edit edit
		want string
	}{
		"a value that differs":                {`{"a": 1,  "b":2}`, put("a", "7"), `{"a": 7,  "b":2}`},
		"a value that is the same":            {`{ "a" :  "x" }`, put("a", `"x"`), `{ "a" :  "x" }`},
		"a value that is the same, escaped":   {`{"a":"\u0078"}`, put("a", `"x"`), `{"a":"\u0078"}`},
		"a string over a number":              {`{"a": 1}`, put("a", `"1"`), `{"a": "1"}`},
		"a new member on one line":            {`{"a": 1, "b": 2}`, put("c", "3", "a"), `{"a": 1, "c": 3, "b": 2}`},
		"a new member, tightly":               {`{"a":1,"b":2}`, put("c", "3", "x", "a"), `{"a":1,"c":3,"b":2}`},
		"a new member at the end":             {`{"a": 1}`, put("c", "3"), `{"a": 1, "c": 3}`},
		"a new member in nothing":             {"{ }", put("c", "3"), `{"c": 3 }`},
		"a new member on a line":              {"{\n  \"a\": 1\n}\n", put("c", "3"), "{\n  \"a\": 1,\n  \"c\": 3\n}\n"},
		"a new member behind the first":       {"{\n\t\"a\" : 1,\n\n\t\"b\": 2\n}", put("c", "3", "a"), "{\n\t\"a\" : 1,\n\t\"c\" : 3,\n\n\t\"b\": 2\n}"},
		"a new member among CRLF":             {"{\r\n \"a\": 1\r\n}", put("c", "3"), "{\r\n \"a\": 1,\r\n \"c\": 3\r\n}"},
		"a value on the line below its name":  {"{\"a\":\n  1}", put("c", "3"), "{\"a\":\n  1, \"c\": 3}"},
		"a new member behind a brace's value": {"{\"a\": {\n  \"x\": 1\n}}", put("c", "3"), "{\"a\": {\n  \"x\": 1\n}, \"c\": 3}"},
		"two new members keep their order": {`{"a": 1}`, func(d *draft, root *value) {
			d.put(root, "b", "2", "a")
			d.put(root, "c", "3", "a")
			d.put(root, "b", "4", "a")
		}, `{"a": 1, "b": 4, "c": 3}`},
		"a value that changes twice": {`{"a": 1}`, func(d *draft, root *value) {
			d.put(root, "a", "22")
			d.put(root, "a", "1")
		}, `{"a": 1}`},
		"an inner value and then the outer": {`{"a": {"b": 1}}`, func(d *draft, root *value) {
			d.put(member(root, "a"), "b", "2")
			d.put(member(root, "a"), "c", "3")
			d.put(root, "a", "{}")
		}, `{"a": {}}`},
		"a value and a new member behind it": {`{"a": 1}`, func(d *draft, root *value) {
			d.put(root, "b", "2", "a")
			d.put(root, "a", "11")
			d.put(root, "a", "111")
		}, `{"a": 111, "b": 2}`},
		"a new list": {"{\n  \"a\": 1\n}", func(d *draft, root *value) { d.putArray(root, "l", []string{"1", "2"}) },
			"{\n  \"a\": 1,\n  \"l\": [\n    1,\n    2\n  ]\n}"},
		"a new list on one line":    {`{"a": 1}`, func(d *draft, root *value) { d.putArray(root, "l", []string{"1", "2"}) }, `{"a": 1, "l": [1, 2]}`},
		"a new list, tightly":       {`{"a":1}`, func(d *draft, root *value) { d.putArray(root, "l", []string{"1", "2"}) }, `{"a":1,"l":[1,2]}`},
		"a new list of nothing":     {`{"a":1}`, func(d *draft, root *value) { d.putArray(root, "l", nil) }, `{"a":1,"l":[]}`},
		"a list that is the same":   {`{"l": [ 1 ,2 ]}`, func(d *draft, root *value) { d.putArray(root, "l", []string{"1", "2"}) }, `{"l": [ 1 ,2 ]}`},
		"a list that grows":         {"{\"l\": [\n   1\n ]}", func(d *draft, root *value) { d.putArray(root, "l", []string{"0", "1"}) }, "{\"l\": [\n   0,\n   1\n ]}"},
		"a list that grows inline":  {"{\n\"l\": [1]\n}", func(d *draft, root *value) { d.putArray(root, "l", []string{"0", "1"}) }, "{\n\"l\": [0, 1]\n}"},
		"an empty list that grows":  {"{\n  \"l\": []\n}", func(d *draft, root *value) { d.putArray(root, "l", []string{"0"}) }, "{\n  \"l\": [\n    0\n  ]\n}"},
		"a list that becomes empty": {"{\"l\": [\n   1\n ]}", func(d *draft, root *value) { d.putArray(root, "l", nil) }, `{"l": []}`},
		"a list that was none":      {`{"l": null}`, func(d *draft, root *value) { d.putArray(root, "l", []string{"0"}) }, `{"l": [0]}`},
		"markup stays readable":     {`{"a": 1}`, put("b", quote("<&>\u00e9\"\n")), `{"a": 1, "b": "<&>é\"\n"}`},
		"an object over several lines": {"{\n  \"a\": 1\n}", func(d *draft, root *value) {
			d.put(root, "o", d.objectText(d.memberIndent(root), []field{{"x", "1"}, {"y", "2"}}))
		}, "{\n  \"a\": 1,\n  \"o\": {\n    \"x\": 1,\n    \"y\": 2\n  }\n}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newTestDraft(t, test.text)
			test.edit(d, d.doc.Root)
			require.Equal(t, test.want, string(d.text()))
			require.Equal(t, test.want != test.text, d.changed())
			require.Equal(t, test.text, string(d.doc.Data), "the author's text is not to be modified")

			again := newTestDraft(t, test.want)
			test.edit(again, again.doc.Root)
			require.Equal(t, test.want, string(again.text()), "a second time changes nothing")
		})
	}
}

func TestDraftTextOfOneValue(t *testing.T) {
	d := newTestDraft(t, `{"a": {"b": 1}, "c": 2}`)
	a := member(d.doc.Root, "a")
	d.put(d.doc.Root, "d", "4", "a")
	d.put(d.doc.Root, "c", "3")
	d.put(a, "b", "5")
	d.put(a, "e", "6")
	require.Equal(t, `{"b": 5, "e": 6}`, string(d.textOf(a)))
}

func TestDraftOriginalOffset(t *testing.T) {
	d := newTestDraft(t, "{\n  \"a\": 1,\n  \"b\": [0],\n  \"c\": 3\n}")
	d.put(d.doc.Root, "x", "9", "a")
	d.put(d.doc.Root, "b", "[\n1,\n2\n]")
	lines := []string{"{", `  "a": 1,`, `  "x": 9,`, `  "b": [`, "1,", "2", "],", `  "c": 3`, "}"}
	require.Equal(t, lines, strings.Split(string(d.text()), "\n"))
	tests := map[string]struct{ line, column, wantLine, wantColumn int }{
		"before every splice":        {2, 3, 2, 3},
		"in an inserted member":      {3, 3, 2, 9},
		"where a value was replaced": {4, 8, 3, 8},
		"inside a replaced value":    {6, 1, 3, 8},
		"behind every splice":        {8, 8, 4, 8},
		"beyond the end":             {80, 1, 5, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			at := d.doc.At("", d.originalOffset(test.line, test.column))
			require.Equal(t, []int{test.wantLine, test.wantColumn}, []int{at.Line, at.Column})
		})
	}
}

func TestMergeKeepsAnAuthorsOrder(t *testing.T) {
	require.Equal(t, []string{"a", "b", "c", "d"}, merge([]string{"b", "d"}, []string{"a", "c"}))
	require.Equal(t, []string{"a", "c", "z", "b"}, merge([]string{"z", "b"}, []string{"a", "c"}))
	require.Equal(t, []string{"x"}, merge(nil, []string{"x"}))
}
