package frontend

import (
	"bytes"
	"errors"

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
)

// excerpts show the lines that findings point to.
type excerpts struct{ *suite.Excerpts }

// newExcerpts prepares excerpts from an index and from what validation found in it.
func newExcerpts(index *content.Index, report *suite.Report) excerpts {
	return excerpts{suite.NewExcerpts(index, report.Problems, report.Warnings)}
}

// at returns the excerpt for a place, or nil if there is none that may be shown.
func (e excerpts) at(place problem.Place) *errdefs.Source {
	text := e.Text(place)
	if text == nil {
		return nil
	}
	return &errdefs.Source{
		Info:   &pb.SourceInfo{Filename: place.Path, Language: "JSON", Data: window(text, place.Line)},
		Ranges: lineRange(place.Line, place.Column),
	}
}

// locate makes a place the one of an operation: when the operation fails, the client shows its lines.
func (e excerpts) locate(place problem.Place) llb.ConstraintsOpt {
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

// window keeps the lines around one, cut to a readable width, and only the line breaks of those before
// it, so that the numbers stay right.
func window(text []byte, line int) []byte {
	lines := bytes.SplitN(text, []byte("\n"), line+excerptLines+1)
	if len(lines) > line+excerptLines {
		lines = lines[:line+excerptLines]
	}
	for i, l := range lines {
		switch {
		case i+1 < line-excerptLines:
			lines[i] = nil
		case len(l) > excerptColumnBytes:
			lines[i] = append(bytes.ToValidUTF8(l[:excerptColumnBytes], nil), "…"...)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// withExcerpts adds the documents' lines to an error that holds problems.
func (e excerpts) withExcerpts(err error) error {
	var found *problem.Error
	if !errors.As(err, &found) {
		return err
	}
	shown := 0
	// The innermost excerpt is printed first.
	for _, p := range found.Problems {
		if source := e.at(p.Place); source != nil && shown < maxExcerpts {
			err = errdefs.WithSource(err, source)
			shown++
		}
	}
	return err
}
