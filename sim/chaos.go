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

// ChaosOptions are the options of [Chaos].
type ChaosOptions struct {
	Spec   algo.Spec
	Timing algo.Timing // LAN if zero
	// Nodes is the size of the cluster; 5 if zero.
	Nodes int
	// Period is the duration of the faults; 10 s if zero.
	Period time.Duration
	// Within is the time allowed for recovery. If zero, it is Timing.Bound, plus 9/4 of RoundTrip for each node
	// beyond five: a larger ring waits longer before it replaces a lost token.
	Within time.Duration
	Seed   uint64
	// Trace, if set, receives all events.
	Trace func(trace.Event)
}

// Report is the result of a chaos run.
type Report struct {
	Seed       uint64
	Healed     time.Duration // after the last fault
	Frames     uint64        // sent, heartbeats included
	Crashes    int
	Lost       int // nodes that never restarted
	Changes    int // members that joined, left or were removed
	Violations []Violation
	Known      []Violation // of known faults: see World.Known
	// Scenario replays the run: see World.Scenario. It is empty without violations.
	Scenario string
}

// Err returns nil for a chaos run without violations. Otherwise the error contains the seed, all violations
// and the scenario that replays them.
func (r *Report) Err() error {
	if len(r.Violations) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "sim: chaos run of seed %d:\n", r.Seed)
	for _, v := range r.Violations {
		fmt.Fprintf(&text, "  %v: %s: %s\n", v.At, v.Property, v.Text)
	}
	fmt.Fprintf(&text, "this scenario replays it:\n%s", r.Scenario)
	return errors.New(text.String())
}

// Chaos injects random faults into a cluster for a while, ends them, and checks that the cluster recovers:
//
//   - Processes crash, also between a save and its next effect, stop gracefully, restart and pause.
//   - Clocks run at other speeds, and disks are slow. At most one node loses its data, maybe before the first
//     election.
//   - Members resign, also several leaders in a row, and change their priority. Nodes join, and may crash
//     immediately. All but the first three members leave or are removed. Without a quorum, an operator then
//     changes all lists.
//   - All nodes get new addresses at once.
//   - Frames are late, lost, duplicated and reordered. Some links are slow. The network is cut in one direction,
//     split in two groups, or split with a bridge.
//
// Some faults follow each other within milliseconds. In the end all processes run; in half of the chaos runs a
// minority stays down. All running members must agree on one leader and one config. The seed determines the
// whole run. The error is the error of ctx.
func Chaos(ctx context.Context, o ChaosOptions) (Report, error) {
	o.Timing = cmp.Or(o.Timing, algo.LAN())
	o.Nodes = cmp.Or(o.Nodes, 5)
	o.Period = cmp.Or(o.Period, 10*time.Second)
	w := New(Config{
		Spec: o.Spec, Timing: o.Timing, Seed: o.Seed, Trace: o.Trace, Budget: o.budget(),
		Delay: Uniform(o.Timing.RoundTrip/100, o.Timing.RoundTrip/10),
	})
	s := chaosRun{w: w, o: &o, random: newRandom(o.Seed), r: Report{Seed: o.Seed}}
	err := w.within(ctx, s.run)
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
	return o.Timing.RecoveryBound() + time.Duration(max(0, nodes-5))*o.Timing.RoundTrip*9/4
}

// budget limits the messages, heartbeats included: 100 per second and pair of nodes, for at least 50 pairs.
// Continuous elections need a fraction of it.
func (o *ChaosOptions) budget() uint64 {
	seconds := (o.Period + 2*o.within(2*o.Nodes)) / time.Second
	return 100 * uint64(seconds+1) * uint64(max(50, o.Nodes*o.Nodes))
}

// run injects faults and then checks the recovery.
func (s *chaosRun) run() error {
	w, r := s.w, &s.r
	defer w.recoverPanic()
	if err := w.Cluster(s.o.Nodes); err != nil {
		return err
	}
	if s.random.IntN(16) == 0 {
		w.Run(s.randomTime(8 * time.Millisecond)) // before the first leader
		s.wipe()
	}
	for w.now < s.o.Period && !w.isStopped() {
		s.burst()
	}
	if s.o.Nodes == 1 {
		s.joinAndCrash()
	}
	s.pickDead()
	s.endFaults()
	r.Healed = w.Await(s.o.within(len(w.nodes)))
	for _, n := range w.nodes {
		hasJoined := n.number() > s.o.Nodes && (n.record != nil || !s.w.config.Spec.Claims.NeedsQuorum)
		if hasJoined || w.wasRemoved(n) || n.isUnlisted {
			r.Changes++
		}
	}
	return nil
}

type chaosRun struct {
	w      *World
	o      *ChaosOptions
	random *rand.Rand
	r      Report

	wiped bool // a node has lost its data
}

func (s *chaosRun) randomNode() int { return 1 + s.random.IntN(len(s.w.nodes)) }

func (s *chaosRun) randomTime(most time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(most))).Round(time.Millisecond)
}

// burst runs for a while and then injects one fault, or several within milliseconds.
func (s *chaosRun) burst() {
	s.w.Run(time.Millisecond + s.randomTime(s.o.Period/20))
	s.disturb()
	if s.random.IntN(4) == 0 {
		for range 1 + s.random.IntN(5) {
			s.w.Run(s.randomTime(6 * time.Millisecond))
			s.disturb()
		}
	}
}

// disturb injects one fault into a node or the network. It skips a command that is not possible, such as the
// crash of a node that is down.
func (s *chaosRun) disturb() {
	if s.random.IntN(6) == 0 {
		s.changeMembership()
		return
	}
	w, n := s.w, s.randomNode()
	switch s.random.IntN(17) {
	case 0, 1:
		if w.Restart(n) != nil {
			s.r.Crashes++
			_ = w.Crash(n)
		}
	case 2:
		if leader, _, known := w.Leader(); known {
			s.r.Crashes++
			_ = w.Crash(leader)
		} else {
			_ = w.Campaign(n)
		}
	case 3:
		_ = w.Do("crash n%d after save", n)
	case 4:
		_ = w.Do("crash n%d after %d", n, s.random.IntN(5))
	case 5:
		_ = w.Stop(n)
	case 6:
		if w.Resume(n) != nil {
			_ = w.Pause(n)
		}
	case 7:
		_ = w.Do("clock n%d %d", n, 500_000+s.random.Int64N(1_500_000))
	case 8:
		_ = w.Do("resign n%d %v", n, s.randomTime(s.o.Period/4))
	case 9:
		for _, fault := range w.network.faults.settings() {
			_ = w.Do("%s %v", fault.name, s.random.Float64()/4)
		}
	case 10:
		s.partition()
	case 11:
		_ = w.Heal()
	case 12: // one direction of a link is slow, sometimes by more than a round trip
		t := s.o.Timing.RoundTrip
		_ = w.Do("link n%d n%d %v", s.randomNode(), s.randomNode(), HeavyTailed(t/10, 4*t))
	case 13: // the leader resigns, and then its successor
		for range 2 {
			for _, leader := range w.nodes {
				if leader.leader.ID == leader.id {
					_ = w.Do("resign %s %v", leader.name, s.randomTime(s.o.Period/4))
				}
			}
			w.Run(s.randomTime(4 * s.o.Timing.RoundTrip))
		}
	case 14:
		s.joinAndCrash()
	case 15:
		s.rareFault()
	case 16:
		_ = w.Do("disk n%d %v", n, s.randomTime(3*s.o.Timing.RoundTrip))
	}
}

// rareFault injects a fault that takes long to recover from.
func (s *chaosRun) rareFault() {
	w := s.w
	if s.random.IntN(2) == 0 { // all nodes change their address at once
		for _, command := range []string{"crash", "readdress", "restart"} {
			for _, i := range s.random.Perm(len(w.nodes)) {
				if !s.wiped {
					_ = w.Do("%s n%d", command, i+1)
				}
			}
		}
		return
	}
	s.wipe()
}

// wipe makes a node lose its data. The node keeps its address, so it takes the place of its previous identity.
func (s *chaosRun) wipe() {
	if n := s.randomNode(); n > permanentMembers && s.r.Lost == 0 && s.w.nodes[0].moves == 0 && s.expendable() > 0 {
		_ = s.w.Crash(n)
		_ = s.w.Do("wipe n%d", n)
		_ = s.w.Restart(len(s.w.nodes))
		s.r.Lost, s.wiped = 1, true
	}
}

// joinAndCrash makes a node join and crash within milliseconds, maybe for ever. In a cluster of one, the node
// stays down only at the end: until the join is committed, the only member must not crash too.
func (s *chaosRun) joinAndCrash() {
	if !s.join() {
		return
	}
	s.w.Run(s.randomTime(10 * time.Millisecond))
	joiner := s.w.nodes[len(s.w.nodes)-1]
	_ = s.w.Do("crash %s", joiner.name)
	if s.r.Lost == 0 && s.random.IntN(2) == 0 && (s.o.Nodes > 1 || s.w.now >= s.o.Period) {
		joiner.gone, s.r.Lost = true, 1
	}
}

// permanentMembers is the number of members that are never removed.
const permanentMembers = 3

// changeMembership adds or removes a member, or changes a priority.
func (s *chaosRun) changeMembership() {
	w, n := s.w, s.randomNode()
	switch s.random.IntN(4) {
	case 0:
		s.join()
	case 1, 2:
		if n > permanentMembers {
			_ = w.Do("remove n%d n%d", s.randomNode(), n)
		}
	case 3:
		_ = w.Do("priority n%d %d", n, s.random.IntN(3))
	}
}

// join adds a node through a permanent member, up to twice the initial size.
func (s *chaosRun) join() bool {
	return len(s.w.nodes) < max(permanentMembers, 2*s.o.Nodes) && s.w.Do("join n%d", 1+s.random.IntN(min(permanentMembers, s.o.Nodes))) == nil
}

// partition cuts a link or partitions the network.
func (s *chaosRun) partition() {
	w := s.w
	if s.random.IntN(3) == 0 {
		_ = w.Cut(s.randomNode(), s.randomNode())
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

// expendable returns the number of nodes that may still go down for ever: a quorum of the config of each node
// remains. It does not count a node that an uncommitted config adds, because the next config may not list it.
func (s *chaosRun) expendable() int {
	if !s.w.config.Spec.Claims.NeedsQuorum {
		live := slices.DeleteFunc(slices.Clone(s.w.nodes), func(n *node) bool { return n.gone })
		return max(0, (len(live)-1)/2-s.r.Lost)
	}
	count := len(s.w.nodes)
	for _, n := range s.w.nodes {
		h := membersIn(n.record)
		if len(n.list) > 0 && len(h.ids) == 0 && !n.gone {
			return 0 // static members bootstrap the cluster only if all of them run
		}
		voters := len(h.ids)
		if h.configID.Term > 0 && !h.committed {
			voters--
		}
		if !n.gone && slices.Contains(n.memberIDs(), n.id) {
			count = min(count, voters-voters/2-1)
		}
	}
	return max(0, count-s.r.Lost)
}

// pickDead picks the nodes that never restart: none in half of the chaos runs, otherwise a minority of the
// members that all configs list. It prefers nodes that are down, so that the others recover without the
// state that only these nodes have.
func (s *chaosRun) pickDead() {
	if s.random.IntN(2) == 0 {
		return
	}
	needed, known, parties := make(map[*node]bool), make(map[algo.NodeID]int), 0
	for _, n := range s.w.nodes {
		members := n.memberIDs()
		member := slices.Contains(members, n.id)
		if !n.gone && len(n.seeds) == 1 && (!member || n.seeds[0].moves > 0) {
			needed[n.seeds[0]] = true // n joins through this seed, or knows no other address
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
	rank := map[bool]int{true: 1} // running nodes come last
	slices.SortStableFunc(candidates, func(a, b *node) int { return rank[a.up] - rank[b.up] })
	limit := s.expendable()
	for _, n := range candidates[:min(len(candidates), 1+s.random.IntN(max(1, limit)), limit)] {
		if s.w.Do("crash %s", n.name) == nil {
			s.r.Crashes++
		}
		n.gone = true
		s.r.Lost++
	}
}

// endFaults ends all faults: all nodes but those picked by pickDead run with correct clocks, hear each other and
// are eligible.
func (s *chaosRun) endFaults() {
	w := s.w
	_ = w.Heal()
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
		w.Run(time.Millisecond) // a node that saves rejects commands
	}
	for _, n := range w.nodes {
		if n.clock.ppm != perfect {
			_ = w.Do("clock %s %d", n.name, perfect)
		}
		for _, command := range []string{"resume", "cancel-remove", "restart"} { // those that are possible
			_ = w.Do("%s %s", command, n.name)
		}
		if n.isUnlisted { // an operator stops it: several such nodes could form another cluster
			_ = w.Do("stop %s", n.name)
		}
	}
	// End all resignations now: the recovery bound is measured from here.
	for _, n := range w.nodes {
		if n.resigned() {
			_ = w.Do("resign %s 0s", n.name)
		}
	}
}

// newRandom returns the random source of a chaos run. The world has another one, so a scenario without a chaos
// run draws the same numbers.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }
