package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/internal/testkit"
)

// failoverBenchmark is a failoverCase with the settings of its benchmark.
type failoverBenchmark struct {
	failoverCase
	NoEvidence bool // the detector uses silence only
	Trusted    bool // evidence of a failure ends the lease
}

// name returns the case as part of the name of a benchmark.
func (c failoverBenchmark) name() string {
	name := fmt.Sprintf("algorithm=%s/signal=%s", c.Algorithm, c.Signal)
	if c.NoEvidence {
		name += "/evidence=off"
	}
	if c.Trusted {
		name += "/evidence=trusted"
	}
	if c.Dead > 0 {
		name += "/dead=" + strconv.Itoa(c.Dead)
	}
	return name + "/n=" + strconv.Itoa(c.Nodes)
}

// start starts a cluster and kills c.Dead of its nodes.
func (c failoverBenchmark) start(ctx context.Context, config proccluster.Config) (*failoverSeries, error) {
	if c.NoEvidence {
		config.Args = append(slices.Clone(config.Args), "--timeout-only")
	}
	if c.Trusted {
		config.Args = append(slices.Clone(config.Args), "--lease-trust-evidence", "--lease-trusted-network")
	}
	s, err := c.failoverCase.start(ctx, builtin.Registry(), config)
	if err != nil {
		return nil, err
	}
	leader, _ := proccluster.Agreement(s.States())
	for i, dead := c.Nodes, 0; dead < c.Dead && err == nil; i-- {
		if proccluster.Name(i) != leader.Name {
			_, err = s.Signal(proccluster.Name(i), proccluster.Kill)
			dead++
		}
	}
	if err == nil {
		err = s.expect(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func cases() []failoverBenchmark {
	var all []failoverBenchmark
	add := func(variant string, cases ...failoverBenchmark) {
		for _, c := range cases {
			c.Algorithm = variant
			for _, c.Nodes = range []int{3, 5, 7, 15} {
				if c.electable() {
					all = append(all, c)
				}
			}
		}
	}
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		add(
			algorithm+lease.Suffix,
			failoverBenchmark{failoverCase: failoverCase{Signal: proccluster.Kill}},
			failoverBenchmark{failoverCase: failoverCase{Signal: proccluster.Kill}, Trusted: true},
			failoverBenchmark{failoverCase: failoverCase{Signal: proccluster.Term}},
		)
		add(
			algorithm,
			failoverBenchmark{failoverCase: failoverCase{Signal: proccluster.Kill}},
			failoverBenchmark{failoverCase: failoverCase{Signal: proccluster.Kill, Dead: 1}},
			failoverBenchmark{failoverCase: failoverCase{Signal: proccluster.Kill}, NoEvidence: true},
			failoverBenchmark{failoverCase: failoverCase{Signal: proccluster.Stop}},
			failoverBenchmark{failoverCase: failoverCase{Signal: proccluster.Term}},
			failoverBenchmark{failoverCase: failoverCase{Signal: drop}},
			failoverBenchmark{failoverCase: failoverCase{Signal: dropOut}},
			failoverBenchmark{failoverCase: failoverCase{Signal: dropIn}},
		)
	}
	return all
}

// electable reports whether the survivors can elect a leader.
func (c failoverBenchmark) electable() bool {
	spec, err := election.Spec(builtin.Registry(), c.Algorithm, algo.LAN(), nil)
	if err != nil {
		panic(err)
	}
	return !spec.Claims.NeedsQuorum || c.Nodes-1-c.Dead > c.Nodes/2
}

// BenchmarkFailover measures the time without a leader: from the signal until the last survivor knows
// the new leader.
func BenchmarkFailover(b *testing.B) {
	config := setting(b)
	for _, c := range cases() {
		b.Run(c.name(), func(b *testing.B) { c.benchmark(b, config) })
	}
}

func (c failoverBenchmark) benchmark(b *testing.B, config proccluster.Config) {
	var results, observed []observedRound
	var floors []floorRound
	next := moments()
	series := c.series(b, config)
	least := *roundsFlag
	if c.slow() {
		least = *slowRoundsFlag
	}
	repeat(b, least, func() {
		results = append(results, series(next(), false))
		if c.Signal == proccluster.Kill && !c.slow() {
			floors = append(floors, floorOf(b, c.Nodes-c.Dead))
		}
	})
	if !c.slow() {
		for range *observedFlag {
			observed = append(observed, series(next(), true))
		}
	}
	c.report(b, results, observed, floors)
}

// slow reports whether the failover waits for a timeout.
func (c failoverBenchmark) slow() bool {
	return c.Signal == proccluster.Stop || c.NoEvidence || strings.HasSuffix(c.Algorithm, lease.Suffix) && !c.Trusted && c.Signal == proccluster.Kill || c.network()
}

// series returns a function that runs a round. If the leader stays alive, each round has a cluster of
// its own: after a mistake a detector gives the peer more time for a while.
func (c failoverBenchmark) series(b *testing.B, config proccluster.Config) func(pause time.Duration, observed bool) observedRound {
	var s *failoverSeries
	start := func() {
		var err error
		switch s, err = c.start(within(b, time.Minute), config); {
		case errors.Is(err, netlab.ErrUnavailable):
			b.Skip(err)
		case err != nil:
			b.Fatal(err)
		}
	}
	end := func() {
		if s == nil {
			return
		}
		if err := s.close(); err != nil {
			b.Error(err)
		}
		s = nil
	}
	b.Cleanup(end)
	return func(pause time.Duration, observed bool) observedRound {
		if s == nil {
			start()
		}
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		r, err := observeRound(ctx, s, pause, observed)
		if err != nil {
			b.Fatal(err)
		}
		if c.Signal == proccluster.Stop || c.network() {
			end()
		}
		return r
	}
}

func (c failoverBenchmark) report(b *testing.B, results, observed []observedRound, floors []floorRound) {
	var took, detect, elect, saves, saving, back []time.Duration
	var messages, critical []float64
	for _, r := range results {
		took = append(took, r.Failover.Failover)
		detect = append(detect, r.Detect)
		elect = append(elect, r.Elect)
		saves, saving = append(saves, r.Saves...), append(saving, r.Saving)
		back = append(back, r.recovery.Duration)
		messages = append(messages, float64(algosim.Total(r.Messages)))
		critical = append(critical, float64(r.CriticalSaves))
	}
	failover, save := stats.Milliseconds(took), stats.Milliseconds(saves)
	b.ReportMetric(failover.Min, "min-ms")
	b.ReportMetric(failover.Median, result.MetricFailover)
	b.ReportMetric(failover.P90, "p90-ms")
	b.ReportMetric(failover.Max, "max-ms")
	b.ReportMetric(stats.Milliseconds(detect).Median, result.MetricDetect)
	b.ReportMetric(stats.Milliseconds(elect).Median, result.MetricElect)
	b.ReportMetric(save.Median, "save-p50-ms")
	b.ReportMetric(median(critical), "critical-saves")
	b.ReportMetric(stats.Milliseconds(saving).Median, "critical-saves-ms")
	b.ReportMetric(median(messages), result.MetricFailoverMessages)
	b.Logf("survivors: %d of %d; from the signal until the last survivor announces the new leader, by its own timestamp: %v",
		c.Nodes-1-c.Dead, c.Nodes, inWords(failover))
	b.Logf("until the first suspicion: %v; from then on: %v", inWords(stats.Milliseconds(detect)), inWords(stats.Milliseconds(elect)))
	b.Logf("a save: %v; %g on the critical path (median): the new leader's before its announcement, and that of the last survivor before its own; messages %g (median)",
		inWords(save), stats.Summarize(critical).Median, stats.Summarize(messages).Median)
	if len(floors) > 0 {
		b.Log(reportFloor(b, took, saving, floors))
	}
	b.Logf("from the return of the old leader until all agree again: %v", inWords(stats.Milliseconds(back)))
	if len(observed) > 0 {
		var self, outside, questions []time.Duration
		for _, r := range observed {
			self = append(self, r.Failover.Failover)
			outside = append(outside, r.Observed)
			questions = append(questions, r.Questions...)
		}
		seen := stats.Milliseconds(outside)
		b.ReportMetric(seen.Median, "observer-p50-ms")
		b.Logf("an outside observer, in rounds of its own, from the signal until each survivor has answered with the new leader: %v", inWords(seen))
		b.Logf("  the same rounds, by the timestamps of the survivors: %v; a question of the observer takes %v", inWords(stats.Milliseconds(self)), inWords(stats.Milliseconds(questions)))
	}
	b.Logf("load average now: %s; for more: -rounds, or -benchtime", hostinfo.LoadAverage())
}

// TestFailoverRound runs one round of each kind with three processes, to check that the benchmarks
// run and that a round checks its outcome.
func TestFailoverRound(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	config := config(t)
	for _, c := range []failoverBenchmark{
		{failoverCase: failoverCase{Algorithm: "bully", Signal: proccluster.Kill, Nodes: 3}},
		{failoverCase: failoverCase{Algorithm: "bully", Signal: proccluster.Kill, Nodes: 3, Dead: 1}},
		{failoverCase: failoverCase{Algorithm: "bully", Signal: proccluster.Term, Nodes: 3}},
		{failoverCase: failoverCase{Algorithm: "bully+lease", Signal: proccluster.Term, Nodes: 3}},
		{failoverCase: failoverCase{Algorithm: "ring", Signal: proccluster.Kill, Nodes: 3}},
		{failoverCase: failoverCase{Algorithm: "vote", Signal: proccluster.Kill, Nodes: 3}},
	} {
		t.Run(c.name(), func(t *testing.T) {
			ctx := within(t, time.Minute)
			s, err := c.start(ctx, config)
			if err != nil {
				t.Fatal(err)
			}
			r, err := observeRound(ctx, s, 0, true)
			if err != nil {
				t.Error(err)
			}
			if r.Observed <= 0 || len(r.Questions) < r.Survivors {
				t.Errorf("the observer saw the new leader after %v and %d questions, want at least one to each of %d", r.Observed, len(r.Questions), r.Survivors)
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
	}
}
