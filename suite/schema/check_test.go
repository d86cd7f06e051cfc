package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/schemas"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/schema"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// mediaType is the inverse of schemas.ForMediaType.
func mediaType(name string) string {
	return "application/vnd.agentsuite." + strings.ReplaceAll(name, "-", ".") + ".v1+json"
}

// full returns the document of testdata that uses every member of its schema.
func full(t testing.TB, name string) []byte {
	text, err := os.ReadFile("testdata/" + name + ".json")
	require.NoError(t, err)
	return text
}

func parse(t testing.TB, text []byte) *strictjson.Document {
	doc, problems := strictjson.Parse("doc.json", text, strictjson.DefaultLimits())
	require.Empty(t, problems)
	require.NotNil(t, doc)
	return doc
}

// check checks a document, and holds the verdict to that of the library that compiled the schema. The
// two differ on purpose in one thing: to the library, 1.0 is an integer.
func check(t testing.TB, name string, text []byte) []problem.Problem {
	doc := parse(t, text)
	problems := schema.Check(doc, mediaType(name))
	if !slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Rule == problem.JSONNumber }) {
		err := compiled[name].Validate(doc.Root.Any())
		require.Equal(t, err == nil, len(problems) == 0, "problems %v, library %v", problems, err)
	}
	return problems
}

var compiled = schema.CompileEmbedded()

// edit is a change of a document: the member or element at a pointer set to a JSON value, or removed
// if the value is empty.
type edit struct{ pointer, value string }

func apply(t testing.TB, text []byte, edits ...edit) []byte {
	var root any
	require.NoError(t, json.Unmarshal(text, &root))
	for _, e := range edits {
		if e.pointer == "" {
			root = json.RawMessage(e.value)
			continue
		}
		tokens := strings.Split(e.pointer, "/")[1:]
		root = set(t, root, tokens, e)
	}
	changed, err := json.MarshalIndent(root, "", "  ")
	require.NoError(t, err)
	return changed
}

func set(t testing.TB, v any, tokens []string, e edit) any {
	switch v := v.(type) {
	case map[string]any:
		switch {
		case len(tokens) > 1:
			require.Contains(t, v, tokens[0], e.pointer)
			v[tokens[0]] = set(t, v[tokens[0]], tokens[1:], e)
		case e.value == "":
			require.Contains(t, v, tokens[0], e.pointer)
			delete(v, tokens[0])
		default:
			v[tokens[0]] = json.RawMessage(e.value)
		}
		return v
	case []any:
		i, err := strconv.Atoi(tokens[0])
		require.NoError(t, err, e.pointer)
		switch {
		case len(tokens) > 1:
			v[i] = set(t, v[i], tokens[1:], e)
		case i == len(v):
			v = append(v, json.RawMessage(e.value))
		case e.value == "":
			v = slices.Delete(v, i, i+1)
		default:
			v[i] = json.RawMessage(e.value)
		}
		return v
	}
	require.Fail(t, "nothing there", e.pointer)
	return nil
}

func TestCheckAcceptsFullDocuments(t *testing.T) {
	for _, name := range schemas.Names() {
		require.Empty(t, check(t, name, full(t, name)), name)
	}
}

// Every optional member may be absent, every required one is missed.
func TestCheckRequiresExactlyTheRequiredMembers(t *testing.T) {
	optional := map[string][]string{
		"manifest":  {"toolProviderCompositions", "capabilities", "extensions", "agents/1/version", "extensions/0/digest"},
		"agent":     {"description", "toolProviders", "invokes", "evals", "extensions", "model/endpointEnv", "model/secretRefs"},
		"eval-case": {"minPasses", "assertions/1/critical"},
		"tool-provider": {
			"retained", "variants", "remote", "extensions", "extensions/0/digest",
			"tools/0/description", "tools/0/outputSchema", "tools/0/effects", "tools/0/effect", "tools/0/approval", "tools/1/delegatedAuthorization",
			"variants/0/relocatable", "variants/0/arguments", "variants/0/searchPath", "variants/0/writablePaths", "variants/0/environment", "variants/0/network",
			"variants/0/dependencies", "variants/0/sbom", "variants/0/provenance",
			"variants/0/environment/1/required", "variants/0/environment/2/secret",
			"variants/0/runtime/abiVersion", "variants/0/runtime/requiredBasePaths",
			"variants/0/files/0/component", "variants/0/files/1/size", "variants/0/files/3/size",
			"remote/headers",
		},
	}
	for _, name := range schemas.Names() {
		text := full(t, name)
		var members []string
		walk(parse(t, text).Root, "", func(pointer string, v *strictjson.Value) {
			for _, m := range v.Members {
				members = append(members, pointer+strictjson.Pointer(m.Name))
			}
		})
		for _, pointer := range members {
			t.Run(name+pointer, func(t *testing.T) {
				problems := check(t, name, apply(t, text, edit{pointer, ""}))
				if slices.Contains(optional[name], pointer[1:]) {
					require.Empty(t, problems)
					return
				}
				require.NotEmpty(t, problems)
				member := pointer[strings.LastIndexByte(pointer, '/')+1:]
				for _, p := range problems {
					require.True(t, strings.Contains(p.Message, "missing member") || strings.Contains(p.Message, "does not belong"), p.Message)
				}
				require.Contains(t, problems[0].Message, member)
				object := pointer[:strings.LastIndexByte(pointer, '/')]
				require.Contains(t, []string{object, object + "/delivery"}, problems[0].Pointer)
			})
		}
	}
}

func walk(v *strictjson.Value, pointer string, visit func(string, *strictjson.Value)) {
	visit(pointer, v)
	for _, m := range v.Members {
		walk(m.Value, pointer+strictjson.Pointer(m.Name), visit)
	}
	for i, item := range v.Items {
		walk(item, pointer+strictjson.Pointer(i), visit)
	}
}

// Every object is closed, every value has one type, and null is none.
func TestCheckOfTypesAndUnknownMembers(t *testing.T) {
	for _, name := range schemas.Names() {
		text := full(t, name)
		walk(parse(t, text).Root, "", func(pointer string, v *strictjson.Value) {
			for _, other := range []string{`null`, `{}`, `[]`, `"x"`, `7`, `true`} {
				wrong := parse(t, []byte(other)).Root.Kind
				if wrong == v.Kind {
					continue
				}
				problems := check(t, name, apply(t, text, edit{pointer, other}))
				require.Len(t, problems, 1, "%s %s %s", name, pointer, other)
				require.Same(t, problem.JSONType, problems[0].Rule)
				require.Equal(t, pointer, problems[0].Pointer)
				require.Contains(t, problems[0].Message, strictjson.Dotted(pointer))
			}
			if v.Kind == strictjson.Object {
				unknown := pointer + "/zzzzzzzz"
				problems := check(t, name, apply(t, text, edit{unknown, `"x"`}))
				require.Len(t, problems, 1, "%s %s", name, pointer)
				require.Same(t, problem.JSONUnknownMember, problems[0].Rule)
				require.Equal(t, unknown, problems[0].Pointer)
			}
			if v.Kind == strictjson.Number {
				for _, form := range []string{v.Text + ".0", v.Text + "e0"} {
					// A change by text: encoding/json would write the number its own way.
					changed := string(text[:v.Offset]) + form + string(text[v.End:])
					problems := check(t, name, []byte(changed))
					require.Len(t, problems, 1, "%s %s", name, pointer)
					require.Same(t, problem.JSONNumber, problems[0].Rule)
				}
			}
		})
	}
}

func TestCheckOfHeader(t *testing.T) {
	for _, test := range []struct {
		edits []edit
		want  string
	}{
		{[]edit{{"/schemaVersion", `"1.0.0"`}, {"/id", `7`}, {"/zzz", `7`}}, `/schemaVersion json-value: schemaVersion is "1.0.0"; expected "1.0.0-draft"`},
		{[]edit{{"/mediaType", `"application/vnd.agentsuite.manifest.v1+json"`}, {"/id", `7`}},
			`/mediaType json-value: mediaType is "application/vnd.agentsuite.manifest.v1+json"; expected "application/vnd.agentsuite.agent.v1+json"`},
		{[]edit{{"/mediaType", `null`}, {"/id", `7`}}, `/mediaType json-type: mediaType is null; expected a string, and what is absent is left out`},
		{[]edit{{"", `[]`}}, ` json-type: the document is an array; expected an object`},
		{[]edit{{"", `null`}}, ` json-type: the document is null; expected an object, and what is absent is left out`},
	} {
		problems := check(t, "agent", apply(t, full(t, "agent"), test.edits...))
		require.Equal(t, []string{test.want}, short(problems))
	}
	require.Panics(t, func() { schema.Check(parse(t, []byte(`{}`)), "application/json") })
}

func short(problems []problem.Problem) []string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%s %s: %s", p.Pointer, p.Rule.ID, p.Message))
	}
	return lines
}

func TestCheckPlaces(t *testing.T) {
	text := `{
  "schemaVersion": "1.0.0-draft",
  "mediaType": "application/vnd.agentsuite.agent.v1+json",
  "id": "Writer",
  "instructions": {"path": "a.md"},
  "model": {"protocol": "p", "modell": "m"},
  "toolProviders": [
    {"id": "a", "version": "1.0.0", "executionMode": "isolated"}
  ],
  "policy": {}
}`
	var got []string
	for _, p := range check(t, "agent", []byte(text)) {
		got = append(got, p.String())
	}
	require.Equal(t, []string{
		`doc.json:4:9: json (AS-JSON-001): id is "Writer"; expected an identifier: 1 to 128 lower-case letters, digits, dots, underscores and hyphens, of which the first is a letter or a digit`,
		`doc.json:5:19: json (AS-JSON-001): missing member "digest" in instructions`,
		`doc.json:6:30: json (AS-JSON-001): unknown member "modell": did you mean "model"?`,
		`doc.json:8:54: tool-provider (AS-DRAFT-001): toolProviders[0].executionMode is "isolated"; this draft knows only "shared-sandbox"`,
		`doc.json:10:3: json (AS-DRAFT-001): unknown member "policy": it is not part of 1.0.0-draft`,
	}, got)
}

func TestCheckBoundsProblems(t *testing.T) {
	items := strings.TrimSuffix(strings.Repeat(`{},`, 500), ",")
	problems := check(t, "agent", apply(t, full(t, "agent"), edit{"/invokes", "[" + items + "]"}))
	require.Len(t, problems, schema.MaxProblems+1)
	require.Equal(t, "the document has more problems; only the first 100 are listed", problems[schema.MaxProblems].Message)
}

// No message repeats what may be a secret or an operand of an evaluation.
func TestCheckRepeatsNoSecrets(t *testing.T) {
	hidden := map[string][]string{
		"agent":     {"/description", "/model/endpointEnv", "/model/secretRefs/0"},
		"eval-case": {"/input", "/assertions/0/value", "/assertions/2/pattern", "/assertions/3/tool", "/assertions/5/rubric", "/assertions/5/judgeModel", "/assertions/5/judgeVersion", "/assertions/6/value"},
		"tool-provider": {
			"/variants/0/arguments/0", "/variants/0/environment/0/name", "/variants/0/environment/1/delivery",
			"/remote/endpointRef", "/remote/network/0/destinationRef", "/remote/headers/0/name", "/remote/headers/0/secretRef/name", "/remote/headers/0/secretRef/key",
			"/tools/1/delegatedAuthorization/credential/bindingRef",
		},
	}
	for name, pointers := range hidden {
		for _, pointer := range pointers {
			for _, value := range []string{`"${Marker \u0001 \u00e9}"`, `"Marker(?=${"`, `"` + strings.Repeat("Marker", 2000) + `${"`} {
				problems := check(t, name, apply(t, full(t, name), edit{pointer, value}))
				for _, p := range problems {
					require.Equal(t, pointer, p.Pointer)
					require.NotContains(t, p.Message, "Marker", pointer)
				}
			}
		}
	}
}
