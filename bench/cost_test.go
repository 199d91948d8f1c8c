package bench

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/sample"
	"github.com/elect-go/elect/internal/testenv"
)

func costCases(nodes int) []CostCase {
	var all []CostCase
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		for _, fault := range Faults() {
			all = append(all, CostCase{Algorithm: algorithm, Fault: fault, Nodes: nodes})
		}
	}
	return all
}

// BenchmarkCost measures what faults cost an application: how long nobody leads, how long
// two do, how long a node is without a leader within reach, how often it begins anew, and
// how many messages that takes. Figures are medians.
func BenchmarkCost(b *testing.B) {
	config := setting(b)
	for _, c := range costCases(5) {
		b.Run(c.Name(Simulator), func(b *testing.B) {
			c.benchmark(b, *roundsFlag, func(seed uint64) (Cost, error) { return c.Simulate(b.Context(), seed) })
		})
	}
	for _, c := range costCases(5) {
		b.Run(c.Name(Processes), func(b *testing.B) {
			c.benchmark(b, *slowRoundsFlag, func(seed uint64) (Cost, error) { return c.Measure(within(b, time.Minute), config, seed) })
		})
	}
}

func (c CostCase) benchmark(b *testing.B, least int, run func(seed uint64) (Cost, error)) {
	seed := *seedFlag
	columns := make(map[string][]float64)
	repeat(b, least, func() {
		cost, err := run(seed)
		if errors.Is(err, netlab.ErrUnavailable) {
			b.Skip(err)
		}
		if err != nil {
			b.Fatal(err)
		}
		for metric, value := range cost.Values() {
			columns[metric] = append(columns[metric], value)
		}
		seed++
	})
	b.Logf("%s", c.Fault.About)
	for metric, values := range columns {
		b.ReportMetric(sample.Summarize(values).Median, metric)
	}
}

// TestSimulatedCost has every fault happen to every algorithm, and looks for what none of
// them can avoid.
func TestSimulatedCost(t *testing.T) {
	for _, c := range costCases(5) {
		t.Run(c.Name(Simulator), func(t *testing.T) {
			cost, err := c.Simulate(t.Context(), 1)
			require.NoError(t, err)
			again, err := c.Simulate(t.Context(), 1)
			require.NoError(t, err)
			require.Equal(t, cost, again, "of the same seed")
			checkCost(t, c, cost)
		})
	}
}

// checkCost checks what must be so on any machine.
func checkCost(t *testing.T, c CostCase, cost Cost) {
	t.Helper()
	require.LessOrEqual(t, cost.None+cost.Two, cost.Took)
	require.Positive(t, cost.Unled, "a node without a leader within reach")
	require.GreaterOrEqual(t, cost.Changes, 1)
	require.GreaterOrEqual(t, cost.Messages, c.Nodes-2, "at least the survivors are told")
	switch c.Fault.Name {
	case "kill":
		require.Positive(t, cost.None)
	case "pause": // nothing but silence tells
		require.Greater(t, cost.None, 250*time.Millisecond)
	case "partition", "one-way", "flap": // the old leader leads on
		require.Less(t, cost.None, cost.Took/2)
	case "rolling":
		require.GreaterOrEqual(t, cost.Took, time.Duration(c.Nodes)*restartTakes)
	}
}

// TestLiveCost has one fault of each kind happen to processes: with packets that are lost,
// and without.
func TestLiveCost(t *testing.T) {
	config := config(t)
	for _, c := range costCases(3) {
		if c.Algorithm != "bully" || c.Fault.Name != "pause" && c.Fault.Name != "partition" {
			continue
		}
		t.Run(c.Name(Processes), func(t *testing.T) {
			t.Parallel()
			cost, err := c.Measure(within(t, time.Minute), config, 1)
			if errors.Is(err, netlab.ErrUnavailable) {
				testenv.Need(t, false, err.Error())
			}
			require.NoError(t, err)
			checkCost(t, c, cost)
			require.Positive(t, cost.Two, "the old leader comes back with its old ideas")
		})
	}
}
