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
type SimulatedCase struct {
	Algorithm string
	// Name is "best", "worst", "all-start" or "random" (a random one starts), of the cases
	// that books have; or "leader-crash": what follows a crash by default, where whoever
	// watches the leader starts at once.
	Name string
	// Convention is one of the theory's.
	Convention string
	// Most is the largest N for which it is done in seconds.
	Most int
	// Drawn says that elections differ by their seed.
	Drawn bool

	draw func(n int, random *rand.Rand) theory.Election
}

// SimulatedCases returns all of them.
func SimulatedCases() []SimulatedCase {
	const bully, ring, vote = "bully", "ring", "vote"
	crashed := func(initiators func(n int) []int) func(int, *rand.Rand) theory.Election {
		return func(n int, _ *rand.Rand) theory.Election {
			return theory.Election{N: n, Crashed: 1, Initiators: initiators(n)}
		}
	}
	lives := func(initiators func(n int) []int) func(int, *rand.Rand) theory.Election {
		return func(n int, _ *rand.Rand) theory.Election {
			return theory.Election{N: n, Initiators: initiators(n)}
		}
	}
	everybody := func(int) []int { return nil }
	lowest := func(int) []int { return []int{1} }
	highest := func(n int) []int { return []int{n} }
	next := func(n int) []int { return []int{n - 1} }
	return []SimulatedCase{
		{bully, "best", "detector", 1024, false, crashed(next)},
		{bully, "worst", "textbook", 1024, false, crashed(lowest)},
		{bully, "all-start", "textbook", 1024, false, crashed(everybody)},
		{bully, "random", "textbook", 1024, true, func(n int, random *rand.Rand) theory.Election {
			return theory.Election{N: n, Crashed: 1, Initiators: []int{1 + random.IntN(n-1)}}
		}},
		{bully, "leader-crash", "detector", 1024, false, crashed(everybody)},

		{ring, "best", "detector", 16384, false, lives(highest)},
		{ring, "worst", "detector", 16384, false, lives(lowest)},
		{ring, "all-start", "detector", 16384, true, func(n int, random *rand.Rand) theory.Election {
			order := random.Perm(n)
			for at := range order {
				order[at]++
			}
			return theory.Election{N: n, Order: order}
		}},
		{ring, "all-start-worst", "detector", 1024, false, func(n int, _ *rand.Rand) theory.Election {
			return theory.Election{N: n, Order: theory.Descending(n)}
		}},
		{ring, "random", "detector", 16384, true, func(n int, random *rand.Rand) theory.Election {
			return theory.Election{N: n, Initiators: []int{1 + random.IntN(n)}}
		}},
		{ring, "leader-crash", "detector", 16384, false, crashed(next)}, // nobody else watches it

		{vote, "best", "detector", 1024, false, lives(everybody)},
		{vote, "worst", "textbook", 1024, false, lives(lowest)},
		{vote, "all-start", "textbook", 1024, false, lives(everybody)},
		{vote, "random", "detector", 1024, true, func(n int, random *rand.Rand) theory.Election {
			return theory.Election{N: n, Initiators: []int{1 + random.IntN(n)}}
		}},
		{vote, "leader-crash", "detector", 1024, false, crashed(everybody)},
	}
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
	if !c.Drawn {
		return 1
	}
	const work = 2_000_000 // messages, and what it takes to set a node up
	e := c.draw(n, random(1))
	row, _ := theory.For(c.Algorithm, c.Convention, e)
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
	e := c.draw(n, random(seed))
	row, known := theory.For(c.Algorithm, c.Convention, e)
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
	again, ok := m.(algo.Repeater)
	return kinds[m.Kind()] && !(ok && again.Repeats())
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
