package schema

import (
	"errors"
	"fmt"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// toolSchemaLimits bounds the schemas that [Compile] takes on: the library's work grows with the square
// of the number of subschemas.
func toolSchemaLimits() strictjson.Limits {
	return strictjson.Limits{
		DocumentBytes:   1 << 20,
		Depth:           64,
		ObjectMembers:   1_024,
		DocumentMembers: 5_000,
		DocumentValues:  20_000,
		NameBytes:       1_024,
	}
}

// maxPatternBytes bounds one regular expression of a tool schema.
const maxPatternBytes = 4_096

// Compile tells whether the text of a tool's input or output schema is a JSON Schema, of draft 2020-12
// or of the draft that it names. It reads nothing but the text: a reference out of it is an error, and
// so is a schema beyond what the specification's limits leave room for.
func Compile(toolSchema []byte) error {
	doc, problems := strictjson.Parse("", toolSchema, toolSchemaLimits())
	if len(problems) > 0 {
		first := problems[0]
		return fmt.Errorf("line %d, column %d: %s", first.Line, first.Column, first.Message)
	}
	const location = "tool:///schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(refusingLoader{})
	compiler.UseRegexpEngine(parseRegexp)
	if err := compiler.AddResource(location, doc.Root.Any()); err != nil {
		return err
	}
	_, err := compiler.Compile(location)
	return describe(err)
}

// describe shortens the library's account, which repeats the schema's own address.
func describe(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var load *jsonschema.LoadURLError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &load):
		return load.Err
	case errors.As(err, &invalid):
		return errors.New(firstCause(invalid.Err))
	default:
		return errors.New(problem.Cut(err.Error()))
	}
}

func firstCause(err error) string {
	var fault *jsonschema.ValidationError
	if !errors.As(err, &fault) {
		return problem.Cut(err.Error())
	}
	for len(fault.Causes) > 0 {
		fault = fault.Causes[0]
	}
	tokens := make([]any, len(fault.InstanceLocation))
	for i, token := range fault.InstanceLocation {
		tokens[i] = token
	}
	return fmt.Sprintf("%s: %s", strictjson.Dotted(strictjson.Pointer(tokens...)), problem.Cut(fault.ErrorKind.LocalizedString(message.NewPrinter(language.English))))
}

// parsedRegexp is a regular expression that is known to be one; nothing is ever matched with it.
type parsedRegexp string

func (r parsedRegexp) String() string          { return string(r) }
func (r parsedRegexp) MatchString(string) bool { return true }

// parseRegexp checks the syntax of a regular expression only, since compiling a hostile one is
// expensive. Schemas are written for ECMA-262, so what RE2 leaves out on purpose is no error.
func parseRegexp(text string) (jsonschema.Regexp, error) {
	if len(text) > maxPatternBytes {
		return nil, fmt.Errorf("a regular expression of %d bytes; the limit is %d", len(text), maxPatternBytes)
	}
	_, err := syntax.Parse(text, syntax.Perl)
	var fault *syntax.Error
	if errors.As(err, &fault) {
		switch fault.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrInvalidCharRange:
			return parsedRegexp(text), nil
		}
	}
	if err != nil {
		return nil, err
	}
	return parsedRegexp(text), nil
}
