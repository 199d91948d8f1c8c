package cli

import (
	"cmp"
	"errors"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
)

// exploreFlags are the flags of elect explore.
type exploreFlags struct {
	algorithm       string
	options         []string
	nodes           int
	agreed          bool
	network         string
	crashes         int
	falseSuspicions int
	campaigns       int
	epochs          uint64
	periodicSends   int
	properties      []string

	states int
	memory string
	time   time.Duration

	randomSteps int
	walkLength  int
	seed        uint64

	save  string
	ascii bool
	width int
	json  bool
}

func (p *program) newExplore() *cobra.Command {
	flags := &exploreFlags{}
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Visit every state that a small cluster can reach",
		Long: `Visit every state that a small cluster can reach within the budgets, and look for one
in which a property is broken. Messages arrive in any order, any number of times or
never; timers end in any order that their ranges allow; nodes crash and start again;
detectors find a crash at any time after it, or never. 'go doc
github.com/elect-go/elect/explore' has the exact rules.

The first violation of each property is drawn when it is found, with the fewest steps,
and saved as a scenario. 'elect sim --scenario FILE' replays it.

The algorithms have no lease, unlike nodes by default: what a lease promises depends on
clocks, and a search has none.

What is looked for, if no --property says otherwise, is what the algorithm claims:
  one-leader-per-epoch  no two nodes lead in one epoch
  monotonic-epochs      no node goes back to an older epoch, even after a crash
  durable               what a node announces is saved
  no-phantom            a leader that a node follows has itself announced that it leads
  agreement             from every state, all running nodes agree if no fault follows
No algorithm claims these three. The token of a leader is its epoch and its id:
  node-tokens           no node names a leader with a lower token than the one before
  resource-tokens       no node begins to lead with a lower token than an earlier leader
  single-leader         no two running nodes lead at the same time, in whatever epochs

A search ends because it is bounded: by the budgets, by --epochs (of vote, its rounds),
and where heartbeats are numbered, as those of vote, by --periodic-sends of all leaders together.
What lies beyond is only counted. --random-steps takes random walks instead. They prove
nothing.

With --json, one object: algorithm, options (an object), nodes, from (nothing or
agreed), network, crashes, false_suspicions, campaigns, epochs and periodic_sends (0: no bound),
properties (a list); of a search: states, generated (transitions to another state),
depth (states on the longest of all shortest ways), complete, left_out (steps beyond
the bounds), states_with_leader, transitions_per_second; of a walk: seed, walks, steps,
complete (never), walks_with_leader, steps_per_second; and of both: seconds, cut (what
ended it early, empty if nothing did), violations (a list of objects: property, what,
steps (a list of lines), scenario (the text), file (where it was saved)).

Exit status: 0 nothing is broken, 1 a property is broken or no leader was ever seen,
2 a problem in the command line, 3 a limit cut it short before anything was found
broken, 130 so did Ctrl-C. In each case what was found so far is printed.`,
		Example: `  elect explore --algorithm ring --nodes 3 --epochs 1
  elect explore --start-agreed --false-suspicions 1 --property one-leader-per-epoch    two leaders
  elect explore --algorithm vote --start-agreed --epochs 2
  elect explore --algorithm textbook-vote --epochs 1 --property one-leader-per-epoch
  elect explore --algorithm vote --epochs 3 --crashes 2 --time 10m --memory 4GiB
  elect explore --algorithm vote --epochs 3 --crashes 2 --random-steps 1000000 --seed 7`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runExplore(cmd, flags) },
	}
	flags.register(cmd.Flags(), p.fields)
	return cmd
}

func (f *exploreFlags) register(set *pflag.FlagSet, fields *confload.Table) {
	set.SortFlags = false
	set.StringVar(&f.algorithm, "algorithm", fields.DefaultAlgorithm(), "one of "+strings.Join(fields.Algorithms(), ", "))
	set.StringArrayVar(&f.options, "option", nil, "option of the algorithm, as `key=value`; repeatable")
	set.IntVar(&f.nodes, "nodes", 3, "how many nodes")
	set.BoolVar(&f.agreed, "start-agreed", false, "begin with all nodes started and agreed, not with no node started")
	set.StringVar(&f.network, "network", "lossy", "lossy: a message arrives any number of times or never; once: once")
	set.IntVar(&f.crashes, "crashes", 0, "budget of crashes; as many restarts")
	set.IntVar(&f.falseSuspicions, "false-suspicions", 0, "budget of false suspicions")
	set.IntVar(&f.campaigns, "campaigns", 0, "budget of campaigns")
	set.Uint64Var(&f.epochs, "epochs", 2, "the highest epoch; 0: no bound")
	set.IntVar(&f.periodicSends, "periodic-sends", 0, "budget of periodic messages of all leaders; 0: no bound (default 1\nin a search where these are numbered, as those of vote are, else 0)")
	set.StringSliceVar(&f.properties, "property", nil, "what is looked for: a `property`, or all; repeatable (default what the\nalgorithm claims)")
	set.IntVar(&f.states, "states", 0, "limit of states visited; 0: none")
	set.StringVar(&f.memory, "memory", "2GiB", "limit of memory, about; 0: none")
	set.DurationVar(&f.time, "time", 0, "limit of time; 0: none")
	set.IntVar(&f.randomSteps, "random-steps", 0, "take this number of random `steps` instead of visiting every state")
	set.IntVar(&f.walkLength, "walk-length", 200, "of one walk, in steps, after which the next begins")
	set.Uint64Var(&f.seed, "seed", 1, "of the walks")
	set.StringVar(&f.save, "save", "", "`file` or folder for the scenario of a violation (default a new one in\nthe folder for temporary files)")
	set.BoolVar(&f.ascii, "ascii", false, "draw with characters that every terminal has")
	set.IntVar(&f.width, "width", 0, "of the diagram, in `columns` (default that of the terminal, else 100)")
	set.BoolVar(&f.json, "json", false, "print one JSON object")
}

// exploration is one call of the command.
type exploration struct {
	*exploreFlags
	set     *pflag.FlagSet
	fields  *confload.Table
	out     io.Writer
	o       explore.Options
	command string // repeats this call

	files  []string // saved scenarios of the violations; empty for one that was not saved
	failed error    // of saving or printing a violation
}

func (p *program) runExplore(cmd *cobra.Command, flags *exploreFlags) error {
	e := &exploration{exploreFlags: flags, set: cmd.Flags(), fields: p.fields, out: cmd.OutOrStdout()}
	if err := e.check(); err != nil {
		return err
	}
	e.command = rerunCommand("explore", e.set, "json", "save", "ascii", "width")
	ctx, stop := interruptible(cmd)
	defer stop()
	far := &searched{walk: flags.randomSteps > 0}
	e.o.Progress = far.update
	if err := e.printModel(); err != nil {
		return err
	}
	shown := newProgress(newProgressLine(cmd.ErrOrStderr()), far.text)
	e.o.Found = func(v explore.Violation) { shown.pause(func() { e.report(v) }) }
	if e.o.Limits.Memory > 0 && p.ownsProcess {
		// Without the limit, the collector would let the heap grow to twice the live memory.
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(max(e.o.Limits.Memory, 256<<20)))
	}
	f := finding{walk: flags.randomSteps > 0}
	var err error
	if f.walk {
		f.Report, err = explore.Walk(ctx, e.o, explore.WalkOptions{Seed: flags.seed, Steps: flags.randomSteps, Length: flags.walkLength})
	} else {
		f.Report, err = explore.Run(ctx, e.o)
	}
	shown.end()
	if err != nil && !errors.Is(err, explore.ErrNoLeader) {
		return err
	}
	f.noLeader = err != nil
	return cmp.Or(errors.Join(e.failed, e.print(&f)), f.verdict(ctx))
}

// check makes the options of the search from the flags, or returns all problems.
func (e *exploration) check() error {
	s := &settings{table: e.fields}
	m := &s.problems
	e.o = explore.Options{
		StartAgreed: e.agreed, Crashes: e.crashes, FalseSuspicions: e.falseSuspicions, Campaigns: e.campaigns, Epochs: algo.Epoch(e.epochs),
		Limits: explore.Limits{States: e.states, Time: e.time},
	}
	e.o.Spec = s.timeless(e.algorithm, e.options)
	switch e.network {
	case "lossy":
	case "once":
		e.o.Network = explore.Once
	default:
		m.Addf("--network is %q, want lossy or once", e.network)
	}
	if e.nodes >= 1 && e.nodes <= explore.MaxNodes {
		e.o.View = explore.NewView(e.nodes)
	} else {
		m.Addf("--nodes is %d, want 1 to %d", e.nodes, explore.MaxNodes)
	}
	for _, flag := range []string{"crashes", "false-suspicions", "campaigns", "periodic-sends"} {
		if n, _ := e.set.GetInt(flag); n < 0 || n > 255 {
			m.Addf("--%s is %d, want 0 to 255", flag, n)
		}
	}
	for _, flag := range []string{"states", "random-steps"} {
		if n, _ := e.set.GetInt(flag); n < 0 {
			m.Addf("--%s is %d, want at least 0", flag, n)
		}
	}
	if e.width < 0 || e.width > 0 && e.width < minWidth {
		m.Addf("--width is %d, want at least %d", e.width, minWidth)
	}
	e.o.PeriodicSends = e.periodicSends
	if !e.set.Changed("periodic-sends") && e.randomSteps == 0 && explore.HasCountedPeriodic(e.o.Spec) {
		e.o.PeriodicSends = 1
	}
	e.o.Properties = e.selectProperties(m)
	if e.time < 0 {
		m.Addf("--time is %v, want at least 0", e.time)
	}
	if e.walkLength < 1 || e.walkLength > explore.MaxLength {
		m.Addf("--walk-length is %d, want 1 to %d", e.walkLength, explore.MaxLength)
	}
	var err error
	if e.o.Limits.Memory, err = parseSize(e.memory); err != nil {
		m.Addf("--memory is %q, want a size, as 512MiB or 4GiB", e.memory)
	}
	if e.json {
		e.requireMode(m, "a drawing, which --json has not", "ascii", "width")
	}
	if e.randomSteps == 0 {
		e.requireMode(m, "--random-steps", "walk-length", "seed")
	} else {
		e.requireMode(m, "a search without --random-steps", "states")
	}
	return m.Err(commandLinePlace)
}

// requireMode notes a problem for each of these flags that is set: it has an effect only in mode.
func (e *exploration) requireMode(m *diag.List, mode string, flags ...string) {
	for _, flag := range flags {
		if e.set.Changed(flag) {
			m.Addf("--%s is for %s", flag, mode)
		}
	}
}

// selectProperties returns the properties of --property, or those that the algorithm claims.
func (e *exploration) selectProperties(m *diag.List) []algo.Property {
	if len(e.properties) == 0 {
		return explore.Claimed(e.o.Spec.Claims)
	}
	var all []algo.Property
	for _, word := range e.properties {
		switch p := algo.Property(word); {
		case word == "all":
			all = explore.All()
		case !slices.Contains(explore.All(), p):
			m.Addf("--property is %q, want all or one of %v", word, explore.All())
		case !slices.Contains(all, p):
			all = append(all, p)
		}
	}
	return all
}

// timeless makes an algorithm for searches, which have an order of events but no time. Options that are not set are
// those of the preset lan. Options are checked against each other, but not against the timing.
func (s *settings) timeless(name string, options []string) algo.Spec {
	return s.build(name, algo.LAN(), algo.Timing{}, options)
}

var errSize = errors.New("no size")

// parseSize parses a number of bytes.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "KMGTiB")
	shift, ok := map[string]int{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[text[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, errSize
	}
	return n << shift, nil
}
