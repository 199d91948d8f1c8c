package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/trace"
)

// Options are the options of [Run].
type Options struct {
	// Spec is the algorithm with its options.
	Spec algo.Spec
	// Timing has the timeouts and intervals of the nodes; LAN if zero.
	Timing algo.Timing
	// Nodes is the number of members, including those that crash.
	Nodes int
	// Crashed is the number of nodes that crash before the election, the highest first. All detectors know of the
	// crashes. The initiators suspect the leader immediately, and each node suspects any other crashed node when it
	// uses it, as with suspect-on-use. The textbook algorithms monitor only the leader, and in the ring the successor.
	Crashed int
	// Initiators are the numbers of the nodes that start the election; nil for all live nodes. An initiator that
	// monitors the crashed leader suspects it. At any other initiator the application requests the election.
	Initiators []int
	// Priorities of the nodes in the order of the ring; nil for 1 to Nodes.
	Priorities []int
	// Delay is the delay of messages; its Most is T. 10 ms if zero.
	Delay Delay
	// Faults are the network faults during the election.
	Faults Faults
	Seed   uint64
	// Budget limits the messages: see [Config].
	Budget uint64
	// Limit is the maximum virtual duration of the election; 0 for 2000 T plus 20 T per node.
	Limit time.Duration
	// Trace, if set, receives all events of the election and of the run before it.
	Trace func(trace.Event)
}

// Result is the result of [Run]. It counts the messages of the algorithm without heartbeats and periodic messages.
type Result struct {
	Algorithm string `json:"algorithm"`
	Nodes     int    `json:"nodes"`
	Crashed   int    `json:"crashed"`
	Seed      uint64 `json:"seed"`
	// Leader is the rank of the leader in the order of candidates, from 1 for the lowest; 0 if the live nodes do
	// not agree on a leader.
	Leader int  `json:"leader"`
	Agreed bool `json:"agreed"`
	// Sent includes messages to crashed nodes.
	Sent      uint64            `json:"sent"`
	Delivered uint64            `json:"delivered"`
	Kinds     map[string]uint64 `json:"kinds"` // sent
	// Turnaround is the time from the start of the election until the last live node knows the leader, in T. Decided
	// is the time until the leader itself knows.
	Turnaround float64    `json:"turnaround"`
	Decided    float64    `json:"decided"`
	Epoch      algo.Epoch `json:"epoch"`
	// Repeats is the number of periodic messages of the algorithm meanwhile.
	Repeats    uint64      `json:"repeats"`
	Violations []Violation `json:"violations"`
	// Began is the start of the election in virtual time.
	Began time.Duration `json:"-"`
}

// Errors about Options wrap ErrOptions. ErrNoAlgorithm reports that there is no Spec.
var (
	ErrOptions     = errors.New("sim: options")
	ErrNoAlgorithm = errors.New("there is no algorithm")
)

// Order returns the numbers of the nodes in the order of candidates, the lowest first: by priority, then by number.
// It returns nil if Priorities do not fit Nodes.
func (o *Options) Order() []int {
	if o.Nodes < 1 || o.Nodes > maxNodes || len(o.Priorities) > 0 && len(o.Priorities) != o.Nodes {
		return nil
	}
	order := make([]int, o.Nodes)
	for i := range order {
		order[i] = i + 1
	}
	if len(o.Priorities) > 0 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(o.Priorities[a-1], o.Priorities[b-1]) })
	}
	return order
}

// Check reports all invalid options. Each error wraps ErrOptions.
func (o *Options) Check() error {
	var errs []error
	needs := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrOptions}, args...)...))
		}
	}
	if o.Spec.New == nil {
		errs = append(errs, fmt.Errorf("%w: %w", ErrOptions, ErrNoAlgorithm))
	}
	needs(o.Nodes >= 1 && o.Nodes <= maxNodes, "%d nodes, want 1 to %d", o.Nodes, maxNodes)
	needs(o.Crashed >= 0 && o.Crashed < max(o.Nodes, 1), "%d of %d nodes crash, want one to live", o.Crashed, o.Nodes)
	needs(len(o.Priorities) == 0 || len(o.Priorities) == o.Nodes, "%d priorities for %d nodes", len(o.Priorities), o.Nodes)
	needs(o.Delay.wrong() == "", "the delay %v is %s", o.Delay, o.Delay.wrong())
	needs(o.Delay == (Delay{}) || o.Delay.Most != 0, "the delay is 0, and would be the unit of time")
	for _, fault := range o.Faults.settings() {
		p := *fault.is
		needs(p >= 0 && p < 1, "%s is %v, want at least 0 and less than 1", fault.name, p)
	}
	order := o.Order()
	dead := order[max(0, len(order)-max(o.Crashed, 0)):]
	for _, i := range o.Initiators {
		needs(i >= 1 && i <= o.Nodes, "initiator %d, want 1 to %d", i, o.Nodes)
		needs(!slices.Contains(dead, i) || o.Crashed >= o.Nodes, "initiator %d, and it crashes", i)
	}
	return errors.Join(errs...)
}

// Run lets a cluster elect a leader, crashes the highest nodes, and counts the messages and time of the election that
// follows. Detection takes no time. Run returns when no message is in flight and all nodes agree, or when ctx is done.
// A violation is not an error: see Result.Violations. Errors wrap ErrOptions, or are the error of ctx.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Delay == (Delay{}) {
		o.Delay = Fixed(10 * time.Millisecond)
	}
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	w := New(Config{
		Spec: o.Spec, Timing: o.Timing, Delay: o.Delay, Detector: Scripted, Seed: o.Seed, Budget: o.Budget, Trace: o.Trace,
	})
	r := Result{Algorithm: o.Spec.Name, Nodes: o.Nodes, Crashed: o.Crashed, Seed: o.Seed}
	err := w.within(ctx, func() error { return w.election(&o, &r) })
	r.Violations = append([]Violation{}, w.Violations()...)
	return r, err
}

// election performs the election of Run.
func (w *World) election(o *Options, r *Result) error {
	defer w.recoverPanic()
	priorities := o.Priorities
	if len(priorities) == 0 {
		for i := range o.Nodes {
			priorities = append(priorities, i+1)
		}
	}
	if err := w.Cluster(o.Nodes, priorities...); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	limit := cmp.Or(o.Limit, time.Duration(2000+20*o.Nodes)*o.Delay.Most)
	w.runUntilQuiet(limit, o.Delay.Most)
	before := w.sent
	r.Began = w.now
	w.ResetCounts()
	w.network.faults = o.Faults
	if !w.halted && !w.isStopped() { // otherwise not all nodes may have started
		w.startElection(o)
	}
	w.runUntilQuiet(limit, o.Delay.Most)
	w.result(o, r)
	r.Repeats = w.sent - before - r.Sent
	return nil
}

// startElection crashes the highest nodes and starts the election at the initiators.
func (w *World) startElection(o *Options) {
	leader, _, _ := w.Leader()
	var dead []*node
	for _, number := range o.Order()[o.Nodes-o.Crashed:] {
		dead = append(dead, w.nodes[number-1])
	}
	for _, n := range dead {
		w.crash(n)
	}
	// All detectors learn of all crashes before any node reacts.
	for _, n := range w.nodes {
		for _, d := range dead {
			if n.up {
				n.script.SuspectOnUse(n.now(), d.id, "it crashed")
			}
		}
	}
	initiators := o.Initiators
	if initiators == nil { // all live nodes, by number
		initiators = slices.Sorted(slices.Values(o.Order()[:o.Nodes-o.Crashed]))
	}
	crashed := leader > 0 && !w.nodes[leader-1].up
	for _, i := range initiators {
		if n := w.nodes[i-1]; crashed && n.script.isMonitored(w.nodes[leader-1].id) {
			n.script.Suspect(n.now(), w.nodes[leader-1].id, "scripted")
			n.perform(n.engine.Wake(n.now()))
		} else { // a node that does not monitor the leader learns of the crash from its application
			w.campaign(n)
		}
	}
}

// runUntilQuiet runs until no counted message is in flight and all nodes agree, for at least 20 T.
func (w *World) runUntilQuiet(limit, t time.Duration) {
	const quietTime = 20 // of T
	agreed := func() bool { _, _, agreed := w.Leader(); return agreed }
	began, end := w.now, w.now+limit
	for w.now < end && !w.halted && !w.isStopped() {
		next := max(w.active, began) + quietTime*t
		if next <= w.now {
			if w.underWay == 0 && agreed() {
				return
			}
			next = w.now + t
		}
		w.pass(min(next, end))
	}
	if !w.isStopped() && (!agreed() || w.underWay > 0) {
		w.violate(algo.Agreement, "no leader is known to all after %v: %s", limit, w.Opinions())
	}
}

// result fills in the result at the end.
func (w *World) result(o *Options, r *Result) {
	counts := w.Counts()
	r.Kinds, r.Sent, r.Delivered = counts.Sent, uint64(algosim.Total(counts.Sent)), uint64(algosim.Total(counts.Delivered))
	leader, epoch, agreed := w.Leader()
	if r.Agreed = agreed; agreed {
		r.Leader, r.Epoch = 1+slices.Index(o.Order(), leader), epoch
		inT := func(at time.Duration) float64 { return float64(max(at-r.Began, 0)) / float64(o.Delay.Most) }
		r.Decided = inT(w.nodes[leader-1].knew)
		for _, n := range w.nodes {
			if n.up {
				r.Turnaround = max(r.Turnaround, inT(n.knew))
			}
		}
	}
	if highest := w.highest(); agreed && w.config.Spec.Claims.HighestLeads && highest != leader {
		w.violate(algo.Agreement, "n%d leads, and n%d is the highest", leader, highest)
	}
}
