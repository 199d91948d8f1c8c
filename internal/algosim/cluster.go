package algosim

import (
	"fmt"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/trace"
)

// T is the default one-way message time of a Cluster.
const T = 10 * time.Millisecond

// Timing is the timing of a network with message time T.
var Timing = algo.Timing{RoundTrip: 2 * T, Heartbeat: T}

// Cluster is a network of machines in virtual time. At equal times, deliveries come before timers,
// and each kind is in the order of creation. Nodes have numbers.
type Cluster struct {
	Spec  algo.Spec
	View  algo.View // the current view; a node may still have an older one
	Now   time.Duration
	nodes []*Node // node i is at i-1
	// The keys of the queue are twice the time. Timers add one, so that they expire after the
	// deliveries of the same time.
	queue Queue[func()]

	// Delay returns the time that a message takes, and false if it is lost. By default each message
	// takes T.
	Delay func(from, to int, m algo.Message) (time.Duration, bool)
	// Duplicate, if set, reports whether a message arrives a second time.
	Duplicate func() bool
	// Pick chooses the duration of a timer. By default it is the minimum.
	Pick func(least, most time.Duration) time.Duration
	// DetectionTime is the time after which the detector reports a crash, a pause, or the end of
	// one, to the nodes that monitor the node. If it is negative, as by default, there is no
	// detector.
	DetectionTime time.Duration
	// AllowsResume allows a node to announce its leadership of an epoch again after it gave it up,
	// within one incarnation. After a restart, that is always a violation.
	AllowsResume bool
	// OnEvent, if set, is called before a node handles an event, and OnSend for each message that a
	// node sends.
	OnEvent func(i int, e driver.Event)
	OnSend  func(from, to int, m algo.Message)

	Sent, Delivered map[string]int // messages by kind, without periodic ones
	Periodic        int            // periodic messages sent
	Announcements   int            // their number
	LastAnnounced   time.Duration  // the time of the last announcement
	Violation       string         // the first violation, or empty

	Tracing bool // records the events for Transcript
	trace   []trace.Event

	history     LeaderHistory
	announcedBy map[algo.Leader]*driver.Machine // the incarnation that announced itself leader
}

// Node is one process of a Cluster.
type Node struct {
	ID      algo.NodeID
	Machine *driver.Machine // nil while crashed
	View    algo.View       // the newest view it has received; kept over crashes
	Saved   algo.HardState  // on its disk
	// Monitored has the monitored peers, and whether the detector suspects them.
	Monitored map[algo.NodeID]bool
	// CrashAfter counts down to a crash between the effects of an event: 1 is before the save, 2
	// after it, 3 after the first message. If it is zero or negative, there is no crash.
	CrashAfter int

	timers   map[algo.Timer]int // how often each was set
	paused   bool
	deferred []func() // events received while paused
}

// New returns a cluster in which no node is running.
func New(spec algo.Spec, view algo.View) *Cluster {
	c := &Cluster{
		Spec: spec, View: view, DetectionTime: -1,
		Delay:       func(_, _ int, _ algo.Message) (time.Duration, bool) { return T, true },
		Pick:        func(least, _ time.Duration) time.Duration { return least },
		announcedBy: map[algo.Leader]*driver.Machine{},
	}
	for m := range view.All() {
		c.nodes = append(c.nodes, &Node{ID: m.ID, View: view})
	}
	c.Reset()
	return c
}

// Node returns node i.
func (c *Cluster) Node(i int) *Node { return c.nodes[i-1] }

func (c *Cluster) node(id algo.NodeID) *Node { return c.Node(Number(id)) }

// Leader returns the leader that node i announced last.
func (c *Cluster) Leader(i int) algo.Leader { return c.Node(i).Machine.Leader() }

// Live returns the numbers of the running nodes.
func (c *Cluster) Live() []int {
	var live []int
	for _, s := range c.followStates() {
		live = append(live, Number(s.Node))
	}
	return live
}

// Leaders returns the number of nodes that consider themselves leader.
func (c *Cluster) Leaders() int {
	count := 0
	for _, s := range c.followStates() {
		if s.Leader.ID == s.Node {
			count++
		}
	}
	return count
}

// Reset sets the counts to zero.
func (c *Cluster) Reset() {
	c.Sent, c.Delivered = map[string]int{}, map[string]int{}
	c.Periodic, c.Announcements, c.LastAnnounced = 0, 0, c.Now
}

// Total returns the sum of counts.
func Total[N int | uint64](counts map[string]N) int {
	sum := 0
	for _, count := range counts {
		sum += int(count)
	}
	return sum
}

// At runs f at a time since the start, before the deliveries of that time that are not in flight
// yet.
func (c *Cluster) At(when time.Duration, f func()) { c.queue.Add(2*when, f) }

// Later runs f after d, after the deliveries of that time.
func (c *Cluster) Later(d time.Duration, f func()) { c.queue.Add(2*(c.Now+d)+1, f) }

// Run advances the time by d and handles all events up to then.
func (c *Cluster) Run(d time.Duration) {
	until := c.Now + d
	for at, ok := c.queue.NextTime(); ok && at/2 <= until; at, ok = c.queue.NextTime() {
		c.Now = at / 2
		c.queue.Pop()()
	}
	c.Now = until
}

// Start starts nodes from their saved state, for the first time or after a crash.
func (c *Cluster) Start(nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		if nd.Machine != nil {
			panic("started twice")
		}
		nd.Machine = driver.NewMachine(&c.Spec, nd.ID)
		nd.timers, nd.Monitored = map[algo.Timer]int{}, map[algo.NodeID]bool{}
		c.step(nd, driver.Event{Kind: driver.EventStart, View: nd.View, Saved: nd.Saved})
		c.Report(i)
	}
}

// StartAll starts all nodes, in the order of their numbers.
func (c *Cluster) StartAll() {
	for i := range c.nodes {
		c.Start(i + 1)
	}
}

// Crash stops nodes. Messages that they have sent still arrive.
func (c *Cluster) Crash(nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		if nd.Machine == nil {
			continue
		}
		c.emit(nd.ID, trace.Event{Kind: trace.Crash})
		nd.Machine, nd.CrashAfter, nd.paused, nd.deferred = nil, 0, false, nil
		c.Report(i)
	}
}

// Pause stops nodes as a stopped process: they handle messages and timers only after Resume.
func (c *Cluster) Pause(nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		if nd.Machine == nil || nd.paused {
			continue
		}
		c.emit(nd.ID, trace.Event{Kind: trace.Pause})
		nd.paused = true
		c.Report(i)
	}
}

// Resume lets paused nodes continue with their old state.
func (c *Cluster) Resume(nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		if !nd.paused {
			continue
		}
		c.emit(nd.ID, trace.Event{Kind: trace.Resume})
		deferred := nd.deferred
		nd.paused, nd.deferred = false, nil
		for _, f := range deferred {
			f()
		}
		c.Report(i)
	}
}

// Campaign lets nodes start an election.
func (c *Cluster) Campaign(nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		c.whenAwake(nd, func() { c.step(nd, driver.Event{Kind: driver.EventCampaign}) })
	}
}

// Deliver passes a message to a node at once, without the network.
func (c *Cluster) Deliver(from, to int, m algo.Message) {
	c.step(c.Node(to), driver.Event{Kind: driver.EventReceive, Peer: ID(from), Message: m})
}

// Reconfigure passes a new view to nodes that have no newer one. Nodes that are down receive it
// when they start.
func (c *Cluster) Reconfigure(view algo.View, nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		c.whenAwake(nd, func() {
			if nd.View.Version() >= view.Version() {
				return
			}
			nd.View = view
			c.step(nd, driver.Event{Kind: driver.EventReconfigure, View: view})
		})
	}
}

// DropIf sets Delay: messages take T, and those for which isLost returns true are lost.
func (c *Cluster) DropIf(isLost func(from, to int, m algo.Message) bool) {
	c.Delay = func(from, to int, m algo.Message) (time.Duration, bool) { return T, !isLost(from, to, m) }
}

// Logf adds an event of no particular node to the transcript.
func (c *Cluster) Logf(format string, args ...any) {
	c.emit(algo.NodeID{}, trace.Event{Kind: trace.Note, Format: format, Args: args})
}

// emit adds an event of a node to the transcript.
func (c *Cluster) emit(node algo.NodeID, e trace.Event) {
	if c.Tracing {
		e.At, e.Node = c.Now, node
		c.trace = append(c.trace, e)
	}
}

// Transcript returns the events since Tracing was set, one per line.
func (c *Cluster) Transcript() string {
	lines := make([]string, len(c.trace))
	for i, e := range c.trace {
		lines[i] = fmt.Sprintf("%5.1fT ", float64(e.At)/float64(T))
		if !e.Node.IsZero() {
			lines[i] += Name(e.Node) + " "
		}
		lines[i] += DescribeEvent(e)
	}
	return strings.Join(lines, "\n")
}
