package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// subject names the value being checked, as in toolProviders[0].executionMode.
func (c *checker) subject() string {
	if c.silent > 0 {
		return ""
	}
	return strictjson.Dotted(pointer(c.path))
}

func (c *checker) parent() string {
	return strictjson.Dotted(pointer(c.path[:len(c.path)-1]))
}

func pointer(path []step) string {
	tokens := make([]any, len(path))
	for i, s := range path {
		if tokens[i] = s.name; s.index >= 0 {
			tokens[i] = s.index
		}
	}
	return strictjson.Pointer(tokens...)
}

// is repeats a value, unless it may be a secret or an operand.
func (c *checker) is(v *strictjson.Value) string {
	if c.silent > 0 {
		return ""
	}
	if slices.ContainsFunc(c.path, func(s step) bool { return hidden[s.name] }) {
		return "is not permitted"
	}
	switch v.Kind {
	case strictjson.String:
		return "is " + problem.Quoted(v.Text)
	case strictjson.Bool:
		return "is " + strconv.FormatBool(v.Bool)
	default:
		return "is " + problem.Cut(v.Text)
	}
}

func (n *node) permitted(rule *problem.Rule) string {
	if n.expected != "" {
		return "expected " + n.expected
	}
	values := make([]string, len(n.enum))
	for i, l := range n.enum {
		values[i] = l.String()
	}
	if rule.Requirement == "AS-DRAFT-001" {
		return "this draft knows only " + problem.Join(values, "and")
	}
	return "expected " + problem.Join(values, "or")
}

func (n *node) orElse(format string, args ...any) string {
	if n.expected != "" {
		return n.expected
	}
	return fmt.Sprintf(format, args...)
}

// maxExactInteger is the bound of integers that have no bound of their own: beyond it, doubles have
// gaps.
const maxExactInteger = 1<<53 - 1

func (n *node) bounds() string {
	switch {
	case n.expected != "":
		return n.expected
	case *n.maximum == maxExactInteger:
		return fmt.Sprintf("an integer of at least %d that an IEEE double holds", *n.minimum)
	default:
		return fmt.Sprintf("an integer from %d to %d", *n.minimum, *n.maximum)
	}
}

func list(names []string, last string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return problem.Join(quoted, last)
}

// because names the members that a condition, if there is one, asked about, to follow the object's name.
func because(condition *node, v *strictjson.Value) string {
	if condition == nil {
		return ""
	}
	var parts []string
	for _, name := range condition.names {
		state := "absent"
		if m, has := v.Member(name); has && m.Kind == strictjson.String {
			state = problem.Quoted(m.Text)
		} else if has {
			state = strconv.FormatBool(m.Bool)
		}
		parts = append(parts, name+" is "+state)
	}
	return ", whose " + strings.Join(parts, " and ")
}

func article(kind string) string {
	if strings.ContainsRune("aeio", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}
