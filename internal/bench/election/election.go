// Package election counts elections in the simulator, and compares them with the theory.
package election

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// OneWay is the T of simulations, in virtual time.
const OneWay = 10 * time.Millisecond

// Count is what an election cost.
type Count struct {
	Election        theory.Election
	Sent, Delivered int
	Bytes           int     // of the frames that were sent, with their lengths
	Turnaround      float64 // in T
}

// ErrTheory says that what was counted is not what the theory says.
var ErrTheory = errors.New("bench: the count is not that of the theory")

// Run has the simulator run one election of a case and counts it. Its error is ErrTheory where
// the numbers are not exactly those of the theory, if it has any.
func Run(ctx context.Context, registry algo.Registry, c theory.Case, n int, seed uint64) (Count, error) {
	e := c.Draw(n, rand.New(rand.NewPCG(seed, 0)))
	row, known := theory.For(c.Algorithm, c.Convention, theory.Single, e)
	if !known && !c.Untold {
		return Count{}, fmt.Errorf("%w: it says nothing of %s, %s, N=%d", ErrTheory, c.Algorithm, c.Name, n)
	}
	row.Algorithm = c.Algorithm
	o, err := Simulation(registry, row, e)
	if err != nil {
		return Count{}, err
	}
	s := scale{kinds: Kinds(o.Spec), bytes: make(map[time.Duration]int)}
	if s.codec, err = Frames(o.Spec); err != nil {
		return Count{}, err
	}
	o.Seed, o.Trace = seed, s.weigh
	r, err := Simulate(ctx, o)
	if err != nil {
		return Count{}, err
	}
	got := Count{Election: e, Sent: int(r.Sent), Delivered: int(r.Delivered), Turnaround: r.Turnaround}
	if got.Bytes, err = s.since(r.Began); err != nil || c.Untold {
		return got, err
	}
	return got, got.check(row)
}

// check compares what was counted with a row of the theory.
func (c Count) check(row theory.Row) error {
	sent, delivered, turnaround := row.Sent.At(c.Election), row.Delivered.At(c.Election), row.Turnaround.At(c.Election)
	if float64(c.Sent) == sent && float64(c.Delivered) == delivered && c.Turnaround == turnaround {
		return nil
	}
	return fmt.Errorf("%w: %s, N=%d: %d sent, %d delivered, %v T; want %v, %v, %v",
		ErrTheory, row.Name(), c.Election.N, c.Sent, c.Delivered, c.Turnaround, sent, delivered, turnaround)
}

// Simulation returns what sim.Run needs for an election that a row of the theory is
// about, under the convention of that row. Its error is a mistake in the row.
func Simulation(registry algo.Registry, r theory.Row, e theory.Election) (sim.Options, error) {
	timing := algo.LAN()
	timing.RoundTrip = time.Duration(e.Wait() * float64(OneWay))
	options := slices.Clone(r.Convention.Options)
	var limit time.Duration
	if name := map[string]string{"vote": "heartbeat_interval", "textbook-vote": "hbt"}[r.Algorithm]; name != "" {
		// No heartbeat of the old leader may be under way when the election begins: who had
		// heard it would have the better claim. So the next one is due when all is over.
		const heartbeat = 1000 * OneWay
		options = append(options, [2]string{name, heartbeat.String()})
		limit = 5*heartbeat + heartbeat/2 // the first start of the textbook waits for five
	}
	spec, err := Spec(registry, r.Algorithm, timing, options)
	if err != nil {
		return sim.Options{}, fmt.Errorf("bench: %s: %w", r.Name(), err)
	}
	if r.Algorithm == "textbook-vote" {
		e.Order = theory.Descending(e.N) // the smallest ID goes first
	}
	return sim.Options{
		Spec: spec, Timing: timing, Nodes: e.N, Crashed: e.Crashed, Initiators: places(e), Priorities: e.Order,
		Delay: sim.Fixed(OneWay), Limit: limit,
	}, nil
}

// Simulate runs an election. A promise of the algorithm that it breaks is an error.
func Simulate(ctx context.Context, o sim.Options) (sim.Result, error) {
	r, err := sim.Run(ctx, o)
	if err == nil && len(r.Violations) > 0 {
		err = r.Violations[0]
	}
	return r, err
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

// Spec returns a variant, an algorithm of a registry or one as bully+lease, with the defaults for the timing,
// except the given options of the algorithm, as name and value. Its error says what is wrong with those.
func Spec(registry algo.Registry, variant string, t algo.Timing, options [][2]string) (algo.Spec, error) {
	algorithm, isLeased := strings.CutSuffix(variant, lease.Suffix)
	factory, known := registry[algorithm]
	if !known {
		return algo.Spec{}, fmt.Errorf("bench: there is no algorithm %q", variant)
	}
	spec, err := factory(t, Options(options))
	if err != nil || !isLeased {
		return spec, err
	}
	return lease.Wrap(spec, t, lease.Defaults(t))
}

// Flags returns the flags of a node that runs a variant.
func Flags(variant string) []string {
	algorithm, isLeased := strings.CutSuffix(variant, lease.Suffix)
	if isLeased {
		return []string{"--algorithm", algorithm, "--lease"}
	}
	return []string{"--algorithm", algorithm, "--lease=off"}
}

// Options returns what sets those options, given as name and value, in the struct of an
// algorithm's package.
func Options(options [][2]string) func(into any) error {
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

// Kinds are those of the messages of an algorithm.
func Kinds(spec algo.Spec) map[string]bool {
	kinds := make(map[string]bool)
	for _, m := range spec.Messages {
		kinds[m.Kind()] = true
	}
	return kinds
}

// Counts reports whether a message is of one of the kinds and says something new: whether
// it counts as one of an election.
func Counts(m algo.Message, kinds map[string]bool) bool {
	_, repeat := algo.Unwrap(m)
	return kinds[m.Kind()] && !repeat
}

// Frames is the codec that nodes with that algorithm use.
func Frames(spec algo.Spec) (*wire.Codec, error) {
	return wire.NewCodec(slices.Concat(engine.Messages(), spec.Messages)...)
}

// FrameHead is the length before each frame, in bytes.
const FrameHead = 4

// scale weighs the messages of an algorithm: what each takes on the wire.
type scale struct {
	codec *wire.Codec
	kinds map[string]bool
	frame []byte
	bytes map[time.Duration]int // of all that were sent at that time
	err   error
}

// weigh is for the trace of a simulation.
func (s *scale) weigh(e trace.Event) {
	if e.Kind != trace.Send || s.err != nil || !Counts(e.Message, s.kinds) {
		return
	}
	s.frame, s.err = s.codec.Append(s.frame[:0], e.Message)
	s.bytes[e.At] += FrameHead + len(s.frame)
}

// since is what all weigh that were sent from then on.
func (s *scale) since(began time.Duration) (sum int, err error) {
	for at, bytes := range s.bytes {
		if at >= began {
			sum += bytes
		}
	}
	return sum, s.err
}
