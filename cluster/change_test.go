package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
)

// listed configures an algorithm and a list of three members.
func listed(algorithm string) func(*cluster.Config) {
	return func(c *cluster.Config) { c.Algorithm, c.Members = builtin.Lookup(algorithm), listOf(3) }
}

// The procedure of docs/operations.md: stop all members, change the algorithm, start all members.
func TestAlgorithmChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		ids := make(map[string]algo.NodeID)
		var newest algo.Epoch
		for _, m := range f.grow(3) {
			s, err := m.Status(t.Context())
			require.NoError(t, err)
			ids[m.name] = s.Node
			newest = max(newest, s.Epoch)
		}
		for _, algorithm := range []string{"vote", "ring", "vote", "bully"} {
			for _, m := range f.live {
				f.halt(m)
			}
			f.config = listed(algorithm)
			var members []*member
			for i := 1; i <= 3; i++ {
				members = append(members, f.start(i))
			}
			testkit.Advance(3 * bound) // n1 may lead the others for a moment
			leader := members[0].shows(t, "a leader", bound, cluster.State.HasLeader).Leader
			require.Equal(t, leader, f.agree(leader.Name, bound), algorithm)
			f.quiet(bound)
			require.Greater(t, leader.Epoch, newest, "%s: the epoch", algorithm)
			for _, m := range members {
				s, err := m.Status(t.Context())
				require.NoError(t, err)
				require.Equal(t, algorithm, s.Algorithm)
				require.Equal(t, ids[m.name], s.Node, "%s: the id of %s", algorithm, m.name)
				require.Len(t, s.Members, 3)
				for _, seen := range m.seen() {
					if seen.HasLeader() {
						require.Greater(t, seen.Leader.Epoch, newest, "%s: %s has shown %+v", algorithm, m.name, seen)
					}
				}
			}
			newest = leader.Epoch
		}
	})
}

// The algorithm of one member was changed while the others run. That member stops with an error that names both
// algorithms, whether or not it could lead alone. For the others it is a member that is down.
func TestMemberWithOtherAlgorithmStops(t *testing.T) {
	for _, algorithm := range []string{"ring", "vote"} {
		t.Run(algorithm, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				members := f.grow(3)
				f.halt(members[2])
				f.agree("n2", bound)
				f.config = listed(algorithm)
				other := f.start(3)
				delete(f.live, "n3")
				before := len(members[0].seen())
				<-other.done
				require.ErrorIs(t, other.err, cluster.ErrJoinRejected)
				require.ErrorContains(t, other.err, `runs algorithm "bully", this node runs "`+algorithm+`"`)
				require.ErrorContains(t, other.err, "stop all members before the algorithm is changed")
				f.quiet(2 * bound)
				require.Len(t, members[0].seen(), before, "the other members have elected")
				require.NotEmpty(t, append(members[0].log.Lines("n3", `runs algorithm \"`+algorithm+`\", this node runs \"bully\"`),
					members[1].log.Lines("n3", `runs algorithm \"`+algorithm+`\", this node runs \"bully\"`)...), "no other member names n3")

				f.config = runs("bully") // the mistake has lost no data
				f.start(3)
				f.agree("n3", bound)
			})
		})
	}
}

func TestJoinerWithOtherAlgorithmStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.grow(2)
		f.config = runs("ring")
		other := f.start(3)
		delete(f.live, "n3")
		<-other.done
		require.ErrorIs(t, other.err, cluster.ErrJoinRejected)
		require.ErrorContains(t, other.err, `runs algorithm "bully", this node runs "ring"`)
		f.quiet(bound)
	})
}

// A member that has connected to a peer with the same algorithm runs on, even if another peer has a different one. A
// member that was cut off while the others changed runs on alone. Both sides log the peer and the two algorithms.
func TestMemberWithMatchingPeerRunsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		forgotten := f.grow(3)[2]
		f.net.Partition([]string{"n3"})
		delete(f.live, "n3")
		for _, m := range f.live {
			f.halt(m)
		}
		f.config = runs("ring")
		f.start(1)
		second := f.start(2)
		f.agree("n2", 3*bound)
		f.net.Heal()
		testkit.Advance(2 * bound)
		f.quiet(time.Minute)
		f.agree("n2", bound)
		require.NotEmpty(t, second.log.Lines("n3", `runs algorithm \"bully\", this node runs \"ring\"`))
		require.NotEmpty(t, forgotten.log.Lines(`runs algorithm \"ring\", this node runs \"bully\"`))
		leader, leads := forgotten.Leader()
		require.True(t, leads)
		require.Equal(t, "n3", leader.Name, "bully leads on each side of a partition")

		f.config = runs("ring")
		require.NoError(t, forgotten.halt())
		f.start(3)
		f.agree("n3", 3*bound)
	})
}

// A member that was down while the others changed their algorithm stops if it starts with the former one.
func TestMemberWithFormerAlgorithmStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.grow(3)
		for _, m := range f.live {
			f.halt(m)
		}
		f.config = runs("ring")
		f.start(1)
		f.start(2)
		f.agree("n2", 3*bound)
		f.config = runs("bully")
		forgotten := f.start(3)
		delete(f.live, "n3")
		<-forgotten.done
		require.ErrorContains(t, forgotten.err, `runs algorithm "ring", this node runs "bully"`)
		f.quiet(time.Minute)
	})
}
