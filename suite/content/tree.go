package content

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/cases"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// errStop ends the reading of a suite of which nothing more is to be learned: a limit is exceeded, or
// its archive cannot be followed further. The problem has been reported. It never leaves the package.
var errStop = errors.New("reading stopped")

// findings collects problems up to a limit.
type findings struct {
	limit    int
	problems []problem.Problem
}

// report adds a problem. Once it has returned errStop, reading must end.
func (f *findings) report(rule *problem.Rule, at, format string, args ...any) error {
	return f.add(problem.New(rule, place(at), format, args...))
}

func (f *findings) add(problems ...problem.Problem) error {
	for _, p := range problems {
		if len(f.problems) >= f.limit {
			return errStop
		}
		f.problems = append(f.problems, p)
		if len(f.problems) == f.limit {
			f.problems = append(f.problems, problem.New(problem.PathLimit, problem.Place{},
				"reading stopped at %d problems, which is the limit; there may be more", f.limit))
			return errStop
		}
	}
	return nil
}

// place is where an entry lies. Hostile paths may be a megabyte long.
func place(p string) problem.Place {
	if len(p) > pathBytes {
		p = p[:pathBytes]
	}
	return problem.Place{Path: strings.Clone(p)}
}

// tree collects the entries of one content, in whatever order they are read, and holds each, and all
// together, to section 5.2.
type tree struct {
	findings
	limits  Limits
	entries []Entry
	byPath  map[string]int
	texts   map[string][]byte
	// fileBytes, jsonBytes and proseBytes count towards the limits.
	fileBytes, jsonBytes, proseBytes int64
	// jsonOver is set once the problem of too much metadata is reported.
	jsonOver bool
}

func newTree(limits Limits) *tree {
	return &tree{
		findings: findings{limit: limits.Problems},
		limits:   limits,
		byPath:   map[string]int{},
		texts:    map[string][]byte{},
	}
}

// stop reports a problem after which reading ends.
func (f *findings) stop(rule *problem.Rule, at, format string, args ...any) error {
	_ = f.report(rule, at, format, args...)
	return errStop
}

// add takes an entry in, and tells whether it could; one that is refused has no place in the tree.
// mode is the entry's whole mode, of which it keeps the permission bits.
func (t *tree) add(e Entry, mode uint32) (bool, error) {
	if len(t.entries) >= t.limits.Entries {
		return false, t.stop(problem.PathLimit, "",
			"the content has at least %d entries; the limit is %d", len(t.entries)+1, t.limits.Entries)
	}
	if err := CheckPath(e.Path); err != nil {
		return false, t.report(problem.PathUnsafe, e.Path, "%s is no content path: %v", problem.Quoted(e.Path), err)
	}
	if _, ok := t.byPath[e.Path]; ok {
		return false, t.report(problem.PathDuplicate, e.Path, "the path occurs twice; expected every path once")
	}
	if err := t.check(e, mode); err != nil {
		return false, err
	}
	// Names in an archive are parts of its headers, which may be a thousand times as long.
	e.Path, e.LinkTarget = strings.Clone(e.Path), strings.Clone(e.LinkTarget)
	e.Mode = mode & 0o777
	if e.Type == Symlink {
		e.Mode = 0o777
	}
	t.byPath[e.Path] = len(t.entries)
	t.entries = append(t.entries, e)
	return true, nil
}

func (t *tree) check(e Entry, mode uint32) error {
	var err error
	report := func(rule *problem.Rule, format string, args ...any) {
		err = cmp.Or(t.report(rule, e.Path, format, args...), err)
	}
	if mode&0o7000 != 0 {
		report(problem.PathMode, "mode %04o has a set-id or sticky bit; expected none (chmod u-s,g-s,-t)", mode)
	}
	switch e.Type {
	case File:
		if mode&0o022 != 0 {
			report(problem.PathMode, "mode %04o lets group or others write; expected that only the owner may (chmod go-w)", mode)
		}
	case Symlink:
		if wrong := checkTarget(e.Path, e.LinkTarget); wrong != nil {
			report(problem.PathSymlink, "the symlink's target %s is refused: %v; expected a relative path that stays below the content root",
				problem.Quoted(e.LinkTarget), wrong)
		}
	case Hardlink:
		switch i, ok := t.byPath[e.LinkTarget]; {
		case CheckPath(e.LinkTarget) != nil:
			report(problem.PathHardlink, "the hardlink's target %s is refused: %v; expected the path of an earlier regular file",
				problem.Quoted(e.LinkTarget), CheckPath(e.LinkTarget))
		case !ok:
			report(problem.PathHardlink, "the hardlink names %s, which is no earlier entry; expected the path of an earlier regular file",
				problem.Quoted(e.LinkTarget))
		case t.entries[i].Type != File:
			report(problem.PathHardlink, "the hardlink names %s, which is a %s; expected the path of an earlier regular file",
				problem.Quoted(e.LinkTarget), t.entries[i].Type)
		case t.entries[i].Mode != mode&0o777 || t.entries[i].UID != e.UID || t.entries[i].GID != e.GID:
			// They are one file, which can have only one mode and owner.
			report(problem.PathHardlink, "the hardlink has mode %04o and owner %d:%d, but the file %s has mode %04o and owner %d:%d; expected the same",
				mode, e.UID, e.GID, problem.Quoted(e.LinkTarget), t.entries[i].Mode, t.entries[i].UID, t.entries[i].GID)
		}
	}
	return err
}

// grow counts a regular file towards the limit on expanded bytes, before it is read.
func (t *tree) grow(p string, size int64) error {
	if size > t.limits.ExpandedBytes-t.fileBytes {
		// An archive may state any size, so their sum may not fit an integer.
		return t.stop(problem.PathLimit, p, "the file has %d bytes and those before it have %d; the limit on all files together is %d",
			size, t.fileBytes, t.limits.ExpandedBytes)
	}
	t.fileBytes += size
	return nil
}

// keeps decides whether the bytes of a file are kept, before it is read.
func (t *tree) keeps(p string, size int64) (bool, error) {
	if size > t.limits.JSON.DocumentBytes {
		return false, nil
	}
	switch path.Ext(p) {
	case ".json":
		if t.jsonOver {
			return false, nil
		}
		if t.jsonBytes += size; t.jsonBytes > t.limits.MetadataBytes {
			t.jsonOver = true
			return false, t.report(problem.PathLimit, p, "with this file the .json files of the content have %d bytes or more; the limit is %d",
				t.jsonBytes, t.limits.MetadataBytes)
		}
		return true, nil
	case ".md", ".txt":
		t.proseBytes += size
		return !t.proseOver(), nil
	}
	return false, nil
}

// proseOver tells that there is so much prose that none is kept: all or nothing, so that what is kept
// does not depend on the order of reading.
func (t *tree) proseOver() bool { return t.proseBytes > t.limits.ProseBytes }

// keep stores the bytes of a file for which keeps said so.
func (t *tree) keep(p string, data []byte) {
	if path.Ext(p) == ".json" || !t.proseOver() {
		t.texts[p] = data
	}
}

// finish sorts the entries and checks what takes all of them.
func (t *tree) finish() error {
	if t.proseOver() {
		maps.DeleteFunc(t.texts, func(kept string, _ []byte) bool { return path.Ext(kept) != ".json" })
	}
	slices.SortFunc(t.entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	if err := t.checkParents(); err != nil {
		return err
	}
	return t.checkCase()
}

func (t *tree) checkParents() error {
	order := make([]int, len(t.entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return ComparePaths(t.entries[a].Path, t.entries[b].Path) })
	var above Entry // the last entry that may have nothing below it
	for _, i := range order {
		e := t.entries[i]
		if above.Path != "" && strings.HasPrefix(e.Path, above.Path) && e.Path[len(above.Path)] == '/' {
			if err := t.report(problem.PathParent, e.Path, "%s is a %s; expected a directory, since this entry lies below it",
				problem.Quoted(above.Path), above.Type); err != nil {
				return err
			}
		} else if e.Type != Directory {
			above = e
		}
	}
	return nil
}

func (t *tree) checkCase() error {
	fold := cases.Fold()
	// Only paths that folding changes can collide: with another such path, or with the folded path
	// itself.
	changed := map[string]string{}
	for i := range t.entries {
		p := t.entries[i].Path
		f := folded(fold, p)
		if f == p {
			continue
		}
		other, ok := changed[f]
		if _, exact := t.byPath[f]; exact {
			other, ok = f, true
		}
		if ok {
			if err := t.report(problem.PathCaseFold, p, "the path equals %s but for case; expected paths that differ by more",
				problem.Quoted(other)); err != nil {
				return err
			}
			continue
		}
		changed[f] = p
	}
	return nil
}
