package explore

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func TestVisitedIsASet(t *testing.T) {
	random, v, seen := newRandom(1), newVisited(), map[fingerprint]uint32{}
	for range 50_000 {
		f := fingerprint{uint64(random.IntN(20_000)), uint64(random.IntN(3))} // some share a slot
		index, fresh := v.add(f, noParent, 0)
		known, ok := seen[f]
		if fresh == ok || ok && index != known {
			t.Fatalf("%v is at %d, new %v; it was at %d, known %v", f, index, fresh, known, ok)
		}
		seen[f] = index
	}
	if len(v.seen) != len(seen) {
		t.Errorf("%d states, want %d", len(v.seen), len(seen))
	}
}

func TestAPathIsHowAStateWasFirstReached(t *testing.T) {
	v := newVisited()
	root, _ := v.add(fingerprint{1, 0}, noParent, 0)
	a, _ := v.add(fingerprint{2, 0}, root, 7)
	b, _ := v.add(fingerprint{3, 0}, a, 8)
	v.add(fingerprint{3, 0}, root, 9)
	if got := v.path(b); !slices.Equal(got, []uint16{7, 8}) {
		t.Errorf("path %v, want 7, 8", got)
	}
}
