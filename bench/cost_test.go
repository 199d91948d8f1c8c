package bench

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/machine"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/testkit"
)

func faultCases(nodes int, faults []fault.Fault) []fault.Case {
	var all []fault.Case
	for _, algorithm := range variants {
		for _, f := range faults {
			all = append(all, fault.Case{Algorithm: algorithm, Fault: f, Nodes: nodes})
		}
	}
	return all
}

// nameOf is a case as part of the name of a benchmark.
func nameOf(c fault.Case, host string) string { return sub(c.Name(host)) }

// sub is the name of a benchmark without that of its function.
func sub(name string) string {
	_, rest, _ := strings.Cut(name, "/")
	return rest
}

// BenchmarkCost measures what faults cost an application: how long nobody leads, how long
// two do, how long a node is without a leader within reach, how often it begins anew, and
// how many messages that takes. Figures are medians.
func BenchmarkCost(b *testing.B) { benchmarkFaults(b, fault.Faults(), median) }

// BenchmarkStability measures whether a leader that works is left to work, and how soon all agree.
// Figures are the worst of the rounds.
func BenchmarkStability(b *testing.B) { benchmarkFaults(b, fault.Stability(), slices.Max) }

func benchmarkFaults(b *testing.B, faults []fault.Fault, of func([]float64) float64) {
	m := measured(setting(b))
	for _, host := range []string{simulator, processes} {
		least := map[string]int{simulator: *roundsFlag, processes: *slowRoundsFlag}[host]
		for _, c := range faultCases(5, faults) {
			b.Run(nameOf(c, host), func(b *testing.B) {
				m.fault(c, host, least).benchmark(b, least, of)
				b.Logf("%s; load average now %s", c.Fault.About, machine.LoadAverage())
			})
		}
	}
}

// TestSimulatedCost has every fault happen to every algorithm, and looks for what none of
// them can avoid.
func TestSimulatedCost(t *testing.T) {
	for _, c := range faultCases(5, fault.Faults()) {
		t.Run(nameOf(c, simulator), func(t *testing.T) {
			cost, err := c.Simulate(t.Context(), builtin.Registry(), 1)
			require.NoError(t, err)
			again, err := c.Simulate(t.Context(), builtin.Registry(), 1)
			require.NoError(t, err)
			require.Equal(t, cost, again, "of the same seed")
			checkCost(t, c, cost)
			if c.Fault.Name == "flap" {
				require.Zero(t, cost.Changes, "one link takes the leadership from nobody")
			}
		})
	}
}

// TestSimulatedStability looks for what holds on any machine, and for the same of the same seed.
func TestSimulatedStability(t *testing.T) {
	t.Parallel()
	for _, c := range faultCases(5, fault.Stability()) {
		cost, err := c.Simulate(t.Context(), builtin.Registry(), 1)
		require.NoError(t, err)
		values := cost.Values(c.Fault.Metrics)
		require.Len(t, values, len(c.Fault.Metrics), c.Fault.Name)
		if c.Algorithm == "vote" {
			for _, metric := range []string{result.MetricEnds, result.MetricOneTerm} {
				if slices.Contains(c.Fault.Metrics, metric) {
					require.Zero(t, values[metric], "%s: %s", c.Fault.Name, metric)
				}
			}
		}
		switch c.Fault.Name {
		case "bridge": // chosen by the seed
			again, err := c.Simulate(t.Context(), builtin.Registry(), 1)
			require.NoError(t, err)
			require.Equal(t, cost, again)
		case "slow-messages":
			require.GreaterOrEqual(t, values[result.MetricAgreed], 1000.0, "a dial, and what says who leads")
		}
	}
}

// checkCost checks what must be so on any machine.
func checkCost(t *testing.T, c fault.Case, cost fault.Cost) {
	t.Helper()
	require.LessOrEqual(t, cost.None+cost.Two, cost.Took)
	if c.Fault.Name == "flap" { // others hear the leader all the while: nothing need come of it
		require.Less(t, cost.None, cost.Took/2)
		return
	}
	require.Positive(t, cost.NoReachableLeader, "a node without a leader within reach")
	require.GreaterOrEqual(t, cost.Changes, 1)
	require.GreaterOrEqual(t, cost.Messages, c.Nodes-2, "at least the survivors are told")
	switch c.Fault.Name {
	case "kill":
		require.Positive(t, cost.None)
	case "pause": // nothing but silence tells, which may have begun before
		lan := algo.LAN()
		require.Greater(t, cost.None, lan.Timeout-2*lan.Heartbeat)
	case "partition", "one-way": // the old leader leads on
		require.Less(t, cost.None, cost.Took/2)
	case "rolling":
		require.GreaterOrEqual(t, cost.Took, time.Duration(c.Nodes)*50*time.Millisecond)
	}
}

// TestLiveCost has one fault of each kind happen to processes: with packets that are lost,
// and without.
func TestLiveCost(t *testing.T) {
	t.Parallel()
	config := config(t)
	for _, c := range faultCases(3, fault.Faults()) {
		if c.Algorithm != "bully" || c.Fault.Name != "pause" && c.Fault.Name != "partition" {
			continue
		}
		t.Run(nameOf(c, processes), func(t *testing.T) {
			t.Parallel()
			if c.Fault.Network { // it waits longest
				testkit.OnlyLong(t)
			}
			cost, err := c.Measure(within(t, time.Minute), config, 1)
			if errors.Is(err, netlab.ErrUnavailable) {
				testkit.Need(t, false, err.Error())
			}
			require.NoError(t, err)
			checkCost(t, c, cost)
			require.Positive(t, cost.Two, "the old leader comes back with its old ideas")
		})
	}
}
