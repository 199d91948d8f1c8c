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
	"github.com/elect-go/elect/internal/bench/hostinfo"
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

// nameOf returns a case as part of the name of a benchmark.
func nameOf(c fault.Case, host string) string { return sub(c.Name(host)) }

// sub returns the name of a benchmark without its function.
func sub(name string) string {
	_, rest, _ := strings.Cut(name, "/")
	return rest
}

// BenchmarkCost measures the cost of faults to an application: the time without a leader and with two
// leaders, the time of a node without a reachable leader, the leader changes, and the messages.
// Figures are medians.
func BenchmarkCost(b *testing.B) { benchmarkFaults(b, fault.Faults(), median) }

// BenchmarkStability measures whether a working leader keeps its leadership, and the time until all
// agree. Figures are the worst of the rounds.
func BenchmarkStability(b *testing.B) { benchmarkFaults(b, fault.Stability(), slices.Max) }

func benchmarkFaults(b *testing.B, faults []fault.Fault, of func([]float64) float64) {
	m := newMeasuring(setting(b))
	for _, host := range []string{simulator, processes} {
		least := map[string]int{simulator: *roundsFlag, processes: *slowRoundsFlag}[host]
		for _, c := range faultCases(5, faults) {
			b.Run(nameOf(c, host), func(b *testing.B) {
				m.fault(c, host, least).benchmark(b, least, of)
				b.Logf("%s; load average now %s", c.Fault.About, hostinfo.LoadAverage())
			})
		}
	}
}

// TestSimulatedCost injects every fault into every algorithm and checks the unavoidable cost.
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
				require.Zero(t, cost.Changes, "the loss of one link ends no leadership")
			}
		})
	}
}

// TestSimulatedStability checks that a leader of vote keeps its leadership, and that a seed determines the result.
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
		case "bridge": // the seed chooses the nodes
			again, err := c.Simulate(t.Context(), builtin.Registry(), 1)
			require.NoError(t, err)
			require.Equal(t, cost, again)
		case "slow-messages":
			require.GreaterOrEqual(t, values[result.MetricAgreed], 1000.0, "a dial, and the announcement of the leader")
		}
	}
}

// checkCost checks what holds on any machine.
func checkCost(t *testing.T, c fault.Case, cost fault.Cost) {
	t.Helper()
	require.LessOrEqual(t, cost.None+cost.Two, cost.Took)
	if c.Fault.Name == "flap" { // the other nodes hear the leader, so it may keep its leadership
		require.Less(t, cost.None, cost.Took/2)
		return
	}
	require.Positive(t, cost.NoReachableLeader, "a node without a reachable leader")
	require.GreaterOrEqual(t, cost.Changes, 1)
	require.GreaterOrEqual(t, cost.Messages, c.Nodes-2, "an announcement to each survivor")
	switch c.Fault.Name {
	case "kill":
		require.Positive(t, cost.None)
	case "pause": // silence is the only sign, and it may have begun before the fault
		lan := algo.LAN()
		require.Greater(t, cost.None, lan.Timeout-2*lan.Heartbeat)
	case "partition", "one-way": // the old leader still leads
		require.Less(t, cost.None, cost.Took/2)
	case "rolling":
		require.GreaterOrEqual(t, cost.Took, time.Duration(c.Nodes)*50*time.Millisecond)
	}
}

// TestLiveCost injects one fault with lost packets, and one without, into processes.
func TestLiveCost(t *testing.T) {
	t.Parallel()
	config := config(t)
	for _, c := range faultCases(3, fault.Faults()) {
		if c.Algorithm != "bully" || c.Fault.Name != "pause" && c.Fault.Name != "partition" {
			continue
		}
		t.Run(nameOf(c, processes), func(t *testing.T) {
			t.Parallel()
			if c.Fault.Network { // the slowest fault
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
