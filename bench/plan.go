package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/proccluster"
)

// plan returns the steps that the options select. The short version covers all code.
func (m *measuring) plan() (steps []step) {
	for at, make := range []func() []step{m.elections, m.wires, m.failovers, m.costs, m.stabilities, m.detectors, m.rests} {
		if slices.Contains(m.Groups, Groups()[at]) {
			steps = append(steps, make()...)
		}
	}
	return steps
}

// size returns the number of nodes in a cluster with faults.
func (m *measuring) size() int {
	if m.Short {
		return 3
	}
	return 5
}

// cases returns the elections of all algorithms, textbook ones too. An algorithm without rows in the
// theory has cases without theory.
func (m *measuring) cases() (all []theory.Case) {
	for _, algorithm := range m.known() {
		withTheory := slices.DeleteFunc(theory.Cases(), func(c theory.Case) bool { return c.Algorithm != algorithm })
		if len(withTheory) == 0 {
			withTheory = theory.CasesWithoutTheory(algorithm)
		}
		all = append(all, withTheory...)
	}
	return all
}

// elections returns the steps in the simulator. Drawn elections differ by their seed.
func (m *measuring) elections() (steps []step) {
	for _, c := range m.cases() {
		most, draws := 129, 10
		switch {
		case m.Short:
			most, draws = 17, 2
		case c.Most > 1024: // their cost grows slower than N²
			most = 1025
		}
		if !c.Drawn() {
			draws = 1
		}
		s := step{part: "elections in the simulator", name: result.Name(result.Election, "algorithm", c.Algorithm, "case", c.Name), takes: 500 * time.Millisecond}
		for n := 3; n <= min(most, c.Most); n = 2*n - 1 { // 3, 5, 9, 17, …
			s.subjects = append(s.subjects, m.election(c, n, draws))
		}
		steps = append(steps, s)
	}
	return steps
}

func (m *measuring) election(c theory.Case, n, rounds int) subject {
	return subject{
		name: result.Name(result.Election, "algorithm", c.Algorithm, "case", c.Name, "n", n), rounds: rounds,
		start: pure(func(ctx context.Context, seed uint64) (figures, error) {
			count, err := election.Run(ctx, m.registry, c, n, seed)
			return figures{
				result.MetricSent: float64(count.Sent), result.MetricDelivered: float64(count.Delivered),
				result.MetricBytes: float64(count.Bytes), result.MetricTurnaround: count.Turnaround,
			}, err
		}),
	}
}

// wires returns the elections of live nodes in this process.
func (m *measuring) wires() (steps []step) {
	for _, c := range wireCases() {
		if _, known := m.registry[c.Algorithm]; !known || m.Short && c.Algorithm != m.known()[0] {
			continue
		}
		steps = append(steps, alone("elections on the wire", 2*time.Second, subject{
			name: c.nameOn(oneProcess, m.size()), rounds: m.Rounds,
			start: opened(
				func(ctx context.Context) (*wired, error) { return c.start(ctx, m.registry, m.size()) },
				func(ctx context.Context, w *wired, seed uint64) (wireRound, error) { return w.round(ctx, random(seed)) }),
		}))
	}
	return steps
}

// failovers returns the steps of the failovers, in which the algorithms take turns.
func (m *measuring) failovers() (steps []step) {
	for _, fault := range []struct {
		signal proccluster.Signal
		takes  time.Duration // of a round
		slow   bool          // the failover waits for a timeout, and the leader stays alive
	}{
		{proccluster.Kill, 700 * time.Millisecond, false},
		{proccluster.Term, 700 * time.Millisecond, false},
		{proccluster.Stop, 1500 * time.Millisecond, true},
		{drop, 2 * time.Second, true},
	} {
		algorithms, rounds := m.variants(), m.Rounds
		if m.Short && fault.signal != proccluster.Kill {
			algorithms = algorithms[:1] // the fault is the same for the others
		}
		if fault.slow {
			rounds = (m.Rounds + 1) / 2
		}
		s := step{
			part: "failovers of real processes", name: result.Name(result.Failover, "signal", fault.signal),
			takes: time.Second + time.Duration(rounds*len(algorithms))*fault.takes,
		}
		for _, algorithm := range algorithms {
			c := failoverCase{Algorithm: algorithm, Signal: fault.signal, Nodes: m.size()}
			s.subjects = append(s.subjects, m.failover(c, rounds, fault.slow))
		}
		steps = append(steps, s)
	}
	return steps
}

// failover returns the subject of one case. If the leader stays alive, each round has a cluster of
// its own: after a mistake a detector gives the peer more time for a while.
func (m *measuring) failover(c failoverCase, rounds int, slow bool) subject {
	return subject{
		name: result.Name(result.Failover, "algorithm", c.Algorithm, "signal", c.Signal, "n", c.Nodes), rounds: rounds, fresh: slow,
		start: opened(func(ctx context.Context) (*failoverSeries, error) {
			config, err := m.config()
			if err != nil {
				return nil, err
			}
			return c.start(ctx, m.registry, config)
		}, func(ctx context.Context, s *failoverSeries, seed uint64) (failoverRound, error) {
			// At any phase of the heartbeats.
			return s.round(ctx, time.Duration(100+random(seed).IntN(400))*time.Millisecond)
		}),
	}
}

// costs returns the steps that inject every fault into every algorithm in the simulator, and into
// processes of the default algorithm.
func (m *measuring) costs() []step {
	return m.faults("the cost of faults", fault.Faults(), m.size(), 4*m.Rounds, func(f fault.Fault) bool {
		return !m.Short || f.Name == "kill" || f.Name == "partition"
	})
}

// stabilities returns the same steps for the faults that a working leader should survive. Processes
// get only the faults that take seconds.
func (m *measuring) stabilities() []step {
	return m.faults("stable leadership", fault.Stability(), 5, m.Rounds, func(f fault.Fault) bool {
		return f.Takes < 5*time.Second && (!m.Short || f.Name == "first-start")
	})
}

// faults returns the steps of the faults in the simulator, with simulated rounds, and of the live faults in processes.
func (m *measuring) faults(part string, all []fault.Fault, nodes, simulated int, live func(fault.Fault) bool) (steps []step) {
	for _, f := range all {
		for _, algorithm := range m.variants() {
			c := fault.Case{Algorithm: algorithm, Fault: f, Nodes: nodes}
			steps = append(steps, alone(part+", in the simulator", 50*time.Millisecond, m.fault(c, simulator, simulated)))
		}
	}
	for _, f := range all {
		if live(f) {
			c := fault.Case{Algorithm: m.variants()[0], Fault: f, Nodes: nodes}
			steps = append(steps, alone(part+", to processes", f.Takes, m.fault(c, processes, 1)))
		}
	}
	return steps
}

// fault returns the subject of a fault in the simulator or in processes.
func (m *measuring) fault(c fault.Case, host string, rounds int) subject {
	run := func(ctx context.Context, seed uint64) (fault.Cost, error) { return c.Simulate(ctx, m.registry, seed) }
	if host == processes {
		run = func(ctx context.Context, seed uint64) (fault.Cost, error) {
			config, err := m.config()
			if err != nil {
				return fault.Cost{}, err
			}
			return c.Measure(ctx, config, seed)
		}
	}
	return subject{name: c.Name(host), rounds: rounds, start: pure(func(ctx context.Context, seed uint64) (figures, error) {
		cost, err := run(ctx, seed)
		return cost.Values(c.Fault.Metrics), err
	})}
}

// detectors returns the steps of the detectors, which monitor one process for an hour of virtual time.
func (m *measuring) detectors() (steps []step) {
	all := detectorTimeouts()
	timeouts, span := []time.Duration{all[0], all[2], all[3], all[4]}, time.Hour
	if m.Short {
		timeouts, span = timeouts[:1], 10*time.Minute
	}
	for _, condition := range conditions() {
		s := step{
			part: "the quality of the detector", name: result.Name(result.Detector, "condition", condition.name),
			takes: time.Duration(m.Rounds*len(timeouts)) * 100 * time.Millisecond,
		}
		for _, timeout := range timeouts {
			for _, fixed := range []bool{true, false} {
				c := detectorCase{condition: condition, Timeout: timeout, Fixed: fixed, Span: span}
				s.subjects = append(s.subjects, subject{name: c.name(), rounds: m.Rounds, start: pure(c.measure)})
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// rests returns the steps of the idle clusters, each measured twice: more rounds of one cluster show
// little about another.
func (m *measuring) rests() (steps []step) {
	// Ten heartbeats: the interval at which leaders of bully repeat their announcement.
	sizes, algorithms, span := []int{5, 15, 45}, m.variants(), 1200*time.Millisecond
	if m.Short {
		sizes, algorithms, span = []int{3}, algorithms[:1], 200*time.Millisecond
	}
	const rounds = 2
	for _, n := range sizes {
		for _, algorithm := range algorithms {
			steps = append(steps, alone("the cost at rest", 2500*time.Millisecond+rounds*span, m.idleSubject(algorithm, n, rounds, span)))
		}
	}
	return steps
}

// idleSubject returns the subject of one idle cluster, measured for span in each round.
func (m *measuring) idleSubject(algorithm string, n, rounds int, span time.Duration) subject {
	return subject{
		name: result.Name(result.Steady, "algorithm", algorithm, "n", n), rounds: rounds,
		start: opened(
			func(ctx context.Context) (*idleCluster, error) {
				return startIdle(ctx, m.registry, algorithm, n, 2*time.Second+span)
			},
			func(ctx context.Context, r *idleCluster, _ uint64) (figures, error) { return r.measure(ctx, span) }),
	}
}

// alone returns a step of one subject.
func alone(part string, takes time.Duration, of subject) step {
	return step{part: part, name: of.name, takes: takes, subjects: []subject{of}}
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
