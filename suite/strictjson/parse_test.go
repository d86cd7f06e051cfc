package strictjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

func parse(text string) (*strictjson.Document, []string) {
	doc, problems := strictjson.Parse("a.json", []byte(text), strictjson.DefaultLimits())
	return doc, render(problems)
}

func render(problems []problem.Problem) []string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return lines
}

func TestParseAccepts(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `0`, `true`, `false`, `null`,
		" \t\r\n{ \"a\" : [ 1 , 2 ] } \n\n",
		`{"":{"":0}}`,
		`{"a":1,"A":2}`,
		`"\"\\\/\b\f\n\r\t"`,
		`"\u0000\u001f\uFFFD\ufffd"`,
		`"\ud83d\ude00"`, `"😀 ü \u00fc"`, "\"\u007f\u2028\"",
		`-1`, `0.5`, `-0.5`, `1e3`, `1E+3`, `10e-1`, `0e999`, `0.0`,
		`9007199254740992`, `-9007199254740992`, `9007199254740994`,
		`100000000000000000000`, `1180591620717411303424`,
		`0.1`, `5e-324`, `1.7976931348623157e308`,
		"\"" + strings.Repeat("x", 1<<20) + "\"",
	} {
		doc, problems := parse(text)
		require.Empty(t, problems, "%.80s", text)
		require.NotNil(t, doc, "%.80s", text)
	}
}

// What ends the reading: there is no document.
func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", `1:1: json (AS-JSON-001): expected a value, found the end of the document`},
		{" \n ", `2:2: json (AS-JSON-001): expected a value, found the end of the document`},
		{"{} {}", `1:4: json (AS-JSON-001): expected nothing but white space after the document's value, found "{"`},
		{"{}\x00", `1:3: json (AS-JSON-001): expected nothing but white space after the document's value, found "\x00"`},
		{"{}\u00a0", `1:3: json (AS-JSON-001): expected nothing but white space after the document's value, found the character U+00A0`},
		{"{}\xff", `1:3: json (AS-JSON-001): expected nothing but white space after the document's value, found the byte 0xff, which is not UTF-8`},
		{"\xff\xfe{\x00", `1:1: json (AS-JSON-001): the document is UTF-16; save it as UTF-8`},
		{"\xfe\xff\x00{", `1:1: json (AS-JSON-001): the document is UTF-16; save it as UTF-8`},
		{"{\n  \"a\": 1,\n}", `2:9: json (AS-JSON-001): expected no comma after an object's last member`},
		{"[1,]", `1:3: json (AS-JSON-001): expected no comma after an array's last element`},
		{"[,1]", `1:2: json (AS-JSON-001): expected a value, found ","`},
		{"[1,,2]", `1:4: json (AS-JSON-001): expected a value, found ","`},
		{"{,}", `1:2: json (AS-JSON-001): expected a member's name in double quotes or the "}" of the object that begins at line 1, found ","`},
		{"[1 2]", `1:4: json (AS-JSON-001): expected "," or the "]" of the array that begins at line 1, found "2"`},
		{"[", `1:2: json (AS-JSON-001): expected a value, found the end of the document`},
		{"{\n \"a\": [\n 1", `3:3: json (AS-JSON-001): expected "," or the "]" of the array that begins at line 2, found the end of the document`},
		{"{\n \"a\": 1\n \"b\": 2}", `3:2: json (AS-JSON-001): expected "," or the "}" of the object that begins at line 1, found a string`},
		{"{", `1:2: json (AS-JSON-001): expected a member's name in double quotes or the "}" of the object that begins at line 1, found the end of the document`},
		{"{a:1}", `1:2: json (AS-JSON-001): expected a member's name in double quotes or the "}" of the object that begins at line 1, found "a"`},
		{"{'a':1}", `1:2: json (AS-JSON-001): expected a member's name in double quotes or the "}" of the object that begins at line 1, found a single quotation mark (JSON strings stand in double ones)`},
		{`{"a" 1}`, `1:6: json (AS-JSON-001): expected ":" after the name "a", found "1"`},
		{`{"a":}`, `1:6: json (AS-JSON-001): expected a value, found "}"`},
		{"// no\n{}", `1:1: json (AS-JSON-001): expected a value, found "/" (JSON has no comments)`},
		{"# syntax=x\n{}", `1:1: json (AS-JSON-001): expected a value, found "#" (JSON has no comments)`},
		{"tru", `1:1: json (AS-JSON-001): expected a value, found a word that is none of true, false and null`},
		{"nul", `1:1: json (AS-JSON-001): expected a value, found a word that is none of true, false and null`},
		{"truex", `1:5: json (AS-JSON-001): expected nothing but white space after the document's value, found "x"`},
		{"True", `1:1: json (AS-JSON-001): expected a value, found "T"`},
		{"NaN", `1:1: json (AS-JSON-001): expected a value, found "N"`},
		{"-Infinity", `1:2: json (AS-JSON-001): expected a digit after the minus sign, found "I"`},
		{"-", `1:2: json (AS-JSON-001): expected a digit after the minus sign, found the end of the document`},
		{"+1", `1:1: json (AS-JSON-001): expected a value, found "+"`},
		{".5", `1:1: json (AS-JSON-001): expected a value, found "."`},
		{"01", `1:1: json (AS-JSON-001): expected a number without leading zeros`},
		{"-00", `1:1: json (AS-JSON-001): expected a number without leading zeros`},
		{"1.", `1:3: json (AS-JSON-001): expected a digit after the decimal point, found the end of the document`},
		{"[1.e1]", `1:4: json (AS-JSON-001): expected a digit after the decimal point, found "e"`},
		{"1e", `1:3: json (AS-JSON-001): expected a digit in the exponent, found the end of the document`},
		{"1e+", `1:4: json (AS-JSON-001): expected a digit in the exponent, found the end of the document`},
		{"0x10", `1:2: json (AS-JSON-001): expected nothing but white space after the document's value, found "x"`},
		{`"a`, `1:3: json (AS-JSON-001): expected the end of the string that begins at line 1, found the end of the document`},
		{"\"a\nb\"", `1:3: json (AS-JSON-001): expected the string to end on its line; a line break inside is written \n`},
		{"\"a\tb\"", `1:3: json (AS-JSON-001): expected no control character inside a string; 0x09 is written \u0009`},
		{"\"\\n\x01\"", `1:4: json (AS-JSON-001): expected no control character inside a string; 0x01 is written \u0001`},
		{`"\x41"`, `1:2: json (AS-JSON-001): expected an escape sequence (\" \\ \/ \b \f \n \r \t or \u with four hexadecimal digits), found another one`},
		{`"\`, `1:3: json (AS-JSON-001): expected the rest of an escape sequence, found the end of the document`},
		{`"\u12`, `1:2: json (AS-JSON-001): expected four hexadecimal digits after \u, found the end of the document`},
		{`"\u12G4"`, `1:2: json (AS-JSON-001): expected four hexadecimal digits after \u, found something else`},
		{`"\ud83d\u12G4"`, `1:8: json (AS-JSON-001): expected four hexadecimal digits after \u, found something else`},
	} {
		t.Run(fmt.Sprintf("%.40q", test.text), func(t *testing.T) {
			doc, problems := parse(test.text)
			require.Nil(t, doc)
			require.Equal(t, []string{"a.json:" + test.want}, problems)
		})
	}
}

// What is wrong with a document that can still be read to its end.
func TestParseCollects(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"{\n  \"name\": 1,\n  \"name\": 2\n}", []string{`3:3: json (AS-JSON-001): member "name" stands twice in this object; the first is at line 2`}},
		{`{"a":1,"\u0061":2,"a":3}`, []string{
			`1:8: json (AS-JSON-001): member "a" stands twice in this object; the first is at line 1`,
			`1:19: json (AS-JSON-001): member "a" stands twice in this object; the first is at line 1`}},
		{`{"a\u001b[31m":1,"a\u001b[31m":2}`, []string{`1:18: json (AS-JSON-001): member "a\u001b[31m" stands twice in this object; the first is at line 1`}},
		{`[-0]`, []string{`1:2: json (AS-JSON-001): expected 0 without a minus sign`}},
		{`[-0.0,-0e5]`, []string{
			`1:2: json (AS-JSON-001): expected 0 without a minus sign`,
			`1:7: json (AS-JSON-001): expected 0 without a minus sign`}},
		{`[-1e-400]`, []string{`1:2: json (AS-JSON-001): expected 0 without a minus sign`}},
		{`[1e-400]`, []string{`1:2: json (AS-JSON-001): expected a number within the range of an IEEE double, found one so small that it becomes 0`}},
		{`[1e400,-1e400]`, []string{
			`1:2: json (AS-JSON-001): expected a number within the range of an IEEE double, found a greater one`,
			`1:8: json (AS-JSON-001): expected a number within the range of an IEEE double, found a greater one`}},
		{`[9007199254740993]`, []string{`1:2: json (AS-JSON-001): expected an integer that an IEEE double holds, found one that becomes 9007199254740992`}},
		{`[-9007199254740993]`, []string{`1:2: json (AS-JSON-001): expected an integer that an IEEE double holds, found one that becomes -9007199254740992`}},
		{`["\ud83d"]`, []string{`1:3: json (AS-JSON-001): expected surrogates in pairs, found \ud83d alone`}},
		{`["\ude00\ud83d"]`, []string{
			`1:3: json (AS-JSON-001): expected surrogates in pairs, found \ude00 alone`,
			`1:9: json (AS-JSON-001): expected surrogates in pairs, found \ud83d alone`}},
		{`["\ud83d\ud83d\ude00"]`, []string{`1:3: json (AS-JSON-001): expected surrogates in pairs, found \ud83d alone`}},
		{`["\ud83d\n"]`, []string{`1:3: json (AS-JSON-001): expected surrogates in pairs, found \ud83d alone`}},
		{`{"\ud83d":1}`, []string{`1:3: json (AS-JSON-001): expected surrogates in pairs, found \ud83d alone`}},
		{"[\"ab\xff\"]", []string{`1:5: json (AS-JSON-001): expected UTF-8, found the byte 0xff, which is none`}},
		{"[\"\\n\xc0\xaf\"]", []string{`1:5: json (AS-JSON-001): expected UTF-8, found the byte 0xc0, which is none`}},
		{"[\"\xed\xa0\x80\"]", []string{`1:3: json (AS-JSON-001): expected UTF-8, found the byte 0xed, which is none`}},
		{"\xef\xbb\xbf{}", []string{`1:1: json (AS-JSON-001): the document begins with a byte order mark; save it as UTF-8 without one`}},
		{"{\"a\":-0,\n\"a\":\"\\ud800\"}", []string{
			`1:6: json (AS-JSON-001): expected 0 without a minus sign`,
			`2:6: json (AS-JSON-001): expected surrogates in pairs, found \ud800 alone`,
			`2:1: json (AS-JSON-001): member "a" stands twice in this object; the first is at line 1`}},
	} {
		t.Run(fmt.Sprintf("%.40q", test.text), func(t *testing.T) {
			for i := range test.want {
				test.want[i] = "a.json:" + test.want[i]
			}
			doc, problems := parse(test.text)
			require.NotNil(t, doc)
			require.Equal(t, test.want, problems)
		})
	}
}

func TestParsePointers(t *testing.T) {
	_, problems := strictjson.Parse("a.json", []byte(`{"a":[0,{"b/~":-0,"b/~":1}],"c":[`), strictjson.DefaultLimits())
	var pointers []string
	for _, p := range problems {
		pointers = append(pointers, p.Pointer)
	}
	require.Equal(t, []string{"/a/1/b~1~0", "/a/1/b~1~0", "/c/0"}, pointers)
}

func TestParseLimits(t *testing.T) {
	limits := strictjson.DefaultLimits()
	numbered := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			if i > from {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"m%d":0`, i)
		}
		return b.String()
	}
	objects := func(n, members int) string {
		return "[" + strings.TrimSuffix(strings.Repeat("{"+numbered(0, members)+"},", n), ",") + "]"
	}
	for name, test := range map[string]struct {
		limit    func(*strictjson.Limits)
		within   string
		beyond   string
		want     string
		readable bool
	}{
		"bytes": {
			within: `"` + strings.Repeat("x", 4<<20-2) + `"`,
			beyond: `"` + strings.Repeat("x", 4<<20-1) + `"`,
			want:   `1:1: json (AS-JSON-001): the document has 4194305 bytes; the limit is 4194304`,
		},
		"depth of arrays": {
			within: strings.Repeat("[", 100) + "0" + strings.Repeat("]", 100),
			beyond: strings.Repeat("[", 101) + strings.Repeat("]", 101),
			want:   `1:101: json (AS-JSON-001): arrays and objects are nested deeper than 100 levels, which is the limit`,
		},
		"depth of objects": {
			within: strings.Repeat(`{"":`, 100) + "0" + strings.Repeat("}", 100),
			beyond: strings.Repeat(`{"":`, 101) + "0" + strings.Repeat("}", 101),
			want:   `1:401: json (AS-JSON-001): arrays and objects are nested deeper than 100 levels, which is the limit`,
		},
		"depth without end": {
			within: `[[],[[]]]`,
			beyond: strings.Repeat("[", 4<<20),
			want:   `1:101: json (AS-JSON-001): arrays and objects are nested deeper than 100 levels, which is the limit`,
		},
		"members of an object": {
			within:   "{" + numbered(0, 1024) + "}",
			beyond:   "\n{" + numbered(0, 1025) + "}",
			want:     `2:1: json (AS-JSON-001): the object has 1025 members; the limit is 1024`,
			readable: true,
		},
		"members of a document": {
			within: objects(100, 1000),
			beyond: "[\n" + objects(100, 1000) + ",\n{\"one\":0}]",
			want:   `3:2: json (AS-JSON-001): the document has more than 100000 members, which is the limit`,
		},
		"values of a document": {
			within: "[" + strings.Repeat("0,", 249_998) + "0]",
			beyond: "[" + strings.Repeat("0,", 249_999) + "\n0,0,0]",
			want:   `2:1: json (AS-JSON-001): the document has more than 250000 values, which is the limit`,
		},
		"length of a name": {
			within: `{"` + strings.Repeat("n", 256) + `":0}`,
			beyond: `{"` + strings.Repeat("n", 257) + `":{"a":[1,{}]}}`,
			want:   `1:2: json (AS-JSON-001): a member's name has 257 bytes; the limit is 256`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc, problems := strictjson.Parse("a.json", []byte(test.within), limits)
			require.Empty(t, problems)
			require.NotNil(t, doc)
			doc, problems = strictjson.Parse("a.json", []byte(test.beyond), limits)
			require.Equal(t, []string{"a.json:" + test.want}, render(problems))
			require.Equal(t, test.readable, doc != nil)
			for _, p := range problems {
				require.Same(t, problem.JSONLimit, p.Rule)
			}
		})
	}
}

// A syntax error behind an exceeded limit is still found.
func TestParseGoesOnBeyondLimits(t *testing.T) {
	limits := strictjson.DefaultLimits()
	limits.DocumentMembers = 2
	doc, problems := strictjson.Parse("a.json", []byte(`{"a":{"b":0},"c":[{"d":[{}]},-0],"e":}`), limits)
	require.Nil(t, doc)
	require.Equal(t, []string{
		`a.json:1:14: json (AS-JSON-001): the document has more than 2 members, which is the limit`,
		`a.json:1:30: json (AS-JSON-001): expected 0 without a minus sign`,
		`a.json:1:38: json (AS-JSON-001): expected a value, found "}"`,
	}, render(problems))
}

func TestParseBoundsProblems(t *testing.T) {
	_, problems := parse("[" + strings.Repeat("-0,", 5000) + "1}")
	require.Len(t, problems, strictjson.MaxProblems+2)
	require.Contains(t, problems[strictjson.MaxProblems], `expected "," or the "]"`)
	require.Equal(t, "a.json:1:1: json (AS-JSON-001): the document has more problems; only the first 100 are listed", problems[strictjson.MaxProblems+1])

	_, problems = parse("{" + strings.Repeat(`"a":0,`, 1000) + `"a":0}`)
	require.Len(t, problems, strictjson.MaxProblems+1)
}

// Repeated names are found in small objects and in ones that are sorted for it.
func TestParseFindsRepeatedNames(t *testing.T) {
	for _, members := range []int{2, 24, 25, 26, 1000} {
		var b strings.Builder
		b.WriteString("{\n")
		for i := range members - 1 {
			fmt.Fprintf(&b, "\"m%d\":0,\n", i)
		}
		fmt.Fprintf(&b, "\"m%d\":0}", members/3)
		_, problems := parse(b.String())
		require.Equal(t, []string{fmt.Sprintf("a.json:%d:1: json (AS-JSON-001): member \"m%d\" stands twice in this object; the first is at line %d",
			members+1, members/3, members/3+2)}, problems)
	}
}
