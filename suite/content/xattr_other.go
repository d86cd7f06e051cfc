//go:build !linux

package content

import "os"

// hasCapability is always false: only Linux knows file capabilities.
func hasCapability(*os.File) (bool, error) { return false, nil }
