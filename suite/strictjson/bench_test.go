package strictjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// inventory is a tool provider with as many files as given: what documents that are large are like.
func inventory(files int) []byte {
	var b strings.Builder
	b.WriteString(`{"schemaVersion": "1.0.0-draft", "variants": [{"files": [`)
	for i := range files {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n  {\"path\": \"lib/python3.13/site-packages/module%d/data.py\", \"type\": \"file\", \"mode\": 420, \"uid\": 0, \"gid\": 0, \"size\": %d, \"digest\": \"sha256:%064x\"}", i, 1000+i, i)
	}
	b.WriteString("\n]}]}\n")
	return []byte(b.String())
}

// BenchmarkParse reads documents; the others are what to compare it with.
func BenchmarkParse(b *testing.B) {
	for _, files := range []int{5, 5000} {
		data := inventory(files)
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			b.Run("strictjson", func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if _, problems := strictjson.Parse("a.json", data, strictjson.DefaultLimits()); len(problems) > 0 {
						b.Fatal(problems)
					}
				}
			})
			b.Run("encoding-json", func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					var v any
					if err := json.Unmarshal(data, &v); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("jcs", func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := jcs.Transform(data); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
