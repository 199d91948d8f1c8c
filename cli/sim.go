package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/sim"
)

// simFlags are the flags of elect sim.
type simFlags struct {
	algorithm string
	options   []string
	nodes     int
	seed      uint64
	json      bool
	diagram   bool
	pictures  pictures
	from      time.Duration
	ascii     bool
	width     int
	trace     string

	crashed    int
	initiators string
	priorities []int
	delay      string
	faults     sim.Faults

	scenario string
	chaos    bool
	preset   string
	period   time.Duration
	seeds    int
}

func (p *program) newSim() *cobra.Command {
	flags := &simFlags{}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Simulate an election, a scenario, or chaos runs",
		Long: `Run whole nodes in virtual time, on a network that is made up. Everything random comes
from one seed: the same command gives the same run again.

Without --scenario or --chaos it counts one election. The nodes have a leader; then
the --crashed highest nodes crash and the initiators begin. T is the longest time that a
message takes. Counted are the messages of the election: sent ones include those to
crashed nodes; heartbeats and repeated messages are left out. Times are in T from the
beginning of the election, and detecting the crash takes no time. The election ends when
all live nodes know the leader.

An --algorithm such as bully+lease has a lease, as nodes have by default; bully alone has
none. The literature counts the algorithms to the letter: textbook-bully, textbook-ring and
textbook-vote. Their nodes react to no crash but that of the leader, and in a ring that of
the next node.

A --scenario is a text file: events, and properties that must hold; 'elect help scenario'
lists its commands. The output is a scenario again, with the outcome of each command below
it, in lines that begin with >. A file with such lines must give the same outcome again,
unless it is run with another --seed, --algorithm or --option. A scenario that elect explore
has saved is run step by step, as it was found. A --chaos run disturbs the nodes at random
for a while and then ends all faults; all nodes must agree within the bound of the timing.
Both can be run with --seeds many seeds, each a run of its own.

With --json, one object. For an election: algorithm, nodes, crashed, seed, leader (its
rank: 1 is the lowest candidate; 0 for none), agreed, sent, delivered, kinds (sent, by
kind), turnaround (in T, until every live node knows the leader), decided (in T, until
the leader knows), epoch, repeats (sent), violations (a list of objects: property, at
in nanoseconds, text). For a scenario: scenario, algorithm, seed, holds, leader (the
number of the node), agreed, epoch, messages (sent, heartbeats included), violations,
and error where something did not hold. For one of mode choice: scenario, algorithm,
steps, holds, violations (a list of objects: property, step, text), error. For --chaos, and
for --seeds above 1: algorithm, first_seed, seeds (how many were run), failed (how many
of them), failures (a list of objects: seed, violations, command, for scenarios error
where something did not hold, and for chaos runs scenario), messages; for scenarios the
scenario; and for chaos runs crashes, known (how many seeds have shown each known fault,
see docs/verification.md), healed_median_ms and healed_most_ms (of the seeds that did not
fail; null if all did) and bound_ms.

A line of --trace is an object: at (in nanoseconds), node, kind, and what the kind has:
peer, message (an object: kind and body), timer, until, epoch, leader (an object: epoch,
id), config_version and text. 'go doc github.com/elect-go/elect/trace.JSON' explains each.

Exit status: 0 done, 1 a property was violated or something in a scenario did not hold, 2
a problem in the command line or in the scenario, 130 interrupted. With 1 comes the
command that does it again.`,
		Example: `  elect sim --algorithm textbook-bully --crashed 1 --initiators lowest --diagram
  elect sim --scenario docs/failover.txt --svg failover.svg --from 990ms
  elect sim --algorithm ring --priorities 3,1,5,2,4 --initiators 1 --diagram
  elect sim --nodes 9 --delay 1ms~50ms --loss 0.05 --seed 7 --json | jq .turnaround
  elect sim --scenario failover.txt --trace failover.jsonl
  elect sim --scenario failover.txt --shiviz failover.log --from 990ms
  elect sim --algorithm vote --chaos --seeds 10000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runSim(cmd, flags) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&flags.algorithm, "algorithm", p.fields.DefaultAlgorithm(), "with a lease, as nodes run by default: bully+lease; without: one of "+strings.Join(p.fields.Algorithms(), ", "))
	set.StringArrayVar(&flags.options, "option", nil, "option of the algorithm, as `key=value`; repeatable")
	set.IntVar(&flags.nodes, "nodes", 5, "how many members, crashed ones included")
	set.IntVar(&flags.crashed, "crashed", 0, "how many of them, the highest, crash before the election")
	set.StringVar(&flags.initiators, "initiators", "all", "nodes that start the election: `numbers` with commas, lowest, highest or all")
	set.IntSliceVar(&flags.priorities, "priorities", nil, "of the nodes, in the order of the ring (default 1,2,3,…)")
	set.StringVar(&flags.delay, "delay", "10ms", "`time` that messages take: 10ms (fixed), 1ms..10ms (uniform) or 1ms~1s (heavy tailed)")
	set.Float64Var(&flags.faults.Loss, "loss", 0, "`probability` that a message does not arrive")
	set.Float64Var(&flags.faults.Duplicate, "duplicate", 0, "`probability` that it arrives twice")
	set.Float64Var(&flags.faults.Reorder, "reorder", 0, "`probability` that it may overtake others, and is late")
	set.StringVar(&flags.scenario, "scenario", "", "run the scenario in this `file`")
	set.BoolVar(&flags.chaos, "chaos", false, "disturb the nodes at random")
	set.StringVar(&flags.preset, "preset", "lan", "timing of the nodes in a chaos run: local, lan or wan")
	set.DurationVar(&flags.period, "period", 10*time.Second, "duration of the faults in a chaos run")
	set.Uint64Var(&flags.seed, "seed", 1, "of everything random (default for a scenario: its own)")
	set.IntVar(&flags.seeds, "seeds", 1, "how many seeds to run, from --seed on")
	set.BoolVar(&flags.diagram, "diagram", false, "draw a sequence diagram")
	set.StringVar(&flags.pictures.svg, "svg", "", "write a sequence diagram to this `file`, as SVG")
	set.StringVar(&flags.pictures.mermaid, "mermaid", "", "write it to this `file` in the language of Mermaid, which GitHub draws in Markdown")
	set.StringVar(&flags.pictures.shiviz, "shiviz", "", "write a log for ShiViz to this `file`: events with vector clocks")
	set.DurationVar(&flags.from, "from", 0, "the time at which the diagram of a scenario or a chaos run begins")
	set.BoolVar(&flags.ascii, "ascii", false, "draw it with characters that every terminal has")
	set.IntVar(&flags.width, "width", 0, "of the diagram, in `columns` (default that of the terminal, else 100)")
	set.StringVar(&flags.trace, "trace", "", "write what happened to this `file`, a JSON object a line")
	set.BoolVar(&flags.json, "json", false, "print one JSON object")
	return cmd
}

// simMode is one of the things that elect sim does.
type simMode string

const (
	simElection simMode = "an election"
	simScenario simMode = "--scenario"
	simChaos    simMode = "--chaos"
)

func (f *simFlags) mode() simMode {
	switch {
	case f.scenario != "":
		return simScenario
	case f.chaos:
		return simChaos
	}
	return simElection
}

// simOnly are the flags that mean something in some modes only.
var simOnly = map[string][]simMode{
	"nodes": {simElection, simChaos}, "seeds": {simScenario, simChaos}, "preset": {simChaos}, "period": {simChaos},
	"crashed": {simElection}, "initiators": {simElection}, "priorities": {simElection}, "delay": {simElection},
	"loss": {simElection}, "duplicate": {simElection}, "reorder": {simElection},
}

// simulation is one call of the command.
type simulation struct {
	*simFlags
	flags    *pflag.FlagSet
	out, err io.Writer
	settings *settings // for the options of the algorithm, and all problems
	watch    observer
}

func (p *program) runSim(cmd *cobra.Command, flags *simFlags) (err error) {
	s := &simulation{simFlags: flags, flags: cmd.Flags(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
	s.settings = &settings{table: p.fields}
	s.check()
	ctx, stop := interruptible(cmd)
	defer stop()
	switch s.mode() {
	case simScenario:
		return s.runScenario(ctx)
	case simChaos:
		return s.runChaos(ctx)
	}
	return s.runElection(ctx)
}

// check notes problems in the flags of all modes, and in combinations of flags.
func (s *simulation) check() {
	m := &s.settings.problems
	mode := s.mode()
	s.flags.Visit(func(flag *pflag.Flag) {
		if modes, some := simOnly[flag.Name]; some && !slices.Contains(modes, mode) {
			m.Addf("--%s says nothing about %s", flag.Name, mode)
		}
	})
	if s.simFlags.scenario != "" && s.chaos {
		m.Addf("--scenario and --chaos are two things: want one")
	}
	if s.seeds < 1 {
		m.Addf("--seeds is %d, want at least 1", s.seeds)
	}
	if s.seeds > 1 && (s.diagram || s.pictures.some() || s.trace != "") {
		m.Addf("--seeds is %d, and --diagram, --svg, --mermaid, --shiviz and --trace show one", s.seeds)
	}
	if s.diagram && s.json {
		m.Addf("--diagram and --json are two things: want one")
	}
	for _, flag := range []string{"ascii", "width"} {
		if s.flags.Changed(flag) && !s.diagram {
			m.Addf("--%s is for --diagram", flag)
		}
	}
	if s.flags.Changed("from") && !s.diagram && !s.pictures.some() {
		m.Addf("--from is for --diagram, --svg, --mermaid and --shiviz")
	}
	if s.flags.Changed("from") && s.simFlags.scenario == "" && !s.chaos {
		m.Addf("--from is for a scenario or a chaos run")
	}
	if s.width < 0 || s.width > 0 && s.width < minWidth {
		m.Addf("--width is %d, want at least %d", s.width, minWidth)
	}
}

// spec makes the algorithm of that name with options, then those of the flags. Problems are noted.
func (s *simulation) spec(name string, timing algo.Timing, options ...algo.Setting) algo.Spec {
	return s.settings.build(name, timing, timing, withSettings(options, s.options))
}

// rerunCommand returns the command line that repeats the run of one seed.
func (s *simulation) rerunCommand(seed uint64) string {
	return rerunCommand("sim", s.flags, "seed", "seeds", "json", "diagram", "svg", "mermaid", "shiviz", "from", "ascii", "width", "trace") + " --seed " + strconv.FormatUint(seed, 10)
}

// simFailure is the violations that a simulation found, and the command that reproduces them.
type simFailure struct {
	what    []string
	command string
}

func (e *simFailure) Error() string {
	return strings.Join(e.what, "\n  ") + "\nDo it again with:\n  " + e.command
}

// failure makes an error of violations; nil if there are none.
func (s *simulation) failure(seed uint64, violations []sim.Violation) error {
	if len(violations) == 0 {
		return nil
	}
	what := []string{fmt.Sprintf("seed %d does not hold what it should:", seed)}
	for _, v := range violations {
		what = append(what, fmt.Sprintf("%s at %v: %s", v.Property, v.At, v.Text))
	}
	return &simFailure{what, s.rerunCommand(seed)}
}
