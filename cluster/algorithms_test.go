package cluster_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
)

// eachAlgorithm runs a test with a cluster of each algorithm.
func eachAlgorithm(t *testing.T, nodes int, test func(t *testing.T, c *clustertest.Cluster, claims algo.Claims)) {
	for name, factory := range builtin.ForUse() {
		t.Run(name, func(t *testing.T) {
			lan := algo.LAN()
			spec, err := factory(lan, func(any) error { return nil })
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				test(t, clustertest.New(t, clustertest.Config{
					Nodes: nodes, Configure: func(c *cluster.Config) { c.Algorithm, c.Lease = builtin.Lookup(name), lease.Off },
				}), spec.Claims)
			})
		})
	}
}

// leaderLog collects the names of the leaders that the watched nodes follow, in the order of their first appearance.
type leaderLog struct {
	mu   sync.Mutex
	seen []string
}

func (w *leaderLog) watch(n *cluster.Node) {
	for s := range n.Watch(context.Background()) {
		w.mu.Lock()
		if s.HasLeader() && !slices.Contains(w.seen, s.Leader.Name) {
			w.seen = append(w.seen, s.Leader.Name)
		}
		w.mu.Unlock()
	}
}

func (w *leaderLog) names() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// The nodes stop and start again one after another. The leader changes only if the leader itself stops, and, with an
// algorithm in which the highest member leads, if that member returns. The leader may continue in a newer epoch: a ring
// elects whenever it closes again.
func TestRollingRestartOfEachAlgorithm(t *testing.T) {
	eachAlgorithm(t, 5, func(t *testing.T, c *clustertest.Cluster, claims algo.Claims) {
		for i := 1; i <= 5; i++ {
			name := nameOf(i)
			before := c.WaitLeader()
			var w leaderLog
			for _, n := range c.Nodes() {
				go w.watch(n)
			}
			require.Equal(t, []string{before.Name}, w.names())
			c.Stop(name)
			during := c.WaitLeader()
			testkit.Advance(10 * time.Second)
			want := []string{before.Name}
			if name == before.Name {
				want = append(want, during.Name)
			}
			require.Equal(t, want, w.names(), "%s stopped", name)

			go w.watch(c.Start(name))
			c.WaitLeader()
			testkit.Advance(10 * time.Second)
			after := c.WaitLeader()
			if claims.HighestLeads && i == 5 {
				require.Equal(t, name, after.Name, "the highest came back")
			} else {
				require.Equal(t, during.Name, after.Name, "%s came back", name)
			}
			require.Equal(t, want, w.names(), "%s came back", name)
			require.GreaterOrEqual(t, after.Epoch, during.Epoch)
		}
	})
}

// With an algorithm that needs a quorum, a leader that is cut off from it ends its leadership and reports the cause.
func TestLeaderWithoutMajorityReportsCause(t *testing.T) {
	eachAlgorithm(t, 3, func(t *testing.T, c *clustertest.Cluster, claims algo.Claims) {
		leader := c.WaitLeader()
		w := newWork()
		lead(t.Context(), &member{Node: c.Node(leader.Name)}, w)
		<-w.begun
		c.Partition([]string{leader.Name})
		testkit.Advance(2 * bound)
		if !claims.NeedsQuorum {
			now, known := c.Node(leader.Name).Leader()
			require.True(t, known && now.Name == leader.Name, "without a quorum it leads on its side: %+v", now)
			return
		}
		require.Equal(t, cluster.ErrNoMajority, <-w.results)
		require.ErrorIs(t, cluster.ErrNoMajority, cluster.ErrNoLeader)
		_, known := c.Node(leader.Name).Leader()
		require.False(t, known)
	})
}

// The last eligible member cannot hand over, and continues to lead.
func TestLastEligibleMemberDoesNotResign(t *testing.T) {
	eachAlgorithm(t, 3, func(t *testing.T, c *clustertest.Cluster, _ algo.Claims) {
		for range 2 {
			leader := c.WaitLeader()
			require.NoError(t, c.Node(leader.Name).Resign(t.Context(), 20*time.Second))
		}
		last := c.WaitLeader()
		require.ErrorIs(t, c.Node(last.Name).Resign(t.Context(), 20*time.Second), cluster.ErrNoEligibleMember)
		require.Equal(t, last, c.WaitLeader())
	})
}

// The two sides of a partition do not know of each other's resignations, so all members resign. After the first standby
// period has ended, that member leads, and its Lead callback runs.
func TestLeaderIsElectedAfterAllResigned(t *testing.T) {
	eachAlgorithm(t, 3, func(t *testing.T, c *clustertest.Cluster, _ algo.Claims) {
		c.WaitLeader()
		c.Partition([]string{"n1", "n2"}, []string{"n3"})
		for _, n := range c.Nodes() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_ = n.Resign(ctx, 20*time.Second)
			cancel()
		}
		c.Heal()
		testkit.Advance(5 * time.Second)
		for _, n := range c.Nodes() {
			_, known := n.Leader()
			require.False(t, known, "no member is eligible")
		}
		testkit.Advance(40 * time.Second)
		leader := c.WaitLeader()
		w := newWork()
		lead(t.Context(), &member{Node: c.Node(leader.Name)}, w)
		l := <-w.begun
		require.True(t, l.Valid())
		require.Equal(t, leader, cluster.Leadership{Epoch: l.Epoch, ID: l.ID, Name: l.Name, Addr: l.Addr, Token: l.Token, Cluster: l.Cluster})
	})
}

// A leader shows a resource its fencing token and its cluster ID. The token is above that of the previous leader, and
// all nodes agree on both.
func TestTokenRisesWithinCluster(t *testing.T) {
	eachAlgorithm(t, 3, func(t *testing.T, c *clustertest.Cluster, _ algo.Claims) {
		first := c.WaitLeader()
		c.Kill(first.Name)
		next := c.WaitLeader()
		require.Equal(t, uint64(next.Epoch), next.Token)
		require.Greater(t, next.Token, first.Token)
		require.Equal(t, first.Cluster, next.Cluster)
		require.False(t, next.Cluster.IsZero())
	})
}

// With a quorum each bootstrap creates a cluster of a new ID. Without one the cluster ID follows from the cluster's
// name.
func TestBootstrapCreatesNewClusterID(t *testing.T) {
	bootstrapped := func(t *testing.T, config cluster.Config) (id algo.NodeID) {
		synctest.Test(t, func(t *testing.T) {
			config.Name, config.Listen = "n1", "n1:7400"
			n := run(t, config, inProcess(clustertest.NewNetwork().Process("n1")), withStore(store.NewMemory()))
			id = n.follows(t, "n1", bound).Leader.Cluster
		})
		return id
	}
	bootstrap := cluster.Config{Bootstrap: true}
	require.NotEqual(t, bootstrapped(t, bootstrap), bootstrapped(t, bootstrap))
	list := cluster.Config{Members: []string{"n1:7400"}, Lease: lease.Off}
	require.Equal(t, bootstrapped(t, list), bootstrapped(t, list))
	other := cluster.Config{Cluster: "other", Members: list.Members, Lease: lease.Off}
	require.NotEqual(t, bootstrapped(t, list), bootstrapped(t, other))
}

// Without a lease, bully elects in the same epoch on both sides of a partition. So a resource that checks tokens needs
// a quorum.
func TestTwoBullyLeadersMayShareToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(c *cluster.Config) { c.Lease = lease.Off }})
		old := c.WaitLeader()
		c.Partition([]string{old.Name}, []string{"n1", "n2"})
		next := c.WaitLeader("n1", "n2")
		require.NoError(t, c.Node(old.Name).Campaign(t.Context()))
		testkit.Advance(bound)
		alone := c.WaitLeader(old.Name)
		require.Equal(t, next.Token, alone.Token)
		require.NotEqual(t, next.ID, alone.ID)
	})
}
