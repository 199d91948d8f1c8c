package cli

import (
	"math/rand/v2"
	"time"

	"github.com/elect-go/elect/algo"
)

// faultKind is what a fault does to members.
type faultKind string

const (
	faultKill      faultKind = "kill"
	faultPause     faultKind = "pause"
	faultFreeze    faultKind = "freeze"
	faultPartition faultKind = "partition"
)

// chaosFault is one fault of a chaos run. It names no member, because the leader is known only when the fault begins.
type chaosFault struct {
	kind   faultKind
	leader bool          // its target is the leader, and otherwise another member or a random group
	wait   time.Duration // before it
	hold   time.Duration // until it is undone
	order  []int         // numbers of all members in a random order: the first suitable ones are its targets
	group  int           // number of members that a partition at random cuts off, at most half of all
}

// faultKinds has the faults with their weights: the probability of a fault is its part of the sum.
var faultKinds = []struct {
	kind        faultKind
	leader      bool
	weight      int
	least, most time.Duration // of hold
}{
	{faultKill, true, 3, time.Second, 3 * time.Second},
	{faultKill, false, 2, time.Second, 3 * time.Second},
	{faultPause, true, 3, time.Second, 3 * time.Second},
	{faultFreeze, true, 2, time.Second, 3 * time.Second},
	{faultPartition, true, 2, 2 * time.Second, 4 * time.Second},
	{faultPartition, false, 2, 2 * time.Second, 4 * time.Second},
}

// schedule is an endless list of faults, which its seed determines.
type schedule struct {
	random     *rand.Rand
	nodes      int
	partitions bool
	slower     float64 // than the preset lan
}

func newSchedule(seed uint64, nodes int, partitions bool, t algo.Timing) *schedule {
	slower := max(1, float64(t.Timeout)/float64(algo.LAN().Timeout))
	return &schedule{random: rand.New(rand.NewPCG(seed, 0)), nodes: nodes, partitions: partitions, slower: slower}
}

func (s *schedule) next() chaosFault {
	sum := 0
	for _, k := range faultKinds {
		if s.isPossible(k.kind) {
			sum += k.weight
		}
	}
	f := chaosFault{wait: s.between(2*time.Second, 6*time.Second)}
	n := s.random.IntN(sum)
	for _, k := range faultKinds {
		if !s.isPossible(k.kind) {
			continue
		}
		if n -= k.weight; n < 0 {
			f.kind, f.leader = k.kind, k.leader
			f.hold = time.Duration(float64(s.between(k.least, k.most)) * s.slower)
			break
		}
	}
	for _, i := range s.random.Perm(s.nodes) {
		f.order = append(f.order, i+1)
	}
	f.group = 1 + s.random.IntN(s.nodes/2)
	return f
}

func (s *schedule) isPossible(k faultKind) bool { return s.partitions || k != faultPartition }

func (s *schedule) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.random.Int64N(int64(most-least)+1))
}

// targets returns the numbers of the members that a fault is for.
func (f chaosFault) targets(leader int) []int {
	switch {
	case f.leader:
		return []int{leader}
	case f.kind == faultPartition:
		return f.order[:f.group]
	case f.order[0] == leader:
		return f.order[1:2]
	}
	return f.order[:1]
}
