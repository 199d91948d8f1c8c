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

// Options are those of Run: one election, and what it costs.
type Options struct {
	// Spec is the algorithm, with its options.
	Spec algo.Spec
	// Timing is only for FirstContact and the like; LAN if zero.
	Timing algo.Timing
	// Nodes is how many members there are, those that crash included.
	Nodes int
	// Crashed of them, the highest, crash before the election. Every detector knows it, and
	// says so to the initiators at once, and to others when it matters to them: see
	// script.Learn. The textbooks make nothing of it, but for the leader and in the ring.
	Crashed int
	// Initiators start the election, by number; nil for all that live. Those who watch
	// the leader that crashed suspect it; at the others, and where the leader lives, the
	// application calls for the election.
	Initiators []int
	// Priorities of the nodes in the order of the ring; nil for 1 to Nodes.
	Priorities []int
	// Delay is how long messages take; its Most is T. 10 ms if zero.
	Delay Delay
	// Faults are those of the network during the election.
	Faults Faults
	Seed   uint64
	// Budget is that of Config.
	Budget uint64
	// Limit is how long the election may take, in the time of the simulation; 0 for
	// 2000 T and 20 T for each node.
	Limit time.Duration
	// Trace, when set, sees the election, and what comes before it.
	Trace func(trace.Event)
}

// Result is what Run found. Messages are those of the algorithm: heartbeats, and
// repeats of what was said before, are not counted.
type Result struct {
	Algorithm string `json:"algorithm"`
	Nodes     int    `json:"nodes"`
	Crashed   int    `json:"crashed"`
	Seed      uint64 `json:"seed"`
	// Leader is the rank of the leader in the order of candidates, from 1 for the
	// lowest; 0 when there is none that all live nodes follow.
	Leader int  `json:"leader"`
	Agreed bool `json:"agreed"`
	// Sent includes what went to crashed nodes.
	Sent      uint64            `json:"sent"`
	Delivered uint64            `json:"delivered"`
	Kinds     map[string]uint64 `json:"kinds"` // sent
	// Turnaround is the time from the start of the election until the last live node knew
	// the leader, and Decided until the leader knew, in T.
	Turnaround float64    `json:"turnaround"`
	Decided    float64    `json:"decided"`
	Epoch      algo.Epoch `json:"epoch"`
	// Repeats are the heartbeats of the algorithm itself, sent meanwhile.
	Repeats    uint64      `json:"repeats"`
	Violations []Violation `json:"violations"`
	// Began is when the election began, in the time of a trace.
	Began time.Duration `json:"-"`
}

// ErrOptions is what errors about Options wrap, and ErrNoAlgorithm the one that says that
// they have no Spec.
var (
	ErrOptions     = errors.New("sim: options")
	ErrNoAlgorithm = errors.New("there is no algorithm")
)

// Order is the numbers of the nodes in the order of candidates, the lowest first: by
// priority, then by number. It is nil where Priorities do not fit Nodes.
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

// Check says every mistake at once, each one that wraps ErrOptions.
func (o *Options) Check() error {
	var mistakes []error
	needs := func(ok bool, format string, args ...any) {
		if !ok {
			mistakes = append(mistakes, fmt.Errorf("%w: "+format, append([]any{ErrOptions}, args...)...))
		}
	}
	if o.Spec.New == nil {
		mistakes = append(mistakes, fmt.Errorf("%w: %w", ErrOptions, ErrNoAlgorithm))
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
	return errors.Join(mistakes...)
}

// Run lets a cluster elect a leader, has the highest of its nodes crash, and counts the
// election that follows. Finding the crash takes no time. It ends when all is quiet, or
// with ctx. An algorithm that goes wrong is no error: see Result.Violations. Errors
// wrap ErrOptions, or are those of ctx.
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

// election is what Run does.
func (w *World) election(o *Options, r *Result) error {
	defer w.caught()
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
	w.quiet(limit, o.Delay.Most)
	before := w.sent
	r.Began = w.now
	w.ResetCounts()
	w.network.faults = o.Faults
	if !w.stuck && !w.stopped() { // else not all may have started
		w.incite(o)
	}
	w.quiet(limit, o.Delay.Most)
	w.result(o, r)
	r.Repeats = w.sent - before - r.Sent
	return nil
}

// incite has the highest crash, and the initiators begin.
func (w *World) incite(o *Options) {
	leader, _, _ := w.Leader()
	var dead []*node
	for _, number := range o.Order()[o.Nodes-o.Crashed:] {
		dead = append(dead, w.nodes[number-1])
	}
	for _, n := range dead {
		w.crash(n)
	}
	// Everybody knows before anybody acts on it.
	for _, n := range w.nodes {
		for _, d := range dead {
			if n.up {
				n.script.Learn(n.now(), d.id, "it crashed")
			}
		}
	}
	initiators := o.Initiators
	if initiators == nil { // those who live, by number
		initiators = slices.Sorted(slices.Values(o.Order()[:o.Nodes-o.Crashed]))
	}
	crashed := leader > 0 && !w.nodes[leader-1].up
	for _, i := range initiators {
		if n := w.nodes[i-1]; crashed && n.script.watches(w.nodes[leader-1].id) {
			n.script.Suspect(n.now(), w.nodes[leader-1].id, "it was told so")
			n.perform(n.engine.Wake(n.now()))
		} else { // who does not watch the leader hears of its crash from the application
			w.campaign(n)
		}
	}
}

// quiet runs until no election message is under way and all agree, and until that has been so for a while.
func (w *World) quiet(limit, t time.Duration) {
	const while = 20 // of T
	agreed := func() bool { _, _, agreed := w.Leader(); return agreed }
	began, end := w.now, w.now+limit
	for w.now < end && !w.stuck && !w.stopped() {
		next := max(w.active, began) + while*t
		if next <= w.now {
			if w.underWay == 0 && agreed() {
				return
			}
			next = w.now + t
		}
		w.pass(min(next, end))
	}
	if !w.stopped() && (!agreed() || w.underWay > 0) {
		w.violated(algo.Agreement, "no leader is known to all after %v: %s", limit, w.Opinions())
	}
}

// result fills in what is known at the end.
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
		w.violated(algo.Agreement, "n%d leads, and n%d is the highest", leader, highest)
	}
}
