package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// closeGrace is how long a provider may take to exit once its input is
	// closed, before it is asked to terminate and then killed.
	closeGrace = 2 * time.Second
	// maxOfferedTools bounds what a provider can make us keep.
	maxOfferedTools = 4096
	// A provider's standard error is kept well beyond what is quoted of it, so
	// that no secret at the cut escapes the redaction.
	maxStderrTail   = 256 << 10
	maxQuotedStderr = 2 << 10
)

// runner holds what all providers of one agent are run with.
type runner struct {
	lookup  func(string) (string, bool) // the harness's environment
	redact  func(string) string         // strikes out secret values
	timeout time.Duration               // for a provider to get ready, and for one call
}

// session is a provider's running process, ready for calls.
type session struct {
	runner
	provider   *provider
	client     *mcp.ClientSession
	kill       context.CancelCauseFunc // ends the process at once
	stderr     tailWriter
	undeclared []string // tools that it offers and its manifest does not declare
}

// start starts p and returns once its process has shown that it speaks the
// declared protocol revision and offers every tool that the manifest declares.
// A process that does not within the timeout is killed.
func (r runner) start(ctx context.Context, p *provider) (*session, error) {
	env, err := p.variant.environ(r.lookup)
	if err != nil {
		return nil, fmt.Errorf("tool provider %s: %w", p, err)
	}
	// The process lives as long as this context; the timer ends it only while
	// the process is not ready.
	ctx, kill := context.WithCancelCause(ctx)
	timer := time.AfterFunc(r.timeout, func() { kill(fmt.Errorf("not ready within %s", r.timeout)) })
	defer timer.Stop()

	s := &session{runner: r, provider: p, kill: kill}
	cmd := exec.CommandContext(ctx, p.entrypoint, p.variant.Arguments...)
	cmd.Env = env
	cmd.Dir = "/"
	cmd.Stderr = &s.stderr
	// A group of its own, so that killing a provider kills all that it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = closeGrace

	err = s.handshake(ctx, cmd)
	if err == nil && timer.Stop() {
		return s, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	s.kill(err)
	s.close()
	return nil, s.explain("starting", err)
}

func (s *session) handshake(ctx context.Context, cmd *exec.Cmd) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "agentsuite-example-harness", Version: "1.0.0"},
		// No capabilities: a provider can ask nothing of us.
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	s.client, err = client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: closeGrace},
		&mcp.ClientSessionOptions{ProtocolVersion: s.provider.revision})
	if err != nil {
		return err
	}
	if got := s.client.InitializeResult().ProtocolVersion; got != s.provider.revision {
		return fmt.Errorf("it speaks the MCP revision %q, its manifest declares %q", got, s.provider.revision)
	}
	offered, err := s.offeredTools(ctx)
	if err != nil {
		return fmt.Errorf("listing its tools: %w", err)
	}
	var missing []string
	for _, t := range s.provider.tools {
		if !slices.Contains(offered, t.name) {
			missing = append(missing, t.name)
		}
	}
	if missing != nil {
		return fmt.Errorf("it does not offer what its manifest declares: %s", strings.Join(missing, ", "))
	}
	s.undeclared = slices.DeleteFunc(offered, func(name string) bool {
		return slices.ContainsFunc(s.provider.tools, func(t *tool) bool { return t.name == name })
	})
	return nil
}

func (s *session) offeredTools(ctx context.Context) ([]string, error) {
	var names []string
	for t, err := range s.client.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(names) == maxOfferedTools {
			return nil, fmt.Errorf("more than %d tools", maxOfferedTools)
		}
		names = append(names, t.Name)
	}
	return names, nil
}

// call calls the declared tool t with an argument object that satisfies its
// input schema. It returns the structured result, which satisfies the output
// schema, or the result's content where no structure is declared or given.
func (s *session) call(ctx context.Context, t *tool, arguments map[string]any) (any, error) {
	if err := t.input.Validate(arguments); err != nil {
		return nil, fmt.Errorf("%s: the arguments do not satisfy its input schema: %w", t, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("no answer within %s", s.timeout))
	defer cancel()
	result, err := s.client.CallTool(ctx, &mcp.CallToolParams{Name: t.name, Arguments: arguments})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		// It may be stuck; there is nothing to wait for.
		s.kill(err)
		return nil, s.explain("calling "+t.name, err)
	}
	if result.IsError {
		return nil, fmt.Errorf("%s failed: %s", t, textOf(result.Content))
	}
	if t.output != nil {
		if result.StructuredContent == nil {
			return nil, fmt.Errorf("%s answered without the structured result that it declares", t)
		}
		if err := t.output.Validate(result.StructuredContent); err != nil {
			return nil, fmt.Errorf("%s: its result does not satisfy its output schema: %w", t, err)
		}
	}
	if result.StructuredContent == nil {
		return map[string]any{"content": result.Content}, nil
	}
	return result.StructuredContent, nil
}

// close lets the process exit by itself, or kills it when it does not in time.
// How it exits no longer matters.
func (s *session) close() {
	if s.client != nil {
		_ = s.client.Close()
	}
	s.kill(nil)
}

// explain says which provider failed at what, and what it last wrote to its
// standard error.
func (s *session) explain(doing string, err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("it closed its output instead of answering")
	}
	err = fmt.Errorf("tool provider %s: %s: %w", s.provider, doing, err)
	if said := strings.TrimSpace(s.redact(s.stderr.String())); said != "" {
		err = fmt.Errorf("%w; its standard error ends with %q", err, said[max(0, len(said)-maxQuotedStderr):])
	}
	return err
}

func textOf(content []mcp.Content) string {
	var texts []string
	for _, c := range content {
		if text, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	if len(texts) == 0 {
		return "it gives no reason"
	}
	return fmt.Sprintf("%q", strings.Join(texts, "\n"))
}

// tailWriter keeps the last maxStderrTail bytes written to it.
type tailWriter struct {
	mu   sync.Mutex
	tail []byte
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail = append(w.tail, p[max(0, len(p)-maxStderrTail):]...)
	w.tail = slices.Delete(w.tail, 0, max(0, len(w.tail)-maxStderrTail))
	return len(p), nil
}

func (w *tailWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.tail)
}

// startAll starts all providers at the same time and returns their sessions in
// the same order, or every failure and no session.
func (r runner) startAll(ctx context.Context, providers []*provider) ([]*session, error) {
	sessions := make([]*session, len(providers))
	failures := make([]error, len(providers))
	var wg sync.WaitGroup
	for i, p := range providers {
		wg.Go(func() { sessions[i], failures[i] = r.start(ctx, p) })
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		closeAll(slices.DeleteFunc(sessions, func(s *session) bool { return s == nil }))
		return nil, err
	}
	return sessions, nil
}

// closeAll closes all sessions at the same time.
func closeAll(sessions []*session) {
	var wg sync.WaitGroup
	for _, s := range sessions {
		wg.Go(s.close)
	}
	wg.Wait()
}
