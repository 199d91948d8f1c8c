package client_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
)

// log records the states and the dials of a watcher.
type log struct {
	mu     sync.Mutex
	states []client.State
	dialed []string
}

func (l *log) all() []client.State {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.states)
}

func (l *log) last(t *testing.T) client.State {
	t.Helper()
	all := l.all()
	require.NotEmpty(t, all)
	return all[len(all)-1]
}

// watch starts a watcher on a host of its own. It ends with the test.
func watch(t *testing.T, network *clustertest.Network, addrs ...string) *log {
	l, host := new(log), network.Process("watcher")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	config := client.Config{Addrs: addrs}
	config.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		l.mu.Lock()
		l.dialed = append(l.dialed, addr)
		l.mu.Unlock()
		return host.Dial(ctx, addr)
	}
	go func() {
		defer close(done)
		for s := range client.Watch(ctx, config) {
			l.mu.Lock()
			l.states = append(l.states, s)
			l.mu.Unlock()
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return l
}

// requireMonotonic checks that no epoch is lower than an earlier one.
func requireMonotonic(t *testing.T, states []client.State) {
	t.Helper()
	for i := 1; i < len(states); i++ {
		require.GreaterOrEqual(t, states[i].Epoch, states[i-1].Epoch, "%v", states)
	}
}

func withMeta(c *cluster.Config) { c.Meta = map[string]string{"http": c.Name + ":8080"} }

func TestWatcherFollowsFailovers(t *testing.T) {
	for name, off := range map[string]bool{"lease": false, "no lease": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t, clustertest.Config{Nodes: 5, Configure: func(c *cluster.Config) {
					if withMeta(c); off {
						c.Lease = lease.Off
					}
				}})
				l := watch(t, c.Network, "n1:7400") // the watcher learns the addresses of the others
				first := c.WaitLeader()
				got := l.last(t)
				require.Equal(t, client.Leader{ID: first.ID, Name: "n5", Addr: "n5:7400", Meta: map[string]string{"http": "n5:8080"}}, got.Leader)
				require.Equal(t, first.Epoch, got.Epoch)
				require.NoError(t, got.Err)

				for _, name := range []string{"n5", "n1"} { // the leader, and the member that is watched
					c.Kill(name)
					now := c.WaitLeader()
					c.Advance(2 * time.Second)
					require.Equal(t, now.ID, l.last(t).Leader.ID)
					require.Equal(t, now.Epoch, l.last(t).Epoch)
				}
				requireMonotonic(t, l.all())
				for _, s := range l.all() {
					require.NoError(t, s.Err, "there was always a member that replied")
				}
			})
		})
	}
}

// A watcher is not cut off while one member replies. The order of the addresses is random, so of 20 watchers some dial
// the dead member first.
func TestDeadMemberIsNoCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		c.Kill("n3")
		c.WaitLeader()
		deadFirst := 0
		for range 20 {
			l := watch(t, c.Network, "n3:7400", "n1:7400")
			c.Advance(2 * time.Second)
			for _, s := range append(l.all(), l.last(t)) {
				require.NoError(t, s.Err)
			}
			l.mu.Lock()
			if l.dialed[0] == "n3:7400" {
				deadFirst++
			}
			l.mu.Unlock()
		}
		require.Positive(t, deadFirst)
	})
}

func TestWatcherLearnsOfNewLeaderAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(c *cluster.Config) { c.Lease = lease.Off }})
		l := watch(t, c.Network, "n1:7400")
		c.Kill("n3")
		c.WaitLeader()
		c.Advance(100 * time.Millisecond)
		require.Equal(t, "n2", l.last(t).Leader.Name, "without waiting for the next regular reply")
	})
}

// A paused member accepts connections and keeps the existing ones, so a watcher detects only its silence.
func TestWatcherLeavesSilentMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		l := watch(t, c.Network, "n3:7400")
		require.Equal(t, "n3:7400", l.last(t).Addr)
		c.Pause("n3")
		start := time.Now()
		for l.last(t).Leader.Name != "n2" {
			c.Advance(100 * time.Millisecond)
			require.Less(t, time.Since(start), 10*time.Second)
		}
		require.NoError(t, l.last(t).Err)
	})
}

// A member that is cut off from a majority knows no leader. The watcher moves to a member that does.
func TestWatcherLeavesMemberWithoutLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		l := watch(t, c.Network, "n1:7400")
		c.Cut("n1", "n2")
		c.Cut("n2", "n1")
		c.Cut("n1", "n3")
		c.Cut("n3", "n1")
		c.Advance(30 * time.Second)
		got := l.last(t)
		require.Equal(t, "n3", got.Leader.Name)
		require.NotEqual(t, "n1:7400", got.Addr)
		requireMonotonic(t, l.all())
	})
}

// Without a lease, both sides of a partition have a leader. A watcher that comes from the side with the higher epoch
// does not report the leader of the other side.
func TestWatcherNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(c *cluster.Config) { c.Lease = lease.Off }})
		l := watch(t, c.Network, "n1:7400", "n2:7400")
		c.Partition([]string{"n1"}, []string{"n2", "n3", "watcher"})
		for range 5 {
			require.NoError(t, c.Node("n3").Campaign(t.Context()))
			c.Advance(5 * time.Second)
		}
		high := l.last(t)
		require.Equal(t, "n3", high.Leader.Name)
		low, ok := c.Node("n1").Leader()
		require.True(t, ok)
		require.Less(t, low.Epoch, high.Epoch)

		c.Partition([]string{"n1", "watcher"}, []string{"n2", "n3"})
		c.Advance(time.Minute)
		require.ErrorContains(t, l.last(t).Err, "client: n1:7400: the member is behind: it knows epoch ")
		require.Equal(t, high.Leader, l.last(t).Leader)
		require.Equal(t, high.Epoch, l.last(t).Epoch)
		requireMonotonic(t, l.all())
	})
}

func TestWatcherReportsThatItIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		l := watch(t, c.Network, "n1:7400", "n2:7400")
		first := l.last(t)
		c.Partition([]string{"n1", "n2", "n3"}, []string{"watcher"})
		c.Advance(time.Minute)
		cut := l.last(t)
		require.Error(t, cut.Err)
		require.Equal(t, first.Leader, cut.Leader)
		require.Equal(t, first.Epoch, cut.Epoch)
		require.Len(t, l.all(), 2, "once, not at each attempt")
		l.mu.Lock()
		dials := len(l.dialed)
		l.mu.Unlock()
		require.Less(t, dials, 200)

		c.Heal()
		c.Advance(5 * time.Second)
		require.NoError(t, l.last(t).Err)
		require.Equal(t, first.Leader, l.last(t).Leader)
		require.Len(t, l.all(), 3)
	})
}

func TestWatcherWithoutUsableAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := watch(t, clustertest.NewNetwork())
		require.EqualError(t, l.last(t).Err, "client: there is no address to watch")
		l = watch(t, clustertest.NewNetwork(), "nonsense")
		require.EqualError(t, l.last(t).Err, "client: nonsense: want host:port: address nonsense: missing port in address")
	})
}

// The epochs of another cluster cannot be compared, so its leader is never reported as the next one.
func TestWatcherRejectsAnotherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := clustertest.New(t, clustertest.Config{Nodes: 1, Configure: func(c *cluster.Config) { c.Lease = lease.Off }})
		l := watch(t, one.Network, "n1:7400")
		first := l.last(t)
		one.Kill("n1")
		other, err := cluster.New(cluster.Config{
			Cluster: "other", Name: "n1", Listen: "n1:7400", Members: []string{"n1:7400"}, Lease: lease.Off,
			Network: one.Network.Process("n1").Cluster(),
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- other.Run(ctx) }()
		one.Advance(10 * time.Second)
		require.ErrorIs(t, l.last(t).Err, client.ErrOtherCluster)
		require.Equal(t, first.Leader, l.last(t).Leader)
		stop()
		require.NoError(t, <-ended)
	})
}

func TestWatchEndsWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 1})
		host := c.Network.Process("watcher")
		for s := range client.Watch(t.Context(), client.Config{Client: client.Client{Dial: host.Dial}, Addrs: []string{"n1:7400"}}) {
			require.Equal(t, "n1", s.Leader.Name)
			break
		}
	})
}
