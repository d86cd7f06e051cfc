package main

import (
	"fmt"
	"strings"
)

// refusal says why the harness never calls the tool, or nothing. It fails
// closed: it can neither ask a person for approval nor verify who is asking.
func (t *tool) refusal() string {
	switch {
	case t.delegated:
		return "it needs a person's delegated authorization, which this harness cannot verify"
	case t.approval == approvalRequired:
		return "it requires approval, which this harness cannot ask for"
	case t.approval != "" && t.approval != approvalPolicyControlled:
		return fmt.Sprintf("its approval %q is unknown to this harness", t.approval)
	}
	return ""
}

// find returns the declared tool called name, written alone or as
// provider@version/tool.
func (a *agent) find(name string) (*tool, error) {
	var all, found []string
	var match *tool
	for _, p := range a.providers {
		for _, t := range p.tools {
			all = append(all, t.String())
			if name == t.name || name == t.String() {
				found = append(found, t.String())
				match = t
			}
		}
	}
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("agent %s declares no tool %q; it declares none at all", a.id, name)
	case len(found) == 0:
		return nil, fmt.Errorf("agent %s declares no tool %q; it declares %s", a.id, name, strings.Join(all, ", "))
	case len(found) > 1:
		return nil, fmt.Errorf("several tools are called %q; name one of %s", name, strings.Join(found, ", "))
	}
	return match, nil
}
