package seal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// FuzzDraft edits whatever object the strict reader accepts: the result is strict again, says what was
// put, says everything else as before, and does not change when it is edited in the same way again.
func FuzzDraft(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"path": "a"}`, "{\n  \"path\": \"a\",\n  \"digest\": \"\\u0078\"\n}\n", `{"files":[{"path":"x"},{}],"path":1}`,
		"{\r\n\t\"files\" : [\r\n\t\t1\r\n\t] }", `{"a":{"b":[]},"digest":null}`, "{\"files\":\n[]}", " { \"path\" :\"\"} ",
	} {
		f.Add(text, "x", "sha256:0")
	}
	f.Fuzz(func(t *testing.T, text, item, digest string) {
		read := func(text string) *strictjson.Document {
			doc, problems := strictjson.Parse("f.json", []byte(text), strictjson.DefaultLimits())
			if doc == nil || len(problems) > 0 || doc.Root.Kind != strictjson.Object || len(doc.Root.Members) > 1_000 {
				return nil
			}
			return doc
		}
		edit := func(doc *strictjson.Document) string {
			d := newDraft(doc)
			root := doc.Root
			if first := member(root, "files"); first != nil && len(first.Items) > 0 && first.Items[0].Kind == strictjson.Object {
				d.put(first.Items[0], "seen", "true", "path")
			}
			d.putString(root, "digest", "superseded", "path")
			d.putString(root, "digest", digest, "path")
			texts := []string{quote(item), d.objectText(d.itemIndent(member(root, "files")), []field{{"path", quote(item)}, {"n", "1"}})}
			if list := member(root, "files"); list != nil && list.Kind == strictjson.Array && len(list.Items) > 2 {
				texts = append(texts, string(d.textOf(list.Items[2])))
			}
			d.putArray(root, "files", texts, "path")
			return string(d.text())
		}
		doc := read(text)
		if doc == nil {
			return
		}
		before := doc.Root.Any().(map[string]any)
		edited := edit(doc)
		again := read(edited)
		if again == nil {
			// Only what the author's strings may not hold can make the result unacceptable.
			_, inItem := strictjson.Parse("", []byte(quote(item)), strictjson.DefaultLimits())
			_, inDigest := strictjson.Parse("", []byte(quote(digest)), strictjson.DefaultLimits())
			require.True(t, len(inItem)+len(inDigest) > 0 || len(edited) > 1<<20, "%q became %q", text, edited)
			return
		}
		after := again.Root.Any().(map[string]any)
		require.Equal(t, member(again.Root, "digest").Text, decoded(t, digest))
		require.GreaterOrEqual(t, len(member(again.Root, "files").Items), 2)
		for _, name := range []string{"digest", "files"} {
			delete(before, name)
			delete(after, name)
		}
		require.Empty(t, cmp.Diff(before, after))
		require.Equal(t, edited, edit(again))
	})
}

// decoded is what a string is after it went through JSON: invalid UTF-8 is replaced.
func decoded(t *testing.T, s string) string {
	t.Helper()
	doc, _ := strictjson.Parse("", []byte(quote(s)), strictjson.DefaultLimits())
	require.NotNil(t, doc)
	return doc.Root.Text
}
