package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/fence"
	"github.com/elect-go/elect/internal/testkit"
)

// Without a quorum a list on each node defines the members.

func TestWithoutQuorumNoMemberIsRemoved(t *testing.T) {
	each(t, []string{"bully", "ring"}, func(t *testing.T, f *fleet) {
		all := f.growTo(3)
		leader := f.leader(bound)
		require.ErrorIs(t, all[0].Remove(t.Context(), all[2].ID()), cluster.ErrNoQuorum)
		require.ErrorIs(t, all[0].Leave(t.Context()), cluster.ErrNoQuorum)
		const way = "its algorithm has no quorum to agree on that: change the list members on each node, or drop lease: off"
		var refused *client.RejectedError
		require.ErrorAs(t, f.operator().Remove(t.Context(), addrOf(1), "n3"), &refused)
		require.Equal(t, "rejected: remove n3: "+way, refused.Reason)
		require.ErrorAs(t, f.operator().Leave(t.Context(), addrOf(2)), &refused)
		require.Equal(t, "rejected: remove n2: "+way, refused.Reason)
		testkit.Advance(2 * bound)
		f.members(0, "n1", "n2", "n3")
		require.Equal(t, leader, f.leader(0), "the leader has changed")
	})
}

// setMembers sets the list of all live members.
func (f *fleet) setMembers(list []string) {
	f.t.Helper()
	for _, m := range f.live {
		require.NoError(f.t, m.SetMembers(f.t.Context(), list), m.name)
	}
}

// The operator changes the lists node by node. A node that the other lists no longer name stops, and never leads alone.
func TestListChangesWhileClusterRuns(t *testing.T) {
	for _, removed := range []string{"n4", "n1"} { // the leader, and a follower
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			f.config = func(c *cluster.Config) { c.Members = f.list }
			f.grow(3)
			f.list = listOf(4)
			f.setMembers(f.list)
			f.quiet(bound) // a listed node that does not run changes nothing
			f.start(4)
			f.agree("n4", 2*bound)
			f.members(bound, "n1", "n2", "n3", "n4")

			out := f.live[removed]
			delete(f.live, removed)
			seen := len(out.seen())
			var list []string
			for name := range f.live {
				list = append(list, name+":7400")
			}
			f.setMembers(list)
			require.ErrorIs(t, out.ends(t, 2*bound), cluster.ErrRemoved)
			require.ErrorContains(t, out.err, "the lists of the other members do not name it")
			for _, s := range out.seen()[seen:] {
				require.False(t, s.IsLeader, "%s leads alone: %+v", removed, s)
			}
			left := map[string][]string{"n4": {"n1", "n2", "n3"}, "n1": {"n2", "n3", "n4"}}[removed]
			f.agree(left[2], 2*bound)
			f.members(bound, left...)
			f.quiet(time.Minute)
		})
	}
}

func TestInvalidListIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n := f.grow(3)[0]
		for name, test := range map[string]struct {
			list        []string
			field, want string
		}{
			"no own address": {[]string{"n2:7400", "n3:7400"}, "members", "want this member's own address among them (n1:7400)"},
			"address twice":  {[]string{"n1:7400", "n2:7400", "N2:07400"}, "members[2]", "want each address once, and members[1] is the same"},
			"no port":        {[]string{"n1:7400", "n2"}, "members[1]", "want host:port"},
			"empty":          {nil, "members", "members is empty, want the addresses of all members"},
		} {
			var mistake *algo.SettingError
			err := n.SetMembers(t.Context(), test.list)
			require.ErrorAs(t, err, &mistake, name)
			require.Equal(t, test.field, mistake.Field, name)
			require.ErrorContains(t, err, test.want, name)
		}
		f.quiet(time.Minute)
		f.members(0, "n1", "n2", "n3")
		for _, m := range f.live {
			require.Empty(t, m.log.Lines("static members differ"), m.name)
		}
		f.halt(n)
		require.ErrorIs(t, n.SetMembers(t.Context(), listOf(3)), cluster.ErrStopped)
	})
}

// If the system chooses the port, the list may name the chosen address, or the address in the settings.
func TestListMayNameChosenPort(t *testing.T) {
	const port0 = "127.0.0.1:0"
	n := run(t, cluster.Config{Name: "n1", Listen: port0, Members: []string{port0}, Lease: lease.Off})
	addr := n.follows(t, "n1", patience).Leader.Addr
	require.NoError(t, n.SetMembers(t.Context(), []string{addr}))
	require.NoError(t, n.SetMembers(t.Context(), []string{port0}))
	require.ErrorContains(t, n.SetMembers(t.Context(), []string{addr, port0}), "each address once, and members[0] is the same")
	require.ErrorContains(t, n.SetMembers(t.Context(), []string{"127.0.0.1:1"}), "want this member's own address among them ("+addr+")")
}

// Without a quorum no leader checks the names. Each member warns of two members with one name.
func TestNamesakesInListCauseWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) {
			if c.Members = listOf(3); c.Name == "n3" {
				c.Name = "n2"
			}
		}
		for i := 1; i <= 3; i++ {
			f.start(i)
		}
		testkit.Advance(bound)
		for _, m := range f.live {
			require.NotEmpty(t, m.log.Lines("level=WARN", `msg="two members have one name"`, "name=n2", `addrs="n2:7400 and n3:7400"`), m.name)
		}
	})
}

func TestSetMembersIsRejectedWithQuorum(t *testing.T) {
	each(t, quorums, func(t *testing.T, f *fleet) {
		n := f.growTo(3)[0]
		testkit.Advance(2 * bound) // n3 may still take over from n2
		require.Equal(t, cluster.ErrQuorum, n.SetMembers(t.Context(), listOf(2)))
		f.quiet(2 * bound)
		f.members(0, "n1", "n2", "n3")
	})
}

// A node that no other list names waits until the lists name it, even if its own list is complete.
func TestUnlistedNodeWaits(t *testing.T) {
	each(t, []string{"bully", "ring"}, func(t *testing.T, f *fleet) {
		f.growTo(2)
		algorithm := f.config
		f.config = func(c *cluster.Config) {
			algorithm(c)
			c.Members = listOf(3)
		}
		unlisted := f.start(3)
		delete(f.live, "n3")
		testkit.Advance(time.Minute)
		for _, s := range unlisted.seen() {
			require.False(t, s.HasLeader(), "%+v", s)
		}
		status, err := f.operator().Status(t.Context(), addrOf(3))
		require.NoError(t, err)
		const answer = "a node answers, and its list of members does not name this node"
		require.Equal(t, []cluster.PendingContact{{Addr: addrOf(1), Answer: answer}, {Addr: addrOf(2), Answer: answer}}, status.PendingContacts)
		require.NotEmpty(t, unlisted.log.Lines("level=WARN", `msg="waiting for members"`, answer))
		f.members(0, "n1", "n2")

		f.setMembers(listOf(3))
		f.live["n3"] = unlisted
		f.members(2*bound, "n1", "n2", "n3")
		f.leader(2 * bound)
	})
}

// All nodes of a cluster without a quorum are stopped and started again with a lease. A resource sees the same cluster
// ID, and tokens above all previous ones.
func TestTurningLeaseOnKeepsCluster(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			f.config = listed(algorithm)
			gate, held := fence.NewMemory(), uint64(0)
			write := func() cluster.Leadership {
				l, _ := f.leader(3 * bound).Leader()
				require.Greater(t, l.Token, held)
				require.NoError(t, gate.Write(t.Context(), fence.Token{Cluster: l.Cluster, Number: l.Token}, func() error { return nil }))
				held = l.Token
				return l
			}
			f.growTo(3)
			first := write()
			f.kill(f.live[first.Name]) // another election
			second := write()
			require.Equal(t, first.Cluster, second.Cluster)
			f.start(int(first.Name[1] - '0'))
			f.leader(3 * bound)
			for _, m := range f.live {
				held = max(held, uint64(statusOf(t, m).Epoch))
			}
			for _, m := range f.live {
				f.halt(m)
			}
			f.config = func(c *cluster.Config) {
				leased(c)
				c.Algorithm, c.Members = builtin.Lookup(algorithm), listOf(3)
			}
			for i := 1; i <= 3; i++ {
				f.start(i)
			}
			third := write()
			require.Equal(t, first.Cluster, third.Cluster)
			f.members(bound, "n1", "n2", "n3")
		})
	}
}

func statusOf(t *testing.T, m *member) cluster.Status {
	t.Helper()
	s, err := m.Status(t.Context())
	require.NoError(t, err)
	return s
}
