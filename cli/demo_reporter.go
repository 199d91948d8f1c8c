package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/proccluster"
)

// reporter reports a demonstration: to a terminal, to a pipe, or not at all with --json.
type reporter interface {
	start(f *demoFlags)
	attach(f *proccluster.Cluster)                                         // the nodes of f run from now on
	detach()                                                               // the nodes are about to be stopped
	print(t style, states []proccluster.State, format string, args ...any) // prints a line, and states if not nil
	wait(ctx context.Context, d time.Duration) error                       // pauses for a reader at a terminal
	printRunning(states []proccluster.State)                               // the nodes run until Ctrl-C
	stop(err error, closing []string)
}

// style is the meaning of a line: it selects the color.
type style int

const (
	plain style = iota
	good
	bad
)

func newReporter(out io.Writer, flags *demoFlags) reporter {
	switch {
	case flags.json:
		return &lines{out: io.Discard}
	case redraws(out):
		return newScreen(out.(*os.File))
	}
	return &lines{out: out}
}

// title returns the first line of the demonstration.
func title(f *demoFlags) string {
	text := fmt.Sprintf("%d processes on this machine elect by %s (timing: %s)", f.nodes, f.variant(), f.preset)
	if f.chaos > 0 {
		text += fmt.Sprintf(", and random faults disturb them for %v (seed %d)", f.chaos, f.seed)
	}
	return text
}

const (
	runningHint = "The cluster runs until Ctrl-C. From another terminal: kill -9 a pid, or elect status an address."
	farewell    = "All processes are stopped, nothing is left behind."
)

// leftNothing reports whether a demonstration that ended with err has cleaned up: err holds no error of Close, at most
// an interruption.
func leftNothing(err error) bool {
	return !slices.ContainsFunc(diag.Flatten(err), func(e error) bool { return !errors.Is(e, errInterrupted) })
}

// role names the role of a node in its own view.
func role(s proccluster.State) string {
	switch {
	case s.ProcState != proccluster.Up:
		return string(s.ProcState)
	case s.ReadyAt == 0:
		return "starting"
	case s.IsLeader:
		return "leader"
	case s.LeaderID == "":
		return "electing"
	}
	return "follower"
}

// table returns the names of the columns, and a line for each node.
func table(states []proccluster.State) []string {
	var text strings.Builder
	rows := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	// Roles change, and the width of their column must not.
	fmt.Fprintf(rows, "NODE\t%-8s\tLEADER\tEPOCH\tSENT\tADDRESS\tPID\n", "STATE")
	for _, s := range states {
		leader, epoch, sent, pid := "-", "-", strconv.Itoa(s.Total()), strconv.Itoa(s.Pid)
		if s.Leader != "" && s.ProcState == proccluster.Up {
			leader, epoch = s.Leader, strconv.FormatUint(s.Epoch, 10)
		}
		if s.ProcState == proccluster.Down {
			sent, pid = "-", "-"
		}
		fmt.Fprintf(rows, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, role(s), leader, epoch, sent, s.Addr, pid)
	}
	rows.Flush()
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// lines reports a demonstration to a pipe or a file.
type lines struct{ out io.Writer }

func (l *lines) start(f *demoFlags)                        { fmt.Fprintf(l.out, "%s\n\n", title(f)) }
func (l *lines) attach(*proccluster.Cluster)               {}
func (l *lines) detach()                                   {}
func (l *lines) wait(context.Context, time.Duration) error { return nil }

func (l *lines) print(t style, states []proccluster.State, format string, args ...any) {
	if t == bad {
		fmt.Fprintln(l.out) // something new begins
	}
	fmt.Fprintf(l.out, format+"\n", args...)
	if states != nil {
		fmt.Fprintln(l.out, "  "+strings.Join(table(states), "\n  "))
	}
}

func (l *lines) printRunning(states []proccluster.State) {
	for _, s := range states {
		fmt.Fprintf(l.out, "%s  %s  pid %d\n", s.Name, s.Addr, s.Pid)
	}
	fmt.Fprintln(l.out, runningHint)
}

func (l *lines) stop(err error, closing []string) {
	if leftNothing(err) {
		fmt.Fprintln(l.out, "\n"+strings.Join(closing, "\n"))
	}
}
