package algotest

import (
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
