package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/sim"
)

// OneWay is the T of simulations, in virtual time.
const OneWay = 10 * time.Millisecond

// Simulation returns what sim.Run needs for an election that a row of the theory is
// about, under the convention of that row. Its error is a mistake in the row.
func Simulation(r theory.Row, e theory.Election) (sim.Options, error) {
	timing := algo.LAN()
	timing.RoundTrip = time.Duration(e.Wait() * float64(OneWay))
	options := slices.Clone(r.Convention.Options)
	var limit time.Duration
	if r.Algorithm == "vote" {
		// No heartbeat of the old leader may be under way when the election begins: who had
		// heard it would have the better claim. So the next one is due when all is over.
		const heartbeat = 1000 * OneWay
		options = append(options, [2]string{"heartbeat_interval", heartbeat.String()})
		limit = 5*heartbeat + heartbeat/2 // a first start waits for five
	}
	spec, err := Spec(r.Algorithm, timing, options)
	if err != nil {
		return sim.Options{}, fmt.Errorf("bench: %s: %w", r.Name(), err)
	}
	return sim.Options{
		Spec: spec, Timing: timing, Nodes: e.N, Crashed: e.Crashed, Initiators: places(e), Priorities: e.Order,
		Textbook: r.Convention.Textbook, Delay: sim.Fixed(OneWay), Limit: limit,
	}, nil
}

// places are the numbers of those who start, in the order of their ranks, which the
// election has: nodes are numbered in the order of the ring.
func places(e theory.Election) []int {
	numbers := slices.Sorted(slices.Values(e.Initiators))
	if e.Order != nil {
		for at, rank := range numbers {
			numbers[at] = slices.Index(e.Order, rank) + 1
		}
	}
	return numbers
}

// Spec returns an algorithm of this module with the defaults for the timing, but for
// the options given, as name and value. Its error says what is wrong with those.
func Spec(algorithm string, t algo.Timing, options [][2]string) (algo.Spec, error) {
	factory, known := builtin.Registry()[algorithm]
	if !known {
		return algo.Spec{}, fmt.Errorf("bench: there is no algorithm %q", algorithm)
	}
	return factory(t, withOptions(options))
}

// withOptions returns what sets those options, given as name and value, in the struct of an
// algorithm's package.
func withOptions(options [][2]string) func(into any) error {
	return func(into any) error {
		if len(options) == 0 {
			return nil
		}
		var text strings.Builder
		for _, o := range options {
			fmt.Fprintf(&text, "%s: %s\n", o[0], o[1])
		}
		decoder := yaml.NewDecoder(strings.NewReader(text.String()))
		decoder.KnownFields(true)
		return decoder.Decode(into)
	}
}
