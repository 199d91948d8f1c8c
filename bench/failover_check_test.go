package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/proccluster"
)

func TestCheckReportsWrongFailover(t *testing.T) {
	s := &failoverSeries{of: failoverCase{Nodes: 5, Dead: 1}, claims: algo.Claims{HighestLeads: true}}
	right := func() failoverRound {
		return failoverRound{
			Failover: proccluster.Failover{
				Nodes: 5, Survivors: 3, OldLeader: "n5", NewLeader: "n3", EpochBefore: 7, EpochAfter: 8,
				Failover: time.Millisecond, Messages: map[string]int{"coordinator": 2},
			},
			recovery: proccluster.Recovery{Node: "n5", Leader: "n5", EpochAfter: 9},
		}
	}
	require.NoError(t, s.check(right()))
	for _, c := range []struct {
		name  string
		spoil func(*failoverRound)
		want  string
	}{
		{"not the next in line", func(r *failoverRound) { r.NewLeader = "n2" }, "n2 followed n5"},
		{"the failed leader is not the highest", func(r *failoverRound) { r.OldLeader = "n4" }, "n3 followed n4"},
		{"one more node crashed", func(r *failoverRound) { r.Survivors = 2 }, "with 2 survivors"},
		{"the epoch stays", func(r *failoverRound) { r.EpochAfter = 7 }, "epoch 7 follows epoch 7"},
		{"the highest does not take over", func(r *failoverRound) { r.recovery.Leader = "n3" }, "n3 leads in epoch 9"},
		{"the epoch goes back", func(r *failoverRound) { r.recovery.EpochAfter = 7 }, "leads in epoch 7"},
		{"messages are not counted", func(r *failoverRound) { r.Messages = nil }, "0 messages"},
		{"no time passed", func(r *failoverRound) { r.Failover.Failover = 0 }, "took 0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := right()
			c.spoil(&r)
			require.ErrorContains(t, s.check(r), c.want)
		})
	}
}

// TestReturningNodeFollowsElectedLeader: without a claim that the highest leads, any node may be elected.
func TestReturningNodeFollowsElectedLeader(t *testing.T) {
	s := &failoverSeries{of: failoverCase{Nodes: 5}}
	right := failoverRound{
		Failover: proccluster.Failover{
			Nodes: 5, Survivors: 4, OldLeader: "n2", NewLeader: "n4", EpochBefore: 7, EpochAfter: 9,
			Failover: time.Millisecond, Messages: map[string]int{"lead": 4},
		},
		recovery: proccluster.Recovery{Node: "n2", Leader: "n4", EpochAfter: 9},
	}
	require.NoError(t, s.check(right))
	same := right
	same.NewLeader = "n2"
	require.ErrorContains(t, s.check(same), "n2 followed n2")
	deposed := right
	deposed.recovery.Leader = "n2"
	require.ErrorContains(t, s.check(deposed), "n2 leads in epoch 9; want n4")
}

func TestCaseNames(t *testing.T) {
	for want, c := range map[string]failoverBenchmark{
		"algorithm=bully/signal=kill/n=5":                        {failoverCase{Algorithm: "bully", Signal: proccluster.Kill, Nodes: 5}, false, false},
		"algorithm=bully/signal=kill/dead=1/n=3":                 {failoverCase{Algorithm: "bully", Signal: proccluster.Kill, Nodes: 3, Dead: 1}, false, false},
		"algorithm=bully/signal=kill/evidence=off/n=7":           {failoverCase{Algorithm: "bully", Signal: proccluster.Kill, Nodes: 7}, true, false},
		"algorithm=bully+lease/signal=kill/evidence=trusted/n=3": {failoverCase{Algorithm: "bully+lease", Signal: proccluster.Kill, Nodes: 3}, false, true},
	} {
		require.Equal(t, want, c.name())
	}
}
