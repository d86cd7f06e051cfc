package suite

import (
	"bytes"
	"strings"
	"sync"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/secret"
)

// Excerpts decides of which documents a diagnostic may show lines. It is safe for concurrent use.
type Excerpts struct {
	texts  map[string][]byte
	mutex  sync.Mutex // guards the rest
	hidden map[string]bool
	// starts are the offsets of the lines of the text at path: findings come by document, and a document can
	// have millions of lines.
	path   string
	starts []int
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
	if e == nil {
		return nil
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.text(at)
}

func (e *Excerpts) text(at problem.Place) []byte {
	if at.Line < 1 || strings.HasPrefix(at.Path, evaluationsRoot+"/") {
		return nil
	}
	text, ok := e.texts[at.Path]
	if !ok {
		return nil
	}
	hidden, known := e.hidden[at.Path]
	if !known {
		_, hidden = secret.Find(string(text))
		// A case lies elsewhere if the reference to it is wrong.
		hidden = hidden || bytes.Contains(text, []byte(MediaTypeEvalCase))
		e.hidden[at.Path] = hidden
	}
	if hidden {
		return nil
	}
	return text
}

// Lines returns the line of a place with as many before and after it as are asked for, without their ends, and
// the number of the first. There are none if [Excerpts.Text] shows nothing of the document, or if it has no
// such line.
func (e *Excerpts) Lines(at problem.Place, around int) (first int, lines [][]byte) {
	if e == nil {
		return 0, nil
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	text := e.text(at)
	if text == nil {
		return 0, nil
	}
	if e.path != at.Path {
		e.path, e.starts = at.Path, append(e.starts[:0], 0)
		for i, c := range text {
			if c == '\n' {
				e.starts = append(e.starts, i+1)
			}
		}
	}
	if at.Line > len(e.starts) {
		return 0, nil
	}
	first = max(at.Line-around, 1)
	for n := first; n <= min(at.Line+around, len(e.starts)); n++ {
		end := len(text)
		if n < len(e.starts) {
			end = e.starts[n] - 1
		}
		lines = append(lines, bytes.TrimSuffix(text[e.starts[n-1]:end], []byte("\r")))
	}
	return first, lines
}
