package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// StormOptions are those of Storm.
type StormOptions struct {
	Spec   algo.Spec
	Timing Timing // LAN if zero
	// Nodes of the cluster; 5 if zero.
	Nodes int
	// Period is for how long it is disturbed; 10 s if zero.
	Period time.Duration
	// Within is how long it may take to heal; Timing.Bound if zero.
	Within time.Duration
	Seed   uint64
	// Quiet leaves faults of the network out: only processes crash, and start again.
	Quiet bool
	// Constant leaves the members as they are: nobody joins, leaves or is removed.
	Constant bool
	// Trace, when set, sees everything.
	Trace func(trace.Event)
}

// Report is what a Storm left behind.
type Report struct {
	Seed       uint64
	Leader     int // by number; 0 for none
	Epoch      algo.Epoch
	Healed     time.Duration // after the last fault
	Frames     uint64        // sent, heartbeats included
	Crashes    int
	Changes    int // members that joined, left or were removed, as far as it got done
	Violations []Violation
	// Scenario is a text that does the same again: see World.Scenario. It is there
	// when there are violations.
	Scenario string
}

// Err is nil for a storm without violations. Else it says all of them, the seed, and
// the scenario that replays them.
func (r *Report) Err() error {
	if len(r.Violations) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "sim: storm of seed %d:\n", r.Seed)
	for _, v := range r.Violations {
		fmt.Fprintf(&text, "  %v: %s: %s\n", v.At, v.Property, v.Text)
	}
	fmt.Fprintf(&text, "replay this scenario:\n%s", r.Scenario)
	return &StormError{text.String()}
}

// StormError is what went wrong in a storm, with the way to replay it.
type StormError struct{ text string }

func (e *StormError) Error() string { return e.text }

// Storm disturbs a cluster at random: processes crash, also between a save and what
// should follow it, and start again; they pause, and go on; their clocks run at other
// speeds; members resign, and change their priority; others join, leave and are removed,
// all but the first three; frames are late, lost, doubled and out of order; the network is
// parted, in one direction, in two groups, or with a bridge between them. Then it heals,
// all processes run, and all who are members must agree on one leader and on one
// membership. Everything follows from the seed. Its error is that of ctx.
func Storm(ctx context.Context, o StormOptions) (Report, error) {
	if o.Timing == (Timing{}) {
		o.Timing = LAN()
	}
	if o.Nodes == 0 {
		o.Nodes = 5
	}
	if o.Period == 0 {
		o.Period = 10 * time.Second
	}
	if o.Within == 0 {
		o.Within = o.Timing.Bound()
	}
	w := New(Config{
		Spec: o.Spec, Timing: o.Timing, Seed: o.Seed, Trace: o.Trace,
		Delay: Uniform(o.Timing.RoundTrip/100, o.Timing.RoundTrip/10),
	})
	w.stop = ctx.Done()
	s := storm{w: w, o: &o, random: newRandom(o.Seed)}
	r := Report{Seed: o.Seed}
	if err := s.blow(ctx, &r); err != nil {
		return r, err
	}
	r.Frames, r.Crashes, r.Changes = w.sent, s.crashes, s.changes
	r.Leader, r.Epoch, _ = w.Leader()
	if r.Violations = w.Violations(); len(r.Violations) > 0 {
		r.Scenario = w.Scenario()
	}
	return r, nil
}

// blow disturbs the world, and lets it heal.
func (s *storm) blow(ctx context.Context, r *Report) error {
	w := s.w
	defer w.caught()
	if err := w.Cluster(s.o.Nodes); err != nil {
		return err
	}
	for w.now < s.o.Period {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.Run(time.Millisecond + s.period(s.o.Period/20))
		s.disturb()
	}
	s.calm()
	r.Healed = w.Await(s.o.Within)
	if ctx.Err() != nil {
		return context.Cause(ctx) // it was not waited for
	}
	s.count()
	return nil
}

// count finds out how much came of the changes of the membership.
func (s *storm) count() {
	for _, n := range s.w.nodes {
		joined := n.number() > s.o.Nodes
		if n.up && n.engine.View().Contains(n.id) == joined || !n.up && !joined {
			s.changes++
		}
		if !n.up && joined && n.roster != nil {
			s.changes += 2 // in, and out again
		}
	}
}

type storm struct {
	w       *World
	o       *StormOptions
	random  *rand.Rand
	crashes int
	changes int
}

func (s *storm) one() int { return 1 + s.random.IntN(len(s.w.nodes)) }

func (s *storm) period(most time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(most))).Round(time.Millisecond)
}

// disturb does one thing to one node, or to the network. What cannot be done, as to
// crash a node that is down, is not done.
func (s *storm) disturb() {
	kinds := 11
	if s.o.Quiet {
		kinds = 5
	}
	if !s.o.Constant && s.random.IntN(6) == 0 {
		s.change()
		return
	}
	w, n := s.w, s.one()
	var err error
	switch s.random.IntN(kinds) {
	case 0, 1:
		if err = w.Restart(n); err != nil {
			s.crashes++
			err = w.Crash(n)
		}
	case 2:
		if leader, _, known := w.Leader(); known {
			s.crashes++
			err = w.Crash(leader)
		} else {
			err = w.Campaign(n)
		}
	case 3:
		err = w.CrashAfterSave(n)
	case 4:
		err = w.CrashAfter(n, s.random.IntN(5))
	case 5:
		if err = w.Resume(n); err != nil {
			err = w.Pause(n)
		}
	case 6:
		err = w.SetClock(n, 500_000+s.random.Int64N(1_500_000))
	case 7:
		err = w.Resign(n, s.period(s.o.Period/4))
	case 8:
		w.SetFaults(Faults{Loss: s.random.Float64() / 4, Duplicate: s.random.Float64() / 4, Reorder: s.random.Float64() / 4})
	case 9:
		err = s.part()
	case 10:
		w.Heal()
	}
	_ = err // it was down already, or there is nobody to resume
}

// core is how many members stay: somebody must be left.
const core = 3

// change has somebody come, go, or stand otherwise as a candidate.
func (s *storm) change() {
	w, n := s.w, s.one()
	var err error
	switch most := 2 * s.o.Nodes; s.random.IntN(4) {
	case 0:
		if len(w.nodes) < most {
			_, err = w.Join(1 + s.random.IntN(min(core, s.o.Nodes)))
		}
	case 1, 2:
		if n > core {
			err = w.Remove(s.one(), n)
		}
	case 3:
		err = w.SetPriority(n, s.random.IntN(3))
	}
	_ = err // it cannot be done at that node now
}

// part cuts the network somewhere.
func (s *storm) part() error {
	w := s.w
	switch s.random.IntN(3) {
	case 0:
		return w.Cut(s.one(), s.one())
	default:
		var left, right []int
		for i := range w.nodes {
			switch s.random.IntN(5) {
			case 0:
				left, right = append(left, i+1), append(right, i+1) // a bridge
			case 1, 2:
				left = append(left, i+1)
			default:
				right = append(right, i+1)
			}
		}
		return w.Partition(left, right)
	}
}

// calm ends all faults: everybody runs, by a right clock, and hears everybody.
func (s *storm) calm() {
	w := s.w
	w.Heal()
	w.Disarm()
	for _, n := range w.nodes {
		if n.clock.ppm != perfect {
			_ = w.SetClock(n.number(), perfect)
		}
		if n.paused {
			_ = w.Resume(n.number())
		}
		if !n.up {
			_ = w.Restart(n.number())
		} else {
			_ = w.Withdraw(n.number())
		}
	}
}

// newRandom is what a storm is drawn from: not from what the world draws from, so that
// a scenario without the storm's draws is the same run.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }
