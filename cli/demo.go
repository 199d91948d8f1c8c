package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/proccluster"
)

// demoFlags are the flags of elect demo.
type demoFlags struct {
	algorithm string
	options   []string
	preset    string
	nodes     int
	rounds    int
	signal    string
	seed      uint64
	keep      bool
	join      bool
	leased    bool
	lesson    bool // the algorithm is for lessons
	highest   bool // with the lease, the highest node takes over when it is back
	json      bool
	chaos     time.Duration // of random faults; 0 for rounds
	lease     string        // with chaos: on or off
	svg       string        // with chaos: file for a picture
}

func (p *program) newDemo() *cobra.Command {
	var flags demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch real processes replace a killed leader",
		Long: `Start a cluster of processes on this machine, stop its leader, and show how the survivors
elect the next one. Then the old leader comes back. At the end every process is stopped,
and nothing is left behind.

The nodes are n1, n2, ... in the order in which they are elected: the last has the
highest priority. A failover is measured from right before the signal until the last
survivor knows the new leader, by the survivors' timestamps of a clock that all
processes share. Detection ends when the first survivor suspects the old leader; the
rest is the election. Messages are those that the survivors sent for the election,
without heartbeats.

The nodes have a lease, as by default, but with trust_evidence: on one machine a refused
connection proves that a process has ended, so they do not wait until its lease expires.
Two nodes (--nodes 2) run with --lease=off, because of two neither survives the other
with a lease. Algorithms for lessons run without one, unless --join is set. The last line
says how long a failover takes by default.

With --join, one more node joins the running ones first, through n1, and another is
removed. The time until all other nodes know of it is measured until the config of the last
of them has changed.

With --json, one object per round, each on a line: algorithm (as bully+lease), nodes, old_leader,
new_leader, epoch_before, epoch_after, failover_ms, detect_ms, elect_ms, messages (an
object: how many of each kind), and on systems without a shared monotonic clock:
clock, which is then "wall". With --keep and --json, one object more when the rounds
are over: nodes, a list of objects: name, addr, pid. With --join and --json, one object
first: algorithm, joined, join_ms, removed, remove_ms, members (names), and clock as
above.` + chaosHelp,
		Example: `  elect demo
  elect demo --signal stop --rounds 3          pause the leader, instead of killing it
  elect demo --join                            also add and remove a member
  elect demo --keep                            try it with kill and elect status
  elect demo --json --rounds 10 | jq .failover_ms
  elect demo --chaos 2m                        random faults, and a verdict
  elect demo --chaos 30s --svg chaos.svg       and a picture
  elect demo --chaos 2m --lease=off --json     for how long two worked at once`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("chaos") {
				return p.runChaos(cmd, &flags)
			}
			for _, name := range []string{"lease", "svg"} {
				if cmd.Flags().Changed(name) {
					return usagef("--%s is set without --chaos", name)
				}
			}
			if flags.keep && !cmd.Flags().Changed("rounds") {
				flags.rounds = 0
			}
			return p.runDemo(cmd, &flags)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&flags.algorithm, "algorithm", p.fields.DefaultAlgorithm(), "one of "+strings.Join(p.fields.Algorithms(), ", "))
	set.StringArrayVar(&flags.options, "option", nil, "option of the algorithm, as `key=value`; repeatable")
	set.StringVar(&flags.preset, "preset", "lan", "timing: local, lan or wan")
	set.IntVar(&flags.nodes, "nodes", 5, "how many processes")
	set.IntVar(&flags.rounds, "rounds", 1, "number of failovers (0 with --keep)")
	set.StringVar(&flags.signal, "signal", "kill", "signal to the leader: kill, stop (pauses it) or term (it says goodbye)")
	set.Uint64Var(&flags.seed, "seed", 1, "seed of the random times of the signals, or of the faults")
	set.BoolVar(&flags.keep, "keep", false, "leave the cluster running until Ctrl-C")
	set.BoolVar(&flags.join, "join", false, "add one more node, and remove another, before the rounds")
	set.DurationVar(&flags.chaos, "chaos", 0, "disturb the members for this time, instead of rounds")
	set.StringVar(&flags.lease, "lease", "on", "with --chaos: on, or off and two may work at once")
	set.Lookup("lease").NoOptDefVal = "on"
	set.StringVar(&flags.svg, "svg", "", "with --chaos: draw the run into this `file`")
	set.BoolVar(&flags.json, "json", false, "print one JSON object per round, or per fault")
	return cmd
}

const maxDemoNodes = 64

// nodeArgs are the flags that each node gets.
func (f *demoFlags) nodeArgs() []string {
	args := []string{"--algorithm", f.algorithm, "--preset", f.preset, "--allow-textbook", "--lease=off"}
	if f.leased {
		args = append(args, "--lease", "--lease-trust-evidence", "--lease-trusted-network")
	}
	for _, option := range f.options {
		args = append(args, "--option", option)
	}
	return args
}

// variant names the algorithm and its lease.
func (f *demoFlags) variant() string {
	if f.leased {
		return f.algorithm + lease.Suffix
	}
	return f.algorithm
}

// closing returns the last lines of the demonstration. The final one is the failover time with the default settings.
func (f *demoFlags) closing(t algo.Timing) []string {
	last := fmt.Sprintf("By default a failover takes up to %s and an election: the lease of the crashed leader must expire first. ", roundly(lease.Defaults(t).Duration))
	switch {
	case f.leased:
		return []string{farewell, last + "On one machine a refused connection proves a crash, so these nodes do not wait for the lease of a killed leader (trust_evidence)."}
	case f.lesson:
		return []string{farewell}
	}
	return []string{farewell, last + "It needs three members to survive a crash, so these two ran with --lease=off."}
}

// checkDemo returns the settings of the nodes, or all problems in the flags.
func (p *program) checkDemo(f *demoFlags) (proccluster.Signal, *confload.Settings, error) {
	s, err := p.demoSettings(f)
	if err != nil {
		return "", nil, err
	}
	spec, unknown := s.Spec()
	if f.lesson = spec.Textbook; f.nodes != 2 && (f.join || !f.lesson) {
		f.leased = true
		if s, err = p.demoSettings(f); err != nil {
			return "", nil, err
		}
	}
	f.highest = f.leased && spec.Claims.HighestLeads
	wrong := s.Problems.Addf
	sig, err := proccluster.ParseSignal(f.signal)
	if err != nil {
		wrong("--signal is %q, want kill, stop or term", f.signal)
	}
	if f.nodes < 2 || f.nodes > maxDemoNodes {
		wrong("--nodes is %d, want 2 to %d", f.nodes, maxDemoNodes)
	}
	if f.rounds < 0 {
		wrong("--rounds is %d, want at least 0", f.rounds)
	}
	if unknown == nil && f.nodes == 2 && spec.Claims.NeedsQuorum {
		wrong("--nodes is 2, want at least 3: %s elects by majority, and the dead count", f.algorithm)
	} else if f.nodes == 2 && f.join {
		wrong("--nodes is 2, want at least 3 with --join: it needs a quorum, and two nodes run with --lease=off")
	}
	_, err = s.Node()
	return sig, s, err
}

func (p *program) demoSettings(f *demoFlags) (*confload.Settings, error) {
	return p.settingsOf(append(f.nodeArgs(), "--name", "n1", "--listen", "127.0.0.1:0", "--data-dir", "data")...)
}

// demo is one demonstration.
type demo struct {
	flags   *demoFlags
	signal  proccluster.Signal
	cluster *proccluster.Cluster
	report  reporter
	out     io.Writer
	bound   time.Duration // of each wait
	random  *rand.Rand
}

func (p *program) runDemo(cmd *cobra.Command, flags *demoFlags) (err error) {
	sig, s, err := p.checkDemo(flags)
	if err != nil {
		return err
	}
	command, err := p.selfCommand()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()

	d := &demo{
		flags: flags, signal: sig, out: cmd.OutOrStdout(),
		bound:  15*time.Second + 2*s.Config.Timing.RecoveryBound(),
		random: rand.New(rand.NewPCG(flags.seed, 0)),
	}
	d.report = newReporter(d.out, flags)
	d.report.start(flags)
	d.cluster, err = proccluster.New(ctx, proccluster.Config{Command: command, Nodes: flags.nodes, Hosts: proccluster.Loopback(flags.nodes), Args: flags.nodeArgs()})
	if err == nil {
		d.report.attach(d.cluster)
		err = d.run(ctx)
		d.report.detach()
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		err = errors.Join(err, d.cluster.Close())
	}
	d.report.stop(err, flags.closing(s.Config.Timing))
	return err
}

func (d *demo) run(ctx context.Context) error {
	if err := d.start(ctx); err != nil {
		return err
	}
	if d.flags.join {
		if err := d.grow(ctx); err != nil {
			return err
		}
	}
	for round := range d.flags.rounds {
		if err := d.round(ctx, round+1); err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	if d.flags.keep {
		return d.keep(ctx)
	}
	return nil
}

// bounded limits ctx to the bound of one wait.
func (d *demo) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d.bound, fmt.Errorf("no agreement after %v", d.bound))
}

func (d *demo) start(ctx context.Context) error {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	leader, err := d.cluster.WaitQuiet(ctx)
	if err != nil {
		return err
	}
	states := d.cluster.States()
	var up, agreed int64
	for _, s := range states {
		up, agreed = max(up, s.ReadyAt), max(agreed, s.AnnouncedAt)
	}
	after := "as soon as the last process was up"
	if agreed > up {
		after = inMS(time.Duration(agreed-up)) + " after the last process was up"
	}
	d.report.print(good, states, "All %d follow %s in epoch %d, %s.", len(states), leader.Name, leader.Epoch, after)
	return d.report.wait(ctx, time.Second)
}

// round removes the leader and restores it.
func (d *demo) round(ctx context.Context, number int) error {
	// The random delay varies the phase between the signal and the heartbeats.
	if err := proccluster.Sleep(ctx, time.Duration(100+d.random.IntN(400))*time.Millisecond); err != nil {
		return err
	}
	old, err := d.removeLeader(ctx, number)
	if err != nil {
		return err
	}
	if err := d.report.wait(ctx, 2*time.Second); err != nil {
		return err
	}
	if err := d.restoreLeader(ctx, old); err != nil {
		return err
	}
	return d.report.wait(ctx, 1500*time.Millisecond)
}

var pastTense = map[proccluster.Signal]string{proccluster.Kill: "killed", proccluster.Stop: "paused", proccluster.Term: "stopped gracefully"}

func (d *demo) removeLeader(ctx context.Context, number int) (old string, err error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	// On a busy machine, the nodes may be electing because of a false suspicion.
	if _, err := d.cluster.WaitLeader(ctx); err != nil {
		return "", err
	}
	loss, err := d.cluster.FailLeader(d.signal)
	if err != nil {
		return "", err
	}
	old = loss.Leader.Name
	round := ""
	if d.flags.rounds > 1 {
		round = fmt.Sprintf("Round %d: ", number)
	}
	d.report.print(bad, nil, "%s%s, the leader, is %s (SIG%s).", round, old, pastTense[d.signal], strings.ToUpper(string(d.signal)))
	m, err := loss.WaitFailover(ctx)
	if err != nil {
		return "", err
	}
	if d.flags.json {
		return old, d.print(newRound(d.flags.variant(), m))
	}
	d.report.print(good, d.cluster.States(), "All survivors follow %s in epoch %d, %s after the signal%s.",
		m.NewLeader, m.EpochAfter, inMS(m.Failover), otherClock())
	d.report.print(plain, nil, "%s to suspect, %s to elect, %s.", inMS(m.Detect), inMS(m.Elect), describeMessages(m.Messages))
	return old, nil
}

func (d *demo) restoreLeader(ctx context.Context, old string) error {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	before, _ := proccluster.Agreement(d.cluster.States())
	r, err := d.cluster.Recover(ctx, old, d.flags.highest)
	if err != nil {
		return err
	}
	how := "is back"
	if d.signal == proccluster.Stop {
		how = "runs again"
	}
	what := fmt.Sprintf("and takes over in epoch %d, after %s", r.EpochAfter, inMS(r.Duration))
	switch {
	case r.Leader == before.Name:
		what = fmt.Sprintf("and follows %s", r.Leader)
	case r.Leader != old:
		what = fmt.Sprintf("and all follow %s in epoch %d, after %s", r.Leader, r.EpochAfter, inMS(r.Duration))
	}
	d.report.print(good, d.cluster.States(), "%s %s %s, %s.", old, how, what, describeMessages(r.Messages))
	return nil
}

// keep reports every new leader until ctx ends. The reader may kill nodes by hand meanwhile.
func (d *demo) keep(ctx context.Context) error {
	if d.flags.json {
		var o runningCluster
		for _, s := range d.cluster.States() {
			o.Nodes = append(o.Nodes, runningNode{s.Name, s.Addr, s.Pid})
		}
		if err := d.print(o); err != nil {
			return err
		}
	} else {
		d.report.printRunning(d.cluster.States())
	}
	leader, _ := proccluster.Agreement(d.cluster.States())
	for {
		changed := d.cluster.Changed()
		now, agreed := proccluster.Agreement(d.cluster.States())
		if agreed && (now.ID != leader.ID || now.Epoch != leader.Epoch) {
			leader = now
			d.report.print(good, nil, "%s leads in epoch %d.", now.Name, now.Epoch)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *demo) print(object any) error { return json.NewEncoder(d.out).Encode(object) }

// roundObject is a round as JSON.
type roundObject struct {
	Algorithm   string         `json:"algorithm"`
	Nodes       int            `json:"nodes"`
	OldLeader   string         `json:"old_leader"`
	NewLeader   string         `json:"new_leader"`
	EpochBefore uint64         `json:"epoch_before"`
	EpochAfter  uint64         `json:"epoch_after"`
	FailoverMS  float64        `json:"failover_ms"`
	DetectMS    float64        `json:"detect_ms"`
	ElectMS     float64        `json:"elect_ms"`
	Messages    map[string]int `json:"messages"`
	Clock       string         `json:"clock,omitempty"`
}

func newRound(algorithm string, m proccluster.Failover) roundObject {
	o := roundObject{
		Algorithm: algorithm, Nodes: m.Nodes, OldLeader: m.OldLeader, NewLeader: m.NewLeader,
		EpochBefore: m.EpochBefore, EpochAfter: m.EpochAfter,
		FailoverMS: ms(m.Failover), DetectMS: ms(m.Detect), ElectMS: ms(m.Elect), Messages: m.Messages,
	}
	if proccluster.Clock != "monotonic" {
		o.Clock = proccluster.Clock
	}
	return o
}

// runningCluster is a running cluster as JSON.
type runningCluster struct {
	Nodes []runningNode `json:"nodes"`
}

type runningNode struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
	Pid  int    `json:"pid"`
}

// ms returns d in milliseconds, rounded to microseconds.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func inMS(d time.Duration) string {
	digits := 1
	if d >= 100*time.Millisecond {
		digits = 0
	}
	return strconv.FormatFloat(ms(d), 'f', digits, 64) + " ms"
}

// otherClock returns a note for times that are not those of a monotonic clock.
func otherClock() string {
	if proccluster.Clock == "monotonic" {
		return ""
	}
	return " (by the " + proccluster.Clock + " clock)"
}

func describeMessages(messages map[string]int) string {
	var kinds []string
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(messages)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", messages[kind], kind))
		total += messages[kind]
	}
	if total == 0 {
		return "no messages"
	}
	return count(total, "message") + " (" + strings.Join(kinds, ", ") + ")"
}
