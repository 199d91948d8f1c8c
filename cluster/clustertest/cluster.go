// Package clustertest is a kit to test a service that elects its leader with package
// cluster: nodes on a network in memory, which can be killed, paused and cut off. In a
// bubble of testing/synctest a failover takes a few milliseconds, whatever the timing of
// the nodes.
//
//	func TestFailover(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			c := clustertest.New(t, clustertest.Config{Nodes: 3})
//			for _, node := range c.Nodes() {
//				go node.Lead(t.Context(), service.Work)
//			}
//			old := c.Await()
//			c.Kill(old.Name)
//			next := c.Await() // another leads, and its Work runs
//			…
//		})
//	}
//
// The nodes are those of production: only the network and the clock are not. A service
// that makes its node itself gets the [Process.Options] of a [Network] instead.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/store"
)

// Config is what a Cluster is made of.
type Config struct {
	// Nodes are how many there are at first: n1, n2, … in the order of candidates, n1 the
	// lowest.
	Nodes int
	// Configure, when set, changes what a node is made of before it starts: the algorithm,
	// say. Its Name, Priority, Listen, Network and Store are set, and its Members or Join: see [Cluster.Start].
	Configure func(c *cluster.Config)
	// Drift is by how many percent the clocks of nodes are fast, or slow; of the others they are right. With a
	// lease they may be wrong by as much as that allows.
	Drift map[string]float64
}

// Cluster is some nodes on a network in memory. Its methods fail the test where they
// cannot do what they are told; they are for its goroutine, inside a bubble of
// testing/synctest.
type Cluster struct {
	Network *Network

	t       testing.TB
	config  Config
	names   []string // in the order of their first start
	members map[string]*member
	timing  algo.Timing
}

// member is a node, dead or alive.
type member struct {
	name     string
	priority int
	kept     cluster.Store // outlives the node
	listed   bool          // the lists of members name it

	node    *cluster.Node
	process *Process
	running bool
	paused  bool
	stop    context.CancelFunc
	ended   chan error
}

// New starts a cluster and returns when all its nodes follow one leader. They are
// stopped at the end of the test.
func New(t testing.TB, config Config) *Cluster {
	t.Helper()
	c := &Cluster{Network: NewNetwork(), t: t, config: config, members: make(map[string]*member)}
	if config.Nodes < 1 {
		t.Fatalf("clustertest: a cluster of %d nodes, want at least 1", config.Nodes)
	}
	t.Cleanup(c.end)
	for i := range config.Nodes {
		c.add(fmt.Sprintf("n%d", i+1)).listed = true
	}
	for _, name := range c.names {
		c.Start(name)
	}
	c.Await()
	return c
}

func (c *Cluster) add(name string) *member {
	m := &member{name: name, priority: len(c.names) + 1, kept: store.NewMemory()}
	c.names = append(c.names, name)
	c.members[name] = m
	return m
}

func addressOf(name string) string { return name + ":7400" }

// Start starts a node: again, with what it had kept, or a new one of that name, as the
// highest candidate so far. If the algorithm has a quorum the new node joins the others.
// Otherwise its address is added to the lists of members: of the nodes that run, with
// [cluster.Node.SetMembers], and of those that are started later. At least one must run,
// and none may be paused.
func (c *Cluster) Start(name string) *cluster.Node {
	c.t.Helper()
	m := c.members[name]
	switch {
	case m == nil:
		m = c.add(name)
		m.listed = c.list(m)
	case m.running:
		c.t.Fatalf("clustertest: %s runs already", name)
	}
	config := cluster.Config{Name: name, Listen: addressOf(name), Priority: m.priority}
	if m.listed {
		config.Members = c.addresses()
	} else {
		for _, other := range c.names {
			if other != name {
				config.Join = append(config.Join, addressOf(other))
			}
		}
	}
	m.process = c.Network.Process(name)
	m.process.drift = c.config.Drift[name]
	config.Network, config.Store = m.process.Cluster(), m.kept
	if c.config.Configure != nil {
		c.config.Configure(&config)
	}
	node, err := cluster.New(config)
	if err != nil {
		c.t.Fatalf("clustertest: %s: %v", name, err)
	}
	c.timing = node.Config().Timing
	ctx, stop := context.WithCancel(context.Background())
	m.node, m.stop, m.ended, m.running = node, stop, make(chan error, 1), true
	go func() { m.ended <- node.Run(ctx) }()
	return node
}

// addresses returns those of all members that are listed.
func (c *Cluster) addresses() (list []string) {
	for _, name := range c.names {
		if c.members[name].listed {
			list = append(list, addressOf(name))
		}
	}
	return list
}

// list adds a new node to the lists of all that run, and reports whether it has: with a quorum there are none.
func (c *Cluster) list(m *member) bool {
	c.t.Helper()
	list := append(c.addresses(), addressOf(m.name))
	for _, node := range c.Nodes() {
		err := node.SetMembers(context.Background(), list)
		if errors.Is(err, cluster.ErrQuorum) {
			return false
		}
		if err != nil {
			c.t.Fatalf("clustertest: the list of %s: %v", node.Config().Name, err)
		}
	}
	return true
}

// member returns one that runs.
func (c *Cluster) member(name string) *member {
	c.t.Helper()
	m := c.members[name]
	if m == nil || !m.running {
		c.t.Fatalf("clustertest: no node of the name %q runs; there are %s", name, strings.Join(c.names, ", "))
	}
	return m
}

// Node returns a node that runs.
func (c *Cluster) Node(name string) *cluster.Node { c.t.Helper(); return c.member(name).node }

// Nodes returns those that run, in the order of their first start.
func (c *Cluster) Nodes() []*cluster.Node {
	var nodes []*cluster.Node
	for _, name := range c.names {
		if m := c.members[name]; m.running {
			nodes = append(nodes, m.node)
		}
	}
	return nodes
}

// Stop stops a node as SIGTERM does: it says goodbye. It returns when Run has.
func (c *Cluster) Stop(name string) {
	c.t.Helper()
	m := c.member(name)
	c.Resume(name)
	if err := c.halt(m); err != nil {
		c.t.Errorf("clustertest: %s ended with: %v", name, err)
	}
}

// Kill ends a node as SIGKILL does: its connections end without a word. What it had
// kept is there when it starts again. Work that it does in Lead sees its context end,
// for a test cannot end a goroutine.
func (c *Cluster) Kill(name string) {
	c.t.Helper()
	m := c.member(name)
	m.process.Kill()
	_ = c.halt(m) // nobody hears what it says
}

func (c *Cluster) halt(m *member) error {
	m.running, m.paused = false, false
	m.stop()
	return <-m.ended
}

// Pause stops a node as SIGSTOP does, until Resume: see [Process.Pause].
func (c *Cluster) Pause(name string) {
	c.t.Helper()
	m := c.member(name)
	m.paused = true
	m.process.Pause()
}

// Resume lets a node go on with its old ideas.
func (c *Cluster) Resume(name string) {
	c.t.Helper()
	m := c.member(name)
	m.paused = false
	m.process.Resume()
}

// Partition cuts the cluster into groups that cannot reach each other. Nodes that are in
// none form another.
func (c *Cluster) Partition(groups ...[]string) { c.Network.Partition(groups...) }

// Cut has nothing that one node sends reach another: see [Network.Cut].
func (c *Cluster) Cut(from, to string) { c.Network.Cut(from, to) }

// Heal ends every partition and every cut.
func (c *Cluster) Heal() { c.Network.Heal() }

// Pass lets time pass, which is that of the bubble and not of the test. Outside of a bubble
// it panics.
func (c *Cluster) Pass(d time.Duration) {
	if time.Now().Year() >= 2020 { // a bubble begins in 2000
		panic("clustertest: Pass was called outside of a bubble of testing/synctest")
	}
	time.Sleep(d)
}

// Await waits until the nodes of these names follow one leader in one epoch, and returns
// it. Without names it waits for all that run and are not paused. The leader must be one
// of them. It fails the test after [algo.Timing.RecoveryBound], twice.
func (c *Cluster) Await(names ...string) cluster.Leadership {
	c.t.Helper()
	if len(names) == 0 {
		for _, name := range c.names {
			if m := c.members[name]; m.running && !m.paused {
				names = append(names, name)
			}
		}
	}
	limit := time.Now().Add(2 * c.timing.RecoveryBound())
	for {
		synctest.Wait() // what is under way takes no time: let it arrive
		leader, agreed := c.agreed(names)
		switch {
		case agreed:
			return leader
		case time.Now().After(limit):
			c.t.Fatalf("clustertest: no agreement among %s after %v: %s", strings.Join(names, ", "), 2*c.timing.RecoveryBound(), c.opinions(names))
		}
		c.Pass(time.Millisecond)
	}
}

func (c *Cluster) agreed(names []string) (leader cluster.Leadership, agreed bool) {
	for i, name := range names {
		l, known := c.Node(name).Leader()
		if !known || i > 0 && (l.Epoch != leader.Epoch || l.ID != leader.ID) {
			return cluster.Leadership{}, false
		}
		leader = l
	}
	return leader, slices.Contains(names, leader.Name)
}

// opinions says whom each node follows.
func (c *Cluster) opinions(names []string) string {
	var all []string
	for _, name := range names {
		if l, known := c.Node(name).Leader(); known {
			all = append(all, fmt.Sprintf("%s follows %s in epoch %d", name, l.Name, l.Epoch))
		} else {
			all = append(all, name+" follows no leader")
		}
	}
	return strings.Join(all, "; ")
}

// end stops what still runs.
func (c *Cluster) end() {
	c.Heal()
	for _, name := range c.names {
		if m := c.members[name]; m.running {
			m.process.Resume()
			_ = c.halt(m)
		}
	}
}
