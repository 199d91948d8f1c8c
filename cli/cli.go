// Package cli is the command elect. It runs a member of a cluster that elects a leader, requests the status of members,
// and simulates, searches and measures elections. The caller provides the algorithms:
//
//	func main() {
//		registry := builtin.Registry()
//		registry["omega"] = omega.Factory // an algorithm of your own
//		cli.Main(registry)
//	}
//
// [MainEngine] is the command of an outside engine, such as etcd, with the same run and watch.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/buildinfo"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/logqueue"
)

// exit statuses
const (
	statusFailed      = 1   // the command failed
	statusUsage       = 2   // the command line or the configuration is wrong
	statusCut         = 3   // a limit cut the command short
	statusInterrupted = 130 // Ctrl-C, as in shells, or another signal that ends the command in order
)

// Main runs the command with the arguments of the process and the algorithms of registry, and exits with its status.
// In its output, the command is called elect, whatever the name of the program is.
func Main(registry algo.Registry) {
	if form, ok := watchdogArgs(os.Args[1:]); ok { // it needs no other command and no setting
		os.Exit(serveWatchdog(form, reportEnd, os.Stderr))
	}
	p := newProgram(registry)
	p.ownsProcess = true
	os.Exit(p.run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// program is the command with its algorithms.
type program struct {
	registry algo.Registry
	fields   *confload.Table // all settings of a node
	// root returns the command: a field, so that the command of another engine links only what it has.
	root func() *cobra.Command
	// selfCommand returns the first words of a command line that runs this program.
	selfCommand func() ([]string, error)
	// stdin is the input of commands; nil for that of the process.
	stdin io.Reader
	// ownsProcess is false in tests: a test process has other children and arguments, and several commands at a time.
	ownsProcess bool
}

func newProgram(registry algo.Registry) *program {
	p := &program{registry: registry, fields: confload.NewTable(registry), selfCommand: func() ([]string, error) {
		path, err := os.Executable()
		return []string{path}, err
	}}
	p.root = p.newRoot
	return p
}

// run runs the whole command and returns its exit status. Caught signals stay caught until ctx ends: by default, a late
// signal would kill the process before its last lines are written.
func (p *program) run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := p.root()
	root.SetArgs(append([]string{}, args...)) // for nil, cobra would use the arguments of the process
	root.SetIn(p.stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	addCompletion(root)
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	cmd, err := root.ExecuteContextC(ctx)
	stderr = root.ErrOrStderr()
	if queue, logs := stderr.(*logqueue.Queue); logs {
		defer p.closeLog(queue)
	}
	if err == nil {
		return 0
	}
	exit, special := errors.AsType[*exitError](err)
	if special && exit.text == "" {
		return exit.status
	}
	list, wrong := errors.AsType[*diag.Error](err)
	json := wantsJSON(root, cmd, args)
	switch {
	case json && wrong:
		logger(stderr, "json", slog.LevelError).Error("the configuration is wrong", "problems", list.Problems)
	case json:
		logger(stderr, "json", slog.LevelError).Error("ended by an error", "error", err)
	default:
		fmt.Fprintf(stderr, "%s: %v\n", root.Name(), err)
	}
	switch {
	case special:
		return exit.status
	case !wrong && began: // an error before the command starts is about its arguments
		return statusFailed
	case !json && !strings.Contains(err.Error(), "\n"):
		cmd, _, err := root.Find(args)
		if err != nil {
			cmd = root
		}
		fmt.Fprintf(stderr, "See '%s %s--help'.\n", root.Name(), commandOf(cmd))
	}
	return statusUsage
}

// closeLog writes the rest of the log. It closes the queue only if the process is about to exit.
func (p *program) closeLog(queue *logqueue.Queue) {
	if p.ownsProcess {
		queue.Close()
		return
	}
	queue.Wait()
}

// exitError is an error with an exit status of its own. Without a text, nothing is left to print.
type exitError struct {
	status int
	text   string
}

func (e *exitError) Error() string { return e.text }

var errInterrupted = &exitError{statusInterrupted, "interrupted"}

func (p *program) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "elect",
		Short: "Leader election for a small fleet",
		Long: `Leader election for a small fleet of processes, with nothing else to run first.

Exit status: 0 done, 1 the command failed or a property is violated, 2 a problem in the
command line or in the configuration, 3 a limit cut the command short, 130 a signal
(Ctrl-C, SIGTERM, SIGHUP) ended it early.`,
		Example: `  elect demo                            watch five processes replace a killed leader
  elect config example > elect.yaml     print a first configuration
  elect node --config /etc/elect.yaml   run a member
  elect run --config /etc/elect.yaml -- ./worker    run a member, and a command while it leads
  elect status 10.0.0.1:7400            ask any member for the leader
  elect sim --crashed 1 --diagram       count an election, and draw it
  elect explore --algorithm ring        visit every state of a small cluster
  elect lab                             see a scenario run in the browser
  elect lesson 1                        learn how bully elects, step by step
  elect exercise new bully my-bully     make the first exercise; 'elect grade my-bully' grades it
  elect new cup                         make an algorithm of your own
  elect completion bash > /etc/bash_completion.d/elect    complete commands and flags with the tab key`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       buildinfo.Read().String(), // no template: one keeps all exported methods, 3 MB
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return explainFlag(err) })
	root.AddCommand(p.newBench(), newCert(), p.newConfig(), p.newDebug(), p.newDemo(), p.newExercise(), p.newExplore(), newGrade(), p.newLab(), p.newLeave(), p.newLesson(), newMan(), p.newNew(), p.newNode(), p.newPriority(), p.newRecover(), p.newRemove(), p.newResign(), p.newRun(), newWork(), newScenarioTopic(), newSecret(), p.newSim(), p.newStatus(), newVersion(), p.newWatch())
	return root
}

// explainFlag returns a usage error that names the values that the flag takes.
func explainFlag(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return usagef("%v", err)
	}
	wants := map[string]string{
		"int": "a whole number", "intSlice": "whole numbers with commas", "float64": "a number", "uint64": "a whole number, not negative", "bool": "true or false",
		"duration": "a duration with its unit, as 300ms or 1.5s",
	}
	want, ok := wants[invalid.GetFlag().Value.Type()]
	if !ok {
		want = "another value"
	}
	name := invalid.GetFlag().Name
	var problems diag.List
	problems.Add(&algo.SettingError{
		Field: name, Got: strconv.Quote(invalid.GetValue()), Want: want, Origin: algo.Origin{Source: diag.Flag, Name: "--" + name},
	})
	return problems.Err(commandLinePlace)
}

// commandOf returns the words of a command after elect, each followed by a space.
func commandOf(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath()+" ", " ")
	return path
}

// interruptible returns a context that ends at the first signal. Later signals have no effect, so that the command can
// clean up. SIGPIPE does not end the process either.
func interruptible(cmd *cobra.Command) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	signals := make(chan os.Signal, 1)
	catch(cmd, signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	catchSIGPIPE()
	go func() {
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// catch calls signal.Notify, and undoes it when the context of cmd ends, which is that of run.
func catch(cmd *cobra.Command, to chan<- os.Signal, signals ...os.Signal) {
	signal.Notify(to, signals...)
	context.AfterFunc(cmd.Context(), func() { signal.Stop(to) })
}

// catchSIGPIPE makes a write to a pipe without a reader fail, where SIGPIPE would end the process.
// The signal is caught and not ignored, because child processes inherit an ignored signal.
func catchSIGPIPE() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// rows returns a table of two columns, and a function that adds a row: a name and its value.
func rows(out io.Writer) (*tabwriter.Writer, func(name, format string, args ...any)) {
	return wideRows(out, 0)
}

// wideRows is rows with names of at least a width, so that two tables have the same columns.
func wideRows(out io.Writer, width int) (*tabwriter.Writer, func(name, format string, args ...any)) {
	table := tabwriter.NewWriter(out, width, 0, 2, ' ', 0)
	return table, func(name, format string, args ...any) { fmt.Fprintf(table, name+"\t"+format+"\n", args...) }
}

// exactly requires n arguments, none of them empty; want describes them in the error.
func exactly(n int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n || slices.Contains(args, "") {
			return usagef("%swants %s, and got %d", commandOf(cmd), want, len(args))
		}
		return nil
	}
}

// checkAddress requires addr to be host:port; what names it in the error.
func checkAddress(what, addr string) error {
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		return usagef("%s is %q, want host:port", what, addr)
	}
	return nil
}

// commandLinePlace is the place of the problems that usagef reports.
const commandLinePlace = "command line"

// usagef returns the error for a problem in the command line.
func usagef(format string, args ...any) error {
	var m diag.List
	m.Addf(format, args...)
	return m.Err(commandLinePlace)
}
