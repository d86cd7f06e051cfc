// Command scanner is an SBOM generator as BuildKit runs one: it writes an in-toto statement whose predicate is an SPDX
// document that lists the regular files of the image, and fails if it is not run in the way that BuildKit's protocol says.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if err := scan(os.Getenv("BUILDKIT_SCAN_SOURCE"), os.Getenv("BUILDKIT_SCAN_DESTINATION")); err != nil {
		fmt.Fprintln(os.Stderr, "scanner:", err)
		os.Exit(1)
	}
}

type file struct {
	Name string `json:"fileName"`
	ID   string `json:"SPDXID"`
}

func scan(source, destination string) error {
	var files []file
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(source, path)
		files = append(files, file{name, fmt.Sprintf("SPDXRef-%d", len(files))})
		return err
	})
	if err != nil {
		return err
	}
	document := map[string]any{
		"spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "dataLicense": "CC0-1.0", "name": "scan",
		"documentNamespace": "https://scanner.example/scan", "files": files,
		"creationInfo": map[string]any{"created": "2020-01-01T00:00:00Z", "creators": []string{"Tool: scanner"}},
	}
	text, err := json.Marshal(map[string]any{
		"_type": "https://in-toto.io/Statement/v0.1", "predicateType": "https://spdx.dev/Document", "predicate": document,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(destination, filepath.Base(source)+".spdx.json"), text, 0o644)
}
