package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// ChaosOptions are those of Chaos.
type ChaosOptions struct {
	Spec   algo.Spec
	Timing algo.Timing // LAN if zero
	// Nodes of the cluster; 5 if zero.
	Nodes int
	// Period is for how long it is disturbed; 10 s if zero.
	Period time.Duration
	// Within is how long it may take to heal; if zero, Timing.Bound, and for each node beyond
	// five 9/4 of RoundTrip, which a ring waits longer that has lost its token.
	Within time.Duration
	Seed   uint64
	// Trace, when set, sees everything.
	Trace func(trace.Event)
}

// Report is what a Chaos left behind.
type Report struct {
	Seed       uint64
	Healed     time.Duration // after the last fault
	Frames     uint64        // sent, heartbeats included
	Crashes    int
	Lost       int // who was dead for good when all healed
	Changes    int // members that joined, left or were removed, as far as it got done
	Violations []Violation
	Known      []Violation // of what is known to be wrong: see World.Known
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
	fmt.Fprintf(&text, "this scenario does it again:\n%s", r.Scenario)
	return errors.New(text.String())
}

// Chaos disturbs a cluster at random: processes crash, also between a save and what
// should follow it, or say goodbye, and start again; they pause, and go on; their clocks run
// at other speeds; their disks are slow; members resign, also one leader after the other, and change their priority;
// others join, and may die as soon as they have, leave and are removed, all but the first three; one
// loses what it kept, maybe before there ever was a leader;
// all get new addresses at once; frames are late, lost, doubled and out of order, and some links are slow;
// the network is parted, in one direction, in two groups, or with a bridge between them; and some of
// that within milliseconds. Without a quorum, an operator changes all lists when a node joins or is removed. Then it heals, and all processes run, or in half of the storms all but a
// minority that is dead for good. All who run and are members must agree on one leader and on one
// membership. Everything follows from the seed. Its error is that of ctx.
func Chaos(ctx context.Context, o ChaosOptions) (Report, error) {
	o.Timing = cmp.Or(o.Timing, algo.LAN())
	o.Nodes = cmp.Or(o.Nodes, 5)
	o.Period = cmp.Or(o.Period, 10*time.Second)
	w := New(Config{
		Spec: o.Spec, Timing: o.Timing, Seed: o.Seed, Trace: o.Trace, Budget: o.budget(),
		Delay: Uniform(o.Timing.RoundTrip/100, o.Timing.RoundTrip/10),
	})
	s := storm{w: w, o: &o, random: newRandom(o.Seed), r: Report{Seed: o.Seed}}
	err := w.within(ctx, s.blow)
	r := s.r
	r.Frames = w.sent
	r.Known = w.Known()
	if r.Violations = w.Violations(); len(r.Violations) > 0 {
		r.Scenario = w.Scenario()
	}
	return r, err
}

func (o *ChaosOptions) within(nodes int) time.Duration {
	if o.Within > 0 {
		return o.Within
	}
	return o.Timing.Bound() + time.Duration(max(0, nodes-5))*o.Timing.RoundTrip*9/4
}

// budget is how many messages may be sent, heartbeats included: 100 for each second and each
// pair of nodes, of which there are at least 50. It is a few times what an election after the
// other takes.
func (o *ChaosOptions) budget() uint64 {
	seconds := (o.Period + 2*o.within(2*o.Nodes)) / time.Second
	return 100 * uint64(seconds+1) * uint64(max(50, o.Nodes*o.Nodes))
}

// blow disturbs the world, and lets it heal.
func (s *storm) blow() error {
	w, r := s.w, &s.r
	defer w.caught()
	if err := w.Cluster(s.o.Nodes); err != nil {
		return err
	}
	if s.random.IntN(16) == 0 {
		w.Run(s.period(8 * time.Millisecond)) // there is no leader yet
		s.empty()
	}
	for w.now < s.o.Period && !w.stopped() {
		s.gust()
	}
	if s.o.Nodes == 1 {
		s.guest()
	}
	s.lost()
	s.calm()
	r.Healed = w.Await(s.o.within(len(w.nodes)))
	for _, n := range w.nodes {
		hasJoined := n.number() > s.o.Nodes && (n.record != nil || !s.w.config.Spec.Claims.NeedsQuorum)
		if hasJoined || w.removed(n) || n.isUnlisted {
			r.Changes++
		}
	}
	return nil
}

type storm struct {
	w      *World
	o      *ChaosOptions
	random *rand.Rand
	r      Report

	emptied bool // once
}

func (s *storm) one() int { return 1 + s.random.IntN(len(s.w.nodes)) }

func (s *storm) period(most time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(most))).Round(time.Millisecond)
}

// gust passes time and disturbs once, or a few times within milliseconds.
func (s *storm) gust() {
	s.w.Run(time.Millisecond + s.period(s.o.Period/20))
	s.disturb()
	if s.random.IntN(4) == 0 {
		for range 1 + s.random.IntN(5) {
			s.w.Run(s.period(6 * time.Millisecond))
			s.disturb()
		}
	}
}

// disturb does one thing to one node, or to the network. What cannot be done, as to
// crash a node that is down, is not done.
func (s *storm) disturb() {
	if s.random.IntN(6) == 0 {
		s.change()
		return
	}
	w, n := s.w, s.one()
	switch s.random.IntN(17) {
	case 0, 1:
		if w.Do("restart n%d", n) != nil {
			s.r.Crashes++
			_ = w.Do("crash n%d", n)
		}
	case 2:
		if leader, _, known := w.Leader(); known {
			s.r.Crashes++
			_ = w.Do("crash n%d", leader)
		} else {
			_ = w.Do("campaign n%d", n)
		}
	case 3:
		_ = w.Do("crash n%d after save", n)
	case 4:
		_ = w.Do("crash n%d after %d", n, s.random.IntN(5))
	case 5:
		_ = w.Do("stop n%d", n)
	case 6:
		if w.Do("resume n%d", n) != nil {
			_ = w.Do("pause n%d", n)
		}
	case 7:
		_ = w.Do("clock n%d %d", n, 500_000+s.random.Int64N(1_500_000))
	case 8:
		_ = w.Do("resign n%d %v", n, s.period(s.o.Period/4))
	case 9:
		for _, fault := range w.network.faults.settings() {
			_ = w.Do("%s %v", fault.name, s.random.Float64()/4)
		}
	case 10:
		s.part()
	case 11:
		_ = w.Do("heal")
	case 12: // one link is slow, in one direction: now and then by more than a round trip
		t := s.o.Timing.RoundTrip
		_ = w.Do("link n%d n%d %v", s.one(), s.one(), HeavyTailed(t/10, 4*t))
	case 13: // who leads resigns, and then who leads next
		for range 2 {
			for _, leader := range w.nodes {
				if leader.leader.ID == leader.id {
					_ = w.Do("resign %s %v", leader.name, s.period(s.o.Period/4))
				}
			}
			w.Run(s.period(4 * s.o.Timing.RoundTrip))
		}
	case 14:
		s.guest()
	case 15:
		s.strike()
	case 16:
		_ = w.Do("disk n%d %v", n, s.period(3*s.o.Timing.RoundTrip))
	}
}

// strike does what is rare, and takes long to get over.
func (s *storm) strike() {
	w := s.w
	if s.random.IntN(2) == 0 { // all move at once
		for _, does := range []string{"crash", "readdress", "restart"} {
			for _, i := range s.random.Perm(len(w.nodes)) {
				if !s.emptied {
					_ = w.Do("%s n%d", does, i+1)
				}
			}
		}
		return
	}
	s.empty()
}

// empty has one lose what it kept, if it stays where it was: so who it was makes room for it.
func (s *storm) empty() {
	if n := s.one(); n > core && s.r.Lost == 0 && s.w.nodes[0].moves == 0 && s.spare() > 0 {
		_ = s.w.Do("crash n%d", n)
		_ = s.w.Do("wipe n%d", n)
		_ = s.w.Do("restart n%d", len(s.w.nodes))
		s.r.Lost, s.emptied = 1, true
	}
}

// guest has somebody join and die within milliseconds, maybe for good; that of a lone founder only
// at the end, for the founder must not die in the same moment.
func (s *storm) guest() {
	if !s.join() {
		return
	}
	s.w.Run(s.period(10 * time.Millisecond))
	guest := s.w.nodes[len(s.w.nodes)-1]
	_ = s.w.Do("crash %s", guest.name)
	if s.r.Lost == 0 && s.random.IntN(2) == 0 && (s.o.Nodes > 1 || s.w.now >= s.o.Period) {
		guest.gone, s.r.Lost = true, 1
	}
}

// core is how many members stay: somebody must be left.
const core = 3

// change has somebody come, go, or stand otherwise as a candidate.
func (s *storm) change() {
	w, n := s.w, s.one()
	switch s.random.IntN(4) {
	case 0:
		s.join()
	case 1, 2:
		if n > core {
			_ = w.Do("remove n%d n%d", s.one(), n)
		}
	case 3:
		_ = w.Do("priority n%d %d", n, s.random.IntN(3))
	}
}

// join has somebody join through one of those who stay, if there are not too many already.
func (s *storm) join() bool {
	return len(s.w.nodes) < max(core, 2*s.o.Nodes) && s.w.Do("join n%d", 1+s.random.IntN(min(core, s.o.Nodes))) == nil
}

// part cuts the network somewhere.
func (s *storm) part() {
	w := s.w
	if s.random.IntN(3) == 0 {
		_ = w.Do("cut n%d n%d", s.one(), s.one())
		return
	}
	var left, right []string
	for _, n := range w.nodes {
		side := s.random.IntN(5) // 0 is a bridge
		if side < 3 {
			left = append(left, n.name)
		}
		if side == 0 || side > 2 {
			right = append(right, n.name)
		}
	}
	_ = w.Do("partition %s %s", strings.Join(left, ","), strings.Join(right, ","))
}

// spare is how many may yet die for good, so that a majority is left as any node knows. A node that an uncommitted
// config adds may be missing in the next one.
func (s *storm) spare() int {
	if !s.w.config.Spec.Claims.NeedsQuorum {
		live := slices.DeleteFunc(slices.Clone(s.w.nodes), func(n *node) bool { return n.gone })
		return max(0, (len(live)-1)/2-s.r.Lost)
	}
	spare := len(s.w.nodes)
	for _, n := range s.w.nodes {
		h := membersIn(n.record)
		if len(n.list) > 0 && len(h.ids) == 0 && !n.gone {
			return 0 // a list founds its cluster while all of it is alive
		}
		voters := len(h.ids)
		if h.stamp.Epoch > 0 && !h.committed {
			voters--
		}
		if !n.gone && slices.Contains(n.members(), n.id) {
			spare = min(spare, voters-voters/2-1)
		}
	}
	return max(0, spare-s.r.Lost)
}

// lost draws who is dead for good: in half of the storms nobody, and else some of those whom
// all take for members, fewer than half of them as anybody knows. Those that are down already
// come first: what they alone know the others must do without.
func (s *storm) lost() {
	if s.random.IntN(2) == 0 {
		return
	}
	needed, known, parties := make(map[*node]bool), make(map[algo.NodeID]int), 0
	for _, n := range s.w.nodes {
		members := n.members()
		member := slices.Contains(members, n.id)
		if !n.gone && len(n.seeds) == 1 && (!member || n.seeds[0].moves > 0) {
			needed[n.seeds[0]] = true // it lets this one in, or is all that this one can find
		}
		if !n.gone && member {
			parties++
			for _, id := range members {
				known[id]++
			}
		}
	}
	candidates := slices.DeleteFunc(slices.Clone(s.w.nodes), func(n *node) bool { return n.gone || known[n.id] < parties || needed[n] }) // without a quorum: all
	s.random.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	rank := map[bool]int{true: 1} // of who runs
	slices.SortStableFunc(candidates, func(a, b *node) int { return rank[a.up] - rank[b.up] })
	most := s.spare()
	for _, n := range candidates[:min(len(candidates), 1+s.random.IntN(max(1, most)), most)] {
		if s.w.Do("crash %s", n.name) == nil {
			s.r.Crashes++
		}
		n.gone = true
		s.r.Lost++
	}
}

// calm ends all faults: everybody but the dead runs, by a right clock, hears everybody, and
// may lead.
func (s *storm) calm() {
	w := s.w
	_ = w.Do("heal")
	_ = w.Do("cancel-crashes")
	for _, p := range slices.SortedFunc(maps.Keys(w.network.links), func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	}) {
		_ = w.Do("link n%d n%d %v", p.from+1, p.to+1, w.network.delay)
	}
	for _, n := range w.nodes {
		if n.slow > 0 {
			_ = w.Do("disk %s 0s", n.name)
		}
	}
	for slices.ContainsFunc(w.nodes, func(n *node) bool { return n.unsaved != nil }) {
		w.Run(time.Millisecond) // a node that saves takes no orders
	}
	for _, n := range w.nodes {
		if n.clock.ppm != perfect {
			_ = w.Do("clock %s %d", n.name, perfect)
		}
		for _, does := range []string{"resume", "cancel-remove", "restart"} { // what can be done of it
			_ = w.Do("%s %s", does, n.name)
		}
		if n.isUnlisted { // an operator stops it: several could form a cluster of their own
			_ = w.Do("stop %s", n.name)
		}
	}
	// Nobody waits until these end by themselves: the clock of the bound runs from here.
	for _, n := range w.nodes {
		if n.resigned() {
			_ = w.Do("resign %s 0s", n.name)
		}
	}
}

// newRandom is what a storm is drawn from: not from what the world draws from, so that
// a scenario without the storm's draws is the same run.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }
