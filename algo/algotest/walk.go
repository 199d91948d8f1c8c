package algotest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
)

// walker disturbs machines without the rest of a node: what they say is all that happens,
// so that a walk takes no more than a part of a millisecond.
func (p *probe) walker() host.Walk {
	t := p.options.Timing.RoundTrip / 2
	return host.Walk{New: func(_ *rand.Rand, view algo.View) *host.Cluster { return p.bare(view) }, T: t, Calm: int(p.options.Within / t)}
}

// bare returns a cluster of machines, of which none runs yet. That a leader gives up and goes
// on in one epoch breaks no contract.
func (p *probe) bare(view algo.View) *host.Cluster {
	c := host.New(p.spec, view)
	c.Resumes = true
	return c
}

// machines returns a cluster of so many, of which none runs yet. All goes well in it: a
// message takes up to a tenth of a round trip, and a crash is known as soon as nothing of it is
// under way.
func (p *probe) machines(nodes int) *host.Cluster {
	t := p.options.Timing.RoundTrip / 10
	all := host.Members(nodes)
	for i, priority := range p.priorities(nodes) {
		all[i].Priority = priority
	}
	c := p.bare(algo.NewView(1, all...))
	c.Detect = t
	c.Pick = func(least, most time.Duration) time.Duration {
		return least + time.Duration(p.random.Int64N(int64(most-least)+1))
	}
	c.Delay = func(int, int, algo.Message) (time.Duration, bool) {
		return 1 + time.Duration(p.random.Int64N(int64(t))), true
	}
	return c
}

// pass gives the machines their time to agree.
func (p *probe) pass(c *host.Cluster) {
	p.Helper()
	c.Run(p.options.Within)
	if c.Broken != "" {
		p.fatalf("%s", c.Broken)
	}
}

// settled fails the check unless they have agreed then.
func (p *probe) settled(c *host.Cluster) {
	p.Helper()
	p.pass(c)
	if why := c.Agreed(); why != "" {
		p.fatalf("%v after the last fault %s", p.options.Within, why)
	}
}

// walk takes a random walk; one of the first of them twice.
func walk(p *probe) {
	p.walks(func() host.Driver { return host.Seeded(p.seed) })
	if p.seed < p.first()+20 {
		story := func() string { return p.walker().Take(host.Seeded(p.seed), true).Story() }
		if first, second := story(), story(); first != second {
			p.fatalf("the same seed gives another walk")
		}
	}
}

// walks fails the check if the walk that a driver decides breaks something.
func (p *probe) walks(driver func() host.Driver) {
	p.Helper()
	if why := p.walker().Broken(driver); why != "" {
		p.fatalf("%s", why)
	}
}

// Fuzz lets the fuzzer choose a walk: how many nodes there are, what happens to them and
// to their messages, and when. Then all must agree. The numbers that it chooses decide as
// far as they go, and what comes after follows from them. (Numbers, and not a list of
// bytes: the fuzzer spends up to a minute on making a list shorter.)
//
//	func FuzzWalk(f *testing.F) { algotest.Fuzz(f, spec) }
func Fuzz(f *testing.F, spec algo.Spec) { Options{}.Fuzz(f, spec) }

// Fuzz is [Fuzz] with options.
func (o Options) Fuzz(f *testing.F, spec algo.Spec) {
	o = o.complete()
	for seed := range uint64(8) {
		random := host.Seeded(seed)
		f.Add(random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
	}
	f.Fuzz(func(t *testing.T, first, second, third, fourth uint64) {
		p := &probe{T: t, check: &Check{Name: "walk", Wanted: "Whatever happens, all agree once it has ended."}, spec: spec, options: o}
		defer p.caught()
		p.walks(func() host.Driver { return host.Chosen(first, second, third, fourth) })
	})
}
