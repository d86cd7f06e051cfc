// Command agentsuite-llb authors, validates, packs, plans, builds and verifies AgentSuite suites and their
// sandbox images.
package main

//go:generate go test . -run ^TestDocs$ -update

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Exit statuses, the same for every command.
const (
	exitGood    = 0 // done, and what was looked at is good
	exitInvalid = 1 // what was looked at is invalid, or differs from what it should be
	exitTrouble = 2 // wrong usage, or trouble with reading, writing or a daemon
)

// errInvalid ends a command whose output already says why what it looked at is not good.
var errInvalid = errors.New("not valid")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &trackedWriter{Writer: stdout}
	s := &streams{
		in: &interruptible{ctx: ctx, r: stdin}, out: out, err: stderr,
		outStyle: newStyle(stdout, os.Getenv), errStyle: newStyle(stderr, os.Getenv),
	}
	// A command that is never reached because its arguments are wrong still answers in the format that
	// its caller reads.
	s.json = wantsJSON(args)

	cmd := newRootCommand(s)
	cmd.SetArgs(append([]string{}, args...)) // nil would mean those of the process
	err := cmd.ExecuteContext(ctx)
	if out.err != nil {
		if !brokenPipe(out.err) {
			s.trouble(out.err)
		}
		return exitTrouble
	}
	var (
		invalid *problem.Error
		ended   *refused
	)
	switch {
	case err == nil:
		return exitGood
	case errors.Is(err, errInvalid):
		return exitInvalid
	case errors.As(err, &invalid):
		s.failed(err, invalid.Problems)
		return exitInvalid
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	case errors.As(err, &ended):
		s.failed(err, nil)
		return exitInvalid
	}
	s.failed(err, nil)
	return exitTrouble
}

// trackedWriter remembers the first error of a writer, so that no command has to look at every line that
// it prints.
type trackedWriter struct {
	io.Writer
	err error
}

func (w *trackedWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.Writer.Write(p)
	w.err = err
	return n, err
}

// interruptible is a reader whose Read ends with the context, even while it waits for somebody to type or to write.
// What is read then is lost.
type interruptible struct {
	ctx context.Context //nolint:containedctx // an io.Reader has no other way to carry one
	r   io.Reader
	buf []byte
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	if len(i.buf) < len(p) {
		i.buf = make([]byte, len(p))
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	buf := i.buf[:len(p)] // its own, for it may be written to after Read has given up
	go func() {
		n, err := i.r.Read(buf)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return copy(p, buf[:r.n]), r.err
	case <-i.ctx.Done():
		i.buf = nil
		return 0, i.ctx.Err()
	}
}

// brokenPipe tells whether the reader of our output went away, as head does. That is its right.
func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// wantsJSON tells from bare arguments whether they ask for JSON. The last --format counts, as it does for
// the flag.
func wantsJSON(args []string) bool {
	format := ""
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--format="); ok {
			format = value
		} else if arg == "--format" && i+1 < len(args) {
			format = args[i+1]
		}
	}
	return format == "json"
}
