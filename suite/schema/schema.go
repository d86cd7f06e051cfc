// Package schema checks documents against their JSON Schemas, and says what is wrong in terms of the
// document rather than of the schema.
//
// A library compiles the schemas: it resolves their references and holds them to the 2020-12
// metaschema. What it compiled is then evaluated here, over the values as the strict reader left them,
// because these know what a converted document has lost: where each value and name stands, the order
// of members, and how a number was written. It also lets one fault be one problem, where a general
// validator reports every keyword that fails because of it. Tests hold the verdicts of both equal.
package schema

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentsuite/agentsuite-llb/schemas"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// MaxProblems is the number of problems that [Check] reports of one document; one more then says that
// there are others.
const MaxProblems = 100

// Check holds a document against the schema of a media type, for which there must be one. A document
// that states another schemaVersion or mediaType has that one problem only.
func Check(doc *strictjson.Document, mediaType string) []problem.Problem {
	root, ok := embedded()[mediaType]
	if !ok {
		panic(fmt.Sprintf("schema: there is no schema for media type %q", mediaType))
	}
	c := &checker{doc: doc}
	if c.header(root) {
		c.check(root, doc.Root, problem.JSONValue, nil)
	}
	if c.more {
		c.problems = append(c.problems, problem.New(problem.JSONLimit, doc.Place(""),
			"the document has more problems; only the first %d are listed", MaxProblems))
	}
	return c.problems
}

// embedded holds the translated schemas of package schemas by the media type that they are for.
var embedded = sync.OnceValue(func() map[string]*node {
	t := translator{seen: map[*jsonschema.Schema]*node{}}
	nodes := map[string]*node{}
	for _, compiled := range compileEmbedded() {
		root := t.translate(compiled)
		nodes[root.members["mediaType"].enum[0].text] = root
	}
	return nodes
})

func compileEmbedded() map[string]*jsonschema.Schema {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refusingLoader{})
	compiler.AssertFormat()
	for name, check := range formats {
		compiler.RegisterFormat(libraryFormat(name, check))
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, name := range schemas.Names() {
		text, _ := schemas.Get(name)
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			panic(fmt.Sprintf("embedded schema %s: %v", name, err))
		}
		// Under its own $id, so that not even a reference to itself asks the loader.
		location, _ := parsed.(map[string]any)["$id"].(string)
		if err := compiler.AddResource(location, parsed); err != nil {
			panic(fmt.Sprintf("embedded schema %s: %v", name, err))
		}
		compiled[name] = compiler.MustCompile(location)
	}
	return compiled
}

// refusingLoader keeps schemas from reaching files and networks: whatever is not at hand is refused.
type refusingLoader struct{}

func (refusingLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and no reference out of a schema is followed", problem.Quoted(url))
}
