package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/bench/compare/member"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
)

// options contains the flags.
type options struct {
	args     []string
	rounds   int
	nodes    []int
	systems  []string
	signals  []proccluster.Signal
	settings []string
	steady   time.Duration
	faults   []proccluster.Signal // of stable leadership, by their names
	// applications are the systems that are measured from the view of an application instead; empty for none.
	applications []string
	seed         uint64
	data         string
	elect        string
	out          string
	show         bool
	files        []string // with show
}

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{args: args, nodes: []int{3, 5}, systems: systemNames(), signals: []proccluster.Signal{proccluster.Kill, proccluster.Stop}, settings: []string{atDefaults, equal, aggressive}}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.rounds, "rounds", 20, "rounds of each case")
	flags.Func("nodes", "numbers of processes, with commas (default 3,5)", listOf(&o.nodes, parseNodes))
	flags.Func("peers", "`systems` beside elect, with commas (default all: "+strings.Join(systemNames()[1:], ",")+")", listOf(&o.systems, parseSystem))
	flags.Func("signal", "signals to the leader, with commas: kill, stop (default both)", listOf(&o.signals, parseSignal))
	flags.Func("settings", "with commas: defaults, equal, aggressive, or HEARTBEAT/TIMEOUT as 50ms/150ms (default the first three)", listOf(&o.settings, parseSetting))
	flags.DurationVar(&o.steady, "steady", 0, "instead of signals: number of suspicions and leader changes of an idle cluster in that `time`")
	flags.Func("stability", "instead of signals: faults of stable leadership that happen to 5 processes in network namespaces, with commas, or all of "+strings.Join(faultNames(), ","), func(s string) error {
		if s == "all" {
			s = strings.Join(faultNames(), ",")
		}
		return listOf(&o.faults, parseFault)(s)
	})
	flags.Func("application", "instead of signals to leaders: the time from the kill of the process that works until another one works, with commas, or all of "+strings.Join(applicationNames(), ","), func(s string) error {
		if s == "all" {
			s = strings.Join(applicationNames(), ",")
		}
		return listOf(&o.applications, parseApplication)(s)
	})
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the random times of the signals")
	flags.StringVar(&o.data, "data", "", "`folder` on a disk for the data directories (default the first of TMPDIR, the user's cache folder and this one that is not in memory)")
	flags.StringVar(&o.elect, "elect", "", "the elect `command` (default: built from this checkout)")
	flags.StringVar(&o.out, "out", "", "`file` for every round's figures, in Go's benchmark format")
	flags.BoolVar(&o.show, "show", false, "measure nothing; print the results of the files named after the flags")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(flags, stderr)
		}
		return nil, err
	}
	o.files = flags.Args()
	return o, o.check()
}

func usage(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, `Measures failovers of other projects beside ours. Each system is a cluster of processes
on this machine; the leader gets a signal, and each process reports its events with timestamps.

  go run . -rounds 20
  go run . -rounds 5 -nodes 5 -peers hashicorp-raft,etcd-raft -settings defaults -signal kill
  go run . -settings aggressive -steady 60s -rounds 1
  go run . -stability all -settings equal -rounds 1
  go run . -application all -nodes 3 -rounds 20
  go run . -show a.txt b.txt

Flags:
`)
	flags.SetOutput(w)
	flags.PrintDefaults()
}

func (o *options) check() error {
	switch {
	case o.show && len(o.files) == 0:
		return errors.New("-show wants files after the flags")
	case !o.show && len(o.files) > 0:
		return fmt.Errorf("%q stands after the flags; only -show has arguments", o.files)
	case o.rounds < 1:
		return fmt.Errorf("-rounds is %d, want at least 1", o.rounds)
	case o.steady < 0:
		return fmt.Errorf("-steady is %v, want more than 0", o.steady)
	case len(o.applications) > 0 && (o.steady > 0 || len(o.faults) > 0):
		return errors.New("-application and another of -steady and -stability are set, want one")
	case o.steady > 0 && len(o.faults) > 0:
		return errors.New("-steady and -stability are both set, want one")
	}
	// The reference system comes first.
	o.systems = append([]string{ours}, slices.DeleteFunc(o.systems, func(s string) bool { return s == ours })...)
	switch {
	case o.steady > 0:
		o.signals = []proccluster.Signal{steady}
	case len(o.faults) > 0:
		o.signals, o.nodes = o.faults, []int{stabilityNodes}
		o.systems = slices.DeleteFunc(o.systems, func(name string) bool {
			s, _ := lookupSystem(name)
			return !s.leads()
		})
	}
	return nil
}

// listOf parses the value of a flag as a list with commas.
func listOf[T comparable](to *[]T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		var all []T
		for word := range strings.SplitSeq(s, ",") {
			v, err := parse(strings.TrimSpace(word))
			if err != nil {
				return err
			}
			if !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
		*to = all
		return nil
	}
}

func parseNodes(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 3 || n > 15 {
		return 0, fmt.Errorf("%q, want a number from 3 to 15: with fewer a majority cannot lose its leader", s)
	}
	return n, nil
}

func parseSystem(s string) (string, error) {
	if _, ok := lookupSystem(s); !ok {
		return "", fmt.Errorf("%q, want some of %s", s, strings.Join(systemNames(), ", "))
	}
	return s, nil
}

func parseSignal(s string) (proccluster.Signal, error) {
	if s := proccluster.Signal(s); s == proccluster.Kill || s == proccluster.Stop {
		return s, nil
	}
	return "", fmt.Errorf("%q, want kill or stop", s)
}

func parseSetting(s string) (string, error) {
	if s == equal || s == aggressive {
		return s, nil
	}
	var t member.Timing
	if err := t.Set(s); err != nil {
		return "", fmt.Errorf("%w, or %s or %s", err, equal, aggressive)
	}
	return s, nil
}

// writable checks before hours of measurement that the output can be saved.
func (o *options) writable() error {
	if o.out == "" {
		return nil
	}
	f, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	return f.Close()
}

func (o *options) save(run result.Run) error {
	if o.out == "" {
		return nil
	}
	f, err := os.Create(o.out)
	if err != nil {
		return err
	}
	return errors.Join(run.Write(f), f.Close())
}
