package algosim

import (
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// Driver decides what is left to chance: by a seed, which gives the same run again, or by
// numbers that a fuzzer has chosen.
type Chooser struct{ *rand.Rand }

// Seeded decides by a seed.
func Seeded(seed uint64) Chooser { return Chooser{rand.New(rand.NewPCG(seed, 0))} }

// Chosen decides by numbers that were chosen, of which each byte is one decision, and after
// those by what follows from them.
func Fuzzed(numbers ...uint64) Chooser {
	c := &chosen{}
	seed := uint64(6)
	for _, n := range numbers {
		c.choices = binary.LittleEndian.AppendUint64(c.choices, n)
		seed = seed*0x87c37b91114253d5 ^ n
	}
	c.then = rand.NewPCG(1, seed)
	return Chooser{rand.New(c)}
}

// One has one of so many things done, each as likely, and another in its place if that
// cannot be done. It reports false if none can.
func (d Chooser) TryOne(count int, do func(i int) bool) bool {
	var tried [16]int // more are on the heap
	left := tried[:0]
	for i := range count {
		left = append(left, i)
	}
	for len(left) > 0 {
		at := d.IntN(len(left))
		if do(left[at]) {
			return true
		}
		left[at] = left[len(left)-1]
		left = left[:len(left)-1]
	}
	return false
}

// within is a time up to most, and more than none.
func (d Chooser) within(most time.Duration) time.Duration {
	return time.Duration(1 + d.Int64N(int64(most)))
}

// chosen is a source of numbers that were chosen, as far as they go: one byte decides one
// choice.
type chosen struct {
	choices []byte
	then    rand.Source
}

// Uint64 returns a number of which the highest bits, and the lowest, are the next byte: the
// ones decide what is drawn from a range, the others if its length is a power of two.
func (c *chosen) Uint64() uint64 {
	between := c.then.Uint64()
	if len(c.choices) == 0 {
		return between
	}
	choice := uint64(c.choices[0])
	c.choices = c.choices[1:]
	return choice<<56 | between>>16<<8 | choice
}
