package cluster_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

func TestMain(m *testing.M) {
	testkit.CollectLess()
	goleak.VerifyTestMain(m)
}

// member is one node of a fleet.
type member struct {
	*cluster.Node
	name    string
	process *clustertest.Process
	log     *testkit.Log
	stop    context.CancelFunc
	done    chan struct{}
	err     error // of Run, when done is closed

	mu     sync.Mutex
	states []cluster.State // the states that Watch has yielded
}

func (m *member) seen() []cluster.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]cluster.State(nil), m.states...)
}

// option changes the configuration of one node.
type option func(*cluster.Config)

func withStore(s cluster.Store) option     { return func(c *cluster.Config) { c.Store = s } }
func withTrace(f func(trace.Event)) option { return func(c *cluster.Config) { c.Trace = f } }
func withDrain(d time.Duration) option     { return func(c *cluster.Config) { c.DrainTimeout = d } }
func withClock(clock cluster.Clock) option {
	return func(c *cluster.Config) { c.Network.Clock = clock }
}
func inProcess(p *clustertest.Process) option {
	return func(c *cluster.Config) { c.Network = p.Cluster() }
}
func withLookup(lookup func(ctx context.Context, host string) ([]string, error)) option {
	return func(c *cluster.Config) { c.Network.Lookup = lookup }
}

func withNetwork(listen func(addr string) (net.Listener, error), dial func(ctx context.Context, addr string) (net.Conn, error)) option {
	return func(c *cluster.Config) { c.Network.Listen, c.Network.Dial = listen, dial }
}

// run starts a node and records its states.
func run(t testing.TB, c cluster.Config, options ...option) *member {
	t.Helper()
	m := &member{name: c.Name, log: new(testkit.Log), done: make(chan struct{})}
	var err error
	c.Logger = m.log.Logger()
	for _, option := range options {
		option(&c)
	}
	m.Node, err = cluster.New(c)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for s := range m.Watch(context.Background()) {
			m.mu.Lock()
			m.states = append(m.states, s)
			m.mu.Unlock()
		}
	}()
	go func() {
		m.err = m.Run(ctx)
		<-watched
		close(m.done)
	}()
	t.Cleanup(func() {
		stop()
		<-m.done
	})
	return m
}

// halt stops a node and waits for it.
func (m *member) halt() error {
	m.stop()
	<-m.done
	return m.err
}

// follows waits until m follows the named leader, for at most within.
func (m *member) follows(t testing.TB, leader string, within time.Duration) cluster.State {
	t.Helper()
	return m.shows(t, "the leader "+leader, within, func(s cluster.State) bool { return s.Leader.Name == leader })
}

func (m *member) shows(t testing.TB, what string, within time.Duration, ok func(cluster.State) bool) cluster.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var last cluster.State
	for last = range m.Watch(ctx) {
		if ok(last) {
			return last
		}
	}
	require.FailNowf(t, "not seen in time", "%s shows %+v after %v, want %s", m.name, last, within, what)
	return last
}

// fleet is a cluster on a network in memory. Its members are n1, n2 and so on, by rising priority. Their stores outlive
// them.
type fleet struct {
	t      testing.TB
	net    *clustertest.Network
	live   map[string]*member
	stores map[string]cluster.Store
	config func(*cluster.Config) // changes the settings of each member
	list   []string              // addresses of all members, without a quorum
}

func newFleet(t testing.TB) *fleet {
	return &fleet{t: t, net: clustertest.NewNetwork(), live: make(map[string]*member), stores: make(map[string]cluster.Store), config: func(*cluster.Config) {}}
}

func nameOf(i int) string { return fmt.Sprintf("n%d", i) }

func addrOf(i int) string { return nameOf(i) + ":7400" }

// listOf returns the addresses of members 1 to n.
func listOf(n int) (list []string) {
	for i := 1; i <= n; i++ {
		list = append(list, addrOf(i))
	}
	return list
}

// runs configures an algorithm, such as "bully" or "bully with a lease".
func runs(algorithm string) func(*cluster.Config) {
	return func(c *cluster.Config) {
		word, isLeased := strings.CutSuffix(algorithm, " with a lease")
		if c.Algorithm = builtin.Lookup(word); isLeased {
			c.Lease = lease.Options{}
		}
	}
}

// leased configures the default lease, so the default algorithm has a quorum.
func leased(c *cluster.Config) { c.Lease = lease.Options{} }

// quorums are algorithms with a quorum, so nodes can join, leave and be removed.
var quorums = []string{"bully with a lease", "vote"}

// start starts member i. It has a lease only if f.config sets one. See place.
func (f *fleet) start(i int, options ...option) *member {
	f.t.Helper()
	name := nameOf(i)
	c := cluster.Config{Name: name, Listen: addrOf(i), Priority: i, Lease: lease.Off}
	f.config(&c)
	f.place(&c)
	if f.stores[name] == nil {
		f.stores[name] = store.NewMemory()
	}
	p := f.net.Process(name)
	m := run(f.t, c, append([]option{inProcess(p), withStore(f.stores[name])}, options...)...)
	m.process = p
	f.live[name] = m
	return m
}

// needsQuorum reports whether the algorithm of a node needs a quorum even without the lease.
func needsQuorum(c *cluster.Config) bool {
	if c.Algorithm == nil {
		return false // bully
	}
	spec, _ := c.Algorithm(algo.LAN(), nil)
	return spec.Claims.NeedsQuorum
}

// place completes settings that name no other node. With a quorum the node joins the live members, or bootstraps the
// cluster. Without one it gets the list of all members. A new member is first added to the lists of all live members.
func (f *fleet) place(c *cluster.Config) {
	f.t.Helper()
	if c.Bootstrap || len(c.Join)+len(c.Members) > 0 {
		return
	}
	if !c.Lease.IsOff() || needsQuorum(c) {
		for other := range f.live {
			c.Join = append(c.Join, other+":7400")
		}
		c.Bootstrap = len(c.Join) == 0
		return
	}
	if !slices.Contains(f.list, c.Listen) {
		f.list = append(f.list, c.Listen)
		for _, m := range f.live {
			require.NoError(f.t, m.SetMembers(f.t.Context(), f.list))
		}
	}
	c.Members = f.list
}

// grow starts members 1 to n, one after another, until all follow the highest. Without a quorum the list names all n
// members from the start.
func (f *fleet) grow(n int) []*member {
	f.t.Helper()
	f.list = listOf(n)
	var members []*member
	for i := 1; i <= n; i++ {
		members = append(members, f.start(i))
		f.agree(nameOf(i), bound)
	}
	return members
}

// kill ends a member as SIGKILL does.
func (f *fleet) kill(m *member) {
	delete(f.live, m.name)
	m.process.Kill()
	_ = m.halt()
}

// halt stops a member cleanly.
func (f *fleet) halt(m *member) {
	f.t.Helper()
	delete(f.live, m.name)
	require.NoError(f.t, m.halt())
}

// pause stops a member as SIGSTOP does.
func (f *fleet) pause(m *member) (resume func()) {
	m.process.Pause()
	return m.process.Resume
}

// agree waits until all live members, except but, follow the named leader in one epoch, and returns the leadership.
func (f *fleet) agree(leader string, within time.Duration, but ...*member) cluster.Leadership {
	f.t.Helper()
	limit := time.Now().Add(within)
	for {
		synctest.Wait() // deliver all messages in flight
		var all []cluster.Leadership
		for _, m := range f.live {
			if len(but) == 0 || m != but[0] {
				all = append(all, m.follows(f.t, leader, time.Until(limit)).Leader)
			}
		}
		same := true
		for _, l := range all {
			same = same && l == all[0]
		}
		if same {
			return all[0]
		}
		require.True(f.t, time.Now().Before(limit), "no agreement on %s: %v", leader, all)
		testkit.Advance(time.Millisecond)
	}
}

// quiet fails the test if a live member sees a change of leadership within d.
func (f *fleet) quiet(d time.Duration) {
	f.t.Helper()
	synctest.Wait()
	before := make(map[string]int)
	for name, m := range f.live {
		before[name] = len(m.seen())
	}
	testkit.Advance(d)
	for name, m := range f.live {
		require.Len(f.t, m.seen(), before[name], "%s has seen %+v", name, m.seen())
	}
}

var bound = algo.LAN().RecoveryBound()
