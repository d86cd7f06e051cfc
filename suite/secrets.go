package suite

import (
	"strconv"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/secret"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// scanSecrets looks for credential-shaped literals in every string of a document. Those of an
// evaluation case are prose, of which it only warns. The literal itself is never repeated.
func scanSecrets(doc *strictjson.Document, mediaType string, f *findings) {
	s := secretScan{doc: doc, found: f, prose: mediaType == MediaTypeEvalCase}
	s.walk(doc.Root)
}

// secretScan walks over the values of a document. It keeps the way to the current one as the values
// passed, and makes a pointer of it only where something is found.
type secretScan struct {
	doc   *strictjson.Document
	found *findings
	prose bool
	way   []step
	count int
}

// step is one member name, or with an empty name one index.
type step struct {
	name  *string
	index int
}

// maxSecrets bounds what is reported of one document.
const maxSecrets = 100

func (s *secretScan) walk(v *strictjson.Value) {
	switch v.Kind {
	case strictjson.String:
		if found, ok := secret.Find(v.Text); ok && s.count < maxSecrets {
			s.count++
			s.report(v, found.Kind)
		}
	case strictjson.Object:
		for i := range v.Members {
			s.way = append(s.way, step{name: &v.Members[i].Name})
			s.walk(v.Members[i].Value)
			s.way = s.way[:len(s.way)-1]
		}
	case strictjson.Array:
		for i, item := range v.Items {
			s.way = append(s.way, step{index: i})
			s.walk(item)
			s.way = s.way[:len(s.way)-1]
		}
	}
}

func (s *secretScan) report(v *strictjson.Value, kind string) {
	var pointer strings.Builder
	for _, step := range s.way {
		if step.name != nil {
			pointer.WriteString(strictjson.Pointer(*step.name))
		} else {
			pointer.WriteString("/" + strconv.Itoa(step.index))
		}
	}
	at := s.doc.At(pointer.String(), v.Offset)
	if s.prose {
		s.found.warn(problem.CredentialInProse, at, "the text holds what looks like %s; replace it by a made-up word, and revoke it if it was real", kind)
		return
	}
	s.found.add(problem.SecretLiteral, at, "the value holds what looks like %s; name a secret in its place, and revoke this one if it was real", kind)
}
