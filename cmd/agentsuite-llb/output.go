package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/buildkit/client"
	"github.com/tonistiigi/go-csvvalue"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// parseOutput reads one --output as buildx does: type=…,dest=…, a directory, or "-" for a tar on standard
// output. The file is nil when the exporter writes none: an image goes to the builder, a directory is named
// in the entry, and everything else goes to standard output.
func parseOutput(flag string) (client.ExportEntry, *outputFile, error) {
	entry := client.ExportEntry{Attrs: map[string]string{}}
	switch {
	case flag == "-":
		entry.Type, entry.Attrs["dest"] = client.ExporterTar, "-"
	case !strings.Contains(flag, "="):
		entry.Type, entry.Attrs["dest"] = client.ExporterLocal, flag
	default:
		var err error
		if entry.Type, entry.Attrs, err = parseAttributes(flag); err != nil {
			return entry, nil, fmt.Errorf("--output %w", err)
		}
	}
	if entry.Type == "registry" {
		entry.Type, entry.Attrs["push"] = client.ExporterImage, "true"
	}
	dest := entry.Attrs["dest"]
	delete(entry.Attrs, "dest")
	switch entry.Type {
	case client.ExporterImage:
		if dest != "" {
			return entry, nil, fmt.Errorf("--output %s: an image goes to the builder or a registry, so it has no dest", flag)
		}
		return entry, nil, nil
	case client.ExporterLocal:
		return toDirectory(entry, flag, dest)
	case client.ExporterOCI, client.ExporterDocker:
		if tar, err := strconv.ParseBool(entry.Attrs["tar"]); err == nil && !tar {
			return toDirectory(entry, flag, dest)
		}
	case client.ExporterTar:
	case "":
		return entry, nil, fmt.Errorf("--output %s: type is missing; there are image, oci, docker, tar and local", flag)
	default:
		return entry, nil, fmt.Errorf("--output %s: there is no type %q; there are image, oci, docker, tar and local", flag, entry.Type)
	}
	if dest == "" || dest == "-" {
		return entry, nil, nil
	}
	file := &outputFile{path: dest}
	entry.Output = func(map[string]string) (io.WriteCloser, error) { return file.create() }
	return entry, file, nil
}

func toDirectory(entry client.ExportEntry, flag, dest string) (client.ExportEntry, *outputFile, error) {
	if dest == "" {
		return entry, nil, fmt.Errorf("--output %s: dest is missing, the directory to write", flag)
	}
	entry.OutputDir = dest
	return entry, nil, nil
}

// cacheOptions reads --cache-from and --cache-to: type=…,NAME=VALUE, or the reference of a registry's.
func cacheOptions(flags []string) ([]client.CacheOptionsEntry, error) {
	var entries []client.CacheOptionsEntry
	for _, flag := range flags {
		if !strings.Contains(flag, "=") {
			entries = append(entries, client.CacheOptionsEntry{Type: "registry", Attrs: map[string]string{"ref": flag}})
			continue
		}
		kind, attrs, err := parseAttributes(flag)
		if err != nil {
			return nil, err
		}
		if kind == "" {
			return nil, fmt.Errorf("%s: type is missing, such as type=registry", flag)
		}
		entries = append(entries, client.CacheOptionsEntry{Type: kind, Attrs: attrs})
	}
	return entries, nil
}

// parseAttributes reads type=TYPE,NAME=VALUE,… with the type apart from the others.
func parseAttributes(flag string) (kind string, attrs map[string]string, err error) {
	fields, err := csvvalue.Fields(flag, nil)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", flag, err)
	}
	attrs = map[string]string{}
	for _, field := range fields {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return "", nil, fmt.Errorf("%s: %q is not NAME=VALUE", flag, field)
		}
		if name = strings.ToLower(name); name == "type" {
			kind = value
		} else {
			attrs[name] = value
		}
	}
	return kind, attrs, nil
}

// outputFile is a file that gets its name when the build has succeeded, so that a failed build leaves
// nothing, and nothing is overwritten by half. What is no regular file, /dev/null or a pipe say, is written to
// as it is: giving its name to a file would take it away from everybody.
type outputFile struct {
	path string
	file *os.File
	// name is what the file will be called; empty for what is written to directly.
	name string
}

func (f *outputFile) create() (_ io.WriteCloser, err error) {
	mode := os.FileMode(0o666) // less the umask
	f.name = f.path
	switch info, err := os.Stat(f.path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory; name the file to write", problem.Quoted(f.path))
	case info.Mode().IsRegular():
		mode = info.Mode().Perm()
		if f.name, err = filepath.EvalSymlinks(f.path); err != nil {
			return nil, err
		}
	default:
		f.name = ""
		f.file, err = os.OpenFile(f.path, os.O_WRONLY, 0)
		return f.file, err
	}
	f.file, err = os.OpenFile(filepath.Join(filepath.Dir(f.name), ".agentsuite-llb-"+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	return f.file, err
}

func (f *outputFile) commit() error {
	if f.file == nil {
		return fmt.Errorf("the build wrote nothing to %s", f.path)
	}
	if f.name != "" {
		if err := os.Rename(f.file.Name(), f.name); err != nil {
			return err // discarding removes the file
		}
	}
	f.file = nil
	return nil
}

func (f *outputFile) discard() {
	if f.file == nil {
		return
	}
	f.file.Close()
	if f.name != "" {
		os.Remove(f.file.Name())
	}
}

// writeFile writes a whole file under a temporary name, then gives it its own.
func writeFile(path string, data []byte) error {
	file := &outputFile{path: path}
	defer file.discard()
	w, err := file.create()
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return file.commit()
}

// keepOpen is a writer that its user may not close.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
