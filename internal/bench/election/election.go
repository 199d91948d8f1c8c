// Package election counts the messages and time of elections in the simulator, and compares them with the theory.
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

// Count is the counted cost of an election.
type Count struct {
	Election        theory.Election
	Sent, Delivered int
	Bytes           int     // of the frames that were sent, with their lengths
	Turnaround      float64 // in T
}

// ErrTheory reports that a count differs from the theory.
var ErrTheory = errors.New("bench: the count is not that of the theory")

// Run runs one election of a case in the simulator and counts it. Its error is ErrTheory if the
// theory has a row for the election and its numbers differ.
func Run(ctx context.Context, registry algo.Registry, c theory.Case, n int, seed uint64) (Count, error) {
	e := c.Draw(n, rand.New(rand.NewPCG(seed, 0)))
	row, known := theory.For(c.Algorithm, c.Convention, theory.Single, e)
	if !known && !c.WithoutTheory {
		return Count{}, fmt.Errorf("%w: it says nothing of %s, %s, N=%d", ErrTheory, c.Algorithm, c.Name, n)
	}
	row.Algorithm = c.Algorithm
	o, err := Simulation(registry, row, e)
	if err != nil {
		return Count{}, err
	}
	s := frameSizes{kinds: Kinds(o.Spec), bytes: make(map[time.Duration]int)}
	if s.codec, err = Frames(o.Spec); err != nil {
		return Count{}, err
	}
	o.Seed, o.Trace = seed, s.add
	r, err := Simulate(ctx, o)
	if err != nil {
		return Count{}, err
	}
	got := Count{Election: e, Sent: int(r.Sent), Delivered: int(r.Delivered), Turnaround: r.Turnaround}
	if got.Bytes, err = s.since(r.Began); err != nil || c.WithoutTheory {
		return got, err
	}
	return got, got.check(row)
}

// check compares the count with a row of the theory.
func (c Count) check(row theory.Row) error {
	sent, delivered, turnaround := row.Sent.At(c.Election), row.Delivered.At(c.Election), row.Turnaround.At(c.Election)
	if float64(c.Sent) == sent && float64(c.Delivered) == delivered && c.Turnaround == turnaround {
		return nil
	}
	return fmt.Errorf("%w: %s, N=%d: %d sent, %d delivered, %v T; want %v, %v, %v",
		ErrTheory, row.Name(), c.Election.N, c.Sent, c.Delivered, c.Turnaround, sent, delivered, turnaround)
}

// Simulation returns the options of sim.Run for an election for which a row of the theory holds,
// under the convention of that row. It returns an error if the row is wrong.
func Simulation(registry algo.Registry, r theory.Row, e theory.Election) (sim.Options, error) {
	timing := algo.LAN()
	timing.RoundTrip = time.Duration(e.Wait() * float64(OneWay))
	options := slices.Clone(r.Convention.Options)
	var limit time.Duration
	if name := map[string]string{"vote": "heartbeat_interval", "textbook-vote": "hbt"}[r.Algorithm]; name != "" {
		// No heartbeat of the old leader may be in transit when the election begins: a server that
		// received it would have the better claim. So the next heartbeat is due after the election.
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
		Spec: spec, Timing: timing, Nodes: e.N, Crashed: e.Crashed, Initiators: initiatorNodes(e), Priorities: e.Order,
		Delay: sim.Fixed(OneWay), Limit: limit,
	}, nil
}

// Simulate runs an election. A violation of a property of the algorithm is an error.
func Simulate(ctx context.Context, o sim.Options) (sim.Result, error) {
	r, err := sim.Run(ctx, o)
	if err == nil && len(r.Violations) > 0 {
		err = r.Violations[0]
	}
	return r, err
}

// initiatorNodes returns the node numbers of the initiators, in the order of their ranks. Nodes are
// numbered in the order of the ring.
func initiatorNodes(e theory.Election) []int {
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

// Options returns a decoder that sets the options, given as name and value, in the options struct
// of an algorithm.
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

// Kinds returns the kinds of the messages of an algorithm.
func Kinds(spec algo.Spec) map[string]bool {
	kinds := make(map[string]bool)
	for _, m := range spec.Messages {
		kinds[m.Kind()] = true
	}
	return kinds
}

// Counts reports whether m counts as a message of an election: it is of one of the kinds and is not
// a repeat.
func Counts(m algo.Message, kinds map[string]bool) bool {
	_, repeat := algo.Unwrap(m)
	return kinds[m.Kind()] && !repeat
}

// Frames returns the codec of nodes that run the algorithm.
func Frames(spec algo.Spec) (*wire.Codec, error) {
	return wire.NewCodec(slices.Concat(engine.Messages(), spec.Messages)...)
}

// FrameHead is the size of the length before each frame, in bytes.
const FrameHead = 4

// frameSizes sums up the sizes of the messages of an algorithm on the wire.
type frameSizes struct {
	codec *wire.Codec
	kinds map[string]bool
	frame []byte
	bytes map[time.Duration]int // sum of the sizes by the time of sending
	err   error
}

// add receives the trace of a simulation.
func (s *frameSizes) add(e trace.Event) {
	if e.Kind != trace.Send || s.err != nil || !Counts(e.Message, s.kinds) {
		return
	}
	s.frame, s.err = s.codec.Append(s.frame[:0], e.Message)
	s.bytes[e.At] += FrameHead + len(s.frame)
}

// since returns the sum of the sizes of all messages that were sent since began.
func (s *frameSizes) since(began time.Duration) (sum int, err error) {
	for at, bytes := range s.bytes {
		if at >= began {
			sum += bytes
		}
	}
	return sum, s.err
}
