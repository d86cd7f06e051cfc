package suite_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
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
	for _, part := range ruleParts {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", part.title, part.text)
		b.WriteString("| rule | category | requirement | section | what must hold | held by |\n|---|---|---|---|---|---|\n")
		for _, rule := range problem.Rules() {
			if strings.HasPrefix(rule.Requirement, part.requirements) {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", rule.ID, rule.Category, rule.Requirement, rule.Section, rule.Summary, strings.Join(held[rule.ID], ", "))
			}
		}
	}
	b.WriteString("\n## Lint rules\n\nA finding of these is a warning. It never makes a suite invalid.\n\n| rule | what it advises | held by |\n|---|---|---|\n")
	for _, rule := range problem.LintRules() {
		fmt.Fprintf(&b, "| [%s](rules/%s.md) | %s | %s |\n", rule.Name, rule.Name, rule.Description, strings.Join(held[rule.Name], ", "))
	}
	checkGenerated(t, filepath.Join(docs, "rules.md"), b.String())
}

const rulesIntroduction = `# Rules

<!-- Written by "go test ./suite -run TestRulesDocumentation -update" from the rules in suite/problem. -->

Every problem that agentsuite-llb reports breaks one of these rules. Rule names are stable: programs may rely on the
` + "`rule`" + ` member of a problem in JSON output. The category is the failure class of section 16 of the specification, the
requirement the one of section 15, and the section where the rule comes from; "profile" marks what the specification
leaves open and this project decides.

The last column names what fails when a rule is not enforced: a suite below testdata/invalid that breaks this rule alone,
with the problem that is expected, or tests.
`

var ruleParts = []struct{ title, requirements, text string }{
	{"Suites", "AS-", "The suite validator (section 15.1) holds a suite to these, whatever form it comes in."},
	{"Images", "ASI-", "Construction and the image validator (section 15.2) hold sandbox images to these."},
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
		page, err := os.ReadFile(filepath.Join(dir, rule.Name+".md"))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(page), "# "+rule.Name+"\n\n"+rule.Description+"\n"), "the page of %s begins with its name and its description", rule.Name)
		for _, heading := range []string{"## Why", "## What to do"} {
			require.Contains(t, string(page), "\n"+heading+"\n\n", rule.Name)
		}
		require.True(t, strings.HasSuffix(rule.URL(), "/docs/rules/"+rule.Name+".md"))
	}
	pages, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, page := range pages {
		require.True(t, names[page.Name()], "%s belongs to no lint rule", page.Name())
	}
}

// Whatever is enforced has a test that fails without it.
func TestEveryRuleIsHeld(t *testing.T) {
	held := holders(t)
	for _, rule := range problem.Rules() {
		require.NotEmpty(t, held[rule.ID], "no fixture and no test breaks rule %s", rule.ID)
	}
	for _, rule := range problem.LintRules() {
		require.NotEmpty(t, held[rule.Name], "no test gets a warning of %s", rule.Name)
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

// holders finds, by rule, the fixtures that break it, and else the tests that mention it.
func holders(t *testing.T) map[string][]string {
	held := map[string][]string{}
	for rule, names := range fixturesByRule(t) {
		more := ""
		if len(names) > 1 {
			more = fmt.Sprintf(" and %d more", len(names)-1)
		}
		held[rule] = []string{fmt.Sprintf("[%s](../testdata/invalid/%s)%s", names[0], names[0], more)}
	}
	for rule, files := range testsByRule(t) {
		if held[rule] != nil {
			continue
		}
		const most = 3
		for _, file := range files[:min(len(files), most)] {
			held[rule] = append(held[rule], fmt.Sprintf("[%s](../%s)", file, file))
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

// testsByRule finds the test files that name a rule, by its variable in package problem or by its id.
func testsByRule(t *testing.T) map[string][]string {
	ids := ruleVariables(t)
	mentions := map[string][]string{}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "build" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, filepath.Join("suite", "docs_test.go")) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		ast.Inspect(file, func(n ast.Node) bool {
			rule := ""
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "problem" {
					rule = ids[n.Sel.Name]
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && isRule(text) {
					rule = text
				}
			}
			if rule != "" && !slices.Contains(mentions[rule], name) {
				mentions[rule] = append(mentions[rule], name)
			}
			return true
		})
		return nil
	}))
	for _, files := range mentions {
		slices.Sort(files)
	}
	return mentions
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
