//go:build unix

package content

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openStream opens what is neither a directory nor a regular file. Opening a pipe waits for whoever is going
// to write, and reading it for what they write; both end with the context.
func openStream(ctx context.Context, path string, stat fs.FileInfo) (file *os.File, done func(), err error) {
	if stat.Mode()&fs.ModeNamedPipe == 0 {
		file, err = os.Open(path)
		return file, func() {}, err
	}
	if file, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })
	if err := awaitWriter(file); err != nil {
		stop()
		return nil, nil, errors.Join(cause(ctx, err), file.Close())
	}
	return file, func() { stop() }, nil
}

// awaitWriter waits until a pipe can be read: before, its end cannot be told from nobody having come yet.
func awaitWriter(pipe *os.File) error {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(fd uintptr) bool {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // descriptors are small
		return ready > 0 || err != nil
	})
}

// cause is the context's end, where that is why something failed.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
