package algosim

import (
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// Chooser makes random choices: from a seed, which repeats the same run, or from the input of a
// fuzzer.
type Chooser struct{ *rand.Rand }

// Seeded returns a Chooser with a seed.
func Seeded(seed uint64) Chooser { return Chooser{rand.New(rand.NewPCG(seed, 0))} }

// Fuzzed returns a Chooser with the input of a fuzzer. Each byte is one choice. Further choices are
// pseudorandom, from a hash of the input.
func Fuzzed(numbers ...uint64) Chooser {
	c := &fuzzSource{}
	seed := uint64(6)
	for _, n := range numbers {
		c.choices = binary.LittleEndian.AppendUint64(c.choices, n)
		seed = seed*0x87c37b91114253d5 ^ n
	}
	c.fallback = rand.NewPCG(1, seed)
	return Chooser{rand.New(c)}
}

// TryOne calls do with numbers below count in random order, until do returns true. It returns false
// if all calls did.
func (c Chooser) TryOne(count int, do func(i int) bool) bool {
	var numbers [16]int // longer slices are on the heap
	remaining := numbers[:0]
	for i := range count {
		remaining = append(remaining, i)
	}
	for len(remaining) > 0 {
		at := c.IntN(len(remaining))
		if do(remaining[at]) {
			return true
		}
		remaining[at] = remaining[len(remaining)-1]
		remaining = remaining[:len(remaining)-1]
	}
	return false
}

// upTo returns a positive duration of at most longest.
func (c Chooser) upTo(longest time.Duration) time.Duration {
	return time.Duration(1 + c.Int64N(int64(longest)))
}

// fuzzSource is a random source that takes one byte of the input for each choice, and falls back to
// another source.
type fuzzSource struct {
	choices  []byte
	fallback rand.Source
}

// Uint64 returns a number with the next byte as its highest and lowest bits. The highest bits decide
// a choice from a range, and the lowest ones if the range is a power of two.
func (c *fuzzSource) Uint64() uint64 {
	random := c.fallback.Uint64()
	if len(c.choices) == 0 {
		return random
	}
	choice := uint64(c.choices[0])
	c.choices = c.choices[1:]
	return choice<<56 | random>>16<<8 | choice
}
