package suite

import (
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/secret"
)

// Excerpts decides of which documents a diagnostic may show lines. It is not safe for concurrent use.
type Excerpts struct {
	texts  map[string][]byte
	hidden map[string]bool
}

// NewExcerpts decides by what the documents of an index hold and what was found out about them. The index
// may be nil; then there is nothing to show.
func NewExcerpts(index *content.Index, problems []problem.Problem, warnings []problem.Warning) *Excerpts {
	e := &Excerpts{hidden: map[string]bool{}}
	if index == nil {
		return e
	}
	e.texts = index.Texts
	for _, p := range problems {
		if p.Rule.Requirement == problem.SecretLiteral.Requirement {
			e.hidden[p.Path] = true
		}
	}
	for _, w := range warnings {
		if w.Rule == problem.CredentialInProse {
			e.hidden[w.Path] = true
		}
	}
	return e
}

// Text returns the text that a line at a place may be shown of; nil if the place has no line, or if nothing of
// its document may be shown. That is so for evaluations, whose operands no diagnostic repeats, and for a
// document with something that looks like a credential anywhere in it: a neighbouring line may be the one
// that has it, and so may a document that could not be read to its end.
func (e *Excerpts) Text(at problem.Place) []byte {
	if e == nil || at.Line == 0 || strings.HasPrefix(at.Path, evaluationsRoot+"/") {
		return nil
	}
	text, ok := e.texts[at.Path]
	if !ok {
		return nil
	}
	hidden, known := e.hidden[at.Path]
	if !known {
		_, hidden = secret.Find(string(text))
		e.hidden[at.Path] = hidden
	}
	if hidden {
		return nil
	}
	return text
}
