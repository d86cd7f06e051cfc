package content

import (
	"errors"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// pathBytes is the length of a content path, and of a symlink's target.
const pathBytes = 1024

var (
	errPathEmpty     = errors.New("it is empty")
	errPathLong      = errors.New("it is longer than 1,024 bytes")
	errPathUTF8      = errors.New("it is not UTF-8")
	errPathNUL       = errors.New("it contains a NUL")
	errPathBackslash = errors.New("it contains a backslash")
	errPathAbsolute  = errors.New("it is absolute")
	errPathRoot      = errors.New("it names the content root, which has no entry")
	errPathParent    = errors.New("it leads out of the content root")
	errPathClean     = errors.New(`it is not clean; leave out ".", ".." and doubled slashes`)
)

// CheckPath says why a text is no content path (section 5.2), or nil. The error completes a sentence
// that has named the path.
func CheckPath(p string) error {
	switch {
	case p == "":
		return errPathEmpty
	case len(p) > pathBytes:
		return errPathLong
	case !utf8.ValidString(p):
		return errPathUTF8
	case strings.IndexByte(p, 0) >= 0:
		return errPathNUL
	case strings.IndexByte(p, '\\') >= 0:
		return errPathBackslash
	case p[0] == '/':
		return errPathAbsolute
	}
	switch clean := path.Clean(p); {
	case clean == ".":
		return errPathRoot
	case escapes(clean):
		return errPathParent
	case clean != p:
		return errPathClean
	}
	return nil
}

// escapes tells whether a clean relative path leads out of where it starts.
func escapes(clean string) bool {
	return clean == ".." || strings.HasPrefix(clean, "../")
}

// checkTarget says why a text is no target for the symlink at a content path, or nil. Targets are
// resolved as text, as if no directory on the way were a symlink itself: every such symlink is
// checked too.
func checkTarget(link, target string) error {
	switch {
	case target == "":
		return errPathEmpty
	case len(target) > pathBytes:
		return errPathLong
	case !utf8.ValidString(target):
		return errPathUTF8
	case strings.IndexByte(target, 0) >= 0:
		return errPathNUL
	case strings.IndexByte(target, '\\') >= 0:
		return errPathBackslash
	case target[0] == '/':
		return errPathAbsolute
	}
	switch resolved := path.Join(path.Dir(link), target); {
	case resolved == ".":
		return errors.New("it is the content root itself")
	case escapes(resolved):
		return errPathParent
	}
	return nil
}

// folded returns the path after full Unicode case folding. Nearly all paths are ASCII, where folding
// is lowering.
func folded(fold cases.Caser, p string) string {
	for i := range len(p) {
		if p[i] >= utf8.RuneSelf {
			return fold.String(p)
		}
	}
	return strings.ToLower(p)
}

// ComparePaths orders paths so that everything below a directory directly follows it: a slash sorts before
// every other byte.
func ComparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		case a[i] < b[i]:
			return -1
		default:
			return 1
		}
	}
	return len(a) - len(b)
}
