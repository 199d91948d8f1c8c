package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// Config is what a World is made of.
type Config struct {
	Spec   algo.Spec
	Timing algo.Timing // LAN if zero
	// Delay is that of every link that has none of its own.
	Delay Delay
	// Faults are what the network does to every frame.
	Faults   Faults
	Detector DetectorKind
	// Seed is where everything random comes from.
	Seed uint64
	// Budget is how many messages may be sent, heartbeats included, before the world
	// stands still with a Violation of Budget; 0 for 100 million. So it does where more than
	// eight million are on their way at once.
	Budget uint64
	// Trace, when set, sees everything. It must not call the world.
	Trace func(trace.Event)
}

// Faults are what the network does to frames at random. Each is a probability, from 0
// to 1.
type Faults struct {
	Loss      float64 // it does not arrive
	Duplicate float64 // it arrives twice, each copy in its own time
	Reorder   float64 // it may overtake, and takes up to four times as long
}

// World is some nodes and what is between them, in virtual time. It is not safe for
// concurrent use.
//
// Nodes are numbered from 1, in the order of their IDs, and named n1, n2, and so on.
// Do and Cluster return an error where that cannot be done, and then do nothing.
type World struct {
	config   Config
	now      time.Duration
	random   *rand.Rand
	queue    algosim.Queue[event]
	room     int // in the queue
	due      deadlines
	nodes    []*node
	list     []*node         // the members that an operator has listed last
	kinds    map[string]bool // of messages that are counted
	counts   Counts
	sent     uint64
	underWay int // election messages
	changed  time.Duration
	active   time.Duration
	stuck    bool            // the budget is used up, the algorithm broke the contract, or nobody waits any more
	stop     <-chan struct{} // ends what passes time; nil for never
	judge    judge
	network  network
	dids     []string
	ran      time.Duration // as the last of dids says; 0 if that is something else
}

// New returns a world without nodes, at time 0.
func New(config Config) *World {
	config.Timing = cmp.Or(config.Timing, algo.LAN())
	config.Budget = cmp.Or(config.Budget, 100_000_000)
	w := &World{
		config: config, random: rand.New(rand.NewPCG(config.Seed, 1)), room: maxUnderWay,
		network: newNetwork(config), kinds: make(map[string]bool),
		judge: judge{rosters: make(map[algo.Stamp]string), struck: make(map[algo.NodeID]algo.Stamp)},
	}
	for _, m := range config.Spec.Messages {
		w.kinds[m.Kind()] = true
	}
	w.ResetCounts()
	return w
}

// maxUnderWay bounds the memory of a world, with what its nodes remember of those messages
// to about 3 GiB. 4,096 nodes may each ask all that are above.
const maxUnderWay = 1 << 23

// maxNodes is how many nodes a world can have.
const maxNodes = 1 << 20

// find returns the node of an ID, or nil.
func (w *World) find(id algo.NodeID) *node {
	if n := algosim.Number(id); n > 0 && n <= len(w.nodes) {
		return w.nodes[n-1]
	}
	return nil
}

// node returns node number n.
func (w *World) node(n int) (*node, error) {
	if n < 1 || n > len(w.nodes) {
		return nil, fmt.Errorf("sim: there is no n%d, want n1 to n%d", n, len(w.nodes))
	}
	return w.nodes[n-1], nil
}

// ID is the ID of node number n, whether or not there is such a node yet.
func ID(n int) algo.NodeID { return algosim.ID(n) }

// Number is the inverse of ID; 0 for the ID of something else.
func Number(id algo.NodeID) int { return algosim.Number(id) }

// Name is what a node is called: n1 for the first one.
func Name(id algo.NodeID) string { return algosim.Name(id) }

// Now is the time of the world, since its beginning.
func (w *World) Now() time.Duration { return w.now }

// Nodes is how many nodes there are, dead or alive.
func (w *World) Nodes() int { return len(w.nodes) }

// View is the membership as node n knows it; empty while it does not run.
func (w *World) View(n int) algo.View {
	if n, err := w.node(n); err == nil && n.up {
		return n.engine.View()
	}
	return algo.View{}
}

// Follows is whom node n announced last; false while it does not run.
func (w *World) Follows(n int) (algo.Leader, bool) {
	if n, err := w.node(n); err == nil && n.up {
		return n.leader, true
	}
	return algo.Leader{}, false
}

// Opinions says in words whom each node follows.
func (w *World) Opinions() string { return scenario.Opinions(w.opinions()) }

func (w *World) opinions() []scenario.Opinion {
	all := make([]scenario.Opinion, len(w.nodes))
	for i, n := range w.nodes {
		all[i] = scenario.Opinion{Leader: Number(n.leader.ID), Epoch: n.leader.Epoch, Down: !n.up, Paused: n.paused}
	}
	return all
}

// Leader returns whom all nodes that run follow, by number, and its epoch. It is false
// when they do not agree, when they follow nobody or somebody who does not run, and when
// nobody runs.
func (w *World) Leader() (leader int, epoch algo.Epoch, agreed bool) {
	common := scenario.Agreed(w.opinions())
	return common.Leader, common.Epoch, common.Leader > 0
}

// highest is the number of the highest node that runs, in the order of candidates; 0
// when nobody runs.
func (w *World) highest() int {
	var best *node
	for _, n := range w.nodes {
		if n.up && !n.paused && (best == nil || n.standing().Compare(best.standing()) > 0) {
			best = n
		}
	}
	if best == nil {
		return 0
	}
	return best.number()
}

// Cluster makes so many nodes with one list of members, and starts them all. Priorities, if any,
// are those of the nodes in their order; without, all have 0.
func (w *World) Cluster(size int, priorities ...int) error {
	switch {
	case len(w.nodes) > 0:
		return fmt.Errorf("sim: there are %d nodes already", len(w.nodes))
	case size < 1 || size > maxNodes:
		return fmt.Errorf("sim: a cluster of %d, want 1 to %d", size, maxNodes)
	case len(priorities) > 0 && len(priorities) != size:
		return fmt.Errorf("sim: %d priorities for %d nodes", len(priorities), size)
	}
	w.did(strings.TrimSpace(fmt.Sprint("cluster ", size, " ", strings.Trim(fmt.Sprint(priorities), "[]"))))
	for i := range size {
		n := w.add()
		if len(priorities) > 0 {
			n.member.Priority = priorities[i]
		}
	}
	w.list = slices.Clone(w.nodes)
	known := w.everyone()
	for _, n := range w.nodes {
		if w.network.connected {
			n.list = w.list
		} else {
			n.record = known // from the beginning: what meeting costs is not counted
		}
	}
	for _, n := range w.nodes {
		if w.stuck || w.stopped() {
			return nil // whoever waits for it sees why
		}
		n.start()
	}
	return nil
}

// clusterID is that of every cluster in a world.
var clusterID = algo.NodeID{0: 0xc1, 6: 0x40, 8: 0x80, 15: 1}

// add makes the next node, which does not run yet.
func (w *World) add() *node {
	id := ID(len(w.nodes) + 1)
	name := Name(id)
	n := &node{
		w: w, index: int32(len(w.nodes)), id: id, name: name, member: algo.Member{ID: id, Name: name, Addr: name + ":7400", Eligible: true},
		clock: clock{ppm: perfect}, wakeAt: never, links: make(map[int32]*conn),
	}
	w.nodes = append(w.nodes, n)
	w.network.listens[n.member.Addr] = n.index
	return n
}

// everyone returns the record of a node that knows all nodes there are, of which the config is committed.
func (w *World) everyone() algo.Message {
	config := membership.Config{Cluster: clusterID, ID: membership.ConfigID{Version: 1}, Author: ID(1), Members: make([]membership.Member, 0, len(w.nodes))}
	for _, n := range w.nodes {
		config.Members = append(config.Members, membership.MemberOf(n.member))
	}
	return membership.Share(membership.Record{Config: config, Committed: true, WasMember: true})
}

// Run passes time.
func (w *World) Run(period time.Duration) {
	w.didRun(period)
	w.pass(w.now + period)
}

func (w *World) pass(end time.Duration) { w.until(end, func() bool { return false }) }

// until passes time until it is enough, and reports that, or until end.
func (w *World) until(end time.Duration, enough func() bool) bool {
	for steps := 1; w.step(end); steps++ {
		switch {
		case steps%4096 == 0 && w.stopped():
			return false
		case enough():
			return true
		}
	}
	w.now = max(w.now, end) // nothing was left to happen
	return false
}

// within has a world do something until ctx is done, whose error is then that of ctx.
func (w *World) within(ctx context.Context, do func() error) error {
	w.stop = ctx.Done()
	err := do()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// stopped reports whether nobody waits any more for what comes.
func (w *World) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// step does the next thing that happens before or at end; false when there is none.
// Deliveries come before timers.
func (w *World) step(end time.Duration) bool {
	if w.stuck {
		return false
	}
	at, queued := w.queue.NextTime()
	wake, due := w.due.NextTime()
	switch {
	case queued && (!due || at <= wake):
		if at > end {
			return false
		}
		w.now = at
		w.happen(w.queue.Pop())
	case due && wake <= end:
		if n := w.due.take(); n != nil { // else nothing happens, and it is no later
			w.now = max(w.now, wake)
			n.perform(n.engine.Wake(n.now()))
		}
	default:
		return false
	}
	return true
}

func (w *World) happen(e event) {
	n := w.nodes[e.node]
	switch e.action {
	case deliver:
		w.arrive(n, e)
	case knock:
		w.knocked(n, e)
	default:
		if n.up && n.life == e.life {
			w.happensTo(n, e)
		}
	}
}

// happensTo has a process take what was meant for it. While it is paused its kernel
// keeps that.
func (w *World) happensTo(n *node, e event) {
	if n.paused && e.action != saved && e.action != beat {
		n.waiting = append(n.waiting, e)
		return
	}
	peer := w.nodes[e.peer]
	switch e.action {
	case deliver:
		n.receive(peer, e)
	case knock:
		w.knocked(n, e)
	case greet:
		w.hello(n, peer, e)
	case answer:
		w.answered(n, peer, e)
	case fail:
		n.dialFailed(e.body.(dial), peer)
	case hangUp:
		w.hungUp(n, peer, e)
	case learnCrash:
		if !peer.up { // else it is known already that it runs again
			n.script.Suspect(n.now(), peer.id, "it crashed")
			n.perform(n.engine.Wake(n.now()))
		}
	case learnRestart:
		n.script.Suspect(n.now(), peer.id, "it was restarted") // if that is news
		n.perform(n.engine.Wake(n.now()))
		switch {
		case !n.up || n.life != e.life:
		case n.paused:
			n.waiting = append(n.waiting, e)
		default:
			n.script.Trust(n.now(), peer.id, "it runs again")
			n.perform(n.engine.Wake(n.now()))
		}
	case beat:
		for _, b := range n.engine.Heartbeats() {
			w.send(n, b.To, b.Message)
		}
	case saved:
		n.saved()
	}
}

// counted reports whether a message is of the algorithm, and no repeat.
func (w *World) counted(m algo.Message) bool {
	_, repeat := algo.Open(m)
	return !repeat && w.kinds[m.Kind()]
}

// Counts are messages of the algorithm by kind. Repeats of what was said before are
// not in them.
type Counts struct {
	Sent, Delivered map[string]uint64
}

// Counts returns what was counted since the beginning, or since ResetCounts.
func (w *World) Counts() Counts {
	return Counts{Sent: maps.Clone(w.counts.Sent), Delivered: maps.Clone(w.counts.Delivered)}
}

// ResetCounts sets all counts to zero.
func (w *World) ResetCounts() {
	w.counts = Counts{Sent: make(map[string]uint64), Delivered: make(map[string]uint64)}
}

// Frames is how many messages of any kind were sent since the beginning, heartbeats
// and those of the membership included.
func (w *World) Frames() uint64 { return w.sent }

func (w *World) emit(e trace.Event) {
	if w.config.Trace != nil {
		e.At = w.now
		w.config.Trace(e)
	}
}
