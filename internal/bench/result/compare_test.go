package result

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/machine"
)

func runOf(trials ...[]Trial) *Run {
	return &Run{Format: Format, Machine: machine.Machine{Cores: 2}, Trials: slices.Concat(trials...)}
}

func TestCompare(t *testing.T) {
	slow, fast := []float64{10, 11, 12, 10, 11, 12, 10}, []float64{5, 6, 5, 6, 5, 6, 5}
	before := runOf(
		series("bully", "3", "ms", slow...), series("bully", "5", "ms", fast...), series("bully", "7", "ms", slow...),
		series("bully", "9", "ms", 0, 0), series("bully", "11", "ms", 0, 0), series("bully", "13", "ms", 1),
		series("bully", "15", "ms", 7, 7, 7),
	)
	after := runOf(
		series("bully", "3", "ms", fast...), series("bully", "5", "ms", slow...), series("bully", "7", "ms", 12, 11, 10, 12, 11),
		series("bully", "9", "ms", 0, 0), series("bully", "11", "ms", 3, 3), series("ring", "3", "ms", 1),
		series("bully", "15", "ms", 8, 8, 8),
	)
	after.Machine.Cores = 4
	c := Compare(before, after)
	require.Equal(t, []string{"cores: 2 and 4"}, c.Machines)
	got := make(map[string]Verdict)
	for _, x := range c.Changes {
		got[x.Labels[Algorithm]+" "+x.Labels[Nodes]] = x.Verdict
	}
	require.Equal(t, map[string]Verdict{
		"bully 3": Less, "bully 5": More, "bully 7": Same, "bully 9": Same, "bully 11": Unknown, "bully 13": Removed,
		"bully 15": More, "ring 3": Added,
	}, got)
	first := c.Changes[0]
	require.Equal(t, 11.0, first.Old.Median)
	require.Equal(t, 5.0, first.New.Median)
	require.InDelta(t, 5.0/11, first.Ratio.Times, 1e-9)
	require.True(t, first.Ratio.Interval.Contains(5.0/11) && first.Ratio.Interval.High < 1, first.Ratio)
}

func TestARunIsTheSameAsItself(t *testing.T) {
	r := runOf(series("bully", "3", "ms", 1, 5, 2, 8), series("vote", "3", "ms", 0, 0, 1))
	c := Compare(r, r)
	require.Len(t, c.Changes, 2)
	for _, x := range c.Changes {
		require.Equal(t, Same, x.Verdict, x.Name())
	}
	require.Empty(t, c.Machines)
}

func TestAComparisonIsWritten(t *testing.T) {
	before := runOf(series("bully", "3", "ms", 2, 2, 2), series("bully", "5", "ms", 4, 4))
	after := runOf(series("bully", "3", "ms", 1, 1, 1), series("bully", "5", "ms", 4, 4), series("ring", "5", "ms", 1.5))
	after.Machine.Cores = 4
	var text bytes.Buffer
	require.NoError(t, Compare(before, after).Write(&text, false))
	require.Equal(t, `the machines differ in cores: 2 and 4
series                                      old  new  ratio  95 %        verdict
messages/algorithm=bully/case=worst/n=3 ms  2    1    0.5    0.5 to 0.5  less
messages/algorithm=ring/case=worst/n=5 ms   -    1.5                     added
1 of 3 series are the same
`, text.String())
	text.Reset()
	require.NoError(t, Compare(before, after).Write(&text, true))
	require.Contains(t, text.String(), "n=5 ms  4    4    1      1 to 1")
	require.ErrorIs(t, Compare(before, after).Write(full{}, false), errFull)
}
