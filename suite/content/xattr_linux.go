package content

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// HasCapability tells whether a file carries capabilities. Of all extended attributes of a file on
// disk they alone would reach an image and change what the file may do there.
func HasCapability(file *os.File) (bool, error) {
	// Fd would change the file's mode of blocking, for a call or two more a file.
	conn, err := file.SyscallConn()
	if err != nil {
		return false, err
	}
	n := 0
	if failed := conn.Control(func(fd uintptr) { n, err = unix.Fgetxattr(int(fd), "security.capability", nil) }); failed != nil {
		return false, failed
	}
	switch {
	case err == nil:
		return n > 0, nil
	case errors.Is(err, unix.ENODATA), errors.Is(err, unix.ENOTSUP):
		return false, nil
	}
	return false, fmt.Errorf("reading the capabilities of %s: %w", file.Name(), err)
}
