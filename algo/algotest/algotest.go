package algotest

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

var (
	oneSeed   = flag.Uint64("algotest.seed", 0, "run each check of algotest with this seed alone")
	manySeeds = flag.Int("algotest.seeds", 0, "run each check of algotest with so many seeds, from 1 on")
)

// Options say what the suite cannot see of an algorithm. The zero value is right for
// most.
type Options struct {
	// Timing is that of the simulated network and its failure detector. The options of the
	// algorithm must suit it. algo.LAN if zero.
	Timing algo.Timing

	// Within is how long after the last fault all must have agreed, in the time of the
	// simulation. Timing.Bound if zero, which is what the live cluster promises.
	Within time.Duration

	// Long has more seeds, larger clusters and longer searches: it takes minutes of a
	// processor instead of seconds.
	Long bool

	// Messages is the most that one election among n nodes may send, whoever starts it,
	// repeats and heartbeats left out. 4·n² if nil: everybody talks to everybody, a few times.
	Messages func(n int) int

	// Watched is the most that a cluster of n at rest may have of pairs of nodes of which
	// one watches the other. 3·n if nil. It is to grow no faster than n: each pair costs a
	// heartbeat.
	Watched func(n int) int
}

func (o Options) complete() Options {
	o.Timing = cmp.Or(o.Timing, algo.LAN())
	o.Within = cmp.Or(o.Within, o.Timing.Bound())
	if o.Messages == nil {
		o.Messages = func(n int) int { return 4 * n * n }
	}
	if o.Watched == nil {
		o.Watched = func(n int) int { return 3 * n }
	}
	return o
}

// Check is one subtest.
type Check struct {
	// Name is that of the subtest.
	Name string
	// Wanted says what is wanted, and why. A failure prints it.
	Wanted string

	claim func(algo.Claims) bool // nil: of every algorithm
	seeds int                    // for how many it is run; 0: nothing is random, and it is run once
	run   func(*probe)
	// assumed is what sources of textbooks take for granted and the check denies them: it
	// is not asked of an algo.Spec that is a Textbook. Nor does a textbook get a detector of
	// its own: the one it runs with finds every crash and makes no mistake.
	assumed string
}

// Checks returns what [Test] runs, in its order.
func Checks() []Check { return append([]Check{}, checks...) }

// Test runs each of the [Checks] as a subtest. Those of a claim that the algorithm does
// not make are skipped, and of a textbook those that deny it what its source takes for granted.
func Test(t *testing.T, spec algo.Spec) { Options{}.Test(t, spec) }

// Test is [Test] with options.
func (o Options) Test(t *testing.T, spec algo.Spec) {
	if spec.New == nil {
		t.Fatal("algotest: the spec has no New: there is nothing to run")
	}
	o = o.complete()
	var shared explored
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			if c.claim != nil && !c.claim(spec.Claims) {
				t.Skipf("%s does not claim it. %s", spec.Name, c.Wanted)
			}
			if c.assumed != "" && spec.Textbook {
				t.Skipf("%s is a textbook, whose source takes for granted %s. %s", spec.Name, c.assumed, c.Wanted)
			}
			t.Parallel()
			p := &probe{T: t, check: &c, spec: spec, options: o, explored: &shared}
			defer p.caught()
			if c.seeds == 0 {
				c.run(p)
				return
			}
			for i := range p.trials() {
				p.seed = p.first() + uint64(i)
				p.random = rand.New(rand.NewPCG(p.seed, 3))
				c.run(p)
			}
		})
	}
}
