package bench

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/sample"
	"github.com/elect-go/elect/internal/testenv"
)

func costCases(nodes int) []costCase {
	var all []costCase
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		for _, fault := range faults() {
			all = append(all, costCase{algorithm, fault, nodes})
		}
	}
	return all
}

// name is the case as part of the name of a benchmark.
func (c costCase) name(host string) string {
	return fmt.Sprintf("algorithm=%s/fault=%s/host=%s/n=%d", c.algorithm, c.fault.name, host, c.nodes)
}

// BenchmarkCost measures what faults cost an application: how long nobody leads, how long
// two do, how long a node is without a leader within reach, how often it begins anew, and
// how many messages that takes. Figures are medians.
func BenchmarkCost(b *testing.B) {
	config := setting(b)
	for _, c := range costCases(5) {
		b.Run(c.name(simulator), func(b *testing.B) {
			c.benchmark(b, *roundsFlag, func(seed uint64) (cost, error) { return c.simulate(b.Context(), builtin.Registry(), seed) })
		})
	}
	for _, c := range costCases(5) {
		b.Run(c.name(processes), func(b *testing.B) {
			c.benchmark(b, *slowRoundsFlag, func(seed uint64) (cost, error) { return c.measure(within(b, time.Minute), config, seed) })
		})
	}
}

func (c costCase) benchmark(b *testing.B, least int, run func(seed uint64) (cost, error)) {
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
		for metric, value := range cost.values() {
			columns[metric] = append(columns[metric], value)
		}
		seed++
	})
	b.Logf("%s", c.fault.about)
	for metric, values := range columns {
		b.ReportMetric(sample.Summarize(values).Median, metric)
	}
}

// TestSimulatedCost has every fault happen to every algorithm, and looks for what none of
// them can avoid.
func TestSimulatedCost(t *testing.T) {
	for _, c := range costCases(5) {
		t.Run(c.name(simulator), func(t *testing.T) {
			cost, err := c.simulate(t.Context(), builtin.Registry(), 1)
			require.NoError(t, err)
			again, err := c.simulate(t.Context(), builtin.Registry(), 1)
			require.NoError(t, err)
			require.Equal(t, cost, again, "of the same seed")
			checkCost(t, c, cost)
		})
	}
}

// checkCost checks what must be so on any machine.
func checkCost(t *testing.T, c costCase, cost cost) {
	t.Helper()
	require.LessOrEqual(t, cost.None+cost.Two, cost.Took)
	require.Positive(t, cost.Unled, "a node without a leader within reach")
	require.GreaterOrEqual(t, cost.Changes, 1)
	require.GreaterOrEqual(t, cost.Messages, c.nodes-2, "at least the survivors are told")
	switch c.fault.name {
	case "kill":
		require.Positive(t, cost.None)
	case "pause": // nothing but silence tells
		require.Greater(t, cost.None, 250*time.Millisecond)
	case "partition", "one-way", "flap": // the old leader leads on
		require.Less(t, cost.None, cost.Took/2)
	case "rolling":
		require.GreaterOrEqual(t, cost.Took, time.Duration(c.nodes)*restartTakes)
	}
}

// TestLiveCost has one fault of each kind happen to processes: with packets that are lost,
// and without.
func TestLiveCost(t *testing.T) {
	t.Parallel()
	config := config(t)
	for _, c := range costCases(3) {
		if c.algorithm != "bully" || c.fault.name != "pause" && c.fault.name != "partition" {
			continue
		}
		t.Run(c.name(processes), func(t *testing.T) {
			t.Parallel()
			if c.fault.network { // it waits longest
				testenv.OnlyLong(t)
			}
			cost, err := c.measure(within(t, time.Minute), config, 1)
			if errors.Is(err, netlab.ErrUnavailable) {
				testenv.Need(t, false, err.Error())
			}
			require.NoError(t, err)
			checkCost(t, c, cost)
			require.Positive(t, cost.Two, "the old leader comes back with its old ideas")
		})
	}
}
