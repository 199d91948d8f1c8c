package algosim

import (
	"fmt"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/trace"
)

// T is the one-way message time of a Cluster, if Delay says no other.
const T = 10 * time.Millisecond

// Timing is what the algorithms are told of a network with that T.
var Timing = algo.Timing{RoundTrip: 2 * T, Heartbeat: T}

// Cluster is a network of machines in virtual time. Deliveries come before timers at
// equal times, each in the order of their making. Nodes are named by their numbers.
type Cluster struct {
	Spec  algo.Spec
	View  algo.View // as it really is; each node has its own idea of it
	Now   time.Duration
	nodes []*Node // node i is at i-1
	// What will happen, at twice its time: deliveries, and what else comes from outside. Timers
	// are one later, after the deliveries of their moment.
	queue Queue[func()]

	// Delay says how long a message travels, and whether it arrives at all. At first
	// each arrives after T.
	Delay func(from, to int, m algo.Message) (time.Duration, bool)
	// Duplicate, if set, says whether a message arrives a second time.
	Duplicate func() bool
	// Pick chooses when a timer ends. At first it is as early as may be.
	Pick func(least, most time.Duration) time.Duration
	// Detect is how long the detector needs to report a crash, a pause or the end of one
	// to those who monitor the node. It is negative at first: there is no detector.
	DetectionTime time.Duration
	// Resumes allows a node to announce a leadership again that it gave up, in the same
	// life. Over a restart it is never allowed.
	AllowsResume bool
	// Seen, if set, sees each event before a node takes it, and OnSend each message that
	// leaves one.
	OnEvent func(i int, e driver.Event)
	OnSend  func(from, to int, m algo.Message)

	Sent, Delivered map[string]int // messages by kind, without repeats
	Periodic        int
	Announcements   int           // announcements
	LastAnnounced   time.Duration // of the last announcement
	Violation       string        // the first property that was broken

	Tracing bool // keeps what happens for Story
	trace   []trace.Event

	past LeaderHistory
	led  map[algo.Leader]*driver.Machine // who announced itself, in which life
}

// Node is one process of a Cluster.
type Node struct {
	ID      algo.NodeID
	Machine *driver.Machine // nil while crashed
	View    algo.View       // what it has heard of the membership; kept over crashes
	Saved   algo.Stable     // on its disk
	// Monitored says whom the detector watches for it, and whether it reported them.
	Monitored map[algo.NodeID]bool
	// CrashAfter counts down to a crash in the middle of the effects of an event: 1 is before
	// its save, 2 after it, 3 after its first message. From 0 on it is never.
	CrashAfter int

	timers map[algo.Timer]int // how often each was set
	paused bool
	missed []func() // what came while it was paused
}

// New returns a cluster of which no node runs.
func New(spec algo.Spec, view algo.View) *Cluster {
	c := &Cluster{
		Spec: spec, View: view, DetectionTime: -1,
		Delay: func(_, _ int, _ algo.Message) (time.Duration, bool) { return T, true },
		Pick:  func(least, _ time.Duration) time.Duration { return least },
		led:   map[algo.Leader]*driver.Machine{},
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

// Leader returns whom node i announced last.
func (c *Cluster) Leader(i int) algo.Leader { return c.Node(i).Machine.Leader() }

// Live returns the numbers of the nodes that run.
func (c *Cluster) Live() []int {
	var live []int
	for _, o := range c.opinions() {
		live = append(live, Number(o.Node))
	}
	return live
}

// Leaders returns how many nodes lead, as they see it.
func (c *Cluster) Leaders() int {
	count := 0
	for _, o := range c.opinions() {
		if o.Leader.ID == o.Node {
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

// Total adds up counts.
func Total[N int | uint64](counts map[string]N) int {
	sum := 0
	for _, count := range counts {
		sum += int(count)
	}
	return sum
}

// At runs f at a time since the beginning, before the deliveries of that moment that are
// not yet on their way.
func (c *Cluster) At(when time.Duration, f func()) { c.queue.Add(2*when, f) }

// Later runs f in d, after the deliveries of that moment.
func (c *Cluster) Later(d time.Duration, f func()) { c.queue.Add(2*(c.Now+d)+1, f) }

// Run lets d pass, its end included.
func (c *Cluster) Run(d time.Duration) {
	end := c.Now + d
	for at, ok := c.queue.NextTime(); ok && at/2 <= end; at, ok = c.queue.NextTime() {
		c.Now = at / 2
		c.queue.Pop()()
	}
	c.Now = end
}

// Start starts nodes, at first or after a crash, from what they saved.
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

// Crash stops nodes. What they sent still arrives.
func (c *Cluster) Crash(nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		if nd.Machine == nil {
			continue
		}
		c.emit(nd.ID, trace.Event{Kind: trace.Crash})
		nd.Machine, nd.CrashAfter, nd.paused, nd.missed = nil, 0, false, nil
		c.Report(i)
	}
}

// Pause keeps nodes from doing anything, as a stopped process: what comes for them
// waits, and their timers end when they go on.
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

// Resume lets nodes go on with their old ideas.
func (c *Cluster) Resume(nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		if !nd.paused {
			continue
		}
		c.emit(nd.ID, trace.Event{Kind: trace.Resume})
		missed := nd.missed
		nd.paused, nd.missed = false, nil
		for _, f := range missed {
			f()
		}
		c.Report(i)
	}
}

// Campaign has nodes call for an election.
func (c *Cluster) Campaign(nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		c.whenAwake(nd, func() { c.step(nd, driver.Event{Kind: driver.EventCampaign}) })
	}
}

// Deliver hands a node a message at once, past the network.
func (c *Cluster) Deliver(from, to int, m algo.Message) {
	c.step(c.Node(to), driver.Event{Kind: driver.EventReceive, Peer: ID(from), Message: m})
}

// Reconfigure gives nodes a new view, unless they have a newer one. Those not running
// hear of it when they start.
func (c *Cluster) Reconfigure(view algo.View, nodes ...int) {
	for _, i := range nodes {
		nd := c.Node(i)
		c.whenAwake(nd, func() {
			if nd.View.Number() >= view.Number() {
				return
			}
			nd.View = view
			c.step(nd, driver.Event{Kind: driver.EventReconfigure, View: view})
		})
	}
}

// Lose has messages arrive after T, but for those that lost picks.
func (c *Cluster) DropIf(lost func(from, to int, m algo.Message) bool) {
	c.Delay = func(from, to int, m algo.Message) (time.Duration, bool) { return T, !lost(from, to, m) }
}

// Logf adds what happened at no node in particular to the story.
func (c *Cluster) Logf(format string, args ...any) {
	c.emit(algo.NodeID{}, trace.Event{Kind: trace.Note, Format: format, Args: args})
}

// emit adds an event of a node to the story.
func (c *Cluster) emit(node algo.NodeID, e trace.Event) {
	if c.Tracing {
		e.At, e.Node = c.Now, node
		c.trace = append(c.trace, e)
	}
}

// Story is what happened, a line each, since Tracing is set.
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
