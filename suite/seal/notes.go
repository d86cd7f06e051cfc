package seal

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// documentMediaTypes is how the media type of every document begins.
const documentMediaTypes = "application/vnd.agentsuite."

// notes tells of documents that lie in the suite without belonging to it. Only the author knows whether
// they should.
func (s *sealer) notes() []Note {
	var notes []Note
	for _, path := range slices.Sorted(maps.Keys(s.index.Texts)) {
		if s.drafts[path] != nil || s.referenced[path] || !strings.HasSuffix(path, ".json") || s.inPayload(path) {
			continue
		}
		doc, _ := strictjson.Parse(path, s.index.Texts[path], s.limits.JSON)
		if doc == nil {
			continue
		}
		if mediaType := text(doc.Root, "mediaType"); strings.HasPrefix(mediaType, documentMediaTypes) {
			notes = append(notes, Note{path, "nothing in the suite references this document (" + problem.Printable(problem.Cut(mediaType)) +
				"); add a reference with its path, or remove it"})
		}
	}
	return notes
}

// inPayload tells whether a path lies below the payload root of a variant.
func (s *sealer) inPayload(path string) bool {
	for i, c := range path {
		if c == '/' && s.payloads[path[:i]] {
			return true
		}
	}
	return false
}
