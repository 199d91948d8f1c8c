package lab

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

var (
	walks    = flag.Int("walks", 20_000, "how many random walks a test takes, in a test without -short")
	walkSeed = flag.Uint64("walkseed", 1, "the seed of the first random walk")
)

// Walk is how to disturb small clusters at random: crashes, also between a save and
// what should follow it; restarts, seen by the detector or not; wrong suspicions;
// losses, doubled messages and messages that overtake each other; partitions, some of
// them one way; processes that pause; members that resign and come back; calls for
// elections. Then messages arrive in time and the detector is right. From there on the
// live must come to agree, and no message but repeats, and no announcement, may follow.
// At all times epochs must not go back, whoever is followed must have announced itself,
// and what is claimed must hold.
type Walk struct {
	// Spec returns the algorithm, with options that may be random.
	Spec func(random *rand.Rand) algo.Spec
	// Hushed are timers that a story leaves out.
	Hushed []algo.Timer
	// Resumes is that of the Cluster.
	Resumes bool

	Chaos time.Duration // how long a walk is disturbed: 60T if zero
	Calm  time.Duration // how long it may take to settle then: 100T if zero
	Quiet time.Duration // how long nothing may happen after that: 60T if zero
}

// Test takes 20,000 random walks, or as many as the flag -walks says; 1000 under -short.
func (w Walk) Test(t *testing.T) {
	count := *walks
	if testing.Short() {
		count = min(count, 1000)
	}
	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprintf("%d of %d", part+1, parts), func(t *testing.T) {
			t.Parallel()
			for i := part; i < count; i += parts {
				seed := *walkSeed + uint64(i)
				if c := w.Take(Seeded(seed), false); c.Broken != "" {
					t.Fatalf("seed %d: %s\n%s", seed, c.Broken, w.Take(Seeded(seed), true).Story())
				}
			}
		})
	}
}

// TestRepeatable takes walks twice. The same seed must give the same walk, so that a
// seed printed on a failure is worth something, and the algorithm is deterministic.
func (w Walk) TestRepeatable(t *testing.T) {
	for seed := range uint64(50) {
		first, second := w.Take(Seeded(seed), true).Story(), w.Take(Seeded(seed), true).Story()
		if first != second {
			t.Fatalf("seed %d: two walks", seed)
		}
	}
}

// Fuzz lets the fuzzer choose what happens on a walk.
func (w Walk) Fuzz(f *testing.F) {
	f.Add([]byte("a walk"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		if c := w.Take(Chosen(choices), false); c.Broken != "" {
			t.Fatalf("%s\n%s", c.Broken, w.Take(Chosen(choices), true).Story())
		}
	})
}

// UntilBroken takes up to count walks, and returns the seed of the first that breaks and
// how, also by a panic of the machine; or nothing.
func (w Walk) UntilBroken(count uint64) (seed uint64, why string) {
	for ; seed < count && why == ""; seed++ {
		why = w.breaks(seed)
	}
	return seed - 1, why
}

func (w Walk) breaks(seed uint64) (why string) {
	defer func() {
		if broken := recover(); broken != nil {
			why = fmt.Sprint(broken)
		}
	}()
	return w.Take(Seeded(seed), false).Broken
}

// Seeded returns a source of random numbers.
func Seeded(seed uint64) rand.Source { return rand.NewPCG(seed, 0) }

// Chosen returns a source of numbers that were chosen, as far as they go.
func Chosen(choices []byte) rand.Source { return &chosen{choices, rand.NewPCG(1, 1)} }

type chosen struct {
	choices []byte
	then    rand.Source
}

func (c *chosen) Uint64() uint64 {
	if len(c.choices) == 0 {
		return c.then.Uint64()
	}
	choice := c.choices[0]
	c.choices = c.choices[1:]
	return uint64(choice)<<56 | c.then.Uint64()>>8
}

// Take takes one walk. What it broke is in Broken of the cluster.
func (w Walk) Take(source rand.Source, tracing bool) *Cluster {
	random := rand.New(source)
	d := newDisturber(random, w, tracing)
	c := d.Cluster
	if random.IntN(2) == 0 {
		for i := range d.all {
			d.start(i + 1)
		}
	}
	c.Later(0, d.disturb)
	c.Run(or(w.Chaos, 60*T))
	d.heal()
	c.Run(or(w.Calm, 100*T))
	if why := c.Agreed(); why != "" && c.Broken == "" {
		c.Breaks("after the calm: %s", why)
	}
	c.Reset()
	c.Run(or(w.Quiet, 60*T))
	if sum := Total(c.Sent); (sum != 0 || c.Changes != 0) && c.Broken == "" && c.CanAgree() {
		c.Breaks("in the quiet: %d messages, %d announcements", sum, c.Changes)
	}
	return c
}

func or(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
