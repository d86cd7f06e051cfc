package abi

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// isaLevelName names the highest of the x86 ISA levels in a GNU property.
func isaLevelName(levels uint32) string {
	if levels == 0 {
		return ""
	}
	return fmt.Sprintf("x86-64-v%d", bits.Len32(levels))
}

// isaLevel is the number of an x86 ISA level: 1 for "x86-64" and "x86-64-v1", and so on. It is 0 for
// what is no level's name.
func isaLevel(name string) int {
	if name == "x86-64" {
		return 1
	}
	digits, ok := strings.CutPrefix(name, "x86-64-v")
	if !ok {
		return 0
	}
	level, err := strconv.Atoi(digits)
	if err != nil || level < 1 {
		return 0
	}
	return level
}
