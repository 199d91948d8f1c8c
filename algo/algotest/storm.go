package algotest

import (
	"time"

	"github.com/elect-go/elect/sim"
)

// storm disturbs clusters of three to five at random.
func storm(p *probe) {
	for seed := range p.seeds(40) {
		r, err := sim.Storm(p.Context(), sim.StormOptions{
			Spec: p.spec, Timing: p.options.Timing, Nodes: 3 + int(seed%3), Period: 6 * time.Second, Within: p.options.Within, Seed: seed,
		})
		if err != nil {
			p.fatalf("the storm was not possible: %v", err)
		}
		if err := r.Err(); err != nil {
			p.fatalf("%v", err)
		}
	}
}
