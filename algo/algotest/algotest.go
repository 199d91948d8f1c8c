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
	oneSeed   = flag.Uint64("algotest.seed", 0, "run each check of algotest with this seed only")
	seedCount = flag.Int("algotest.seeds", 0, "number of seeds for each check of algotest, starting at 1")
)

// Options contain what the suite cannot derive from an algorithm. The zero value suits most
// algorithms.
type Options struct {
	// Timing is the timing of the simulated network and its failure detector, by default
	// algo.LAN. The options of the algorithm must suit it.
	Timing algo.Timing

	// Within is the maximum time from the last fault until all agree, in virtual time. The
	// default is Timing.RecoveryBound, which a live cluster guarantees.
	Within time.Duration

	// Long selects more seeds, larger clusters and longer searches. It takes minutes of processor
	// time instead of seconds.
	Long bool

	// Messages returns the maximum number of messages of one election among n nodes, whichever
	// nodes start it, without heartbeats and periodic messages. The default is 4·n²: each node
	// sends a few messages to each other node.
	Messages func(n int) int

	// MonitoredPairs returns the maximum number of pairs of nodes in a cluster of n of which one
	// monitors the other, while there is no election. The default is 3·n. It should grow no faster
	// than n, because each pair costs a heartbeat in each interval.
	MonitoredPairs func(n int) int
}

func (o Options) withDefaults() Options {
	o.Timing = cmp.Or(o.Timing, algo.LAN())
	o.Within = cmp.Or(o.Within, o.Timing.RecoveryBound())
	if o.Messages == nil {
		o.Messages = func(n int) int { return 4 * n * n }
	}
	if o.MonitoredPairs == nil {
		o.MonitoredPairs = func(n int) int { return 3 * n }
	}
	return o
}

// Check is one subtest.
type Check struct {
	// Name is the name of the subtest.
	Name string
	// Requires states the requirement and its reason. A failure prints it.
	Requires string

	claim func(algo.Claims) bool // nil if the check applies to every algorithm
	seeds int                    // number of seeds; 0 if nothing is random
	run   func(*checkRun)
	// assumed is the assumption of textbooks that the check violates. The check is skipped for
	// them. A textbook also runs with a perfect failure detector, which detects every crash and has
	// no false suspicions.
	assumed string
}

// exempts returns why the check does not apply to an algorithm, or "".
func (c *Check) exempts(spec algo.Spec) string {
	switch {
	case c.claim != nil && !c.claim(spec.Claims):
		return spec.Name + " does not claim it. " + c.Requires
	case c.assumed != "" && spec.Textbook:
		return spec.Name + " is a textbook, and its source assumes " + c.assumed + ". " + c.Requires
	}
	return ""
}

// Checks returns the checks of [Test], in its order.
func Checks() []Check { return append([]Check{}, checks...) }

// Test runs each of the [Checks] as a subtest. It skips the checks of claims that the algorithm does
// not make and, for a textbook, those that violate an assumption of its source.
func Test(t *testing.T, spec algo.Spec) { Options{}.Test(t, spec) }

// Test is [Test] with options.
func (o Options) Test(t *testing.T, spec algo.Spec) {
	if spec.New == nil {
		t.Fatal("algotest: the spec has no New")
	}
	o = o.withDefaults()
	var shared searchResult
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			if reason := c.exempts(spec); reason != "" {
				t.Skip(reason)
			}
			t.Parallel()
			p := &checkRun{T: t, check: &c, spec: spec, options: o, searches: &shared}
			defer p.reportPanic()
			if c.seeds == 0 {
				c.run(p)
				return
			}
			for i := range p.trialCount() {
				p.seed = p.firstSeed() + uint64(i)
				p.random = rand.New(rand.NewPCG(p.seed, 3))
				c.run(p)
			}
		})
	}
}
