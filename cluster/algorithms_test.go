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

// eachAlgorithm runs a test with a cluster of every algorithm.
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

// witness collects who was followed, by anybody, in the order of the first sight.
type witness struct {
	mu   sync.Mutex
	seen []string
}

func (w *witness) watch(n *cluster.Node) {
	for s := range n.Watch(context.Background()) {
		w.mu.Lock()
		if s.HasLeader() && !slices.Contains(w.seen, s.Leader.Name) {
			w.seen = append(w.seen, s.Leader.Name)
		}
		w.mu.Unlock()
	}
}

func (w *witness) names() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// One after another stops and starts again. Another leads when the leader itself stops,
// and once more when the highest comes back, where the highest leads; never else. Whoever
// goes on leading may do so in a newer epoch: a ring elects whenever it closes anew.
func TestRollingRestartOfEachAlgorithm(t *testing.T) {
	eachAlgorithm(t, 5, func(t *testing.T, c *clustertest.Cluster, claims algo.Claims) {
		for i := 1; i <= 5; i++ {
			name := nameOf(i)
			before := c.Await()
			var w witness
			for _, n := range c.Nodes() {
				go w.watch(n)
			}
			require.Equal(t, []string{before.Name}, w.names())
			c.Stop(name)
			during := c.Await()
			testkit.Pass(10 * time.Second)
			want := []string{before.Name}
			if name == before.Name {
				want = append(want, during.Name)
			}
			require.Equal(t, want, w.names(), "%s stopped", name)

			go w.watch(c.Start(name))
			c.Await()
			testkit.Pass(10 * time.Second)
			after := c.Await()
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

// Where a majority is needed, a leader that is cut off from it gives up, and says why.
func TestALeaderWithoutAMajorityIsToldSo(t *testing.T) {
	eachAlgorithm(t, 3, func(t *testing.T, c *clustertest.Cluster, claims algo.Claims) {
		leader := c.Await()
		w := newWork()
		lead(t.Context(), &member{Node: c.Node(leader.Name)}, w)
		<-w.begun
		c.Partition([]string{leader.Name})
		testkit.Pass(2 * bound)
		if !claims.NeedsQuorum {
			now, known := c.Node(leader.Name).Leader()
			require.True(t, known && now.Name == leader.Name, "it leads on, on its side: %+v", now)
			return
		}
		require.Equal(t, cluster.ErrNoMajority, <-w.results)
		require.ErrorIs(t, cluster.ErrNoMajority, cluster.ErrNoLeader)
		_, known := c.Node(leader.Name).Leader()
		require.False(t, known)
	})
}

// The last who may lead cannot hand over, and leads on.
func TestTheLastWhoMayLeadDoesNotResign(t *testing.T) {
	eachAlgorithm(t, 3, func(t *testing.T, c *clustertest.Cluster, _ algo.Claims) {
		for range 2 {
			leader := c.Await()
			require.NoError(t, c.Node(leader.Name).Resign(t.Context(), 20*time.Second))
		}
		last := c.Await()
		require.ErrorIs(t, c.Node(last.Name).Resign(t.Context(), 20*time.Second), cluster.ErrNoEligibleMember)
		require.Equal(t, last, c.Await())
	})
}

// Two sides of a partition know nothing of each other's resignations. When one is over somebody leads,
// and knows it.
func TestWhenAllResignSomebodyLeadsAfterwards(t *testing.T) {
	eachAlgorithm(t, 3, func(t *testing.T, c *clustertest.Cluster, _ algo.Claims) {
		c.Await()
		c.Partition([]string{"n1", "n2"}, []string{"n3"})
		for _, n := range c.Nodes() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_ = n.Resign(ctx, 20*time.Second)
			cancel()
		}
		c.Heal()
		testkit.Pass(5 * time.Second)
		for _, n := range c.Nodes() {
			_, known := n.Leader()
			require.False(t, known, "nobody is left")
		}
		testkit.Pass(40 * time.Second)
		leader := c.Await()
		w := newWork()
		lead(t.Context(), &member{Node: c.Node(leader.Name)}, w)
		l := <-w.begun
		require.True(t, l.Valid())
		require.Equal(t, leader, cluster.Leadership{Epoch: l.Epoch, ID: l.ID, Name: l.Name, Addr: l.Addr, Token: l.Token, Cluster: l.Cluster})
	})
}

// What a leader shows a resource: a token that is its own, above that of the one it replaces, and the cluster that
// it is of, on which all agree.
func TestALeaderHasATokenOfItsCluster(t *testing.T) {
	eachAlgorithm(t, 3, func(t *testing.T, c *clustertest.Cluster, _ algo.Claims) {
		first := c.Await() // all say the same
		c.Kill(first.Name)
		next := c.Await()
		require.Equal(t, uint64(next.Epoch), next.Token)
		require.Greater(t, next.Token, first.Token)
		require.Equal(t, first.Cluster, next.Cluster)
		require.False(t, next.Cluster.IsZero())
	})
}

// With a quorum each founding makes another cluster. Without one the cluster follows from its name.
func TestAClusterThatIsFoundedAnewIsAnother(t *testing.T) {
	found := func(t *testing.T, config cluster.Config) (id algo.NodeID) {
		synctest.Test(t, func(t *testing.T) {
			config.Name, config.Listen = "n1", "n1:7400"
			n := run(t, config, inProcess(clustertest.NewNetwork().Process("n1")), withStore(store.NewMemory()))
			id = n.follows(t, "n1", bound).Leader.Cluster
		})
		return id
	}
	founder := cluster.Config{Bootstrap: true}
	require.NotEqual(t, found(t, founder), found(t, founder))
	list := cluster.Config{Members: []string{"n1:7400"}, Lease: lease.Off}
	require.Equal(t, found(t, list), found(t, list))
	other := cluster.Config{Cluster: "other", Members: list.Members, Lease: lease.Off}
	require.NotEqual(t, found(t, list), found(t, other))
}

// Why a resource that checks tokens wants vote: on both sides of a partition bully elects in one epoch.
func TestTwoLeadersOfBullyMayHaveOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(c *cluster.Config) { c.Lease = lease.Off }})
		old := c.Await()
		c.Partition([]string{old.Name}, []string{"n1", "n2"})
		next := c.Await("n1", "n2")
		require.NoError(t, c.Node(old.Name).Campaign(t.Context()))
		testkit.Pass(bound)
		alone := c.Await(old.Name)
		require.Equal(t, next.Token, alone.Token)
		require.NotEqual(t, next.ID, alone.ID)
	})
}
