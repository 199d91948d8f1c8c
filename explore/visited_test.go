package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/elect-go/elect/internal/algosim"
)

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func TestPathLeadsToState(t *testing.T) {
	v := newVisited()
	root, _ := v.add(algosim.Fingerprint{A: 1, B: 0}, noParent, 0)
	a, _ := v.add(algosim.Fingerprint{A: 2, B: 0}, root, 7)
	b, _ := v.add(algosim.Fingerprint{A: 3, B: 0}, a, 8)
	v.add(algosim.Fingerprint{A: 3, B: 0}, root, 9)
	if got := v.path(b); !slices.Equal(got, []uint16{7, 8}) {
		t.Errorf("path %v, want 7, 8", got)
	}
}

// A queue returns states in the order of their insertion, while others are added. It keeps no more
// than its contents in memory.
func TestQueueReturnsStatesInOrder(t *testing.T) {
	const nodes = 3
	random, q := newRandom(1), &queue{nodes: nodes}
	newState := func(i uint32) state {
		random := newRandom(uint64(i))
		s := state{history: random.Uint32(), spent: [budgetCount]uint8{uint8(i), uint8(i >> 8), 255, uint8(i >> 16)}}
		for n := range nodes {
			s.nodes[n] = random.Uint32() >> random.IntN(32)
		}
		e := uint32(0)
		for range random.IntN(40) {
			e += 1 + uint32(random.IntN(1000))
			s.network = append(s.network, e)
		}
		return s
	}
	var s state
	in, out := uint32(0), uint32(0)
	for out < 50_000 {
		if out == in || random.IntN(2) == 0 && in < 50_000 {
			next := newState(in)
			q.push(&next, in)
			in++
			continue
		}
		index, want := q.pop(&s), newState(out)
		if index != out || s.nodes != want.nodes || !slices.Equal(s.network, want.network) || s.history != want.history || s.spent != want.spent {
			t.Fatalf("%d: %+v, want %d: %+v", index, s, out, want)
		}
		out++
		if q.count != int(in-out) {
			t.Fatalf("count is %d, want %d", q.count, in-out)
		}
	}
	if q.bytes() > 20*chunkBytes {
		t.Errorf("an empty queue uses %d bytes", q.bytes())
	}
}

// A state may be larger than a chunk.
func TestQueueHoldsLargeState(t *testing.T) {
	q := &queue{nodes: 1}
	small, large := state{}, state{network: make([]uint32, chunkBytes)}
	for i := range large.network {
		large.network[i] = uint32(i) << 8
	}
	q.push(&small, 0)
	q.push(&large, 1)
	q.push(&small, 2)
	var s state
	for i, want := range []int{0, chunkBytes, 0} {
		if index := q.pop(&s); index != uint32(i) || len(s.network) != want {
			t.Errorf("state %d has %d messages, want state %d with %d", index, len(s.network), i, want)
		}
	}
}
