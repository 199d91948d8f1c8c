package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/testkit"
)

// Log, state and status name the node that called an election, and its reason.
func TestElectionCallerIsReported(t *testing.T) {
	each(t, []string{"bully", "vote"}, func(t *testing.T, f *fleet) {
		f.growTo(4)
		called := func(why ...string) (lines int) {
			for _, m := range f.live {
				lines += len(m.log.Lines(append([]string{"level=INFO", "msg=election"}, why...)...))
			}
			return lines
		}
		leader := f.leader(2 * bound)
		testkit.Advance(bound)
		before := called()
		now, _ := leader.Leader()
		dead := now.ID
		f.kill(leader)
		f.leader(2 * bound)
		require.NotZero(t, called("reason=refused previous="+leader.name))
		for _, m := range f.live {
			near, err := m.Status(t.Context())
			require.NoError(t, err)
			far, err := f.operator().Status(t.Context(), m.name+":7400")
			require.NoError(t, err)
			states := m.seen()
			last := states[len(states)-1]
			require.Equal(t, dead, near.Election.Previous)
			require.NotZero(t, near.Election.Epoch)
			require.Less(t, near.Election.Epoch, near.Epoch)
			require.Contains(t, []string{fd.ReasonRefused, "receive"}, near.Election.Reason, "the node noticed the crash itself, or received an election")
			require.Equal(t, near.Election.Reason == fd.ReasonRefused, near.Election.Caller == near.Node)
			require.Equal(t, near.Election, far.Election)
			require.Equal(t, near.Election, last.Election)
			require.WithinDuration(t, last.At, near.ElectionAt, bound)
			require.True(t, near.ElectionAt.Equal(far.ElectionAt))
		}

		leader = f.leader(0)
		f.net.Partition([]string{leader.name}, others(f, leader))
		testkit.Advance(3 * bound)
		require.NotZero(t, called(`reason="silence for `, " previous="+leader.name))
		f.net.Heal()
		leader = f.leader(4 * bound)

		require.NoError(t, leader.Campaign(t.Context()))
		testkit.Advance(time.Millisecond)
		require.NotZero(t, called("caller="+leader.name+" reason=campaign"))
		require.Less(t, called()-before, 40)
	})
}

// others returns the names of the live members except one.
func others(f *fleet, but *member) (names []string) {
	for name := range f.live {
		if name != but.name {
			names = append(names, name)
		}
	}
	return names
}
