package algotest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// newWalk returns a random walk over machines without the rest of a node. A walk takes less than
// a millisecond.
func (p *checkRun) newWalk() algosim.Walk {
	t := p.options.Timing.RoundTrip / 2
	return algosim.Walk{New: func(_ *rand.Rand, view algo.View) *algosim.Cluster { return p.newMachines(view) }, T: t, RecoveryTime: int(p.options.Within / t)}
}

// newMachines returns a cluster of machines that are not started. A leader may give up and lead
// again in the same epoch, which the contract allows.
func (p *checkRun) newMachines(view algo.View) *algosim.Cluster {
	c := algosim.New(p.spec, view)
	c.AllowsResume = true
	return c
}

// machines returns a cluster of machines that are not started, without faults. A message takes up
// to a tenth of a round trip. A crash is detected when none of the node's messages is in flight
// any more.
func (p *checkRun) machines(nodes int) *algosim.Cluster {
	t := p.options.Timing.RoundTrip / 10
	all := algosim.Members(nodes)
	for i, priority := range p.priorities(nodes) {
		all[i].Priority = priority
	}
	c := p.newMachines(algo.NewView(1, all...))
	c.DetectionTime = t
	c.Pick = func(shortest, longest time.Duration) time.Duration {
		return shortest + time.Duration(p.random.Int64N(int64(longest-shortest)+1))
	}
	c.Delay = func(int, int, algo.Message) (time.Duration, bool) {
		return 1 + time.Duration(p.random.Int64N(int64(t))), true
	}
	return c
}

// pass runs the machines for the time in which they must agree.
func (p *checkRun) pass(c *algosim.Cluster) {
	p.Helper()
	c.Run(p.options.Within)
	if c.Violation != "" {
		p.fatalf("%s", c.Violation)
	}
}

// requireAgreed runs the machines like pass, and fails the check unless they agree.
func (p *checkRun) requireAgreed(c *algosim.Cluster) {
	p.Helper()
	p.pass(c)
	if why := c.Disagreement(); why != "" {
		p.fatalf("%v after the last fault: %s", p.options.Within, why)
	}
}

// walk runs a random walk. It runs some of the first walks twice, and compares them.
func walk(p *checkRun) {
	p.checkWalk(func() algosim.Chooser { return algosim.Seeded(p.seed) })
	if p.seed < p.firstSeed()+20 {
		story := func() string { return p.newWalk().Run(algosim.Seeded(p.seed), true).Transcript() }
		if first, second := story(), story(); first != second {
			p.fatalf("the same seed gives a different walk")
		}
	}
}

// checkWalk fails the check if the walk that driver chooses violates a property.
func (p *checkRun) checkWalk(driver func() algosim.Chooser) {
	p.Helper()
	if why := p.newWalk().FindViolation(driver); why != "" {
		p.fatalf("%s", why)
	}
}

// Fuzz lets the fuzzer choose a random walk: the number of nodes, their faults, and the delays of
// their messages. After the faults, all nodes must agree. The numbers from the fuzzer determine
// the start of the walk, and the rest is derived from them. (The input is a few numbers and not a
// list of bytes, because the fuzzer spends up to a minute on making a list shorter.)
//
// A textbook (see algo.Spec) is skipped, as by the check walk.
//
//	func FuzzWalk(f *testing.F) { algotest.Fuzz(f, spec) }
func Fuzz(f *testing.F, spec algo.Spec) { Options{}.Fuzz(f, spec) }

// Fuzz is [Fuzz] with options.
func (o Options) Fuzz(f *testing.F, spec algo.Spec) {
	check := checks[slices.IndexFunc(checks, func(c Check) bool { return c.Name == "walk" })]
	if reason := check.exempts(spec); reason != "" {
		f.Skip(reason)
	}
	o = o.withDefaults()
	for seed := range uint64(8) {
		random := algosim.Seeded(seed)
		f.Add(random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
	}
	f.Fuzz(func(t *testing.T, first, second, third, fourth uint64) {
		p := &checkRun{T: t, check: &check, spec: spec, options: o}
		defer p.reportPanic()
		p.checkWalk(func() algosim.Chooser { return algosim.Fuzzed(first, second, third, fourth) })
	})
}
