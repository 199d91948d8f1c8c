package algotest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/sim"
)

// storm disturbs clusters of three to five at random.
func storm(p *probe) {
	for seed := range p.seeds(40) {
		r, err := sim.Storm(p.Context(), p.options.storm(p.spec, 3+int(seed%3), seed))
		if err != nil {
			p.fatalf("the storm was not possible: %v", err)
		}
		if err := r.Err(); err != nil {
			p.fatalf("%v", err)
		}
	}
}

func (o Options) storm(spec algo.Spec, nodes int, seed uint64) sim.StormOptions {
	return sim.StormOptions{
		Spec: spec, Timing: o.Timing, Nodes: nodes, Period: 6 * time.Second, Within: o.Within, Seed: seed,
	}
}

// Fuzz lets the fuzzer choose the schedule: how many nodes there are, what happens to
// them and to the network, and when. Then all must agree. What fails is printed as a
// scenario, too.
//
//	func FuzzSchedule(f *testing.F) { algotest.Fuzz(f, spec) }
//
// With -fuzzminimizetime=10x the fuzzer does not spend its time on making inputs shorter.
func Fuzz(f *testing.F, spec algo.Spec) { Options{}.Fuzz(f, spec) }

// Fuzz is [Fuzz] with options.
func (o Options) Fuzz(f *testing.F, spec algo.Spec) {
	o = o.complete()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 5))
		choices := make([]byte, 200)
		for i := range choices {
			choices[i] = byte(random.Uint32())
		}
		f.Add(choices)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		p := &probe{T: t, check: &Check{Name: "schedule", Wanted: "Whatever happens, all agree once it has ended."}, spec: spec, options: o}
		defer p.caught()
		c := &chosen{choices: choices, then: rand.NewPCG(1, 6)}
		nodes := 2 + int(c.next()%4)
		options := o.storm(spec, nodes, uint64(c.next()))
		options.Choices = c
		r, err := sim.Storm(t.Context(), options)
		if err != nil {
			p.fatalf("the storm was not possible: %v", err)
		}
		if err := r.Err(); err != nil {
			p.fatalf("%v", err)
		}
	})
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
	choice := uint64(c.next())
	return choice<<56 | between>>16<<8 | choice
}

func (c *chosen) next() (choice byte) {
	if len(c.choices) > 0 {
		choice, c.choices = c.choices[0], c.choices[1:]
	}
	return choice
}
