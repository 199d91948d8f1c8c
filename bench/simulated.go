package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// SimulatedCase is a kind of election that the simulator runs and counts.
type SimulatedCase struct{ theory.Case }

// SimulatedCases returns all of them.
func SimulatedCases() []SimulatedCase {
	var all []SimulatedCase
	for _, c := range theory.Cases() {
		all = append(all, SimulatedCase{c})
	}
	return all
}

// Sizes are the N of a case: 3, and the powers of two up to the largest.
func (c SimulatedCase) Sizes() []int {
	sizes := []int{3}
	for n := 4; n <= c.Most; n *= 2 {
		sizes = append(sizes, n)
	}
	return sizes
}

// Draws is how many elections of n nodes make a mean: 20, fewer where they take long,
// and one where they are all the same.
func (c SimulatedCase) Draws(n int) int {
	if !c.Drawn() {
		return 1
	}
	const work = 2_000_000 // messages, and what it takes to set a node up
	e := c.Draw(n, random(1))
	row, _ := theory.For(c.Algorithm, c.Convention, theory.Single, e)
	return max(3, min(20, int(work/(row.Sent.At(e)+16*float64(n)))))
}

// Simulated is what an election cost.
type Simulated struct {
	Election        theory.Election
	Sent, Delivered int
	Bytes           int     // of the frames that were sent, with their lengths
	Turnaround      float64 // in T
}

// ErrTheory says that what was counted is not what the theory says.
var ErrTheory = errors.New("bench: the count is not that of the theory")

// Run has the simulator run one election and counts it. Its error is ErrTheory where the
// numbers are not exactly those of the theory.
func (c SimulatedCase) Run(ctx context.Context, n int, seed uint64) (Simulated, error) {
	e := c.Draw(n, random(seed))
	row, known := theory.For(c.Algorithm, c.Convention, theory.Single, e)
	if !known {
		return Simulated{}, fmt.Errorf("%w: it says nothing of %s, %s, N=%d", ErrTheory, c.Algorithm, c.Name, n)
	}
	o, err := Simulation(row, e)
	if err != nil {
		return Simulated{}, err
	}
	s, err := newScale(o.Spec)
	if err != nil {
		return Simulated{}, err
	}
	o.Seed, o.Trace = seed, s.weigh
	r, err := sim.Run(ctx, o)
	if err != nil {
		return Simulated{}, err
	}
	if len(r.Violations) > 0 {
		return Simulated{}, r.Violations[0]
	}
	got := Simulated{Election: e, Sent: int(r.Sent), Delivered: int(r.Delivered), Turnaround: r.Turnaround}
	if got.Bytes, err = s.last(got.Sent); err != nil {
		return got, err
	}
	return got, got.check(row)
}

// check compares what was counted with a row of the theory.
func (s Simulated) check(row theory.Row) error {
	sent, delivered, turnaround := row.Sent.At(s.Election), row.Delivered.At(s.Election), row.Turnaround.At(s.Election)
	if float64(s.Sent) == sent && float64(s.Delivered) == delivered && s.Turnaround == turnaround {
		return nil
	}
	return fmt.Errorf("%w: %s, N=%d: %d sent, %d delivered, %v T; want %v, %v, %v",
		ErrTheory, row.Name(), s.Election.N, s.Sent, s.Delivered, s.Turnaround, sent, delivered, turnaround)
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// scale weighs the messages of an algorithm: what each takes on the wire.
type scale struct {
	codec *wire.Codec
	kinds map[string]bool
	frame []byte
	bytes []uint16 // of each that was sent, in order
	err   error
}

func newScale(spec algo.Spec) (*scale, error) {
	codec, err := Frames(spec)
	return &scale{codec: codec, kinds: kindsOf(spec.Messages)}, err
}

// Frames is the codec that nodes with that algorithm use.
func Frames(spec algo.Spec) (*wire.Codec, error) {
	return wire.NewCodec(slices.Concat(engine.Messages(), spec.Messages)...)
}

func kindsOf(messages []algo.Message) map[string]bool {
	kinds := make(map[string]bool)
	for _, m := range messages {
		kinds[m.Kind()] = true
	}
	return kinds
}

// elects reports whether a message is of one of the kinds and says something new: whether
// it counts as one of an election.
func elects(m algo.Message, kinds map[string]bool) bool {
	_, repeat := algo.Open(m)
	return kinds[m.Kind()] && !repeat
}

// frameHead is the length before each frame.
const frameHead = 4

// weigh is for the trace of a simulation.
func (s *scale) weigh(e trace.Event) {
	if e.Kind != trace.Send || s.err != nil || !elects(e.Message, s.kinds) {
		return
	}
	s.frame, s.err = s.codec.Append(s.frame[:0], e.Message)
	s.bytes = append(s.bytes, uint16(frameHead+len(s.frame)))
}

// last is what the last messages weigh: those of the election that was counted. The
// ones before made the first leader.
func (s *scale) last(messages int) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if messages > len(s.bytes) {
		return 0, fmt.Errorf("bench: %d messages were counted, and %d were seen", messages, len(s.bytes))
	}
	sum := 0
	for _, bytes := range s.bytes[len(s.bytes)-messages:] {
		sum += int(bytes)
	}
	return sum, nil
}
