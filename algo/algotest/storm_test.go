package algotest

import (
	"math/rand/v2"
	"testing"
)

// One byte decides one choice, and what is left when they are used up is the same each
// time.
func TestBytesAreChoices(t *testing.T) {
	draw := func(below int, choices ...byte) (drawn [4]int) {
		random := rand.New(&chosen{choices: choices, then: rand.NewPCG(1, 6)})
		for i := range drawn {
			drawn[i] = random.IntN(below)
		}
		return drawn
	}
	if got, want := draw(4, 0, 1, 2, 255), [4]int{0, 1, 2, 3}; got != want {
		t.Errorf("drawn %v, want %v", got, want)
	}
	if got, want := draw(5, 0, 60, 110, 255), [4]int{0, 1, 2, 4}; got != want {
		t.Errorf("drawn %v, want %v", got, want)
	}
	if first, again := draw(5, 255), draw(5, 255); first != again || first[0] != 4 {
		t.Errorf("drawn %v and then %v, want the same, with 4 first", first, again)
	}
}
