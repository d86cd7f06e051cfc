package abi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// checkVersion holds the declared abiVersion against the GLIBC versions that a file needs. A variant
// whose abiVersion is no number of that form says nothing that a file could contradict.
func (c *checker) checkVersion(b Bundle, p string, file *ELF) {
	declared := glibcVersion(b.Runtime.ABIVersion)
	if b.Runtime.ABI != abiGNU || declared == nil {
		return
	}
	var highest []int
	for _, versions := range file.Versions {
		for _, version := range versions {
			number, ok := strings.CutPrefix(version, "GLIBC_")
			if v := glibcVersion(number); ok && slices.Compare(v, highest) > 0 {
				highest = v
			}
		}
	}
	if slices.Compare(highest, declared) > 0 {
		c.report(problem.ABIVersion, b, p, "needs glibc %s, abiVersion is %s; declare what the files need",
			joinVersion(highest), problem.Quoted(b.Runtime.ABIVersion))
	}
}

// glibcVersion splits a version such as 2.3.4 into its numbers; nil if it is none.
func glibcVersion(s string) []int {
	if !strings.Contains(s, ".") {
		return nil
	}
	var version []int
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil
		}
		version = append(version, n)
	}
	return version
}

func joinVersion(version []int) string {
	parts := make([]string, len(version))
	for i, n := range version {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ".")
}
