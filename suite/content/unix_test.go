package content_test

import (
	"time"

	"golang.org/x/sys/unix"
)

var fixedTime = time.Unix(1700000000, 0)

func mkfifo(path string) error { return unix.Mkfifo(path, 0o644) }
