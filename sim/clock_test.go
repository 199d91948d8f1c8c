package sim

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Deadlines are ordered by time, and equal ones in the order of setting. A replaced deadline wakes no node.
func TestDeadlinesAreOrdered(t *testing.T) {
	type set struct{ at, turn int }
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var d deadlines
		nodes, last := make([]*node, 20), map[*node]set{}
		for i := range nodes {
			nodes[i] = &node{index: int32(i), wakeAt: never}
		}
		for turn := range 500 {
			n, at := nodes[random.IntN(len(nodes))], random.IntN(10)
			switch was, ok := last[n]; {
			case at == 0:
				d.set(n, never)
				delete(last, n)
				continue
			case !ok || was.at != at:
				last[n] = set{at, turn}
			}
			d.set(n, time.Duration(at))
		}
		want := slices.SortedFunc(maps.Keys(last), func(a, b *node) int {
			return cmp.Or(last[a].at-last[b].at, last[a].turn-last[b].turn)
		})
		var woken []*node
		for at, ok := d.NextTime(); ok; at, ok = d.NextTime() {
			if n := d.take(); n != nil {
				woken = append(woken, n)
				if last[n].at != int(at) || n.wakeAt != never {
					t.Fatalf("seed %d: node %d is woken at %d, and then at %d, want at %d and never", seed, n.index, at, n.wakeAt, last[n].at)
				}
			}
		}
		if !slices.Equal(woken, want) {
			t.Fatalf("seed %d: woken are %v, want %v", seed, woken, want)
		}
	}
}

// At the time that when returns, the clock of the node shows the deadline, and not before.
func TestNodeWakesAtDeadlineOfItsClock(t *testing.T) {
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
