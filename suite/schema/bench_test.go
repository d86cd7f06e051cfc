package schema_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/agentsuite/agentsuite-llb/suite/schema"
)

// BenchmarkCheck checks the documents of testdata, and a provider with an inventory of ten thousand
// files; the library is what to compare it with, conversion included.
func BenchmarkCheck(b *testing.B) {
	documents := map[string][]byte{"agent": full(b, "agent"), "composition": full(b, "composition"), "tool-provider": inventory(b, 10_000)}
	for name, text := range documents {
		doc := parse(b, text)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if problems := schema.Check(doc, mediaType(name)); len(problems) > 0 {
					b.Fatal(problems)
				}
			}
		})
		b.Run(name+"/library", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := compiled[name].Validate(doc.Root.Any()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func inventory(b *testing.B, files int) []byte {
	var entries strings.Builder
	for i := range files {
		fmt.Fprintf(&entries, `,{"path":"lib/python3.13/site-packages/module%d/data.py","type":"file","mode":420,"uid":0,"gid":0,"size":%d,"digest":"sha256:%064x"}`, i, i, i)
	}
	text := full(b, "tool-provider")
	at := bytes.LastIndex(text, []byte(`"dependencies"`))
	end := bytes.LastIndexByte(text[:at], ']')
	return append(append(append([]byte{}, text[:end]...), entries.String()...), text[end:]...)
}
