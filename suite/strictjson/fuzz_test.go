package strictjson_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

var fuzzSeeds = []string{
	sample,
	`{}`, `[]`, `""`, ` 0 `, `null`, `-1.5e-7`,
	`{"a":1,"b":[1,2,3],"a":2}`,
	`["\ud83d\ude00","\ud83d","\ude00","😀","\u0000\u001f\u007f","\"\\\/\b\f\n\r\t"]`,
	`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
	`[1e21,1e-6,5e-324,1.7976931348623157e308,0.1,123456789012345680000,9007199254740993,-0,1e400,1e-400]`,
	`{"schemaVersion":"1.0.0-draft","mediaType":"application/vnd.agentsuite.agent.v1+json","id":"a"}`,
	"\xef\xbb\xbf{}", "\xff\xfe{", "[\"\xff\"]", `{"a":1,}`, `[[[[[[`, `{"a":{"b":{"c":`, `"\u12`, "[1] x", `// c`,
}

// FuzzParse holds what must be true of any text: it is refused or read, never both wrong and accepted,
// and every place and offset lies where it says.
func FuzzParse(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(seed))
	}
	limits := strictjson.DefaultLimits()
	limits.Depth, limits.ObjectMembers, limits.DocumentMembers, limits.DocumentValues = 10, 20, 40, 80
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, problems := strictjson.Parse("f.json", data, limits)
		require.LessOrEqual(t, len(problems), strictjson.MaxProblems+2)
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, p := range problems {
			require.True(t, p.Line >= 1 && p.Line <= lines && p.Column >= 1 && p.Column <= len(data)+1, "%v", p)
			require.True(t, utf8.ValidString(p.Message))
		}
		if doc == nil {
			require.NotEmpty(t, problems)
			return
		}
		text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		require.True(t, json.Valid(text))
		if len(problems) > 0 {
			return
		}
		require.Empty(t, gocmp.Diff(decoded(t, data), doc.Root.Any()))
		checkOffsets(t, doc, "", doc.Root)
	})
}

func checkOffsets(t *testing.T, doc *strictjson.Document, pointer string, v *strictjson.Value) {
	found, ok := doc.Lookup(pointer)
	require.True(t, ok)
	require.Same(t, v, found)
	part, problems := strictjson.Parse("part", doc.Data[v.Offset:v.End], strictjson.DefaultLimits())
	require.Empty(t, problems)
	require.Equal(t, v.Any(), part.Root.Any())
	require.Equal(t, v.End-v.Offset, part.Root.End)
	place := doc.Place(pointer)
	lines := bytes.Split(doc.Data, []byte("\n"))
	require.Equal(t, doc.Data[v.Offset], lines[place.Line-1][place.Column-1])
	for _, m := range v.Members {
		require.Equal(t, byte('"'), doc.Data[m.NameOffset])
		checkOffsets(t, doc, pointer+strictjson.Pointer(m.Name), m.Value)
	}
	for i, item := range v.Items {
		checkOffsets(t, doc, pointer+strictjson.Pointer(i), item)
	}
}

// FuzzCanonical holds that whatever is accepted has one identity: the library's canonical form equals
// the one that is written below after encoding/json has read the text, and after this package has.
func FuzzCanonical(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(seed))
	}
	for _, number := range []float64{1e23, 4.35, 0.000001, 0.0000001, 1e20, 1e21, 2.2250738585072014e-308, 333333333.33333329, -1.5} {
		f.Add(strconv.AppendFloat([]byte{'['}, number, 'g', -1, 64))
		f.Add(append(strconv.AppendFloat([]byte{'['}, number, 'f', -1, 64), ']'))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, problems := strictjson.Parse("f.json", data, strictjson.DefaultLimits())
		if doc == nil || len(problems) > 0 {
			return
		}
		want, err := jcs.Transform(data)
		require.NoError(t, err)
		require.Equal(t, string(want), string(canonical(nil, decoded(t, data))))
		require.Equal(t, string(want), string(canonical(nil, doc.Root.Any())))
	})
}

func decoded(t *testing.T, data []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}

// canonical is RFC 8785, written from its text.
func canonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			panic(err)
		}
		return append(b, ecmaNumber(f)...)
	case string:
		return canonicalString(b, v)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = canonical(b, item)
		}
		return append(b, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.SortFunc(names, func(x, y string) int {
			return slices.Compare(utf16.Encode([]rune(x)), utf16.Encode([]rune(y)))
		})
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = canonical(append(canonicalString(b, name), ':'), v[name])
		}
		return append(b, '}')
	default:
		panic("not a JSON value")
	}
}

func canonicalString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	short := map[rune]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
	b = append(b, '"')
	for _, r := range s {
		if c, ok := short[r]; ok {
			b = append(b, '\\', c)
		} else if r < 0x20 {
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// ecmaNumber is Number::toString of ECMA-262: with the shortest digits d1…dk and the value
// 0.d1…dk × 10^n, the layout depends on k and n.
func ecmaNumber(f float64) string {
	if f == 0 {
		return "0"
	}
	sign := ""
	if math.Signbit(f) {
		sign, f = "-", -f
	}
	scientific := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(scientific, "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	e, err := strconv.Atoi(exponent)
	if err != nil {
		panic(err)
	}
	k, n := len(digits), e+1
	switch {
	case k <= n && n <= 21:
		return sign + digits + strings.Repeat("0", n-k)
	case 0 < n && n <= 21:
		return sign + digits[:n] + "." + digits[n:]
	case -6 < n && n <= 0:
		return sign + "0." + strings.Repeat("0", -n) + digits
	}
	if k > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	plus := "+"
	if n < 1 {
		plus = ""
	}
	return sign + digits + "e" + plus + strconv.Itoa(n-1)
}
