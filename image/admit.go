package image

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// This file is what becomes of an entry in a scan, whether a walk finds it in a directory or a reader
// in the layers of an image.

// setID are the set-user-ID and set-group-ID bits of a mode.
const setID = 0o6000

// The user and group databases.
const (
	passwdPath = "etc/passwd"
	groupPath  = "etc/group"
)

// Admit tells whether an entry of a type can be in an image at all, and records why not. Whoever makes
// a scan of a filesystem calls it for every entry, and leaves out what it refuses with all that lies
// below.
func (s *Scan) Admit(p string, kind fs.FileMode) bool {
	at := problem.Place{Path: problem.Printable(p)}
	if !utf8.ValidString(p) {
		s.problem(problem.ImageEntryName, at, "/%s is no UTF-8, so no inventory can list it; rename or remove it in the image", p)
		return false
	}
	if what, ok := foreignTypes[kind]; ok {
		s.problem(problem.ImageEntryType, at,
			"/%s is %s; an image holds directories, regular files and symlinks only, so build it without this entry", p, what)
		return false
	}
	return true
}

var foreignTypes = map[fs.FileMode]string{
	fs.ModeDevice:                     "a block device",
	fs.ModeDevice | fs.ModeCharDevice: "a character device",
	fs.ModeNamedPipe:                  "a FIFO",
	fs.ModeSocket:                     "a socket",
	fs.ModeIrregular:                  "of an unknown type",
}

// Append adds an admitted entry, and records what is wrong or odd about it.
func (s *Scan) Append(e Entry) {
	switch {
	case e.Type == content.Symlink && !utf8.ValidString(e.LinkTarget):
		s.problem(problem.ImageEntryName, problem.Place{Path: e.Path},
			"/%s is a symlink to %s, which is no UTF-8, so no inventory can list it; change or remove it in the image", e.Path, e.LinkTarget)
	case e.Type == content.File && e.Mode&setID != 0:
		s.Warnings = append(s.Warnings, problem.NewWarning(problem.SetIDFile, problem.Place{Path: e.Path},
			"/%s has mode %04o; set-id gives nothing in a sandbox, which runs with no_new_privs, so leave the bit out of the image", e.Path, e.Mode))
	}
	s.Entries = append(s.Entries, e)
}

// AppendCapable records that files have capabilities, which no entry tells.
func (s *Scan) AppendCapable(paths []string) {
	for _, p := range slices.Sorted(slices.Values(paths)) {
		s.Warnings = append(s.Warnings, problem.NewWarning(problem.FileCapabilities, problem.Place{Path: p},
			"/%s has capabilities; they give nothing in a sandbox, which runs with no_new_privs, so leave them out of the image", p))
	}
}

// maxFindings is how many problems a scan lists: more than anybody is told of, few enough that a
// filesystem of nothing but them is no burden.
const maxFindings = 10_000

func (s *Scan) problem(rule *problem.Rule, at problem.Place, format string, args ...any) {
	if len(s.Problems) < maxFindings || rule == problem.ImageLimit {
		s.Problems = append(s.Problems, problem.New(rule, at, format, args...))
	}
}

// IsConfiguration tells whether composing reads the file at a path: one of the user and group databases,
// or of the configuration of the dynamic loaders.
func IsConfiguration(p string) bool {
	return p == passwdPath || p == groupPath || abi.IsConfiguration(p)
}

// Configuration maps the paths of the databases and of the loaders' configuration to the regular files
// that they lead to: such a path may be a symlink. The entries must be complete and sorted. Their bytes
// go into Files by way of [Scan.Keep].
func (s *Scan) Configuration() map[string]string {
	return s.configuration(maxConfigurationFiles)
}

func (s *Scan) configuration(most int) map[string]string {
	wanted := []string{passwdPath, groupPath} // even where the directory that they lie in is a symlink
	for i := range s.Entries {
		p := s.Entries[i].Path
		if !IsConfiguration(p) {
			continue
		}
		if wanted = append(wanted, p); len(wanted) > most {
			s.problem(problem.ImageLimit, problem.Place{Path: p}, "with /%s, there are more than %d files of a system's configuration, the most that are read", p, most)
			return map[string]string{}
		}
	}
	files := map[string]string{}
	for _, p := range wanted {
		if target, e, ok := tree(s.Entries).resolve(p); ok && e != nil && e.Type == content.File {
			files[p] = target
		}
	}
	return files
}

// maxConfigurationFiles is how many files a scan keeps. A system with everything has a few dozen.
const maxConfigurationFiles = 1000

// MaxConfiguration is how many bytes of all files together [Scan.Keep] keeps, by the limit of one.
func MaxConfiguration(limit int64) int64 { return 16 * limit }

// Keep reads what [Scan.Configuration] names at a path and puts it into Files, unless it has more
// bytes than limit, or all of them have too many.
func (s *Scan) Keep(p string, r io.Reader, limit int64) error {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", p, err)
	}
	if int64(len(data)) > limit {
		s.problem(problem.ImageLimit, problem.Place{Path: p}, "/%s is larger than %d bytes, the most that is read of a system's configuration", p, limit)
		return nil
	}
	kept := int64(len(data))
	for _, other := range s.Files {
		kept += int64(len(other))
	}
	if most := MaxConfiguration(limit); kept > most {
		s.problem(problem.ImageLimit, problem.Place{Path: p}, "with /%s, the files of a system's configuration are larger than %d bytes together, the most that is read of them", p, most)
		return nil
	}
	s.Files[p] = data
	return nil
}
