// Command harness is the example of an agent harness: the process that an
// Agent Sandbox Image starts. It finds the agent and its tool providers in
// /.agentsuite, starts the providers, and calls their declared tools, and no
// other, by name. It has no model; whoever runs it takes the model's part.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is the caller's mistake in writing the command.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, lookup func(string) (string, bool), stdout, stderr io.Writer) int {
	h := &harness{runner: runner{lookup: lookup, redact: strings.NewReplacer().Replace}}
	cmd := newCommand(h)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "harness:", h.redact(err.Error()))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailure
}

// harness is the state of one command.
type harness struct {
	runner
	root  string
	agent *agent
}

func newCommand(h *harness) *cobra.Command {
	root := &cobra.Command{
		Use:   "harness",
		Short: "Start an agent's tool providers and show what the agent can call",
		Args:  usageArgs(cobra.NoArgs),
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			if h.agent, err = loadAgent(h.root); err == nil {
				h.redact = newRedactor(h.agent, h.lookup)
			}
			return err
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return h.show(cmd) },
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().StringVar(&h.root, "root", "/", "directory that holds the agent image's filesystem")
	root.PersistentFlags().DurationVar(&h.timeout, "timeout", 30*time.Second,
		"how long a provider may take to get ready, and a call to be answered")
	root.AddCommand(&cobra.Command{
		Use:   "call TOOL [ARGUMENTS]",
		Short: "Call one declared tool and print its structured result as JSON",
		Long: "Call one declared tool and print its structured result as JSON.\n\n" +
			"TOOL is the tool's name, or provider@version/tool where several providers have one of that name.\n" +
			"ARGUMENTS is a JSON object; without it, the empty one.",
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments := map[string]any{}
			if len(args) == 2 {
				if err := json.Unmarshal([]byte(args[1]), &arguments); err != nil || arguments == nil {
					return usageError{errors.New("the tool's arguments must be one JSON object, like '{\"name\": \"value\"}'")}
				}
			}
			return h.call(cmd, args[0], arguments)
		},
	})
	return root
}

func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w; try %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}

// show starts all providers, which proves that they keep their contracts, and
// prints the agent and its tools.
func (h *harness) show(cmd *cobra.Command) error {
	sessions, err := h.startAll(cmd.Context(), h.agent.providers)
	if err != nil {
		return err
	}
	defer closeAll(sessions)
	var text strings.Builder
	fmt.Fprintf(&text, "agent %s on %s\n", h.agent.id, h.agent.platform)
	for _, s := range sessions {
		h.report(cmd, s)
		for _, t := range s.provider.tools {
			note := ""
			if why := t.refusal(); why != "" {
				note = " (never called: " + why + ")"
			}
			fmt.Fprintf(&text, "  %s%s\n", strings.TrimSpace(t.String()+"  "+oneLine(t.description)), note)
		}
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), text.String())
	return err
}

// call settles whether the tool may be called before any process is started,
// and then starts only the provider that has it.
func (h *harness) call(cmd *cobra.Command, name string, arguments map[string]any) error {
	t, err := h.agent.find(name)
	if err != nil {
		return err
	}
	if why := t.refusal(); why != "" {
		return fmt.Errorf("%s is not called: %s", t, why)
	}
	s, err := h.start(cmd.Context(), t.provider)
	if err != nil {
		return err
	}
	defer s.close()
	h.report(cmd, s)
	result, err := s.call(cmd.Context(), t, arguments)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("%s: printing its result: %w", t, err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), h.redact(string(text)))
	return err
}

func (h *harness) report(cmd *cobra.Command, s *session) {
	if len(s.undeclared) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "harness: tool provider %s offers tools that its manifest does not declare; they cannot be called: %q\n",
			s.provider, s.undeclared)
	}
}

// oneLine makes a description harmless to a terminal.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}
