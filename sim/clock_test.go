package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestDeadlinesKeepTheOrder: by time, and at one time in the order of setting.
func TestDeadlinesKeepTheOrder(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var d deadlines
		nodes := make([]*node, 20)
		for i := range nodes {
			nodes[i] = &node{index: int32(i), wakeAt: never, place: none}
		}
		for range 500 {
			n := nodes[random.IntN(len(nodes))]
			at := time.Duration(random.IntN(10))
			if at == 0 {
				at = never
			}
			d.set(n, at)
			due := slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return n.wakeAt == never })
			slices.SortFunc(due, func(a, b *node) int {
				if a.wakeAt != b.wakeAt {
					return int(a.wakeAt - b.wakeAt)
				}
				return int(a.wakeMade) - int(b.wakeMade)
			})
			first, ok := d.first()
			if ok != (len(due) > 0) || len(d.heap) != len(due) {
				t.Fatalf("seed %d: %d are due, want %d", seed, len(d.heap), len(due))
			}
			if ok && (first != due[0].wakeAt || d.heap[0] != due[0]) {
				t.Fatalf("seed %d: node %d at %v, want %d at %v", seed, d.heap[0].index, first, due[0].index, due[0].wakeAt)
			}
		}
	}
}

// TestClockIsWokenInTime: at the time that when returns the clock shows that much, and
// not a moment before.
func TestClockIsWokenInTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	for range 20_000 {
		c := clock{ppm: perfect}
		var now time.Duration
		for range 3 {
			now += time.Duration(random.Int64N(int64(1000 * time.Hour)))
			before := c.at(now)
			c.setSpeed(now, 1000+random.Int64N(10*perfect))
			if c.at(now) != before {
				t.Fatalf("the clock jumped from %v to %v", before, c.at(now))
			}
		}
		shown := c.at(now) + time.Duration(random.Int64N(int64(time.Hour)))
		at := c.when(shown)
		if c.at(at) < shown || at > now && c.at(at-1) >= shown {
			t.Fatalf("%+v: shows %v at %v, want %v just then", c, c.at(at), at, shown)
		}
	}
}
