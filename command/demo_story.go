package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/internal/config"
	"github.com/elect-go/elect/internal/fleet"
)

// story is how a demonstration is told: to a terminal, to a pipe, or not at all where
// JSON is asked for.
type story interface {
	begin(f *demoFlags)
	attach(f *fleet.Fleet)                                         // its nodes run from now on
	detach()                                                       // they are about to be stopped
	tell(t tone, states []fleet.State, format string, args ...any) // a line; with states also what they are
	rest(ctx context.Context, d time.Duration) error               // time to look, where somebody looks
	kept(states []fleet.State)                                     // they stay until Ctrl-C
	end(err error)
}

// tone says how a line is meant.
type tone int

const (
	plain tone = iota
	good
	bad
)

func newStory(out io.Writer, flags *demoFlags) story {
	if flags.json {
		return silence{}
	}
	if redraws(out) {
		return newScreen(out.(*os.File))
	}
	return &lines{out: out}
}

// title is the first line.
func title(f *demoFlags) string {
	return fmt.Sprintf("%d processes on this machine elect by %s (timing: %s)", f.nodes, f.algorithm, f.preset)
}

const (
	keptHint = "The cluster runs until Ctrl-C. From another terminal: kill -9 a pid, or elect status an address."
	farewell = "All processes are stopped, nothing is left behind."
)

// leftNothing reports whether a demonstration that ended with err, an interruption perhaps,
// has cleaned up: what Close could not do stands in err beside that.
func leftNothing(err error) bool {
	return !slices.ContainsFunc(config.Leaves(err), func(e error) bool { return !errors.Is(e, errInterrupted) })
}

// role is what a node takes itself for.
func role(s fleet.State) string {
	switch {
	case s.Life != fleet.Up:
		return string(s.Life)
	case s.Ready == 0:
		return "starting"
	case s.Leads:
		return "leader"
	case s.LeaderID == "":
		return "electing"
	}
	return "follower"
}

var columns = []string{"NODE", "STATE", "LEADER", "EPOCH", "SENT", "ADDRESS", "PID"}

// cells is a row of the table of nodes.
func cells(s fleet.State) []string {
	row := []string{s.Name, role(s), "-", "-", strconv.Itoa(s.Total()), s.Addr, strconv.Itoa(s.Pid)}
	if s.Leader != "" && s.Life == fleet.Up {
		row[2], row[3] = s.Leader, strconv.FormatUint(s.Epoch, 10)
	}
	if s.Life == fleet.Down {
		row[4], row[6] = "-", "-"
	}
	return row
}

// table aligns the columns, the first line being their names.
func table(states []fleet.State) []string {
	rows := [][]string{columns}
	for _, s := range states {
		rows = append(rows, cells(s))
	}
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	widths[1] = max(widths[1], len("follower"))
	text := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			fmt.Fprintf(&b, "%-*s  ", widths[j]+1, cell)
		}
		text[i] = strings.TrimRight(b.String(), " ")
	}
	return text
}

// silence tells nothing.
type silence struct{}

func (silence) begin(*demoFlags)                          {}
func (silence) attach(*fleet.Fleet)                       {}
func (silence) detach()                                   {}
func (silence) tell(tone, []fleet.State, string, ...any)  {}
func (silence) rest(context.Context, time.Duration) error { return nil }
func (silence) kept([]fleet.State)                        {}
func (silence) end(error)                                 {}

// lines tells a pipe or a file.
type lines struct{ out io.Writer }

func (l *lines) begin(f *demoFlags)                        { fmt.Fprintf(l.out, "%s\n\n", title(f)) }
func (l *lines) attach(*fleet.Fleet)                       {}
func (l *lines) detach()                                   {}
func (l *lines) rest(context.Context, time.Duration) error { return nil }

func (l *lines) tell(t tone, states []fleet.State, format string, args ...any) {
	if t == bad {
		fmt.Fprintln(l.out) // something new begins
	}
	fmt.Fprintf(l.out, format+"\n", args...)
	if states != nil {
		fmt.Fprintln(l.out, "  "+strings.Join(table(states), "\n  "))
	}
}

func (l *lines) kept(states []fleet.State) {
	for _, s := range states {
		fmt.Fprintf(l.out, "%s  %s  pid %d\n", s.Name, s.Addr, s.Pid)
	}
	fmt.Fprintln(l.out, keptHint)
}

func (l *lines) end(err error) {
	if leftNothing(err) {
		fmt.Fprintln(l.out, "\n"+farewell)
	}
}
