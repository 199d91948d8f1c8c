package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/elect-go/elect/bench"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/fleet"
)

// wireSteps count elections of live nodes in this process: cases without a crash.
func (m *measuring) wireSteps() []step {
	var steps []step
	for _, c := range bench.WireCases() {
		if c.Crash || m.flags.short && c.Algorithm != m.algorithms[0] {
			continue
		}
		n := 5
		if m.flags.short {
			n = 3
		}
		steps = append(steps, step{
			part: "elections on the wire", name: fmt.Sprintf("elections of %s on the wire, %s", c.Algorithm, c.Name),
			takes: 2 * time.Second, do: func(ctx context.Context, part func(float64)) error { return m.wire(ctx, part, c, n) },
		})
	}
	return steps
}

// wire has live nodes elect, and counts.
func (m *measuring) wire(ctx context.Context, part func(done float64), c bench.WireCase, n int) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, benchPatience, fmt.Errorf("no agreement after %v", benchPatience))
	defer cancel()
	w, err := c.Start(ctx, bench.OneProcess, fleet.Config{}, n)
	if err != nil {
		return err
	}
	defer func() { m.left(w.Close()) }()
	random := random(m.flags.seed)
	for round := range m.flags.rounds {
		r, err := w.Round(ctx, random)
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		m.add(w.Trials(r, round+1, m.flags.seed)...)
		part(float64(round+1) / float64(m.flags.rounds))
	}
	return nil
}

// costSteps have every fault happen to every algorithm in the simulator, and to processes
// of the default one.
func (m *measuring) costSteps() []step {
	nodes := 5
	if m.flags.short {
		nodes = 3
	}
	var steps []step
	for _, fault := range bench.Faults() {
		for _, algorithm := range m.algorithms {
			c := bench.CostCase{Algorithm: algorithm, Fault: fault, Nodes: nodes}
			steps = append(steps, step{
				part: "the cost of faults, in the simulator", name: fault.Name + " of " + algorithm + " in the simulator", takes: 50 * time.Millisecond,
				do: func(ctx context.Context, _ func(float64)) error {
					return m.seeds(4*m.flags.rounds, func(round int, seed uint64) error {
						cost, err := c.Simulate(ctx, seed)
						if err == nil {
							m.add(c.Trial(cost, bench.Simulator, round, seed))
						}
						return err
					})
				},
			})
		}
	}
	for _, fault := range bench.Faults() {
		if m.flags.short && fault.Name != "kill" && fault.Name != "partition" {
			continue
		}
		c := bench.CostCase{Algorithm: m.algorithms[0], Fault: fault, Nodes: nodes}
		steps = append(steps, step{
			part: "the cost of faults, to processes", name: fault.Name + " of processes of " + c.Algorithm, takes: 5 * time.Second,
			do: func(ctx context.Context, _ func(float64)) error { return m.cost(ctx, c) },
		})
	}
	return steps
}

// cost has a fault happen to processes, once.
func (m *measuring) cost(ctx context.Context, c bench.CostCase) error {
	ctx, cancel := context.WithTimeoutCause(ctx, benchPatience, fmt.Errorf("no agreement after %v", benchPatience))
	defer cancel()
	cost, err := c.Measure(ctx, m.config(), m.flags.seed)
	if err != nil {
		return err
	}
	m.add(c.Trial(cost, bench.Processes, 1, m.flags.seed))
	return nil
}

// seeds does something with one seed after the other.
func (m *measuring) seeds(rounds int, do func(round int, seed uint64) error) error {
	for round := range rounds {
		if err := do(round+1, m.flags.seed+uint64(round)); err != nil {
			return err
		}
	}
	return nil
}

// detectorSteps watch one process in the simulator, for an hour a trial.
func (m *measuring) detectorSteps() []step {
	all := bench.DetectorTimeouts()
	timeouts := []time.Duration{all[0], all[2], all[3], all[4]}
	span := time.Hour
	if m.flags.short {
		timeouts, span = timeouts[:1], 10*time.Minute
	}
	var steps []step
	for _, condition := range bench.Conditions() {
		steps = append(steps, step{
			part: "the quality of the detector", name: "the detector, " + condition.Name, takes: time.Duration(m.flags.rounds*len(timeouts)) * 100 * time.Millisecond,
			do: func(ctx context.Context, part func(float64)) error {
				for at, timeout := range timeouts {
					for _, fixed := range []bool{true, false} {
						c := bench.DetectorCase{Condition: condition, Timeout: timeout, Fixed: fixed, Span: span}
						err := m.seeds(m.flags.rounds, func(round int, seed uint64) error {
							q, err := c.Measure(ctx, seed)
							if err == nil {
								m.add(c.Trial(q, round, seed))
							}
							return err
						})
						if err != nil {
							return err
						}
					}
					part(float64(at+1) / float64(len(timeouts)))
				}
				return nil
			},
		})
	}
	return steps
}

// partSteps measure how fast the parts are.
func (m *measuring) partSteps() []step {
	var steps []step
	for _, p := range bench.Parts() {
		steps = append(steps, step{
			part: "the parts", name: "the part " + p.Name, takes: time.Duration(m.flags.rounds) * partSpan,
			do: func(ctx context.Context, part func(float64)) error { return m.part(ctx, part, p) },
		})
	}
	return steps
}

// partSpan is how long a part is used in a trial, at least.
const partSpan = 100 * time.Millisecond

// part measures one, in a folder where the nodes of this measurement have theirs.
func (m *measuring) part(ctx context.Context, part func(done float64), p bench.Part) (err error) {
	dir, err := os.MkdirTemp(m.dir, "elect-bench-")
	if err != nil {
		return err
	}
	defer func() { m.left(os.RemoveAll(dir)) }()
	ready, err := p.Prepare(ctx, dir)
	if ready.Close != nil {
		defer func() { err = errors.Join(err, ready.Close()) }()
	}
	if err != nil {
		return err
	}
	if _, err := ready.Do(); err != nil { // the first time is slower
		return err
	}
	for round := range m.flags.rounds {
		units, began := 0, time.Now()
		for units == 0 || !m.flags.short && time.Since(began) < partSpan {
			n, err := ready.Do()
			if err != nil {
				return err
			}
			units += n
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		m.add(p.Trial(units, time.Since(began), round+1, m.flags.seed))
		part(float64(round+1) / float64(m.flags.rounds))
	}
	return nil
}

// asks reports whether one of some groups is to be measured.
func (f *benchFlags) asks(groups ...result.Group) bool { return slices.ContainsFunc(groups, f.wants) }
