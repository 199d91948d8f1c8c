package command

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elect-go/elect/bench"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/fleet"
)

// elections counts elections of one kind. The ones of a drawn kind differ by their seed.
func (m *measuring) elections(ctx context.Context, c bench.SimulatedCase, sizes []int) error {
	for _, n := range sizes {
		draws := min(c.Draws(n), 10)
		if m.flags.short {
			draws = min(draws, 2)
		}
		for round := range draws {
			seed := m.flags.seed + uint64(round)
			s, err := c.Run(ctx, n, seed)
			if err != nil {
				return fmt.Errorf("%d nodes, seed %d: %w", n, seed, err)
			}
			m.add(c.Trials(s, round+1, seed)...)
		}
	}
	return nil
}

// add adds trials, those of a group that is asked for.
func (m *measuring) add(trials ...result.Trial) {
	for _, t := range trials {
		if m.flags.wants(t.Group) {
			m.run.Trials = append(m.run.Trials, t)
		}
	}
}

// failovers are those of one case.
type failovers struct {
	m      *measuring
	of     bench.Case
	series *bench.Series // that runs; nil between two
}

// benchPatience bounds each wait for real processes.
const benchPatience = time.Minute

func (f *failovers) name() string {
	return "failover of " + f.of.Algorithm + " after " + string(f.of.Signal)
}

// slow reports whether a failover waits for a timeout, and the leader lives on.
func (f *failovers) slow() bool { return f.of.Signal == fleet.Stop || f.of.Signal == bench.Drop }

// inTurns measures some cases so many times, one after the other, so that what the machine
// does meanwhile meets all of them. One that goes wrong is left out from then on.
func (m *measuring) inTurns(ctx context.Context, part func(done float64), rounds int, cases []*failovers) error {
	defer func() {
		for _, f := range cases {
			f.close()
		}
	}()
	wrong := make([]error, len(cases))
	for round := range rounds {
		for at, f := range cases {
			if wrong[at] != nil {
				continue
			}
			err := f.round(ctx, round+1, m.flags.seed+uint64(round))
			if notHere(err) { // for none of them
				return err
			}
			if err != nil {
				wrong[at] = fmt.Errorf("%s: round %d: %w", f.name(), round+1, err)
			}
			part((float64(round) + float64(at+1)/float64(len(cases))) / float64(rounds))
		}
	}
	return errors.Join(wrong...)
}

func (f *failovers) close() {
	if f.series != nil {
		f.m.left(f.series.Close())
		f.series = nil
	}
}

// round takes the leader away once. Where it lives on, each round has a cluster of its own: a
// detector that was wrong about somebody gives him more time for a while.
func (f *failovers) round(ctx context.Context, number int, seed uint64) error {
	err := f.measure(ctx, number, seed)
	if errors.Is(err, fleet.ErrNoLeader) {
		// On a machine that is busy a cluster may lose its leader by itself before the
		// fault comes. Then there is nothing to measure yet.
		f.close()
		err = f.measure(ctx, number, seed)
	}
	if f.slow() || err != nil {
		f.close()
	}
	return err
}

func (f *failovers) measure(ctx context.Context, number int, seed uint64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, benchPatience, fmt.Errorf("no agreement after %v", benchPatience))
	defer cancel()
	if f.series == nil {
		s, err := f.of.Start(ctx, f.m.config())
		if err != nil {
			return err
		}
		f.series = s
	}
	r, err := f.series.Round(ctx, moment(seed), false)
	if err != nil {
		return err
	}
	trial := f.of.Trial(r, number, seed)
	if fleet.Clock != "monotonic" {
		trial.Labels[result.Clock] = fleet.Clock
	}
	f.m.add(trial)
	return nil
}

// config is what processes are made of: their data is on a disk, if there is one.
func (m *measuring) config() fleet.Config { return fleet.Config{Command: m.command, Dir: m.dir} }

// moment is how long a cluster is left alone before a fault, so that it meets the
// heartbeats at any phase.
func moment(seed uint64) time.Duration {
	return time.Duration(100+random(seed).IntN(400)) * time.Millisecond
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// restRounds is how often a cluster at rest is looked at. More of the same cluster would say
// little about another.
const restRounds = 2

// restSpan is for how long.
func (m *measuring) restSpan() time.Duration {
	if m.flags.short {
		return 200 * time.Millisecond
	}
	return 1200 * time.Millisecond // ten heartbeats: leaders of bully repeat themselves that seldom
}

// rest measures a cluster that nothing happens to, a few times.
func (m *measuring) rest(ctx context.Context, part func(done float64), algorithm string, n int) error {
	starting, cancel := context.WithTimeoutCause(ctx, benchPatience, fmt.Errorf("no agreement after %v", benchPatience))
	defer cancel()
	cluster, err := bench.Rest(starting, algorithm, n)
	if err != nil {
		return err
	}
	defer func() { m.left(cluster.Stop()) }()
	for round := range restRounds {
		s, err := cluster.Measure(ctx, m.restSpan())
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		m.add(s.Trial(round+1, m.flags.seed))
		part(float64(round+1) / restRounds)
	}
	return nil
}
