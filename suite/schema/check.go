package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// checker evaluates nodes over one document.
type checker struct {
	doc      *strictjson.Document
	problems []problem.Problem
	more     bool
	// path leads to the value being checked.
	path []step
	// failed are the scalars that a problem was reported of; another schema for the same value has
	// nothing to add.
	failed map[*strictjson.Value]bool
	// silent is positive while a condition is tried.
	silent int
}

// step is a member's name, or an element's index; the index of a member is -1.
type step struct {
	name  string
	index int
}

// header checks the members that say what the document is. If one is wrong, the document is not what
// the schema describes, and nothing else is worth saying.
func (c *checker) header(root *node) bool {
	for _, name := range []string{"schemaVersion", "mediaType"} {
		if v, ok := c.doc.Root.Member(name); ok && !c.member(root.members[name], name, v, problem.JSONValue) {
			return false
		}
	}
	return true
}

func (c *checker) member(n *node, name string, v *strictjson.Value, rule *problem.Rule) bool {
	c.path = append(c.path, step{name: name, index: -1})
	ok := c.check(n, v, rule, nil)
	c.path = c.path[:len(c.path)-1]
	return ok
}

// check evaluates a node for a value and reports what is wrong. The rule is that of the schema that
// led here, and condition the one that put a conditional schema in force.
func (c *checker) check(n *node, v *strictjson.Value, rule *problem.Rule, condition *node) bool {
	if n.rule != nil {
		rule = n.rule
	}
	if !c.kind(n, v) {
		return false
	}
	if n.ref != nil && !c.check(n.ref, v, rule, condition) {
		return false
	}
	switch v.Kind {
	case strictjson.Object:
		return c.object(n, v, rule, condition)
	case strictjson.Array:
		return c.array(n, v, rule)
	default:
		return c.scalar(n, v, rule)
	}
}

func (c *checker) kind(n *node, v *strictjson.Value) bool {
	if c.failed[v] {
		return false
	}
	if n.kind != v.Kind && n.kind != anyKind {
		want := n.kind.String()
		if n.integer {
			want = "integer"
		}
		if v.Kind == strictjson.Null {
			return c.fail(problem.JSONType, v, "%s is null; expected %s, and what is absent is left out", c.subject(), article(want))
		}
		return c.fail(problem.JSONType, v, "%s is %s; expected %s", c.subject(), article(v.Kind.String()), article(want))
	}
	if n.integer && strings.ContainsAny(v.Text, ".eE") {
		return c.fail(problem.JSONNumber, v, "%s is written with a fraction or an exponent; expected an integer in plain digits", c.subject())
	}
	return true
}

// scalar reports the first thing that is wrong with a string, number or boolean.
func (c *checker) scalar(n *node, v *strictjson.Value, rule *problem.Rule) bool {
	if len(n.enum) > 0 && !slices.ContainsFunc(n.enum, func(l literal) bool { return l.equals(v) }) {
		if c.silent > 0 {
			// Most conditions fail here, and need no words.
			return false
		}
		return c.fail(rule, v, "%s %s; %s", c.subject(), c.is(v), n.permitted(rule))
	}
	if n.format != nil {
		if err := n.format(v.Text); errors.Is(err, errShape) {
			return c.fail(rule, v, "%s %s; expected %s", c.subject(), c.is(v), n.expected)
		} else if err != nil {
			return c.fail(rule, v, "%s %s; expected %s, found %v", c.subject(), c.is(v), n.expected, err)
		}
	}
	if v.Kind == strictjson.String && !c.text(n, v, rule) || v.Kind == strictjson.Number && !c.number(n, v, rule) {
		return false
	}
	if n.not != nil && c.tries(n.not, v) {
		if n.not.rule != nil {
			rule = n.not.rule
		}
		// Only a value that has passed a pattern of its own is known to be harmless.
		is := "is not permitted"
		if n.pattern != nil {
			is = "is " + problem.Quoted(v.Text)
		}
		return c.fail(rule, v, "%s %s; expected anything but %s", c.subject(), is, n.not.expected)
	}
	return c.parts(n, v, rule)
}

func (c *checker) text(n *node, v *strictjson.Value, rule *problem.Rule) bool {
	if n.minLength > 0 && v.Text == "" {
		return c.fail(rule, v, "%s is empty; expected text", c.subject())
	}
	if n.minLength > 0 && utf8.RuneCountInString(v.Text) < n.minLength {
		return c.fail(rule, v, "%s %s; expected %s", c.subject(), c.is(v), n.orElse("at least %d characters", n.minLength))
	}
	// Every character has a byte or more, so most texts need no counting.
	if n.maxLength != none && len(v.Text) > n.maxLength && utf8.RuneCountInString(v.Text) > n.maxLength {
		return c.fail(rule, v, "%s has %d characters; the limit is %d", c.subject(), utf8.RuneCountInString(v.Text), n.maxLength)
	}
	if n.pattern != nil && !n.pattern.MatchString(v.Text) {
		return c.fail(rule, v, "%s %s; expected %s", c.subject(), c.is(v), n.expected)
	}
	return true
}

func (c *checker) number(n *node, v *strictjson.Value, rule *problem.Rule) bool {
	if n.minimum == nil && n.maximum == nil {
		return true
	}
	i, err := strconv.ParseInt(v.Text, 10, 64)
	// What does not fit is beyond every bound, on the side that its sign tells.
	negative := strings.HasPrefix(v.Text, "-")
	below := n.minimum != nil && (err != nil && negative || err == nil && i < *n.minimum)
	above := n.maximum != nil && (err != nil && !negative || err == nil && i > *n.maximum)
	if below || above {
		return c.fail(rule, v, "%s %s; expected %s", c.subject(), c.is(v), n.bounds())
	}
	return true
}

func (c *checker) array(n *node, v *strictjson.Value, rule *problem.Rule) bool {
	ok := true
	if count := len(v.Items); n.minItems > 0 && count < n.minItems {
		ok = c.fail(rule, v, "%s is empty; expected at least %s", c.subject(), problem.Counted(n.minItems, "element"))
	} else if n.maxItems != none && count > n.maxItems {
		ok = c.fail(rule, v, "%s has %s; expected at most %d", c.subject(), problem.Counted(count, "element"), n.maxItems)
	}
	if n.items != nil {
		c.path = append(c.path, step{})
		for i, item := range v.Items {
			c.path[len(c.path)-1].index = i
			ok = c.check(n.items, item, rule, nil) && ok
		}
		c.path = c.path[:len(c.path)-1]
	}
	if n.unique {
		ok = c.unique(v, rule) && ok
	}
	return c.parts(n, v, rule) && ok
}

func (c *checker) unique(v *strictjson.Value, rule *problem.Rule) bool {
	if len(v.Items) < 2 {
		return true
	}
	ok := true
	first := make(map[string]int, len(v.Items))
	for i, item := range v.Items {
		key := string(appendKey(nil, item))
		j, seen := first[key]
		if !seen {
			first[key] = i
			continue
		}
		array := c.subject()
		c.path = append(c.path, step{index: i})
		ok = c.fail(rule, item, "%s[%d] repeats %s[%d]; expected each element once", array, i, array, j)
		c.path = c.path[:len(c.path)-1]
	}
	return ok
}

// appendKey writes a value so that equal values are written equally.
func appendKey(b []byte, v *strictjson.Value) []byte {
	switch v.Kind {
	case strictjson.Object:
		members := slices.Clone(v.Members)
		slices.SortFunc(members, func(a, b strictjson.Member) int { return strings.Compare(a.Name, b.Name) })
		b = append(b, '{')
		for _, m := range members {
			b = append(appendKey(strconv.AppendQuote(b, m.Name), m.Value), ',')
		}
		return append(b, '}')
	case strictjson.Array:
		b = append(b, '[')
		for _, item := range v.Items {
			b = append(appendKey(b, item), ',')
		}
		return append(b, ']')
	case strictjson.String:
		return strconv.AppendQuote(b, v.Text)
	case strictjson.Bool:
		return strconv.AppendBool(b, v.Bool)
	default:
		return append(b, v.Text...)
	}
}

func (c *checker) object(n *node, v *strictjson.Value, rule *problem.Rule, condition *node) bool {
	ok := true
	var meant []string
	if n.closed {
		for i := range v.Members {
			m := &v.Members[i]
			if member, known := n.members[m.Name]; known {
				ok = c.known(member, v, m, rule, condition) && ok
			} else {
				meant = append(meant, c.unknown(n, v, m))
				ok = false
			}
		}
	} else {
		// Parts of conditionals name few members of many.
		for _, name := range n.names {
			if i := slices.IndexFunc(v.Members, func(m strictjson.Member) bool { return m.Name == name }); i >= 0 {
				ok = c.known(n.members[name], v, &v.Members[i], rule, condition) && ok
			}
		}
	}
	missing := problem.JSONMissingMember
	if condition != nil {
		missing = rule
	}
	for _, name := range n.required {
		if _, has := v.Member(name); !has && !slices.Contains(meant, name) {
			ok = c.failAt(missing, v.Offset, "missing member %q in %s%s", name, c.subject(), because(condition, v))
		}
	}
	for _, d := range n.dependents {
		if _, has := v.Member(d.member); !has {
			continue
		}
		for _, name := range d.required {
			if _, has := v.Member(name); !has && !slices.Contains(meant, name) {
				ok = c.failAt(rule, v.Offset, "missing member %q in %s, which has %q", name, c.subject(), d.member)
			}
		}
	}
	if len(n.anyRequired) > 0 && !slices.ContainsFunc(n.anyRequired, func(name string) bool {
		_, has := v.Member(name)
		return has || slices.Contains(meant, name)
	}) {
		ok = c.failAt(rule, v.Offset, "%s has none of the members %s; expected at least one", c.subject(), list(n.anyRequired, "and"))
	}
	return c.parts(n, v, rule) && ok
}

func (c *checker) known(member *node, object *strictjson.Value, m *strictjson.Member, rule *problem.Rule, condition *node) bool {
	if !member.forbidden {
		return c.member(member, m.Name, m.Value, rule)
	}
	if c.failed[m.Value] {
		return false
	}
	c.path = append(c.path, step{name: m.Name, index: -1})
	defer func() { c.path = c.path[:len(c.path)-1] }()
	return c.failAt(rule, m.NameOffset, "member %q does not belong in %s%s", m.Name, c.parent(), because(condition, object))
}

// unknown reports a member that the schema does not name. It returns the name that was probably meant,
// so that this one is not reported missing as well.
func (c *checker) unknown(n *node, v *strictjson.Value, m *strictjson.Member) string {
	if len(c.problems) == MaxProblems {
		// Looking for what was meant takes time, which a hostile document could ask for often.
		c.more = true
		return ""
	}
	absent := slices.DeleteFunc(slices.Clone(n.names), func(name string) bool {
		_, has := v.Member(name)
		return has
	})
	rule, hint := problem.JSONUnknownMember, "it is not part of 1.0.0-draft"
	suggestion, suggested := problem.Suggest(m.Name, absent)
	switch {
	case otherDrafts[m.Name]:
		rule, suggestion = problem.DraftDeferred, ""
	case suggested:
		hint = fmt.Sprintf("did you mean %q?", suggestion)
	case len(n.names) <= 10:
		hint = fmt.Sprintf("%s has only %s", c.subject(), list(n.names, "and"))
	}
	c.path = append(c.path, step{name: m.Name, index: -1})
	c.failAt(rule, m.NameOffset, "unknown member %s: %s", problem.Quoted(m.Name), hint)
	c.path = c.path[:len(c.path)-1]
	return suggestion
}

// parts evaluates allOf and the conditional of a node.
func (c *checker) parts(n *node, v *strictjson.Value, rule *problem.Rule) bool {
	ok := true
	for _, part := range n.all {
		ok = c.check(part, v, rule, nil) && ok
	}
	if n.condition == nil || c.undecided(n.condition, v) {
		return ok
	}
	branch := n.otherwise
	if c.tries(n.condition, v) {
		branch = n.then
	}
	if branch != nil {
		ok = c.check(branch, v, rule, n.condition) && ok
	}
	return ok
}

// undecided tells that a member which the condition asks about is already known to be wrong.
func (c *checker) undecided(condition *node, v *strictjson.Value) bool {
	return slices.ContainsFunc(condition.names, func(name string) bool {
		m, has := v.Member(name)
		return has && c.failed[m]
	})
}

// tries evaluates a node without reporting.
func (c *checker) tries(n *node, v *strictjson.Value) bool {
	c.silent++
	defer func() { c.silent-- }()
	return c.check(n, v, problem.JSONValue, nil)
}

func (c *checker) fail(rule *problem.Rule, v *strictjson.Value, format string, args ...any) bool {
	if c.silent > 0 {
		return false
	}
	if c.failed == nil {
		c.failed = map[*strictjson.Value]bool{}
	}
	c.failed[v] = true
	return c.failAt(rule, v.Offset, format, args...)
}

func (c *checker) failAt(rule *problem.Rule, offset int, format string, args ...any) bool {
	if c.silent > 0 {
		return false
	}
	if len(c.problems) == MaxProblems {
		c.more = true
		return false
	}
	c.problems = append(c.problems, problem.New(rule, c.doc.At(pointer(c.path), offset), format, args...))
	return false
}
