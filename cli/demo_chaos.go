package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/watchdog"
)

const chaosHelp = `

With --chaos, random faults disturb the members for that time. Each member is an elect run with a
command that works: it writes the time into a file every 2 ms, while its member leads. The verdict
comes from these files alone. It counts failovers, and tells how long no command worked before
each of them, and for how long two worked at once. With --lease=off, two may. With the lease,
the status is 1 if two did. --svg draws all of it: the work of each member, and the faults.

A fault comes 2 to 6 s after the last one was undone. All follows from --seed, except the leader:
  kill        SIGKILL for elect, of the leader or of another member; it starts again after 1 to 3 s
  pause       SIGSTOP for elect, of the leader, for 1 to 3 s; its watchdog and its command run on
  freeze      SIGSTOP for elect, its watchdog and its command, of the leader, for 1 to 3 s: to them,
              the clock jumps, as on a machine that sleeps
  partition   the leader, or a random group, is cut off from the others for 2 to 4 s
Partitions need Linux, root, ip and nsenter: each member then has a network namespace. Otherwise
there are signals alone, as for algorithms for lessons. With the preset wan the faults last eight times as long. The nodes wait
until the lease of a crashed leader expires, as by default.

A frozen command that wakes may work for a moment, before its watchdog wakes and kills it. No lease
prevents that: a resource has to check the fencing token. The verdict counts the first second
apart, as woken, and the status is not 1.

With --chaos and --json, one object for each fault, on a line: fault (its name), at_ms (since the
first work), nodes (names of its members), leader (whether the leader is one of
them), hold_ms, failovers (a list: from, to, token, no_work_ms) until the next fault, two_ms and
woken_ms (for how long two worked at once). The last object: verdict ("one at a time" or "two at
once"), algorithm, nodes, seed, partitions (whether there may be some), took_ms, faults (an
object: how many of each name), failovers (their number), p50_ms and p99_ms (of the time without
work before a failover; missing without one), two_ms, woken_ms, no_work_ms (in all), interrupted
(true after Ctrl-C, otherwise missing), and clock as above.`

// checkChaos returns the settings of the members, or all problems in the flags.
func (p *program) checkChaos(cmd *cobra.Command, f *demoFlags) (*confload.Settings, error) {
	lease, valid := map[string]bool{"on": true, "true": true, "off": false, "false": false}[f.lease]
	f.leased, f.lesson = lease, true
	s, err := p.chaosSettings(f)
	if err != nil {
		return nil, err
	}
	if spec, unknown := s.Spec(); unknown == nil && !spec.Textbook {
		f.lesson = false
		if s, err = p.chaosSettings(f); err != nil {
			return nil, err
		}
	}
	wrong := s.Problems.Addf
	if !valid {
		wrong("--lease is %q, want on or off", f.lease)
	}
	if f.chaos <= 0 {
		wrong("--chaos is %v, want more than 0", f.chaos)
	}
	if f.nodes < 3 || f.nodes > maxDemoNodes {
		wrong("--nodes is %d, want 3 to %d with --chaos: two do not survive a fault", f.nodes, maxDemoNodes)
	}
	for _, name := range []string{"rounds", "signal", "keep", "join"} {
		if cmd.Flags().Changed(name) {
			wrong("--%s is set beside --chaos, which has faults of its own", name)
		}
	}
	_, err = s.Node()
	return s, err
}

func (p *program) chaosSettings(f *demoFlags) (*confload.Settings, error) {
	return p.settingsOf(append(f.chaosArgs(), "--name", "n1", "--listen", "127.0.0.1:0", "--data-dir", "data")...)
}

// chaosArgs are the flags that each member of a chaos run gets.
func (f *demoFlags) chaosArgs() []string {
	args := []string{"--algorithm", f.algorithm, "--preset", f.preset, "--lease"}
	if !f.leased {
		args[len(args)-1] = "--lease=off"
	}
	if f.lesson {
		args = append(args, "--allow-textbook")
	}
	for _, option := range f.options {
		args = append(args, "--option", option)
	}
	return args
}

// chaosDemo is a run with random faults.
type chaosDemo struct {
	*demo
	fault.Processes
	faults  *schedule
	reader  shiftReader
	began   int64 // the first work
	freezes []freeze
	drawn   []faultSpan // for --svg
	counts  map[faultKind]int
	now     *faultObject // the fault that is observed; nil before the first
	before  verdict      // when that fault began

	mu       sync.Mutex
	verdict  verdict
	worker   shift // that works, if isAtWork
	isAtWork bool
}

func (p *program) runChaos(cmd *cobra.Command, flags *demoFlags) (err error) {
	s, err := p.checkChaos(cmd, flags)
	if err != nil {
		return err
	}
	if !watchdog.Supported {
		return fmt.Errorf("--chaos lets the members run a command: %s", onlyUnix)
	}
	command, err := p.selfCommand()
	if err != nil {
		return err
	}
	if flags.svg != "" { // a problem shows before the run
		file, err := os.OpenFile(flags.svg, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return fmt.Errorf("--svg: %w", err)
		}
		file.Close()
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	dir, err := os.MkdirTemp("", "elect-chaos-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return err
	}

	c := &chaosDemo{
		demo:   &demo{flags: flags, out: cmd.OutOrStdout(), bound: 15*time.Second + 4*s.Config.Timing.RecoveryBound()},
		reader: shiftReader{folder: work}, counts: make(map[faultKind]int),
	}
	c.report = newReporter(c.out, flags)
	if screen, ok := c.report.(*screen); ok {
		screen.status = c.status
	}
	c.report.start(flags)
	config := proccluster.Config{
		Command: command, Args: append(flags.chaosArgs(), "--restart", "always"), Run: append(slices.Clone(command), workSubcommand, work), Dir: dir,
	}
	unavailable := errors.New("an algorithm for lessons runs on the loopback alone")
	if !flags.lesson {
		c.Processes, unavailable = fault.Start(ctx, config, flags.nodes, true, 0)
	}
	if err = unavailable; flags.lesson || errors.Is(err, netlab.ErrUnavailable) {
		c.Processes, err = fault.Start(ctx, config, flags.nodes, false, 0)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		c.report.stop(err, []string{farewell})
		return err
	}
	c.faults = newSchedule(flags.seed, flags.nodes, unavailable == nil, s.Config.Timing)
	c.cluster = c.Processes.Cluster
	c.report.attach(c.cluster)
	if unavailable != nil {
		c.report.print(plain, nil, "There are no partitions: %v.", unavailable)
	}
	err = c.run(ctx)
	until := proccluster.Now()
	c.report.detach()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return c.finish(err, until)
}

// finish stops all members and reports the verdict, also after an interruption.
func (c *chaosDemo) finish(err error, until int64) error {
	interrupted := errors.Is(err, errInterrupted)
	if interrupted {
		err = errors.Join(err, c.closeFault())
	}
	err = errors.Join(err, c.Close())
	reader := shiftReader{folder: c.reader.folder} // which has forgotten no process
	shifts, failed := reader.read()
	if err = errors.Join(err, failed); !leftNothing(err) || c.began == 0 {
		c.report.stop(err, []string{farewell})
		return err
	}
	o := c.conclude(judge(shifts, c.chosenFreezes(), until), until)
	o.Interrupted = interrupted
	c.report.stop(err, append(o.lines(c.flags), farewell))
	if c.flags.json {
		err = errors.Join(err, c.print(o))
	}
	if c.flags.svg != "" {
		err = errors.Join(err, c.writePicture(shifts, o, until))
	}
	if err == nil && c.flags.leased && o.TwoMS > 0 {
		err = &exitError{statusFailed, fmt.Sprintf("with the lease, two members worked at once for %v ms", o.TwoMS)}
	}
	return err
}

// writePicture draws the run.
func (c *chaosDemo) writePicture(shifts []shift, o *verdictObject, until int64) error {
	p := &chaosPicture{nodes: c.flags.nodes, began: c.began, until: until, faults: c.drawn, shifts: shifts, freezes: c.chosenFreezes()}
	return os.WriteFile(c.flags.svg, []byte(p.draw(c.flags.chaosTitle(), o.lines(c.flags))), 0o644)
}

// chaosTitle is the title of a picture.
func (f *demoFlags) chaosTitle() string {
	title := fmt.Sprintf("elect demo --chaos %v --seed %d", f.chaos, f.seed)
	if !f.leased {
		title += " --lease=off"
	}
	return title
}

// run injects faults until the time is over.
func (c *chaosDemo) run(ctx context.Context) error {
	if err := c.awaitWork(ctx); err != nil {
		return err
	}
	first := c.lastShift()
	c.mu.Lock()
	c.began = first.begin()
	c.mu.Unlock()
	c.report.print(good, c.cluster.States(), "%s works, with token %d.", first.node, first.token)
	end := time.Now().Add(c.flags.chaos)
	for {
		f := c.faults.next()
		if err := c.pass(ctx, min(f.wait, time.Until(end))); err != nil {
			return err
		}
		if err := c.closeFault(); err != nil {
			return err
		}
		if !time.Now().Before(end) {
			return nil
		}
		if err := c.disturb(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", f.kind, err)
		}
	}
}

// disturb injects a fault, undoes it, and waits until some member works.
func (c *chaosDemo) disturb(ctx context.Context, f chaosFault) error {
	leader := c.leader()
	if leader == 0 {
		leader = f.order[0]
	}
	targets := f.targets(leader)
	o := &faultObject{Fault: f.kind, HoldMS: ms(f.hold), Leader: slices.Contains(targets, leader), Failovers: []failoverObject{}}
	for _, number := range targets {
		o.Nodes = append(o.Nodes, proccluster.Name(number))
	}
	c.counts[f.kind]++
	c.before, c.now = c.verdict, o
	at := proccluster.Now()
	o.AtMS = ms(time.Duration(at - c.began))
	c.report.print(bad, nil, "%s", o.String())
	undo, err := c.inject(f.kind, targets)
	if err == nil {
		err = c.pass(ctx, f.hold)
	}
	if undo != nil { // also after an interruption: a frozen process would not end
		err = errors.Join(err, undo(ctx))
	}
	c.drawn = append(c.drawn, faultSpan{o, at, proccluster.Now()})
	if err != nil {
		return err
	}
	return c.awaitWork(ctx)
}

// inject injects a fault, and returns what undoes it. Undoing a kill is not needed to stop all members.
func (c *chaosDemo) inject(kind faultKind, targets []int) (undo func(context.Context) error, err error) {
	name := proccluster.Name(targets[0])
	switch kind {
	case faultKill:
		_, err = c.cluster.Signal(name, proccluster.Kill)
		return func(ctx context.Context) error {
			if ctx.Err() != nil {
				return nil
			}
			return c.cluster.Restart(ctx, name)
		}, err
	case faultPause:
		_, err = c.cluster.Signal(name, proccluster.Stop)
		return func(context.Context) error {
			_, err := c.cluster.Signal(name, proccluster.Cont)
			return err
		}, err
	case faultFreeze:
		return c.freeze(name)
	}
	var hosts, others []int
	var names []string
	for i := range c.flags.nodes {
		if slices.Contains(targets, i+1) {
			hosts, names = append(hosts, i), append(names, proccluster.Name(i+1))
		} else {
			others = append(others, i)
		}
	}
	err = c.cluster.Disconnect(names, func() error { return c.Lab.Split(hosts, others) })
	return func(context.Context) error { return c.cluster.Reconnect(c.Lab.Heal) }, err
}

// freeze pauses all processes of a member.
func (c *chaosDemo) freeze(name string) (undo func(context.Context) error, err error) {
	began := proccluster.Now()
	if _, err := c.cluster.Signal(name, proccluster.Stop); err != nil {
		return nil, err
	}
	// Its command may have ended meanwhile, and then the others have, too.
	w := c.lastShift()
	worked := c.isAtWork && w.node == name
	if worked {
		_ = proccluster.SendTo(w.watchdog, proccluster.Stop)
		_ = proccluster.SendTo(w.pid, proccluster.Stop)
	}
	return func(context.Context) error {
		c.freezes = append(c.freezes, freeze{name, began, proccluster.Now()})
		if worked {
			_ = proccluster.SendTo(w.watchdog, proccluster.Cont)
		}
		_, err := c.cluster.Signal(name, proccluster.Cont)
		if worked {
			_ = proccluster.SendTo(w.pid, proccluster.Cont)
		}
		return err
	}, nil
}

// leader returns the number of the member that works, or else of the one that all follow; 0 if there is none.
func (c *chaosDemo) leader() int {
	if w := c.lastShift(); c.isAtWork {
		return proccluster.Number(w.node)
	}
	leader, _ := proccluster.Agreement(c.cluster.States())
	return proccluster.Number(leader.Name)
}

// lastShift returns the shift that worked last.
func (c *chaosDemo) lastShift() shift {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.worker
}

// look is the time between two observations of the work.
const look = 50 * time.Millisecond

// pass observes the work for a time.
func (c *chaosDemo) pass(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); ; {
		if err := c.observe(ctx); err != nil {
			return err
		}
		rest := time.Until(end)
		if rest <= 0 {
			return nil
		}
		if err := proccluster.Sleep(ctx, min(rest, look)); err != nil {
			return err
		}
	}
}

// awaitWork waits until a member works.
func (c *chaosDemo) awaitWork(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.bound, fmt.Errorf("no member works after %v", c.bound))
	defer cancel()
	for c.isAtWork = false; ; {
		if err := c.pass(ctx, 0); err != nil || c.isAtWork {
			return err
		}
		if err := proccluster.Sleep(ctx, look); err != nil {
			return err
		}
	}
}

// observe reads the work, reports new failovers, and returns the failure of a member, if any.
func (c *chaosDemo) observe(ctx context.Context) error {
	if err := c.cluster.WaitUntil(ctx, func([]proccluster.State) bool { return true }); err != nil {
		return err
	}
	shifts, err := c.reader.read()
	if err != nil {
		return err
	}
	now := proccluster.Now()
	v := judge(shifts, c.chosenFreezes(), now)
	known := len(c.verdict.failovers)
	w, isAtWork := workerAt(shifts, now)
	c.mu.Lock()
	c.verdict, c.worker, c.isAtWork = v, w, isAtWork
	c.mu.Unlock()
	for _, f := range v.failovers[min(known, len(v.failovers)):] {
		if c.now != nil {
			c.now.Failovers = append(c.now.Failovers, failoverObject{f.from.node, f.to.node, f.to.token, ms(f.noWork)})
		}
		c.report.print(good, nil, "%s works after %s without work, with token %d.", f.to.node, inMS(f.noWork), f.to.token)
	}
	if screen, ok := c.report.(*screen); ok {
		screen.draw()
	}
	return nil
}

// chosenFreezes returns the freezes that excuse work of two members: none without the lease.
func (c *chaosDemo) chosenFreezes() []freeze {
	if c.flags.leased {
		return c.freezes
	}
	return nil
}

// closeFault reports what a fault has cost, right before the next one.
func (c *chaosDemo) closeFault() error {
	o := c.now
	if o == nil {
		return nil
	}
	c.now = nil
	two, woken := c.verdict.two-c.before.two, c.verdict.woken-c.before.woken
	o.TwoMS, o.WokenMS = ms(two), ms(woken)
	if two > 0 {
		c.report.print(plain, nil, "Two members worked at once for %s.", inMS(two))
	}
	if woken > 0 {
		c.report.print(plain, nil, "A frozen command worked for %s after it had woken, beside another.", inMS(woken))
	}
	if len(o.Failovers) == 0 {
		c.report.print(plain, nil, "No failover: %s works on.", c.lastShift().node)
	}
	if !c.flags.json {
		return nil
	}
	return c.print(o)
}

// status is the line below the table of a terminal.
func (c *chaosDemo) status() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began == 0 {
		return "no member works yet"
	}
	v := c.verdict
	text := fmt.Sprintf("%v of %v: %s", time.Duration(proccluster.Now()-c.began).Truncate(time.Second), c.flags.chaos, count(len(v.failovers), "failover"))
	if len(v.failovers) > 0 {
		text += fmt.Sprintf(" (p50 %s, p99 %s)", inMS(v.noWorkQuantile(0.5)), inMS(v.noWorkQuantile(0.99)))
	}
	text += ", two at once " + inMS(v.two)
	if c.isAtWork {
		return text + ", " + c.worker.node + " works"
	}
	return text + ", no member works"
}

// faultObject is a fault as JSON.
type faultObject struct {
	Fault     faultKind        `json:"fault"`
	AtMS      float64          `json:"at_ms"`
	Nodes     []string         `json:"nodes"`
	Leader    bool             `json:"leader"`
	HoldMS    float64          `json:"hold_ms"`
	Failovers []failoverObject `json:"failovers"`
	TwoMS     float64          `json:"two_ms"`
	WokenMS   float64          `json:"woken_ms"`
}

type failoverObject struct {
	From     string  `json:"from"`
	To       string  `json:"to"`
	Token    uint64  `json:"token"`
	NoWorkMS float64 `json:"no_work_ms"`
}

// String describes the fault for a reader.
func (o *faultObject) String() string {
	target := strings.Join(o.Nodes, ", ")
	if o.Leader && len(o.Nodes) == 1 {
		target += ", the leader,"
	}
	what := map[faultKind]string{
		faultKill: "killed, and back after", faultPause: "paused for", faultFreeze: "frozen, with its command, for", faultPartition: "cut off for",
	}[o.Fault]
	verb := "is"
	if len(o.Nodes) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("At %.1f s: %s %s %s %.1f s.", o.AtMS/1000, target, verb, what, o.HoldMS/1000)
}

// verdictObject is the last object of a chaos run.
type verdictObject struct {
	Verdict     string            `json:"verdict"`
	Algorithm   string            `json:"algorithm"`
	Nodes       int               `json:"nodes"`
	Seed        uint64            `json:"seed"`
	Partitions  bool              `json:"partitions"`
	TookMS      float64           `json:"took_ms"`
	Faults      map[faultKind]int `json:"faults"`
	Failovers   int               `json:"failovers"`
	P50MS       *float64          `json:"p50_ms,omitempty"`
	P99MS       *float64          `json:"p99_ms,omitempty"`
	TwoMS       float64           `json:"two_ms"`
	WokenMS     float64           `json:"woken_ms"`
	NoWorkMS    float64           `json:"no_work_ms"`
	Interrupted bool              `json:"interrupted,omitempty"`
	Clock       string            `json:"clock,omitempty"`
}

// conclude returns the verdict as an object.
func (c *chaosDemo) conclude(v verdict, until int64) *verdictObject {
	o := &verdictObject{
		Verdict: "one at a time", Algorithm: c.flags.variant(), Nodes: c.flags.nodes, Seed: c.flags.seed, Partitions: c.Lab != nil,
		TookMS: ms(time.Duration(until - c.began)), Faults: c.counts, Failovers: len(v.failovers),
		TwoMS: ms(v.two), WokenMS: ms(v.woken), NoWorkMS: ms(v.none),
	}
	if v.two > 0 {
		o.Verdict = "two at once"
	}
	if len(v.failovers) > 0 {
		p50, p99 := ms(v.noWorkQuantile(0.5)), ms(v.noWorkQuantile(0.99))
		o.P50MS, o.P99MS = &p50, &p99
	}
	if proccluster.Clock != "monotonic" {
		o.Clock = proccluster.Clock
	}
	return o
}

// lines returns the verdict for a reader.
func (o *verdictObject) lines(f *demoFlags) []string {
	var faults []string
	total := 0
	for _, kind := range []faultKind{faultKill, faultPause, faultFreeze, faultPartition} {
		if n := o.Faults[kind]; n > 0 {
			faults = append(faults, count(n, string(kind)))
			total += n
		}
	}
	all := []string{fmt.Sprintf("In %.0f s, by seed %d: %s", o.TookMS/1000, o.Seed, count(total, "fault"))}
	if total > 0 {
		all[0] += " (" + strings.Join(faults, ", ") + ")"
	}
	all[0] += "."
	failovers := fmt.Sprintf("Failovers: %d. No member worked for %.1f s in all.", o.Failovers, o.NoWorkMS/1000)
	if o.P50MS != nil {
		failovers += fmt.Sprintf(" Before a failover: p50 %.0f ms, p99 %.0f ms.", *o.P50MS, *o.P99MS)
	}
	two := fmt.Sprintf("Two members worked at once for %.1f ms", o.TwoMS)
	switch {
	case !f.leased:
		two += ", with --lease=off."
	case o.TwoMS > 0:
		two += ". The lease should have prevented that."
	default:
		two += ", with the lease."
	}
	all = append(all, failovers, two)
	if o.WokenMS > 0 {
		all = append(all, fmt.Sprintf("A frozen command worked for %.1f ms after it had woken, beside another. Only a check of the fencing token prevents that.", o.WokenMS))
	}
	return all
}
