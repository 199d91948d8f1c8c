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

// Config configures a World.
type Config struct {
	Spec   algo.Spec
	Timing algo.Timing // LAN if zero
	// Delay is the default delay of all links.
	Delay Delay
	// Faults are the network faults on all links.
	Faults   Faults
	Detector DetectorKind
	// Seed determines all random choices.
	Seed uint64
	// Budget is the maximum number of messages, heartbeats included; 0 for 100 million. If a run exceeds it, or
	// has more than eight million messages in flight, the world halts with a Violation of Budget.
	Budget uint64
	// Trace, if set, receives all events. It must not call the world.
	Trace func(trace.Event)
}

// Faults are random network faults of frames. Each is a probability from 0 to 1.
type Faults struct {
	Loss      float64 // the frame does not arrive
	Duplicate float64 // the frame arrives twice, each copy with its own delay
	Reorder   float64 // the frame may overtake others, and takes up to four times as long
}

// World simulates nodes and their network in virtual time. It is not safe for concurrent use.
//
// Nodes are numbered from 1, in the order of their IDs, and named n1, n2, and so on.
// If Do or Cluster is not possible, it returns an error and does nothing.
type World struct {
	config   Config
	now      time.Duration
	random   *rand.Rand
	queue    algosim.Queue[event]
	room     int // maximum length of queue
	due      deadlines
	nodes    []*node
	list     []*node         // static members; an operator may change them
	kinds    map[string]bool // kinds of messages that are counted
	counts   Counts
	sent     uint64
	underWay int // counted messages in flight
	changed  time.Duration
	active   time.Duration
	traced   int             // number of events that Config.Trace has received
	halted   bool            // the budget is exhausted, the algorithm broke the contract, or the context ended
	stop     <-chan struct{} // stops the run when closed; may be nil
	checker  checker
	network  network
	history  []string
	ran      time.Duration // duration of the last line of history if it is a run, otherwise 0
}

// New returns a world without nodes, at time 0.
func New(config Config) *World {
	config.Timing = cmp.Or(config.Timing, algo.LAN())
	config.Budget = cmp.Or(config.Budget, 100_000_000)
	w := &World{
		config: config, random: rand.New(rand.NewPCG(config.Seed, 1)), room: maxUnderWay,
		network: newNetwork(config), kinds: make(map[string]bool),
		checker: checker{configs: make(map[algo.ConfigID]string), removedAt: make(map[algo.NodeID]algo.ConfigID)},
	}
	for _, m := range config.Spec.Messages {
		w.kinds[m.Kind()] = true
	}
	w.ResetCounts()
	return w
}

// maxUnderWay limits the messages in flight, and so the memory of a world to about 3 GiB. It suffices if each of
// 4,096 nodes asks all higher nodes.
const maxUnderWay = 1 << 23

// maxNodes is the maximum number of nodes.
const maxNodes = 1 << 20

// find returns the node with an ID, or nil.
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

// ID returns the ID of node number n. The node need not exist.
func ID(n int) algo.NodeID { return algosim.ID(n) }

// Number is the inverse of ID. It returns 0 for any other ID.
func Number(id algo.NodeID) int { return algosim.Number(id) }

// Name returns the name of a node: n1 for the first one.
func Name(id algo.NodeID) string { return algosim.Name(id) }

// Now returns the virtual time since the start of the world.
func (w *World) Now() time.Duration { return w.now }

// Nodes returns the number of nodes, including those that do not run.
func (w *World) Nodes() int { return len(w.nodes) }

// View returns the view of node n, or an empty view if n does not run.
func (w *World) View(n int) algo.View {
	if n, err := w.node(n); err == nil && n.up {
		return n.engine.View()
	}
	return algo.View{}
}

// Follows returns the leader that node n announced last. It returns false if n does not run.
func (w *World) Follows(n int) (algo.Leader, bool) {
	if n, err := w.node(n); err == nil && n.up {
		return n.leader, true
	}
	return algo.Leader{}, false
}

// Opinions describes the leader that each node follows.
func (w *World) Opinions() string { return scenario.Opinions(w.opinions()) }

func (w *World) opinions() []scenario.Opinion {
	all := make([]scenario.Opinion, len(w.nodes))
	for i, n := range w.nodes {
		all[i] = scenario.Opinion{Leader: Number(n.leader.ID), Epoch: n.leader.Epoch, Down: !n.up, Paused: n.paused}
	}
	return all
}

// Leader returns the number and epoch of the leader that all running nodes follow. It returns false if they do not
// agree, follow no leader, or follow a node that does not run.
func (w *World) Leader() (leader int, epoch algo.Epoch, agreed bool) {
	common := scenario.Agreed(w.opinions())
	return common.Leader, common.Epoch, common.Leader > 0
}

// highest returns the number of the highest running node in the order of candidates, or 0.
func (w *World) highest() int {
	var best *node
	for _, n := range w.nodes {
		if n.up && !n.paused && (best == nil || n.asCandidate().Compare(best.asCandidate()) > 0) {
			best = n
		}
	}
	if best == nil {
		return 0
	}
	return best.number()
}

// Cluster creates size nodes with the same static members and starts them. The priorities are those of n1, n2, and
// so on; without priorities, all nodes have 0.
func (w *World) Cluster(size int, priorities ...int) error {
	switch {
	case len(w.nodes) > 0:
		return fmt.Errorf("sim: there are %d nodes already", len(w.nodes))
	case size < 1 || size > maxNodes:
		return fmt.Errorf("sim: a cluster of %d, want 1 to %d", size, maxNodes)
	case len(priorities) > 0 && len(priorities) != size:
		return fmt.Errorf("sim: %d priorities for %d nodes", len(priorities), size)
	}
	w.record(strings.TrimSpace(fmt.Sprint("cluster ", size, " ", strings.Trim(fmt.Sprint(priorities), "[]"))))
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
			n.record = known // the nodes know each other; discovery is not counted
		}
	}
	for _, n := range w.nodes {
		if w.halted || w.isStopped() {
			return nil // a violation or the context gives the reason
		}
		n.start()
	}
	return nil
}

// clusterID is the cluster ID of all worlds.
var clusterID = algo.NodeID{0: 0xc1, 6: 0x40, 8: 0x80, 15: 1}

// add creates the next node without starting it.
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

// everyone returns a membership record with a committed config of all nodes.
func (w *World) everyone() algo.Message {
	config := membership.Config{Cluster: clusterID, ID: membership.ConfigID{Version: 1}, Author: ID(1), Members: make([]membership.Member, 0, len(w.nodes))}
	for _, n := range w.nodes {
		config.Members = append(config.Members, membership.MemberOf(n.member))
	}
	return membership.Share(membership.Record{Config: config, Committed: true, WasMember: true})
}

// Run runs the world for a period.
func (w *World) Run(period time.Duration) {
	w.recordRun(period)
	w.pass(w.now + period)
}

func (w *World) pass(end time.Duration) { w.until(end, func() bool { return false }) }

// until runs the world until enough or end. It reports whether enough returned true.
func (w *World) until(end time.Duration, enough func() bool) bool {
	for steps := 1; w.step(end); steps++ {
		switch {
		case steps%4096 == 0 && w.isStopped():
			return false
		case enough():
			return true
		}
	}
	w.now = max(w.now, end) // no event is left before end
	return false
}

// within calls do, which stops when ctx is done. The error is then the cause of ctx.
func (w *World) within(ctx context.Context, do func() error) error {
	w.stop = ctx.Done()
	err := do()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// isStopped reports whether the context of the run is done.
func (w *World) isStopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// step handles the next event at or before end. It reports whether there was one. Deliveries come before timers.
func (w *World) step(end time.Duration) bool {
	if w.halted {
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
		if n := w.due.take(); n != nil { // otherwise the deadline was replaced: the time stays
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
		w.handleDial(n, e)
	default:
		if n.up && n.incarnation == e.incarnation {
			w.happensTo(n, e)
		}
	}
}

// happensTo passes an event to a process. While the process is paused, its kernel keeps the event.
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
		w.handleDial(n, e)
	case greet:
		w.handleConnect(n, peer, e)
	case answer:
		w.handleDialAnswer(n, peer, e)
	case fail:
		n.dialFailed(e.body.(dial), peer)
	case hangUp:
		w.handleHangUp(n, peer, e)
	case learnCrash:
		if !peer.up { // otherwise the detector already knows the restart
			n.script.Suspect(n.now(), peer.id, "it crashed")
			n.perform(n.engine.Wake(n.now()))
		}
	case learnRestart:
		n.script.Suspect(n.now(), peer.id, "it was restarted") // has no effect if already suspected
		n.perform(n.engine.Wake(n.now()))
		switch {
		case !n.up || n.incarnation != e.incarnation:
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
		n.finishSave()
	}
}

// isCounted reports whether a message belongs to the algorithm and is not periodic.
func (w *World) isCounted(m algo.Message) bool {
	_, repeat := algo.Unwrap(m)
	return !repeat && w.kinds[m.Kind()]
}

// Counts are the messages of the algorithm by kind, without periodic messages.
type Counts struct {
	Sent, Delivered map[string]uint64
}

// Counts returns the counts since the start of the world or ResetCounts.
func (w *World) Counts() Counts {
	return Counts{Sent: maps.Clone(w.counts.Sent), Delivered: maps.Clone(w.counts.Delivered)}
}

// ResetCounts sets all counts to zero.
func (w *World) ResetCounts() {
	w.counts = Counts{Sent: make(map[string]uint64), Delivered: make(map[string]uint64)}
}

// Frames returns the number of all sent messages, including heartbeats and messages of the membership.
func (w *World) Frames() uint64 { return w.sent }

func (w *World) emit(e trace.Event) {
	if w.config.Trace != nil {
		e.At = w.now
		w.traced++
		w.config.Trace(e)
	}
}
