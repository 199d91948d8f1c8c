// Package clustertest tests a service that elects its leader with package cluster. Its nodes use a network in memory,
// and can be killed, paused and partitioned. In a bubble of testing/synctest a failover takes a few milliseconds,
// whatever the timing of the nodes.
//
//	func TestFailover(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			c := clustertest.New(t, clustertest.Config{Nodes: 3})
//			for _, node := range c.Nodes() {
//				go node.Lead(t.Context(), service.Work)
//			}
//			old := c.WaitLeader()
//			c.Kill(old.Name)
//			next := c.WaitLeader() // another node leads, and its Work runs
//			…
//		})
//	}
//
// The nodes run the code of production. Only the network and the clock are replaced. A service that creates its node
// itself sets [cluster.Config.Network] to [Process.Cluster] of a process on a [Network].
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

// Config configures a Cluster.
type Config struct {
	// Nodes is the number of nodes at the start. They are n1, n2, … by rising priority.
	Nodes int
	// Configure, if set, changes the settings of a node before it starts, for example the algorithm. Name, Priority,
	// Listen, Network, Store, and Members or Join are set before: see [Cluster.Start].
	Configure func(c *cluster.Config)
	// Drift is the error of a node's clock in percent: positive if the clock is fast, negative if it is slow. With a
	// lease it may be at most the allowed clock drift.
	Drift map[string]float64
}

// Cluster is a set of nodes on a network in memory. Its methods fail the test on an error. They must be called from the
// goroutine of the test, inside a bubble of testing/synctest.
type Cluster struct {
	Network *Network

	t       testing.TB
	config  Config
	names   []string // in the order of their first start
	members map[string]*member
	timing  algo.Timing
}

// member is a node that runs, or that has stopped.
type member struct {
	name     string
	priority int
	kept     cluster.Store // outlives the node
	listed   bool          // its address is in the lists of members

	node    *cluster.Node
	process *Process
	running bool
	paused  bool
	stop    context.CancelFunc
	ended   chan error
}

// New starts a cluster and returns when all its nodes follow one leader. The nodes stop at the end of the test.
func New(t testing.TB, config Config) *Cluster {
	t.Helper()
	c := &Cluster{Network: NewNetwork(), t: t, config: config, members: make(map[string]*member)}
	if config.Nodes < 1 {
		t.Fatalf("clustertest: a cluster of %d nodes, want at least 1", config.Nodes)
	}
	t.Cleanup(c.stop)
	for i := range config.Nodes {
		c.add(fmt.Sprintf("n%d", i+1)).listed = true
	}
	for _, name := range c.names {
		c.Start(name)
	}
	c.WaitLeader()
	return c
}

func (c *Cluster) add(name string) *member {
	m := &member{name: name, priority: len(c.names) + 1, kept: store.NewMemory()}
	c.names = append(c.names, name)
	c.members[name] = m
	return m
}

func addressOf(name string) string { return name + ":7400" }

// Start restarts a node with its store, or starts a new node of that name, with the highest priority so far. With a
// quorum the new node joins the others. Otherwise its address is added to the lists of members: to those of running
// nodes, with [cluster.Node.SetMembers], and to those of nodes that start later. At least one node must run, and none
// may be paused.
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

// addresses returns the addresses of all listed members.
func (c *Cluster) addresses() (list []string) {
	for _, name := range c.names {
		if c.members[name].listed {
			list = append(list, addressOf(name))
		}
	}
	return list
}

// list adds a new node to the lists of all running nodes. It returns false if the nodes have no lists, because they
// have a quorum.
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

// member returns a running member.
func (c *Cluster) member(name string) *member {
	c.t.Helper()
	m := c.members[name]
	if m == nil || !m.running {
		c.t.Fatalf("clustertest: no node of the name %q runs; there are %s", name, strings.Join(c.names, ", "))
	}
	return m
}

// Node returns a running node.
func (c *Cluster) Node(name string) *cluster.Node { c.t.Helper(); return c.member(name).node }

// Nodes returns the running nodes, in the order of their first start.
func (c *Cluster) Nodes() []*cluster.Node {
	var nodes []*cluster.Node
	for _, name := range c.names {
		if m := c.members[name]; m.running {
			nodes = append(nodes, m.node)
		}
	}
	return nodes
}

// Stop stops a node as SIGTERM does, so the node sends goodbyes. Stop returns when the node's Run has returned.
func (c *Cluster) Stop(name string) {
	c.t.Helper()
	m := c.member(name)
	c.Resume(name)
	if err := c.halt(m); err != nil {
		c.t.Errorf("clustertest: %s ended with: %v", name, err)
	}
}

// Kill ends a node as SIGKILL does: the node sends no goodbye, and its connections close. Its store is there when it
// starts again. The contexts of its Lead callbacks end, because a test cannot kill a goroutine.
func (c *Cluster) Kill(name string) {
	c.t.Helper()
	m := c.member(name)
	m.process.Kill()
	_ = c.halt(m) // its messages reach no node
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

// Resume continues a paused node with the state that it had.
func (c *Cluster) Resume(name string) {
	c.t.Helper()
	m := c.member(name)
	m.paused = false
	m.process.Resume()
}

// Partition divides the cluster into groups that cannot reach each other. The nodes that are in none of them form one
// more group.
func (c *Cluster) Partition(groups ...[]string) { c.Network.Partition(groups...) }

// Cut cuts the link from one node to another in this direction: see [Network.Cut].
func (c *Cluster) Cut(from, to string) { c.Network.Cut(from, to) }

// Heal ends every partition and every cut.
func (c *Cluster) Heal() { c.Network.Heal() }

// Advance advances the time of the bubble by d. Outside a bubble it panics.
func (c *Cluster) Advance(d time.Duration) {
	if time.Now().Year() >= 2020 { // the time of a bubble starts in 2000
		panic("clustertest: Advance was called outside of a bubble of testing/synctest")
	}
	time.Sleep(d)
}

// WaitLeader waits until the named nodes follow one of them as the leader in one epoch, and returns the leadership.
// Without names it waits for all running nodes that are not paused. It fails the test after twice
// [algo.Timing.RecoveryBound].
func (c *Cluster) WaitLeader(names ...string) cluster.Leadership {
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
		synctest.Wait() // deliver all messages in flight
		leader, agreed := c.agreement(names)
		switch {
		case agreed:
			return leader
		case time.Now().After(limit):
			c.t.Fatalf("clustertest: no agreement among %s after %v: %s", strings.Join(names, ", "), 2*c.timing.RecoveryBound(), c.describe(names))
		}
		c.Advance(time.Millisecond)
	}
}

func (c *Cluster) agreement(names []string) (leader cluster.Leadership, agreed bool) {
	for i, name := range names {
		l, known := c.Node(name).Leader()
		if !known || i > 0 && (l.Epoch != leader.Epoch || l.ID != leader.ID) {
			return cluster.Leadership{}, false
		}
		leader = l
	}
	return leader, slices.Contains(names, leader.Name)
}

// describe formats the leader of each node.
func (c *Cluster) describe(names []string) string {
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

// stop stops the running nodes.
func (c *Cluster) stop() {
	c.Heal()
	for _, name := range c.names {
		if m := c.members[name]; m.running {
			m.process.Resume()
			_ = c.halt(m)
		}
	}
}
