//go:build !linux

package content

import "os"

// HasCapability is always false: only Linux knows file capabilities.
func HasCapability(*os.File) (bool, error) { return false, nil }
