package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// environmentInput is a variable that a variant asks for by name.
type environmentInput struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
	Secret   bool   `json:"secret"`
	// Delivery of a secret: with "env" the variable holds the value, with
	// "file" it holds the absolute path that the value was mounted at.
	Delivery string `json:"delivery"`
}

// environ returns the whole environment of the variant's process, as NAME=value:
// the variables that the variant declares, as far as lookup finds them, and a
// PATH made of its search path. Nothing else of the harness's own environment
// passes.
func (v variant) environ(lookup func(string) (string, bool)) ([]string, error) {
	// Not nil: os/exec takes nil to mean "inherit everything".
	env := []string{}
	for _, input := range v.Environment {
		value, found := lookup(input.Name)
		switch {
		case !found && input.Required:
			return nil, fmt.Errorf("the environment variable %s is required and not set; give it to the container", input.Name)
		case !found:
			continue
		case input.Secret && input.Delivery == "file" && !filepath.IsAbs(value):
			// Perhaps someone put the secret itself here, so the value stays unsaid.
			return nil, fmt.Errorf("the environment variable %s must hold the absolute path of a mounted secret, "+
				"and holds something else", input.Name)
		}
		env = append(env, input.Name+"="+value)
	}
	if len(v.SearchPath) > 0 {
		// Last, since of two equal names the last one counts.
		env = append(env, "PATH="+strings.Join(v.SearchPath, ":"))
	}
	return env, nil
}

// newRedactor returns a function that strikes the values of all secrets which
// the agent's providers receive in variables out of a text.
func newRedactor(a *agent, lookup func(string) (string, bool)) func(string) string {
	var values []string
	for _, p := range a.providers {
		for _, input := range p.variant.Environment {
			if !input.Secret || input.Delivery == "file" {
				continue
			}
			if value, _ := lookup(input.Name); value != "" {
				// As itself, and as it looks inside of JSON or of a %q.
				inJSON, _ := json.Marshal(value) // a string always has a JSON text
				inGo := strconv.Quote(value)
				values = append(values, value, string(inJSON[1:len(inJSON)-1]), inGo[1:len(inGo)-1])
			}
		}
	}
	// A secret that begins with another one must not leave its rest behind.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, value := range values {
		pairs = append(pairs, value, "[secret]")
	}
	return strings.NewReplacer(pairs...).Replace
}
