package suite

import (
	"slices"
	"strings"
)

// maxSuggestions bounds what closest looks at: a suite of ten thousand names must not make every
// unknown one cost ten thousand comparisons.
const maxSuggestions = 1_000

// closest returns the name that was probably meant: the one whose id is the given one when only the
// version was left out, else the nearest by edit distance within a third of its length. It is empty
// when nothing is near. Of equally near names the first counts.
func closest(name string, names []string) string {
	if len(name) > 128 {
		return ""
	}
	for _, n := range names {
		if id, _, versioned := strings.Cut(n, "@"); versioned && id == name {
			return n
		}
	}
	best, bestDistance := "", max(len(name)/3, 1)+1
	for _, n := range names[:min(len(names), maxSuggestions)] {
		if d := editDistance(name, n, bestDistance); d < bestDistance {
			best, bestDistance = n, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions, replacements and exchanges of neighbours that turn
// one text into the other; limit or more is limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		if slices.Min(row) >= limit {
			return limit
		}
		before, last = last, row
	}
	return min(last[len(b)], limit)
}
