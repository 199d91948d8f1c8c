package fault

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/result"
)

const ms = time.Millisecond

// settled are nodes that run and follow the highest in epoch 1.
func settled(nodes int) *ledger {
	l := &ledger{nodes: nodes}
	for node := 1; node <= nodes; node++ {
		l.ready(0, node)
		l.follows(ms, node, nodes, 1)
	}
	return l
}

func TestLedgerOfAFailover(t *testing.T) {
	l := settled(3)
	l.runs(10*ms, 3, false)
	l.sends(11 * ms)
	l.follows(12*ms, 2, 2, 2)
	l.follows(14*ms, 1, 2, 2)
	l.sends(13 * ms)          // entries may be late
	l.follows(10*ms, 3, 3, 9) // its last word is late
	l.boots(15*ms, 3)
	l.ready(20*ms, 3)
	l.follows(23*ms, 3, 2, 2)
	require.Equal(t, Cost{
		Took: 13 * ms, None: 2 * ms, Unled: (2*2 + 2 + 3) * ms / 3, Changes: 1, Messages: 2, Agreed: 13 * ms, Up: 3 * ms,
	}, l.cost(10*ms))
}

// TestLedgerOfWhoLeadsBeforeItIsReady: a process says that it is ready when its loop answers
// first, and may lead by then.
func TestLedgerOfWhoLeadsBeforeItIsReady(t *testing.T) {
	l := settled(3)
	l.runs(10*ms, 3, false)
	l.boots(20*ms, 3)
	l.follows(22*ms, 3, 3, 2)
	l.ready(23*ms, 3)
	l.follows(24*ms, 1, 3, 2)
	l.follows(25*ms, 2, 3, 2)
	require.Equal(t, Cost{Took: 15 * ms, None: 12 * ms, Unled: (2*12 + 2 + 3) * ms / 3, Changes: 1, Agreed: 15 * ms, Up: 3 * ms}, l.cost(10*ms))
}

func TestLedgerOfAPauseHasTwoLeaders(t *testing.T) {
	l := settled(3)
	l.runs(10*ms, 3, false)
	l.follows(20*ms, 1, 2, 2) // it hears of n2 before n2 has said so itself
	l.follows(21*ms, 2, 2, 2)
	l.runs(50*ms, 3, true) // with its old ideas
	l.follows(54*ms, 3, 3, 3)
	l.follows(55*ms, 2, 3, 3)
	l.follows(56*ms, 1, 3, 3)
	c := l.cost(10 * ms)
	require.Equal(t, 11*ms, c.None)
	require.Equal(t, 5*ms, c.Two)
	require.Equal(t, 2, c.Changes, "n2, and n3 in a new epoch")
	// n1 and n2 had none for 11 ms. While n3 leads in epoch 3 and n2 no more, n1 follows n2.
	require.Equal(t, (11+11+1)*ms/3, c.Unled)
}

func TestLedgerOfACut(t *testing.T) {
	for name, cut := range map[string]func(l *ledger){
		"what the leader sends":   func(l *ledger) { l.cuts(10*ms, 3, 1) },
		"what the leader is sent": func(l *ledger) { l.cuts(10*ms, 1, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			l := settled(3)
			cut(l)
			l.heals(16 * ms)
			require.Equal(t, Cost{Took: 6 * ms, Unled: 2 * ms, Agreed: 6 * ms, Up: 6 * ms}, l.cost(10*ms))
		})
	}
}

func TestLedgerCountsAnEpochOnce(t *testing.T) {
	l := settled(3)
	l.follows(11*ms, 3, 3, 1)
	l.follows(12*ms, 3, 3, 2)
	l.follows(13*ms, 3, 0, 3)
	require.Equal(t, 1, l.cost(10*ms).Changes)
}

func TestSidesOfAPartition(t *testing.T) {
	for _, c := range []struct {
		size, leader       int
		minority, majority []int
	}{
		{3, 3, []int{3}, []int{1, 2}},
		{5, 5, []int{5, 1}, []int{2, 3, 4}},
		{5, 1, []int{1, 2}, []int{3, 4, 5}},
		{4, 4, []int{4}, []int{1, 2, 3}},
		{7, 7, []int{7, 1, 2}, []int{3, 4, 5, 6}},
	} {
		minority, majority := sides(c.size, c.leader)
		require.Equal(t, c.minority, minority)
		require.Equal(t, c.majority, majority)
	}
}

func TestLedgerOfALeadershipThatEnds(t *testing.T) {
	for name, c := range map[string]struct {
		happen func(l *ledger)
		ends   int
	}{
		"it gives up":                  {func(l *ledger) { l.follows(11*ms, 5, 0, 2) }, 1},
		"it says the same again":       {func(l *ledger) { l.follows(11*ms, 5, 5, 1) }, 0},
		"it takes a new epoch":         {func(l *ledger) { l.follows(11*ms, 5, 5, 2) }, 1},
		"it is killed":                 {func(l *ledger) { l.runs(11*ms, 5, false) }, 0},
		"it was paused":                {func(l *ledger) { l.runs(11*ms, 5, false); l.runs(12*ms, 5, true); l.follows(13*ms, 5, 0, 2) }, 0},
		"two of its followers are cut": {func(l *ledger) { l.cuts(10*ms, 5, 1); l.cuts(10*ms, 2, 5); l.follows(11*ms, 5, 4, 2) }, 1},
		"three are, and are there again": {func(l *ledger) {
			l.cuts(10*ms, 5, 1)
			l.cuts(10*ms, 5, 2)
			l.cuts(10*ms, 5, 3)
			l.heals(11 * ms)
			l.follows(12*ms, 5, 4, 2)
		}, 0},
		"the next one ends too":              {func(l *ledger) { l.follows(11*ms, 5, 4, 2); l.follows(11*ms, 4, 4, 2); l.follows(12*ms, 4, 5, 3) }, 2},
		"somebody leads beside it for a bit": {func(l *ledger) { l.follows(11*ms, 4, 4, 2); l.follows(12*ms, 4, 5, 1) }, 1},
	} {
		l := settled(5)
		c.happen(l)
		require.Equal(t, c.ends, l.cost(10*ms).Ends, name)
	}
}

func TestLedgerOfTwoInOneTerm(t *testing.T) {
	l := settled(5)
	l.follows(11*ms, 4, 4, 2)
	l.follows(13*ms, 5, 5, 2)
	l.follows(17*ms, 4, 5, 2)
	c := l.cost(10 * ms)
	require.Equal(t, 6*ms, c.Two)
	require.Equal(t, 4*ms, c.OneTerm)
}

func TestValuesOfPauses(t *testing.T) {
	var c Cost
	for i := range 40 {
		c.pauses = append(c.pauses, pause{found: time.Duration(1+i/20) * ms, two: time.Duration(40-i) * ms})
	}
	require.Equal(t, map[string]float64{result.MetricSlower: 2, result.MetricTwo: 38}, c.Values([]string{result.MetricSlower, result.MetricTwo}))
}
