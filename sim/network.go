package sim

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// pair is a pair of node indexes with a direction.
type pair struct{ from, to int32 }

// network is the network between the nodes.
type network struct {
	delay  Delay
	links  map[pair]Delay // links with their own delay
	faults Faults
	cuts   map[pair]bool // all frames are dropped
	next   []nextFault   // each for one message

	// ordered links keep the order of frames; last is the arrival of the last frame of a link.
	ordered bool
	last    map[pair]time.Duration

	connected bool // nodes use connections
	conns     map[pair]*conn
	made      uint32
	listens   map[string]int32 // nodes by address
}

func newNetwork(c Config) network {
	connected := c.Detector == Heartbeats
	return network{
		delay: c.Delay, faults: c.Faults, connected: connected, ordered: connected || c.Delay.Least != c.Delay.Most,
		links: make(map[pair]Delay), cuts: make(map[pair]bool), conns: make(map[pair]*conn), last: make(map[pair]time.Duration), listens: make(map[string]int32),
	}
}

func (w *World) isCut(from, to *node) bool {
	return len(w.network.cuts) > 0 && w.network.cuts[pair{from.index, to.index}]
}

// nextFault is what happens to the next message of a kind in one direction.
type nextFault struct {
	pair
	kind  string
	drops bool
	delay time.Duration // if it is not dropped
}

// takeNext removes the fault for a message, if there is one.
func (w *World) takeNext(from, to *node, m algo.Message) (f nextFault, found bool) {
	net := &w.network
	if len(net.next) == 0 || !w.isCounted(m) {
		return f, false
	}
	i := slices.IndexFunc(net.next, func(f nextFault) bool { return f.pair == pair{from.index, to.index} && f.kind == m.Kind() })
	if i < 0 {
		return f, false
	}
	f = net.next[i]
	net.next = slices.Delete(net.next, i, i+1)
	return f, true
}

// travel returns the arrival time of a frame that is sent now. If overtakes is false, the frame does not overtake
// other such frames.
func (w *World) travel(from, to *node, overtakes bool) time.Duration {
	net := &w.network
	delay := net.delay
	if len(net.links) > 0 {
		if own, ok := net.links[pair{from.index, to.index}]; ok {
			delay = own
		}
	}
	at := w.now + delay.draw(w.random)
	if !net.ordered {
		return at
	}
	if overtakes {
		return at + time.Duration(w.random.Int64N(int64(3*delay.Most)+1))
	}
	p := pair{from.index, to.index}
	at = max(at, net.last[p])
	net.last[p] = at
	return at
}

func (w *World) chance(p float64) bool { return p > 0 && w.random.Float64() < p }

// send sends a message of a node. A halted world drops it: a single event may produce more messages than fit in
// memory.
func (w *World) send(n *node, to algo.NodeID, m algo.Message) {
	if w.halted {
		return
	}
	w.sent++
	switch {
	case w.sent > w.config.Budget:
		w.halted = true
		w.violate(Budget, "%d messages were sent", w.sent)
		return
	case w.queue.Len() >= w.room:
		w.halted = true
		w.violate(Budget, "%d messages are in flight at once", w.queue.Len())
		return
	case w.sent%4096 == 0 && w.isStopped():
		w.halted = true
		return
	}
	counted := w.isCounted(m)
	if counted {
		w.counts.Sent[m.Kind()]++
		w.active = w.now
	}
	peer := w.find(to)
	switch {
	case peer == nil:
		return
	case !w.network.connected:
		w.transmit(n, peer, m, counted, 0)
		return
	}
	if c := n.link(peer); c != nil {
		w.transmit(n, peer, m, counted, c.id)
		return
	}
	w.queueMessage(n, peer, m)
}

// transmit schedules the arrival of a message.
func (w *World) transmit(from, to *node, m algo.Message, counted bool, link uint32) {
	faults := &w.network.faults
	own, isOwn := w.takeNext(from, to, m)
	switch {
	case w.isCut(from, to):
		w.drop(from, to, m, "cut off")
		return
	case isOwn && own.drops:
		w.drop(from, to, m, "lost")
		return
	case w.chance(faults.Loss):
		w.drop(from, to, m, "lost")
		return
	}
	e := event{action: deliver, counted: counted, node: to.index, peer: from.index, link: link, body: m}
	copies := 1
	if w.chance(faults.Duplicate) {
		copies = 2
	}
	for range copies {
		if counted {
			w.underWay++
		}
		p := pair{from.index, to.index}
		last := w.network.last[p]
		at := w.travel(from, to, w.chance(faults.Reorder)) // also if isOwn, so that all other random choices stay the same
		if isOwn {
			at = w.now + own.delay
			if w.network.ordered { // later frames wait for it
				at = max(at, last)
				w.network.last[p] = at
			}
		}
		w.queue.Add(at, e)
	}
}

// arrive handles the arrival of a message.
func (w *World) arrive(n *node, e event) {
	if e.counted {
		w.underWay--
	}
	from := w.nodes[e.peer]
	switch {
	case w.isCut(from, n):
		w.drop(from, n, e.body, "cut off")
		return
	case w.network.connected && (!n.up || n.link(from) == nil || n.link(from).id != e.link):
		w.drop(from, n, e.body, "no connection")
		if c := w.network.conns[between(n, from)]; c == nil || c.id != e.link || c.ended[c.side(n)] {
			w.reset(n, from, e.link)
		} // otherwise the answer to the dial has not arrived yet
		return
	case !n.up:
		w.drop(from, n, e.body, "not running")
		return
	}
	w.happensTo(n, e)
}

// drop traces a message that does not arrive.
func (w *World) drop(from, to *node, m algo.Message, why string) {
	if w.config.Trace != nil {
		w.emit(trace.Event{Node: to.id, Kind: trace.Drop, Peer: from.id, Message: m, Format: why})
	}
}
