package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/testkit"
)

// guarded is a cluster that fails the test if two Lead callbacks run at once.
type guarded struct {
	*clustertest.Cluster
	t     testing.TB
	takes time.Duration // time that a callback needs to return
	real  bool          // real clock: a callback may not be scheduled for a while, so overlaps are not reported

	mu      sync.Mutex
	working []*task // in the order of their starts
	token   uint64  // of the latest task
	shifts  int
	causes  map[error]int
}

func newGuarded(t testing.TB, algorithm string, nodes int, drift map[string]float64) *guarded {
	g := &guarded{t: t, causes: make(map[error]int)}
	g.Cluster = clustertest.New(t, clustertest.Config{Nodes: nodes, Drift: drift, Configure: func(c *cluster.Config) {
		c.Algorithm, c.Lease = builtin.Lookup(algorithm), lease.Options{}
	}})
	for _, n := range g.Nodes() {
		g.addTask(n)
	}
	return g
}

// task is one call of a Lead callback.
type task struct {
	name   string
	leased bool // without a lease two nodes may lead for a moment
}

// addTask runs a Lead callback on a node until the node stops.
func (g *guarded) addTask(n *cluster.Node) {
	me := task{name: n.Config().Name, leased: !n.Config().Lease.IsOff()}
	ctx := g.t.Context()
	go func() {
		_ = n.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
			if !l.Valid() {
				// The leadership ended before this goroutine was scheduled. Its context ends at the same time.
				began := time.Now()
				<-ctx.Done()
				if !g.real && time.Now() != began {
					g.t.Errorf("the leadership of %s ended %v before its context", me.name, time.Since(began))
				}
				return nil
			}
			g.begin(&me, l)
			<-ctx.Done()
			if l.Valid() && context.Cause(ctx) != context.Canceled {
				g.t.Errorf("the context of %s ended, and its leadership is valid", me.name)
			}
			g.mu.Lock()
			takes := g.takes
			g.mu.Unlock()
			if takes > 0 {
				testkit.Advance(takes)
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			g.working = slices.DeleteFunc(g.working, func(other *task) bool { return other == &me })
			g.causes[context.Cause(ctx)]++
			return nil
		})
	}()
}

// begin records the start of a task. It fails the test if another task runs, or if the token is not above that of the
// previous task.
func (g *guarded) begin(me *task, l cluster.Leadership) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, other := range g.working {
		if !g.real && (me.leased || other.leased) {
			g.t.Errorf("the callback of %s starts while that of %s runs (%s, token %d)", me.name, other.name, time.Now().Format("05.000"), l.Token)
		}
	}
	if l.Token <= g.token && !g.real && me.leased {
		g.t.Errorf("%s leads with token %d after %d", me.name, l.Token, g.token)
	}
	g.working = append(g.working, me)
	g.token = l.Token
	g.shifts++
}

// kill ends the process of a node, if it runs, and its tasks with it.
func (g *guarded) kill(name string) {
	g.mu.Lock()
	g.working = slices.DeleteFunc(g.working, func(t *task) bool { return t.name == name })
	g.mu.Unlock()
	if slices.ContainsFunc(g.Nodes(), func(n *cluster.Node) bool { return n.Config().Name == name }) {
		g.Kill(name)
	}
}

// latest returns the name of the node with the latest running task, empty if none runs, and the number of tasks that
// ended with cause.
func (g *guarded) latest(cause error) (name string, ended int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.working) > 0 {
		name = g.working[len(g.working)-1].name
	}
	return name, g.causes[cause]
}

// names returns the names of all nodes that run a task.
func (g *guarded) names() (all []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.working {
		all = append(all, t.name)
	}
	return all
}

func withLease(t *testing.T, test func(t *testing.T, algorithm string)) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		t.Run(algorithm, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, algorithm) })
		})
	}
}

// The Lead callback of a paused leader ends with its lease. The next callback starts only then.
func TestLeaseOfPausedLeaderExpires(t *testing.T) {
	withLease(t, func(t *testing.T, algorithm string) {
		g := newGuarded(t, algorithm, 3, nil)
		g.Advance(time.Second)
		first := g.WaitLeader()
		g.Pause(first.Name)
		g.Advance(lease.Defaults(algo.LAN()).Duration)
		works, expired := g.latest(cluster.ErrLeaseExpired)
		require.NotEqual(t, first.Name, works, "the callback runs beyond the lease")
		require.Equal(t, 1, expired)
		g.Advance(2 * bound)
		works, _ = g.latest(nil)
		require.NotEmpty(t, works)
		require.NotEqual(t, first.Name, works)
		g.Resume(first.Name)
		g.WaitLeader()
		g.Advance(time.Second)
	})
}

// In a partition, the callback on the side without a quorum ends before the callback on the other side starts.
func TestOnlyOneSideOfPartitionLeads(t *testing.T) {
	withLease(t, func(t *testing.T, algorithm string) {
		g := newGuarded(t, algorithm, 5, map[string]float64{"n1": 10, "n2": -10, "n3": 10, "n4": -10, "n5": -10})
		g.Advance(time.Second)
		first := g.WaitLeader()
		alone := []string{first.Name}
		var others []string
		for _, n := range g.Nodes() {
			switch name := n.Config().Name; {
			case name == first.Name:
			case len(alone) < 2:
				alone = append(alone, name)
			default:
				others = append(others, name)
			}
		}
		g.Partition(alone, others)
		g.Advance(3 * bound)
		second := g.WaitLeader(others...)
		require.Greater(t, second.Token, first.Token)
		works, _ := g.latest(nil)
		require.Equal(t, second.Name, works)
		g.Heal()
		g.Advance(bound)
		g.WaitLeader()
	})
}

// A leader that stops or resigns releases its lease, so the next member leads before the lease would expire.
func TestLeaseIsReleasedOnHandOver(t *testing.T) {
	withLease(t, func(t *testing.T, algorithm string) {
		g := newGuarded(t, algorithm, 3, nil)
		g.Advance(time.Second)
		first := g.WaitLeader()
		began := time.Now()
		require.NoError(t, g.Node(first.Name).Resign(t.Context(), 0))
		require.Less(t, time.Since(began), lease.Defaults(algo.LAN()).Duration/2)
		second := g.WaitLeader()
		require.NotEqual(t, first.Name, second.Name)
		g.Advance(time.Second)
		began = time.Now()
		g.Stop(second.Name)
		g.WaitLeader()
		require.Less(t, time.Since(began), lease.Defaults(algo.LAN()).Duration/2)
	})
}

// Under random crashes, pauses and partitions at most one callback runs, with a higher token than all previous ones.
func TestAtMostOneCallbackRunsUnderFaults(t *testing.T) {
	withLease(t, func(t *testing.T, algorithm string) {
		random := rand.New(rand.NewPCG(1, 7))
		g := newGuarded(t, algorithm, 5, map[string]float64{"n1": 10, "n2": -10, "n4": 10, "n5": -10})
		names := []string{"n1", "n2", "n3", "n4", "n5"}
		down := map[string]bool{}
		paused := map[string]bool{}
		for range 60 {
			name := names[random.IntN(len(names))]
			switch random.IntN(6) {
			case 0:
				if !down[name] && !paused[name] && len(down) < 2 {
					g.Kill(name)
					down[name] = true
				}
			case 1:
				for name := range down {
					g.addTask(g.Start(name))
					delete(down, name)
				}
			case 2:
				if !down[name] && !paused[name] {
					g.Pause(name)
					paused[name] = true
				}
			case 3:
				for name := range paused {
					g.Resume(name)
					delete(paused, name)
				}
			case 4:
				g.Partition(names[:1+random.IntN(4)])
			case 5:
				g.Heal()
			}
			g.Advance(time.Duration(random.Int64N(int64(2 * time.Second))))
		}
		for name := range paused {
			g.Resume(name)
		}
		for name := range down {
			g.addTask(g.Start(name))
		}
		g.Heal()
		g.Advance(bound)
		g.WaitLeader()
		g.mu.Lock()
		shifts := g.shifts
		g.mu.Unlock()
		require.Greater(t, shifts, 3)
	})
}

// A leader hands over to a restarted higher member only after its callback has returned.
func TestHigherMemberWaitsForLeadCallback(t *testing.T) {
	withLease(t, func(t *testing.T, algorithm string) {
		g := newGuarded(t, algorithm, 3, nil)
		g.mu.Lock()
		g.takes = 300 * time.Millisecond
		g.mu.Unlock()
		g.Advance(time.Second)
		first := g.WaitLeader()
		g.Kill(first.Name)
		second := g.WaitLeader()
		require.NotEqual(t, first.Name, second.Name)
		g.Advance(time.Second)
		g.addTask(g.Start(first.Name))
		g.Advance(2 * bound)
		if algorithm != "vote" { // vote does not replace a live leader
			require.Equal(t, "n3", g.WaitLeader().Name)
		}
	})
}

func lasting(d time.Duration) lease.Options {
	o := lease.Defaults(algo.LAN())
	o.Duration = d
	return o
}

// A lease is turned off, made longer or made shorter on one member after another, beginning or ending with the leader.
// Each member is killed, and started again until its peers accept it. At every step at most one callback runs, and at
// the end one does. To turn a lease on, all members are stopped first, because a member without a lease has granted
// none.
func TestLeaseOptionsChangeMemberByMember(t *testing.T) {
	short, long := lasting(lease.Defaults(algo.LAN()).Duration), lasting(6*time.Second)
	for name, change := range map[string][2]lease.Options{"on": {lease.Off, short}, "off": {long, lease.Off}, "longer": {short, long}, "shorter": {long, short}} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, the leader first: %t", name, first), func(t *testing.T) {
				withLease(t, func(t *testing.T, algorithm string) {
					if algorithm != "bully" && !first {
						testkit.OnlyLong(t)
					}
					now := change[0]
					g := &guarded{t: t, causes: make(map[error]int)}
					g.Cluster = clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(c *cluster.Config) { c.Algorithm, c.Lease = builtin.Lookup(algorithm), now }})
					names := []string{"n1", "n2", "n3"}
					for _, n := range g.Nodes() {
						g.addTask(n)
					}
					g.Advance(time.Second)
					leader := g.WaitLeader().Name
					slices.SortFunc(names, func(a, b string) int {
						if (a == leader) == first {
							return -1
						}
						return 1
					})
					if change[0].IsOff() {
						for _, name := range names {
							g.kill(name)
							g.Advance(time.Second)
						}
					}
					now = change[1]
					for i := range names {
						for _, name := range names[:i+1] { // a member that its peers rejected is started again
							g.kill(name)
							g.addTask(g.Start(name))
						}
						g.Advance(10 * time.Second)
					}
					for _, name := range names {
						g.kill(name)
						g.addTask(g.Start(name))
					}
					g.Advance(10 * time.Second)
					require.Equal(t, []string{g.WaitLeader().Name}, g.names())
				})
			})
		}
	}
}

// A voter honors its earlier grant until the grant expires, even if its lease is turned off or made shorter. So at
// every step at most one node leads.
func TestVoterHonorsGrantAfterLeaseChange(t *testing.T) {
	for _, later := range []lease.Options{lease.Off, lasting(2 * lease.Defaults(algo.LAN()).Duration)} {
		withLease(t, func(t *testing.T, algorithm string) {
			long := lasting(20 * time.Second)
			now := long
			g := &guarded{t: t, causes: make(map[error]int)}
			g.Cluster = clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(c *cluster.Config) { c.Algorithm, c.Lease = builtin.Lookup(algorithm), now }})
			for _, n := range g.Nodes() {
				g.addTask(n)
			}
			g.Advance(time.Second)
			holder := g.WaitLeader().Name
			began := time.Now()
			now = later
			for _, n := range g.Nodes() {
				if name := n.Config().Name; name != holder {
					g.Kill(name)
					g.Start(name)
				}
			}
			g.Advance(10 * time.Second)
			for _, n := range g.Nodes() {
				if n.Config().Name != holder {
					require.False(t, n.IsLeader(), "after %v", time.Since(began))
				}
			}
			g.Stop(holder)
			g.Start(holder)
			g.Advance(20 * time.Second)
			g.WaitLeader()
		})
	}
}

// stallingClock stalls the goroutine that makes one of the next calls of Now. The call returns the time
// before the stall.
type stallingClock struct {
	began time.Time
	calls atomic.Int64  // calls of Now up to the one that stalls; none stalls if it is not positive
	stall time.Duration // duration of the stall
}

func (c *stallingClock) Now() time.Duration {
	now := time.Since(c.began)
	if left := c.calls.Add(-1); left == 0 {
		testkit.Advance(c.stall)
	}
	return now
}

func (c *stallingClock) NewTimer(ring func()) (set func(at time.Duration), stop func(), err error) {
	t := time.AfterFunc(time.Hour, ring)
	return func(at time.Duration) { t.Reset(at - time.Since(c.began)) }, func() { t.Stop() }, nil
}

// A node that stalls after it has read the clock may renew its lease as of the time before the stall. If
// the end of the lease has stopped its Lead callback in between, that leadership is over, and the node
// leads again in a newer epoch.
func TestStalledLeaderLeadsAgainAfterLateRenewal(t *testing.T) {
	withLease(t, func(t *testing.T, algorithm string) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Algorithm, c.Lease = builtin.Lookup(algorithm), lease.Options{} }
		clock := &stallingClock{began: time.Now()}
		leader := f.start(1, withClock(clock))
		f.leader(time.Minute)
		duration, reelected := lease.Defaults(algo.LAN()).Duration, false
		for sixteenths := 1; sixteenths <= 20; sixteenths++ {
			for call := 1; call <= 12; call++ {
				before, _ := leader.Leader()
				clock.stall = duration * time.Duration(sixteenths) / 16
				clock.calls.Store(int64(call))
				testkit.Advance(4 * duration)
				clock.calls.Store(0)
				testkit.Advance(bound)
				after, known := leader.Leader()
				require.True(t, known && leader.IsLeader(), "it does not lead after a stall of %v in call %d", clock.stall, call)
				reelected = reelected || after.Epoch > before.Epoch
			}
		}
		require.True(t, reelected, "no stall has ended a leadership")
	})
}

// On TCP, with data directories and the clock of the machine, the next member leads when the leader has stopped.
func TestLeaseIsHandedOverOnTCP(t *testing.T) {
	g := &guarded{t: t, real: true, causes: make(map[error]int)}
	config := func(name string, join ...string) cluster.Config {
		return cluster.Config{Name: name, Listen: "127.0.0.1:0", Bootstrap: join == nil, Join: join, DataDir: t.TempDir(), Timing: algo.Local()}
	}
	first := run(t, config("n1"))
	addr := first.follows(t, "n1", patience).Leader.Addr
	members := map[string]*member{"n1": first, "n2": run(t, config("n2", addr)), "n3": run(t, config("n3", addr))}
	for _, m := range members {
		g.addTask(m.Node)
	}
	for _, m := range members {
		m.shows(t, "a leader", patience, cluster.State.HasLeader)
	}
	for range 2 { // after the first stop two of three members remain, which is a quorum
		var leader string
		until(t, "a leader runs its callback", func() bool {
			leader, _ = g.latest(nil)
			return members[leader] != nil && members[leader].IsLeader()
		})
		require.NoError(t, members[leader].halt())
		delete(members, leader)
	}
}
