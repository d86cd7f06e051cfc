package image

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Mode of a directory that is only on the way to a bundle's files, where nothing else brings it.
const wayMode = 0o755

func compareEntries(a, b Entry) int { return strings.Compare(a.Path, b.Path) }

// destination is an inventory entry of a bundle where it will lie in the filesystem. A hardlink
// becomes the file that it names, since that is what it is once it has been copied; contentPath is
// changed to that file's then.
func destination(in Inputs, b suite.Bundle, f suite.InventoryEntry, contentPath *string) (Entry, error) {
	e := Entry{
		Path: strings.TrimPrefix(path.Join(b.Variant.InstallRoot, f.Path), "/"),
		Type: f.Type, Mode: f.Mode, UID: f.UID, GID: f.GID,
		Digest: f.Digest, LinkTarget: f.LinkTarget, Component: b.Key().String(),
	}
	switch e.Type {
	case content.File:
		e.Size = f.Size
	case content.Symlink:
		e.Mode = 0o777
	case content.Hardlink:
		target, ok := in.Index.Entry(f.LinkTarget)
		if !ok || target.Type != content.File {
			return e, fmt.Errorf("the hardlink %s names %s, which is no file of the content", f.Path, problem.Quoted(f.LinkTarget))
		}
		*contentPath = f.LinkTarget
		e.Type, e.LinkTarget = content.File, ""
		e.Mode, e.Size, e.Digest = target.Mode, target.Size, target.Digest
	}
	return e, nil
}

// parents lists, sorted, the directories on the way to entries that are not themselves listed.
func parents(entries []Entry, listed map[string]bool) []string {
	way := map[string]bool{}
	for _, e := range entries {
		for dir := path.Dir(e.Path); dir != "." && !way[dir]; dir = path.Dir(dir) {
			if !listed[dir] {
				way[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(way))
}

// reserved are the directories that are not a bundle's to fill or to hide, with whose they are.
var reserved = []struct{ path, owner string }{
	{"/" + MetadataDir, "which holds the image's own metadata"},
	{"/proc", "which the runtime mounts"},
	{"/sys", "which the runtime mounts"},
	{"/dev", "which the runtime mounts"},
}

// destinationProblems finds what is wrong with a bundle's destinations whatever they are composed with.
func destinationProblems(in Inputs, b suite.Bundle, places *places) []problem.Problem {
	problems := directoryProblems(in, b, places)
	for _, r := range reserved {
		if within(b.Variant.InstallRoot, r.path) {
			problems = append(problems, problem.New(problem.BundleReserved, places.variant(b, "installRoot"),
				"installRoot %s lies in %s, %s; choose another one", problem.Quoted(b.Variant.InstallRoot), r.path, r.owner))
		}
		for i, w := range b.Variant.WritablePaths {
			if within(w, r.path) || within(r.path, w) {
				problems = append(problems, problem.New(problem.WritableReserved, places.variant(b, "writablePaths", i),
					"the writable path %s would hide %s, %s; take it out", problem.Quoted(w), r.path, r.owner))
			}
		}
	}
	problems = append(problems, whiteoutProblems(b, places)...)
	return append(problems, nameProblems(b, places)...)
}

// Bounds on what filesystems hold. Linux takes paths of 4,095 bytes, but whoever unpacks an image does so below a
// directory of its own.
const (
	maxNameBytes        = 255
	maxDestinationBytes = 3_840
)

// nameProblems finds destinations that a filesystem cannot hold. Content paths may have names of any length, and
// so may versions, which become names of directories.
func nameProblems(b suite.Bundle, places *places) []problem.Problem {
	var problems []problem.Problem
	check := func(p string, at func() problem.Place) {
		switch {
		case len(p) > maxDestinationBytes:
			problems = append(problems, problem.New(problem.BundleName, at(),
				"the destination %s is %d bytes long; at most %d can be unpacked, so choose shorter names", problem.Quoted(p), len(p), maxDestinationBytes))
		case longestName(p) > maxNameBytes:
			problems = append(problems, problem.New(problem.BundleName, at(),
				"a name in the destination %s is %d bytes long; a filesystem holds at most %d, so choose a shorter one", problem.Quoted(p), longestName(p), maxNameBytes))
		}
	}
	for i, f := range b.Variant.Files {
		check(path.Join(b.Variant.InstallRoot, f.Path), func() problem.Place { return places.variant(b, "files", i, "path") })
	}
	check("/"+ToolProviderDir(b.Key()), func() problem.Place { return places.place(b.Provider.Path, "/version") })
	return problems
}

func longestName(p string) int {
	longest := 0
	for name := range strings.SplitSeq(p, "/") {
		longest = max(longest, len(name))
	}
	return longest
}

// whiteoutPrefix begins the names by which a layer removes what lies below it (OCI image specification,
// layer.md). A file of such a name would not be one, but take another away.
const whiteoutPrefix = ".wh."

// whiteoutProblems finds destinations that a layer cannot hold.
func whiteoutProblems(b suite.Bundle, places *places) []problem.Problem {
	var problems []problem.Problem
	for i, f := range b.Variant.Files {
		p := path.Join(b.Variant.InstallRoot, f.Path)
		if strings.Contains(p, "/"+whiteoutPrefix) {
			problems = append(problems, problem.New(problem.BundleWhiteout, places.variant(b, "files", i, "path"),
				"the destination %s is a whiteout to whoever unpacks the image, since a name in it begins with %s; choose another name",
				problem.Quoted(p), whiteoutPrefix))
		}
	}
	return problems
}

// directoryProblems checks the directories of a payload. Those that the inventory lists are copied as
// they are. The others are only on the way to files and get the mode that a directory on the way has,
// so their own must be that one, or the payload would not be what the image holds.
func directoryProblems(in Inputs, b suite.Bundle, places *places) []problem.Problem {
	v := b.Variant
	at := places.variant(b, "files")
	listed := make(map[string]bool, len(v.Files))
	filled := map[string]bool{v.PayloadRoot: true}
	for _, f := range v.Files {
		p := path.Join(v.PayloadRoot, f.Path)
		listed[p] = true
		for dir := path.Dir(p); dir != "." && !filled[dir]; dir = path.Dir(dir) {
			filled[dir] = true
		}
	}
	var problems []problem.Problem
	check := func(e content.Entry) {
		if e.Type != content.Directory {
			return
		}
		switch {
		case e.Mode&0o022 != 0:
			problems = append(problems, problem.New(problem.DirectoryWritable, at,
				"the payload directory %s has mode %04o, so others than root could change it; give it mode 0755", e.Path, e.Mode))
		case listed[e.Path]:
		case e.Mode != wayMode:
			problems = append(problems, problem.New(problem.DirectoryUnlisted, at,
				"the payload directory %s has mode %04o and the inventory does not list it; list it or give it mode 0755", e.Path, e.Mode))
		case !filled[e.Path]:
			problems = append(problems, problem.New(problem.DirectoryUnlisted, at,
				"the payload directory %s holds nothing that the inventory lists; list it or remove it", e.Path))
		}
	}
	if root, ok := in.Index.Entry(v.PayloadRoot); ok {
		check(root)
	}
	for _, e := range in.Index.Below(v.PayloadRoot) {
		check(e)
	}
	return problems
}
