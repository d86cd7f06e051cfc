package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// format checks the text of a string, or the literal of a number. An error says what was found, to
// follow what the schema expects; errShape has nothing to add.
type format func(text string) error

var errShape = errors.New("another form")

// formats are the formats of the embedded schemas: what a pattern cannot say, or says too slowly for
// inventories of ten thousand files.
var formats = map[string]format{
	"digest":                 digestFormat,
	"content-path":           contentPath,
	"absolute-path":          absolutePath,
	"sandbox-path":           sandboxPath,
	"unwritable-mode":        unwritableMode,
	"pinned-image-reference": pinnedImageReference,
	"evaluation-pattern":     evaluationPattern,
	"evaluation-rubric":      evaluationRubric,
}

func libraryFormat(name string, check format) *jsonschema.Format {
	return &jsonschema.Format{Name: name, Validate: func(v any) error {
		switch v := v.(type) {
		case string:
			return check(v)
		case json.Number:
			return check(v.String())
		default:
			return nil
		}
	}}
}

func digestFormat(text string) error {
	hex, ok := strings.CutPrefix(text, "sha256:")
	if !ok || len(hex) != 64 {
		return errShape
	}
	for _, c := range []byte(hex) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return errShape
		}
	}
	return nil
}

func contentPath(text string) error {
	const maxBytes = 1024
	if len(text) > maxBytes {
		return fmt.Errorf("one of %d bytes", len(text))
	}
	if strings.IndexByte(text, '\\') >= 0 {
		return errShape
	}
	return sandboxPath(text)
}

func sandboxPath(text string) error {
	segment := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] != '/' {
			if text[i] == 0 {
				return errShape
			}
			continue
		}
		switch text[segment:i] {
		case "", ".", "..":
			return errShape
		}
		segment = i + 1
	}
	return nil
}

func absolutePath(text string) error {
	if !strings.HasPrefix(text, "/") || path.Clean(text) != text || strings.IndexByte(text, 0) >= 0 {
		return errShape
	}
	return nil
}

func unwritableMode(text string) error {
	mode, err := strconv.ParseUint(text, 10, 16)
	if err == nil && mode&0o022 != 0 {
		return fmt.Errorf("octal %#o", mode)
	}
	return nil
}

// pinnedImageReference accepts a reference only as it would be written out in full, so that no registry
// is left to a default.
func pinnedImageReference(text string) error {
	named, err := reference.ParseNormalizedNamed(text)
	if err != nil {
		return errShape
	}
	if _, tagged := named.(reference.Tagged); tagged {
		return errors.New("one with a tag")
	}
	canonical, ok := named.(reference.Canonical)
	if !ok {
		return errors.New("one without a digest")
	}
	if named.String() != text {
		return fmt.Errorf("a short form of %s", named)
	}
	return digestFormat(canonical.Digest().String())
}

// evaluationPattern holds a pattern to RE2's syntax by parsing it. Compiling adds no check to that, but
// may take much memory.
func evaluationPattern(text string) error {
	const maxBytes = 1024
	if len(text) > maxBytes {
		return fmt.Errorf("one of %d bytes", len(text))
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		var fault *syntax.Error
		if errors.As(err, &fault) {
			// Without the expression that the error holds as well: operands are not repeated.
			return errors.New(fault.Code.String())
		}
		return errShape
	}
	return nil
}

func evaluationRubric(text string) error {
	const maxBytes = 4096
	if len(text) > maxBytes {
		return fmt.Errorf("one of %d bytes", len(text))
	}
	for _, r := range text {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f {
			return fmt.Errorf("the control character U+%04X", r)
		}
	}
	return nil
}
