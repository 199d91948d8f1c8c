package fault

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/result"
)

const ms = time.Millisecond

// newEventLog returns the log of running nodes that follow the highest in epoch 1.
func newEventLog(nodes int) *eventLog {
	l := &eventLog{nodes: nodes}
	for node := 1; node <= nodes; node++ {
		l.recordReady(0, node)
		l.recordLeader(ms, node, nodes, 1)
	}
	return l
}

func TestEventLogMeasuresFailover(t *testing.T) {
	l := newEventLog(3)
	l.recordRunning(10*ms, 3, false)
	l.recordSend(11 * ms)
	l.recordLeader(12*ms, 2, 2, 2)
	l.recordLeader(14*ms, 1, 2, 2)
	l.recordSend(13 * ms)          // entries may be late
	l.recordLeader(10*ms, 3, 3, 9) // the last event of the stopped n3
	l.recordStart(15*ms, 3)
	l.recordReady(20*ms, 3)
	l.recordLeader(23*ms, 3, 2, 2)
	require.Equal(t, Cost{
		Took: 13 * ms, None: 2 * ms, NoReachableLeader: (2*2 + 2 + 3) * ms / 3, Changes: 1, Messages: 2, Agreed: 13 * ms, Up: 3 * ms,
	}, l.cost(10*ms))
}

// A process reports that it is ready when its loop first answers. It may lead before.
func TestEventLogCountsLeaderBeforeItsReadyEvent(t *testing.T) {
	l := newEventLog(3)
	l.recordRunning(10*ms, 3, false)
	l.recordStart(20*ms, 3)
	l.recordLeader(22*ms, 3, 3, 2)
	l.recordReady(23*ms, 3)
	l.recordLeader(24*ms, 1, 3, 2)
	l.recordLeader(25*ms, 2, 3, 2)
	require.Equal(t, Cost{Took: 15 * ms, None: 12 * ms, NoReachableLeader: (2*12 + 2 + 3) * ms / 3, Changes: 1, Agreed: 15 * ms, Up: 3 * ms}, l.cost(10*ms))
}

func TestEventLogSeesTwoLeadersAfterPause(t *testing.T) {
	l := newEventLog(3)
	l.recordRunning(10*ms, 3, false)
	l.recordLeader(20*ms, 1, 2, 2) // n1 follows n2 before n2 announces itself
	l.recordLeader(21*ms, 2, 2, 2)
	l.recordRunning(50*ms, 3, true) // n3 still announces itself in epoch 1
	l.recordLeader(54*ms, 3, 3, 3)
	l.recordLeader(55*ms, 2, 3, 3)
	l.recordLeader(56*ms, 1, 3, 3)
	c := l.cost(10 * ms)
	require.Equal(t, 11*ms, c.None)
	require.Equal(t, 5*ms, c.Two)
	require.Equal(t, 2, c.Changes, "n2, and n3 in a new epoch")
	// n1 and n2 had no leader for 11 ms. For 1 ms n1 follows n2, which follows n3 by then.
	require.Equal(t, (11+11+1)*ms/3, c.NoReachableLeader)
}

func TestEventLogMeasuresOneWayCut(t *testing.T) {
	for name, cut := range map[string]func(l *eventLog){
		"from the leader": func(l *eventLog) { l.recordCut(10*ms, 3, 1) },
		"to the leader":   func(l *eventLog) { l.recordCut(10*ms, 1, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newEventLog(3)
			cut(l)
			l.recordHeal(16 * ms)
			require.Equal(t, Cost{Took: 6 * ms, NoReachableLeader: 2 * ms, Agreed: 6 * ms, Up: 6 * ms}, l.cost(10*ms))
		})
	}
}

func TestEventLogCountsEpochOnce(t *testing.T) {
	l := newEventLog(3)
	l.recordLeader(11*ms, 3, 3, 1)
	l.recordLeader(12*ms, 3, 3, 2)
	l.recordLeader(13*ms, 3, 0, 3)
	require.Equal(t, 1, l.cost(10*ms).Changes)
}

func TestPartitionLeavesLeaderInMinority(t *testing.T) {
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

func TestEventLogCountsEndedLeaderships(t *testing.T) {
	for name, c := range map[string]struct {
		record func(l *eventLog)
		ends   int
	}{
		"the leader resigns":                  {func(l *eventLog) { l.recordLeader(11*ms, 5, 0, 2) }, 1},
		"the leader repeats its announcement": {func(l *eventLog) { l.recordLeader(11*ms, 5, 5, 1) }, 0},
		"the leader takes a new epoch":        {func(l *eventLog) { l.recordLeader(11*ms, 5, 5, 2) }, 1},
		"the leader is killed":                {func(l *eventLog) { l.recordRunning(11*ms, 5, false) }, 0},
		"the leader was paused": {func(l *eventLog) {
			l.recordRunning(11*ms, 5, false)
			l.recordRunning(12*ms, 5, true)
			l.recordLeader(13*ms, 5, 0, 2)
		}, 0},
		"two followers are disconnected": {func(l *eventLog) { l.recordCut(10*ms, 5, 1); l.recordCut(10*ms, 2, 5); l.recordLeader(11*ms, 5, 4, 2) }, 1},
		"three followers are disconnected and return": {func(l *eventLog) {
			l.recordCut(10*ms, 5, 1)
			l.recordCut(10*ms, 5, 2)
			l.recordCut(10*ms, 5, 3)
			l.recordHeal(11 * ms)
			l.recordLeader(12*ms, 5, 4, 2)
		}, 0},
		"the next leadership ends too": {func(l *eventLog) {
			l.recordLeader(11*ms, 5, 4, 2)
			l.recordLeader(11*ms, 4, 4, 2)
			l.recordLeader(12*ms, 4, 5, 3)
		}, 2},
		"a second leader leads for 1 ms": {func(l *eventLog) { l.recordLeader(11*ms, 4, 4, 2); l.recordLeader(12*ms, 4, 5, 1) }, 1},
	} {
		l := newEventLog(5)
		c.record(l)
		require.Equal(t, c.ends, l.cost(10*ms).Ends, name)
	}
}

func TestEventLogMeasuresTwoLeadersInOneEpoch(t *testing.T) {
	l := newEventLog(5)
	l.recordLeader(11*ms, 4, 4, 2)
	l.recordLeader(13*ms, 5, 5, 2)
	l.recordLeader(17*ms, 4, 5, 2)
	c := l.cost(10 * ms)
	require.Equal(t, 6*ms, c.Two)
	require.Equal(t, 4*ms, c.OneTerm)
}

func TestPauseMetricsCompareFirstAndLastPauses(t *testing.T) {
	var c Cost
	for i := range 40 {
		c.pauses = append(c.pauses, pause{found: time.Duration(1+i/20) * ms, two: time.Duration(40-i) * ms})
	}
	require.Equal(t, map[string]float64{result.MetricSlower: 2, result.MetricTwo: 38}, c.Values([]string{result.MetricSlower, result.MetricTwo}))
}
