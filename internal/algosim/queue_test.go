package algosim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Events are in the order of time, and at one time in the order of insertion.
func TestQueueIsOrdered(t *testing.T) {
	type item struct {
		at    time.Duration
		added uint32
	}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var q Queue[uint32]
		var model []item
		var now time.Duration
		for added := range uint32(2000) {
			if random.IntN(3) > 0 {
				at := now + time.Duration(random.IntN(5)) // many have the same time
				q.Add(at, added)
				model = append(model, item{at, added})
				continue
			}
			slices.SortStableFunc(model, func(a, b item) int { return int(a.at - b.at) })
			at, ok := q.NextTime()
			if ok != (len(model) > 0) || q.Len() != len(model) {
				t.Fatalf("seed %d: %d events, want %d", seed, q.Len(), len(model))
			}
			if !ok {
				continue
			}
			if e := q.Pop(); at != model[0].at || e != model[0].added {
				t.Fatalf("seed %d: event %d at %v, want %d at %v", seed, e, at, model[0].added, model[0].at)
			}
			now, model = at, model[1:]
		}
	}
}
