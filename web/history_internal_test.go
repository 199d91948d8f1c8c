package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
)

var (
	noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	n1   = algo.NodeID{1}
	n2   = algo.NodeID{2}
)

func led(by algo.NodeID, epoch algo.Epoch, at time.Time) cluster.State {
	return cluster.State{Leader: cluster.Leadership{ID: by, Epoch: epoch}, At: at}
}

// The history keeps the last 64 changes, also for a slow client.
func TestHistoryKeepsLastChanges(t *testing.T) {
	h := newHistory()
	for epoch := range algo.Epoch(1000) {
		h.add(led(n1, epoch+1, noon), n1)
	}
	for _, seen := range []uint64{0, 1, 900} {
		fresh, _, _ := h.after(seen)
		require.Len(t, fresh, 64)
		assert.Equal(t, algo.Epoch(937), fresh[0].Leader.Epoch)
		assert.Equal(t, algo.Epoch(1000), fresh[63].Leader.Epoch)
	}
	fresh, _, _ := h.after(999)
	require.Len(t, fresh, 1)
	fresh, _, _ = h.after(1000)
	assert.Empty(t, fresh)
}

// The time without a leader begins with the last message of the previous leader. Each election counts once.
func TestHistoryMeasuresTimeWithoutLeader(t *testing.T) {
	h := newHistory()
	took := func(s cluster.State) time.Duration {
		h.add(s, n2)
		return h.kept[len(h.kept)-1].Leaderless
	}
	called := func(s cluster.State, at time.Time, silence time.Duration) cluster.State {
		s.Election, s.ElectionAt = algo.ElectionCause{Caller: n2, Reason: "silence", Previous: n1, SilentFor: silence}, at
		return s
	}
	assert.Zero(t, took(led(n1, 1, noon)), "there was no election")
	assert.Zero(t, took(called(cluster.State{At: noon.Add(time.Second)}, noon, 0)), "there is no leader yet")
	assert.Equal(t, 5*time.Second, took(called(led(n2, 2, noon.Add(2*time.Second)), noon, 3*time.Second)))
	assert.Zero(t, took(called(led(n2, 3, noon.Add(time.Hour)), noon, 3*time.Second)), "it was counted")
	assert.Equal(t, time.Second, took(called(led(n1, 4, noon), noon.Add(time.Hour), time.Second)), "the clock was set back")
}
