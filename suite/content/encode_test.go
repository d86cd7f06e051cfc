package content_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func encode(tb testing.TB, index *content.Index) []byte {
	tb.Helper()
	var b bytes.Buffer
	require.NoError(tb, index.Encode(&b))
	return b.Bytes()
}

func TestEncode(t *testing.T) {
	full := &content.Index{
		Form: content.FormDirectory, SuiteDigest: digest.FromString("x"), Entries: sampleEntries(),
		Texts:    map[string][]byte{"a.json": []byte("{}"), "b.txt": nil},
		Ignored:  []string{".git", "a/b", "a/c"},
		Problems: []problem.Problem{problem.New(problem.PathMode, problem.Place{Path: "a", Pointer: "/b", Line: 1, Column: 2}, "message")},
	}
	full.Entries = append(full.Entries,
		content.Entry{Path: "u", Type: content.File, Mode: 0o600, UID: 1000, GID: 1<<32 - 1, Size: 1 << 40, Digest: digest.FromString("u")},
		content.Entry{Path: "v", Type: content.Hardlink, LinkTarget: "u", UID: 1000},
		content.Entry{Path: "w", Type: content.File},
	)
	for name, index := range map[string]*content.Index{"empty": {}, "full": full} {
		t.Run(name, func(t *testing.T) {
			data := encode(t, index)
			require.Equal(t, data, encode(t, index), "equal indexes give equal bytes")
			back, err := content.Decode(bytes.NewReader(data))
			require.NoError(t, err)
			requireEqual(t, index, back)
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := encode(t, &content.Index{Entries: sampleEntries()})
	for name, data := range map[string][]byte{
		"nothing": nil, "another file": []byte("{}"), "no frame": good[:17], "cut": good[:len(good)-1], "more behind": append(bytes.Clone(good), 1),
		"flipped": flip(good, 40),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := content.Decode(bytes.NewReader(data))
			require.ErrorContains(t, err, "decoding a content index")
		})
	}
	_, err := content.Decode(bytes.NewReader(encode(t, &content.Index{Entries: []content.Entry{{Path: "b", Type: content.File}, {Path: "a", Type: content.File}}})))
	require.ErrorContains(t, err, "not sorted")
}

func TestEncodeRefuses(t *testing.T) {
	for _, entry := range []content.Entry{{Path: "a", Type: "device"}, {Path: "a", Type: content.File, Digest: "sha256:xyz"}} {
		require.Error(t, (&content.Index{Entries: []content.Entry{entry}}).Encode(&bytes.Buffer{}))
	}
}

// large is an index of a suite of 5,000 documents and 100,000 entries.
func large() *content.Index {
	index := &content.Index{Texts: map[string][]byte{}}
	for i := range 95_000 {
		path := fmt.Sprintf("tool-providers/provider-%03d/1.0.0/linux-amd64/lib/python3/site-packages/module_%05d.py", i/500, i)
		index.Entries = append(index.Entries, content.Entry{Path: path, Type: content.File, Mode: 0o644, Size: 1000, Digest: digest.FromString(path)})
	}
	for i := range 5_000 {
		path := fmt.Sprintf("z/agent-%04d.json", i)
		text := fmt.Appendf(nil, `{"schemaVersion":"1.0.0-draft","id":"agent-%04d","instructions":{"path":"x","digest":"%s"},"filler":%q}`, i, digest.FromString(path), bytes.Repeat([]byte("text "), 600))
		index.Entries = append(index.Entries, content.Entry{Path: path, Type: content.File, Mode: 0o644, Size: int64(len(text)), Digest: digest.FromBytes(text)})
		index.Texts[path] = text
	}
	return index
}

func BenchmarkEncode(b *testing.B) {
	index := large()
	for b.Loop() {
		b.ReportMetric(float64(len(encode(b, index)))/1e6, "MB")
	}
}

func BenchmarkDecode(b *testing.B) {
	data := encode(b, large())
	for b.Loop() {
		_, err := content.Decode(bytes.NewReader(data))
		require.NoError(b, err)
	}
}
