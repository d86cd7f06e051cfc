package frontend

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/solver/pb"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Bounds on what an error shows of the documents: it travels in a trailer, and a person reads it.
const (
	maxExcerpts        = 8
	excerptLines       = 3 // before and after the line that is meant
	excerptColumnBytes = 160
	// maxExcerptBytes bounds the empty lines before those that are shown, of all excerpts together: a client
	// counts lines, and a document can have four million.
	maxExcerptBytes = 1 << 20
)

// excerpts show the lines that findings point to, as long as there is room for them.
type excerpts struct {
	*suite.Excerpts
	room atomic.Int64
}

// newExcerpts prepares excerpts from an index and from what validation found in it.
func newExcerpts(index *content.Index, report *suite.Report) *excerpts {
	e := &excerpts{Excerpts: suite.NewExcerpts(index, report.Problems, report.Warnings)}
	e.room.Store(maxExcerptBytes)
	return e
}

// at returns the excerpt for a place, or nil if there is none that may be shown.
func (e *excerpts) at(place problem.Place) *errdefs.Source {
	first, lines := e.Lines(place, excerptLines)
	if lines == nil || e.room.Add(-int64(first)) < 0 {
		return nil
	}
	return &errdefs.Source{
		Info:   &pb.SourceInfo{Filename: problem.Place{Path: place.Path}.String(), Language: "JSON", Data: window(first, lines)},
		Ranges: lineRange(place.Line, place.Column),
	}
}

// locate makes a place the one of an operation: when the operation fails, the client shows its lines.
func (e *excerpts) locate(place problem.Place) llb.ConstraintsOpt {
	source := e.at(place)
	if source == nil {
		return llb.WithDescription(nil)
	}
	return llb.NewSourceMap(nil, source.Info.Filename, source.Info.Language, source.Info.Data).Location(source.Ranges)
}

func lineRange(line, column int) []*pb.Range {
	at := &pb.Position{Line: int32(line), Character: int32(column)} //nolint:gosec // bounded by a document's size
	return []*pb.Range{{Start: at, End: at}}
}

// window is the text that a client shows lines of by their numbers: empty lines before the first, and the
// lines cut to a readable width, with nothing in them that controls a terminal.
func window(first int, lines [][]byte) []byte {
	text := bytes.Repeat([]byte("\n"), first-1)
	for i, line := range lines {
		if i > 0 {
			text = append(text, '\n')
		}
		shown := string(bytes.ReplaceAll(line[:min(len(line), excerptColumnBytes)], []byte("\t"), []byte("  ")))
		if len(line) > excerptColumnBytes {
			shown = strings.ToValidUTF8(shown, "") + "…"
		}
		text = append(text, problem.Printable(shown)...)
	}
	return text
}

// withExcerpts adds the documents' lines to an error that holds problems.
func (e *excerpts) withExcerpts(err error) error {
	var found *problem.Error
	if !errors.As(err, &found) {
		return err
	}
	shown := 0
	// The innermost excerpt is printed first.
	for _, p := range found.Problems {
		if shown == maxExcerpts {
			break
		}
		if source := e.at(p.Place); source != nil {
			err = errdefs.WithSource(err, source)
			shown++
		}
	}
	return err
}
