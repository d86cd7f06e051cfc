package problem

import "strings"

// Suggest returns the known name that an unknown one was probably meant to be: equal but for case, or
// at most a third of its bytes away. The first of equally near names wins. Names longer than any that
// people write are neither looked for nor proposed, because comparing costs the product of two lengths.
func Suggest(name string, known []string) (string, bool) {
	const longest = 128
	if len(name) > longest {
		return "", false
	}
	best, nearest := "", len(name)/3+1
	for _, candidate := range known {
		if strings.EqualFold(name, candidate) {
			return candidate, true
		}
		if len(candidate) > longest {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < nearest {
			best, nearest = candidate, d
		}
	}
	return best, best != ""
}

// distance counts the insertions, deletions, replacements and swaps of neighbours between two names.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
