package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/virtual"
)

// Who calls an election says why in its log: with what it knows of the leader.
func TestWhoCalledAnElectionIsLogged(t *testing.T) {
	each(t, func(t *testing.T, f *fleet) {
		f.growTo(4)
		called := func(why ...string) (lines int) {
			for _, m := range f.live {
				lines += len(m.log.with(append([]string{"level=INFO", `msg="called an election"`}, why...)...))
			}
			return lines
		}
		leader := f.leader(2 * bound)
		virtual.Pass(bound)
		before := called()
		f.kill(leader)
		f.leader(2 * bound)
		require.NotZero(t, called(`why="suspects `+leader.name+`: its address refuses connections"`))

		leader = f.leader(0)
		f.net.Partition([]string{leader.name}, others(f, leader))
		virtual.Pass(3 * bound)
		require.NotZero(t, called(`why="suspects `+leader.name+`: no heartbeat for `))
		f.net.Heal()
		leader = f.leader(4 * bound)

		require.NoError(t, leader.Campaign(t.Context()))
		virtual.Pass(time.Millisecond)
		require.NotZero(t, called(`why="was asked to"`))
		require.Less(t, called()-before, 40)
	})
}

// others are the names of the live members but one.
func others(f *fleet, but *member) (names []string) {
	for name := range f.live {
		if name != but.name {
			names = append(names, name)
		}
	}
	return names
}
