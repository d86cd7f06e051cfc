package image

import (
	"slices"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// places finds where in the suite the members stand that an image's problems come from.
type places struct {
	in        Inputs
	documents map[string]*strictjson.Document
}

func newPlaces(in Inputs) *places {
	return &places{in: in, documents: map[string]*strictjson.Document{}}
}

// place has no line and column where the index does not hold the document.
func (p *places) place(document, pointer string) problem.Place {
	doc, ok := p.documents[document]
	if !ok {
		if text, ok := p.in.Index.Texts[document]; ok {
			doc, _ = strictjson.Parse(document, text, strictjson.DefaultLimits())
		}
		p.documents[document] = doc
	}
	if doc == nil {
		return problem.Place{Path: document, Pointer: pointer}
	}
	return doc.Place(pointer)
}

// variant is the place of a member of a bundle's variant.
func (p *places) variant(b suite.Bundle, member ...any) problem.Place {
	variants := b.Provider.Doc.Variants
	i := slices.IndexFunc(variants, func(v suite.Variant) bool { return v.Platform == b.Variant.Platform })
	return p.place(b.Provider.Path, strictjson.Pointer(append([]any{"variants", i}, member...)...))
}

// basePin is where the build profile pins the runtime base.
func (p *places) basePin() problem.Place {
	return p.pin("runtimeBase", p.in.Selection.Profile.Doc.RuntimeBase)
}

// derivedPin is where the build profile pins the image that the config is derived from.
func (p *places) derivedPin() problem.Place {
	if p.in.Harness == nil {
		return p.basePin()
	}
	return p.pin("harness", p.in.Selection.Profile.Doc.Harness)
}

func (p *places) pin(member string, images []suite.BaseImage) problem.Place {
	i := slices.IndexFunc(images, func(b suite.BaseImage) bool { return b.Platform == p.in.Selection.Platform })
	return p.place(p.in.Selection.Profile.Path, strictjson.Pointer(member, i))
}
