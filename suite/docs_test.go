package suite_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

const docs = "../docs"

// The table of all rules in the documentation is made from the rules themselves, and of what holds
// them. Run the test with -update to write it.
func TestRulesDocumentation(t *testing.T) {
	held := holders(t)
	var b strings.Builder
	b.WriteString(rulesIntroduction)
	listed := 0
	for _, part := range ruleParts {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", part.title, part.text)
		b.WriteString("| rule | category | requirement | section | what must hold | held by |\n|---|---|---|---|---|---|\n")
		for _, requirement := range part.requirements {
			for _, rule := range problem.Rules() {
				if rule.Requirement == requirement {
					listed++
					fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", rule.ID, rule.Category, rule.Requirement, sectionOf(t, rule), rule.Summary, strings.Join(held[rule.ID], ", "))
				}
			}
		}
	}
	require.Equal(t, len(problem.Rules()), listed, "a rule belongs to a requirement that the specification does not have")
	b.WriteString("\n## Lint rules\n\nA finding of these is a warning. It never makes a suite invalid.\n\n| rule | what it advises | held by |\n|---|---|---|\n")
	for _, rule := range problem.LintRules() {
		fmt.Fprintf(&b, "| [%s](rules/%s.md) | %s | %s |\n", rule.Name, rule.Name, rule.Description, strings.Join(held[rule.Name], ", "))
	}
	checkGenerated(t, filepath.Join(docs, "rules.md"), b.String())
}

// sectionOf is the section of a rule as the table has it: a number, or a link to the decision, which must lead to a
// heading.
func sectionOf(t *testing.T, rule *problem.Rule) string {
	heading, decided := strings.CutPrefix(rule.Section, "decision, ")
	if !decided {
		return rule.Section
	}
	decisions, err := os.ReadFile(filepath.Join(docs, "README.md"))
	require.NoError(t, err)
	require.Contains(t, strings.ToLower(string(decisions)), "\n## "+heading+"\n", "rule %s rests on a decision that is not written down", rule.ID)
	return "[decision](README.md#" + heading + ")"
}

const rulesIntroduction = `# Rules

<!-- Written by "go test ./suite -run TestRulesDocumentation -update" from the rules in suite/problem. -->

Every problem that agentsuite-llb reports breaks one of these rules. Rule names are stable: programs may rely on the
` + "`rule`" + ` member of a problem in JSON output. The category is the failure class of section 16 of the specification, the
requirement the one of section 15, and the section where the rule comes from; what the specification leaves open and
this project decides links to the decision.

The last column names what fails when a rule is not enforced: a suite below testdata/invalid that breaks this rule alone,
with the problem that is expected, or tests.
`

// ruleParts list the requirements in the order of sections 15.1 and 15.2.
var ruleParts = []struct {
	title, text  string
	requirements []string
}{
	{"Suites", "The suite validator (section 15.1) holds a suite to these, whatever form it comes in.", []string{
		"AS-OCI-001", "AS-JSON-001", "AS-PATH-001", "AS-ID-001", "AS-GRAPH-001", "AS-EVAL-001", "AS-COMPOSE-001",
		"AS-PROVIDER-COMPOSE-001", "AS-PROVIDER-001", "AS-SECRET-001", "AS-CAP-001", "AS-DRAFT-001",
	}},
	{"Images", "Construction and the image validator (section 15.2) hold sandbox images to these.", []string{
		"ASI-BIND-001", "ASI-PROVIDER-001", "ASI-SRC-001", "ASI-FS-001", "ASI-ABI-001", "ASI-RUN-001",
	}},
}

// checkGenerated compares a file with what it should hold, or writes it.
func checkGenerated(t *testing.T, path, want string) {
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, string(got)), `run "go test ./suite -run TestRulesDocumentation -update"`)
}

// Every lint rule has a page of its own, which the warning links to, and there are no others.
func TestLintRulePages(t *testing.T) {
	dir := filepath.Join(docs, "rules")
	names := map[string]bool{}
	for _, rule := range problem.LintRules() {
		names[rule.Name+".md"] = true
		text, err := os.ReadFile(filepath.Join(dir, rule.Name+".md"))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "# "+rule.Name+"\n\n"+rule.Description+"\n"), "the page of %s begins with its name and its description", rule.Name)
		for _, heading := range []string{"## Why", "## What to do"} {
			require.Contains(t, string(text), "\n"+heading+"\n\n", rule.Name)
		}
		require.True(t, strings.HasSuffix(rule.URL(), "/docs/rules/"+rule.Name+".md"))
	}
	pages, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, page := range pages {
		require.True(t, names[page.Name()], "%s belongs to no lint rule", page.Name())
	}
}

// A rule that nothing reports is no rule.
func TestEveryRuleIsReported(t *testing.T) {
	uses := usesOfRules(t)
	for _, rule := range problem.Rules() {
		require.True(t, uses[rule.ID] != nil && len(uses[rule.ID].packages) > 0, "nothing reports rule %s", rule.ID)
	}
	for _, rule := range problem.LintRules() {
		require.True(t, uses[rule.Name] != nil && len(uses[rule.Name].packages) > 0, "nothing warns of %s", rule.Name)
	}
}

// The rules of the graph are broken by suites that everybody can look at, not by tests alone.
func TestGraphRulesHaveFixtures(t *testing.T) {
	fixtures := fixturesByRule(t)
	for _, rule := range problem.Rules() {
		other := rule.Requirement == "AS-PATH-001" || rule.Requirement == "AS-OCI-001"
		if strings.HasPrefix(rule.Requirement, "AS-") && !other {
			require.NotEmpty(t, fixtures[rule.ID], "no suite below testdata/invalid breaks %s", rule.ID)
		}
	}
}

// holders finds, by rule, what fails when it is not enforced: the fixtures that break it; else the tests
// that name it, in a package that reports it; else that package's tests as a whole, which then know it
// by its message.
func holders(t *testing.T) map[string][]string {
	fixtures, uses := fixturesByRule(t), usesOfRules(t)
	held := map[string][]string{}
	for rule, use := range uses {
		if names := fixtures[rule]; len(names) > 0 {
			more := ""
			if len(names) > 1 {
				more = fmt.Sprintf(" and %d more", len(names)-1)
			}
			held[rule] = []string{fmt.Sprintf("[%s](../testdata/invalid/%s)%s", names[0], names[0], more)}
			continue
		}
		for _, file := range use.tests {
			if slices.Contains(use.packages, path.Dir(file)) {
				held[rule] = append(held[rule], fmt.Sprintf("[%s](../%s)", file, file))
			}
		}
		if held[rule] != nil {
			continue
		}
		for _, dir := range use.packages {
			if dir == "suite" && len(use.packages) > 1 {
				// The graph knows the rules of the content, whose problems it takes over.
				continue
			}
			held[rule] = append(held[rule], fmt.Sprintf("tests of [%s](../%s)", dir, dir))
		}
	}
	return held
}

var expectedRule = regexp.MustCompile(`(?m)^    rule ([a-z0-9-]+), `)

func fixturesByRule(t *testing.T) map[string][]string {
	byRule := map[string][]string{}
	for _, name := range invalidFixtures(t) {
		text, err := os.ReadFile(filepath.Join(testdata, "invalid", name, expectation))
		require.NoError(t, err)
		for _, match := range expectedRule.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(byRule[match[1]], name) {
				byRule[match[1]] = append(byRule[match[1]], name)
			}
		}
	}
	return byRule
}

// ruleUse is where a rule is named, by its variable in package problem or by its id.
type ruleUse struct {
	// packages report the rule; tests are test files.
	packages, tests []string
}

func usesOfRules(t *testing.T) map[string]*ruleUse {
	ids := ruleVariables(t)
	uses := map[string]*ruleUse{}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "build" || strings.HasPrefix(d.Name(), ".")) || d.IsDir() && file == filepath.Join(root, "suite", "problem") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		name := filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator)))
		ast.Inspect(source, func(n ast.Node) bool {
			rule := ruleNamed(n, ids)
			if rule == "" {
				return true
			}
			if uses[rule] == nil {
				uses[rule] = &ruleUse{}
			}
			if list, entry := &uses[rule].packages, path.Dir(name); !strings.HasSuffix(name, "_test.go") {
				addOnce(list, entry)
			} else if path.Dir(name) != "suite" || path.Base(name) == "lint_test.go" {
				// The other tests of the graph name rules as examples; they break their own by fixtures.
				addOnce(&uses[rule].tests, name)
			}
			return true
		})
		return nil
	}))
	return uses
}

func addOnce(list *[]string, entry string) {
	if !slices.Contains(*list, entry) {
		*list = append(*list, entry)
		slices.Sort(*list)
	}
}

func ruleNamed(n ast.Node, ids map[string]string) string {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "problem" {
			return ids[n.Sel.Name]
		}
	case *ast.BasicLit:
		if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && isRule(text) {
			return text
		}
	}
	return ""
}

func isRule(id string) bool {
	return slices.ContainsFunc(problem.Rules(), func(r *problem.Rule) bool { return r.ID == id }) ||
		slices.ContainsFunc(problem.LintRules(), func(r *problem.LintRule) bool { return r.Name == id })
}

// ruleVariables maps the variables of package problem to the ids of their rules.
func ruleVariables(t *testing.T) map[string]string {
	ids := map[string]string{}
	files, err := filepath.Glob("problem/*.go")
	require.NoError(t, err)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			call, ok := spec.Values[0].(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); ok && (name.Name == "rule" || name.Name == "lint") {
				if literal, ok := call.Args[0].(*ast.BasicLit); ok {
					id, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					ids[spec.Names[0].Name] = id
				}
			}
			return true
		})
	}
	require.NotEmpty(t, ids)
	return ids
}
