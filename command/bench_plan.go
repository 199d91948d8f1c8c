package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/bench"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/netlab"
)

// measuring is one call of elect bench.
type measuring struct {
	flags      *benchFlags
	command    []string // that runs a node
	algorithms []string
	dir        string // where data folders are made
	run        *result.Run
	unclean    error // what could not be stopped, or was left behind
}

// left notes what the end of a cluster has left behind, if anything.
func (m *measuring) left(err error) { m.unclean = errors.Join(m.unclean, err) }

// step is a part of the measurement that can fail alone.
type step struct {
	part  string // to which it belongs, as progress says it
	name  string
	takes time.Duration // about, on an idle machine: for the progress only
	// do does it. It says after each part of it how much is done, of 1.
	do func(ctx context.Context, part func(done float64)) error
}

// perform does all steps. One that this machine does not permit is skipped; one that goes
// wrong is skipped too, and its error returned at the end.
func (m *measuring) perform(ctx context.Context, shown *benchProgress, steps []step) error {
	var whole, done time.Duration
	for _, s := range steps {
		whole += s.takes
	}
	var wrong []error
	part := ""
	for _, s := range steps {
		within := func(part float64) { shown.at(s.name, (float64(done)+part*float64(s.takes))/float64(whole)) }
		within(0)
		if s.part != part {
			part = s.part
			shown.part(part)
		}
		switch err := s.do(ctx, within); {
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), m.unclean)
		case notHere(err):
			m.skip(shown, s, err)
		case err != nil:
			m.skip(shown, s, err)
			wrong = append(wrong, fmt.Errorf("%s: %w", s.name, err))
		}
		done += s.takes
	}
	return errors.Join(errors.Join(wrong...), m.unclean)
}

// notHere reports whether an error says that this machine does not permit it.
func notHere(err error) bool {
	return errors.Is(err, netlab.ErrUnavailable) || errors.Is(err, bench.ErrFiles) || errors.Is(err, errors.ErrUnsupported)
}

func (m *measuring) skip(shown *benchProgress, s step, err error) {
	what := s.name + ": " + strings.ReplaceAll(err.Error(), "\n", "; ") // a line, whatever was joined
	m.note(what)
	shown.note("not measured: " + what)
}

// note has the report say what was not measured.
func (m *measuring) note(what string) { m.run.Skipped = append(m.run.Skipped, what) }

// plan is what the flags ask for. The short version leaves out nothing that could break.
func (m *measuring) plan() []step {
	var steps []step
	for _, of := range []struct {
		groups []result.Group
		steps  func() []step
	}{
		{[]result.Group{result.Messages, result.Turnaround}, m.electionSteps},
		{[]result.Group{result.Messages, result.Turnaround}, m.wireSteps},
		{[]result.Group{result.Failover}, m.failoverSteps},
		{[]result.Group{result.Application}, m.costSteps},
		{[]result.Group{result.Detector}, m.detectorSteps},
		{[]result.Group{result.Idle}, m.idleSteps},
		{[]result.Group{result.Parts}, m.partSteps},
	} {
		if m.flags.asks(of.groups...) {
			steps = append(steps, of.steps()...)
		}
	}
	return steps
}

func (m *measuring) electionSteps() []step {
	var steps []step
	for _, c := range bench.SimulatedCases() {
		most := 129
		switch {
		case m.flags.short:
			most = 17
		case c.Most > 1024: // of these N² is not the cost
			most = 1025
		}
		var sizes []int
		for n := 3; n <= min(most, c.Most); n = 2*n - 1 { // 3, 5, 9, 17, …
			sizes = append(sizes, n)
		}
		steps = append(steps, step{
			part: "elections in the simulator", name: fmt.Sprintf("elections of %s, %s", c.Algorithm, c.Name), takes: 500 * time.Millisecond,
			do: func(ctx context.Context, _ func(float64)) error { return m.elections(ctx, c, sizes) },
		})
	}
	return steps
}

// failoverSteps have the algorithms take turns.
func (m *measuring) failoverSteps() []step {
	nodes := 5
	if m.flags.short {
		nodes = 3
	}
	var steps []step
	for _, fault := range []struct {
		signal fleet.Signal
		takes  time.Duration // of a round
	}{
		{fleet.Kill, 700 * time.Millisecond},
		{fleet.Term, 700 * time.Millisecond},
		{fleet.Stop, 1500 * time.Millisecond},
		{bench.Drop, 2 * time.Second},
	} {
		var cases []*failovers
		for at, algorithm := range m.algorithms {
			if m.flags.short && at > 0 && fault.signal != fleet.Kill {
				continue // the fault is the same for the others
			}
			cases = append(cases, &failovers{m: m, of: bench.Case{Algorithm: algorithm, Signal: fault.signal, Nodes: nodes}})
		}
		rounds := m.flags.rounds
		if cases[0].slow() {
			rounds = m.flags.slowRounds()
		}
		steps = append(steps, step{
			part: "failovers of real processes", name: "failovers after " + string(fault.signal),
			takes: time.Second + time.Duration(rounds*len(cases))*fault.takes,
			do:    func(ctx context.Context, part func(float64)) error { return m.inTurns(ctx, part, rounds, cases) },
		})
	}
	return steps
}

func (m *measuring) idleSteps() []step {
	sizes := []int{5, 15, 45}
	if m.flags.short {
		sizes = []int{3}
	}
	var steps []step
	for _, n := range sizes {
		for at, algorithm := range m.algorithms {
			if m.flags.short && at > 0 {
				continue
			}
			steps = append(steps, step{
				part: "the cost at rest", name: fmt.Sprintf("%d nodes of %s at rest", n, algorithm),
				takes: 2500*time.Millisecond + restRounds*m.restSpan(),
				do:    func(ctx context.Context, part func(float64)) error { return m.rest(ctx, part, algorithm, n) },
			})
		}
	}
	return steps
}

// measured are the algorithms that are compared. What a textbook costs is counted beside the
// theory; how it bears faults says nothing, unless there is nothing else.
func (p *program) measured() []string {
	all := p.fields.Algorithms()
	forUse := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		s, err := p.settingsOf("--algorithm", name)
		if err != nil {
			return false
		}
		spec, err := s.Spec()
		return err == nil && spec.Textbook
	})
	if len(forUse) == 0 {
		return all
	}
	return forUse
}
