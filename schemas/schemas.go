// Package schemas holds the JSON Schemas of every document of a suite, and of the two that a sandbox
// image carries, for validators and for editors.
//
// Each is complete by itself, so that an editor needs one file; definitions of the same name are the
// same in all of them.
package schemas

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed *.schema.json
var files embed.FS

const (
	suffix          = ".schema.json"
	mediaTypePrefix = "application/vnd.agentsuite."
	mediaTypeSuffix = ".v1+json"
)

// Names lists the schemas in alphabetical order: agent, build-profile, composition and so on.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("reading the embedded schemas: %v", err))
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), suffix))
	}
	slices.Sort(names)
	return names
}

// Get returns the text of a schema by its name.
func Get(name string) ([]byte, bool) {
	data, err := files.ReadFile(name + suffix)
	return data, err == nil
}

// ForMediaType returns the name of the schema for documents of a media type. Names follow from media
// types: application/vnd.agentsuite.tool.provider.v1+json has the schema tool-provider.
func ForMediaType(mediaType string) (name string, ok bool) {
	kind, hasPrefix := strings.CutPrefix(mediaType, mediaTypePrefix)
	kind, hasSuffix := strings.CutSuffix(kind, mediaTypeSuffix)
	if !hasPrefix || !hasSuffix || strings.Contains(kind, "-") {
		return "", false
	}
	name = strings.ReplaceAll(kind, ".", "-")
	_, ok = Get(name)
	return name, ok
}
