package sim

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/engine"
)

// conn is a connection between two processes. The sides learn of its start and end at different times, and may never
// learn of its end.
type conn struct {
	id           uint32
	nodes        [2]*node
	incarnations [2]uint32
	ended        [2]bool // the side knows of the end, or crashed
}

// side returns the index of n in the arrays of c.
func (c *conn) side(n *node) int {
	if c.nodes[0] == n {
		return 0
	}
	return 1
}

// stands reports whether neither side has ended the connection.
func (c *conn) stands() bool {
	return c != nil && !c.ended[0] && !c.ended[1]
}

// between returns the key of the connection of two nodes.
func between(a, b *node) pair { return pair{min(a.index, b.index), max(a.index, b.index)} }

// link returns the connection to a peer that n considers open, or nil.
func (n *node) link(peer *node) *conn { return n.links[peer.index] }

// maxQueued is the maximum number of messages that wait for one dial, as in package cluster.
const maxQueued = 1024

// queueMessage keeps a message until there is a connection, and dials.
func (w *World) queueMessage(n, peer *node, m algo.Message) {
	known, ok := n.engine.View().Member(peer.id)
	if !ok {
		w.drop(n, peer, m, "it is no member")
		return
	}
	if n.queued == nil {
		n.queued = make(map[int32][]algo.Message)
	}
	if len(n.queued[peer.index]) < maxQueued {
		n.queued[peer.index] = append(n.queued[peer.index], m)
	} else {
		w.drop(n, peer, m, "too many wait for a connection")
	}
	w.dial(n, engine.Target{ID: peer.id, Addr: known.Addr})
}

// dial dials target unless n is connected to it or already dials it.
func (w *World) dial(n *node, target engine.Target) {
	if !w.network.connected || slices.Contains(n.dialing, target) {
		return
	}
	if peer := w.find(target.ID); peer != nil && n.link(peer) != nil {
		return
	}
	n.dialing = append(n.dialing, target)
	at, known := w.network.listens[target.Addr]
	if !known {
		w.failDial(n, target, fd.DialTimeout, w.now+algo.DialTimeout)
		return
	}
	b := w.nodes[at]
	w.queue.Add(w.travel(n, b, false), event{
		action: knock, node: b.index, peer: n.index, incarnation: n.incarnation, body: dial{target: target},
	})
}

func (w *World) failDial(n *node, target engine.Target, fact fd.DialResult, at time.Duration) {
	w.queue.Add(at, event{action: fail, node: n.index, peer: n.index, incarnation: n.incarnation, body: dial{target, fact}})
}

// handleDial handles a dial that arrives at b.
func (w *World) handleDial(b *node, e event) {
	a, target := w.nodes[e.peer], e.body.(dial).target
	if !a.up || a.incarnation != e.incarnation {
		return // the dialer has crashed
	}
	timeout := w.now + algo.DialTimeout
	switch {
	case w.isCut(a, b) || w.isCut(b, a):
		w.failDial(a, target, fd.DialTimeout, timeout)
	case !b.up:
		w.failDial(a, target, fd.DialRefused, w.travel(b, a, false))
	case a == b:
		w.failDial(a, target, 0, w.now)
	case b.unsaved != nil:
		b.waiting = append(b.waiting, e)
	case b.paused:
		w.failDial(a, target, fd.DialTimeout, timeout) // its kernel accepts, and the process does not answer
	case !target.ID.IsZero() && target.ID != b.id:
		w.failDial(a, target, fd.DialTimeout, w.travel(b, a, false))
	case w.network.conns[between(a, b)].stands():
		if target.ID.IsZero() { // a seed is connected already: the dialer still learns its ID
			w.queue.Add(w.travel(b, a, false), event{action: fail, node: a.index, peer: b.index, incarnation: a.incarnation, body: dial{target: target}})
			return
		}
		// Both dialed at the same time: one connection is enough.
		a.dialing = slices.DeleteFunc(a.dialing, func(t engine.Target) bool { return t == target })
	default:
		w.connect(a, b, target)
	}
}

// connect creates the connection that a dialed. b learns of it now, a when the answer arrives.
func (w *World) connect(a, b *node, target engine.Target) {
	w.network.made++
	c := &conn{id: w.network.made, nodes: [2]*node{a, b}, incarnations: [2]uint32{a.incarnation, b.incarnation}}
	w.network.conns[between(a, b)] = c
	w.queue.Add(w.travel(b, a, false), event{
		action: answer, node: a.index, peer: b.index, incarnation: a.incarnation, link: c.id, body: dial{target: target},
	})
	w.happensTo(b, event{action: greet, node: b.index, peer: a.index, incarnation: b.incarnation, link: c.id, body: dial{}})
}

// handleDialAnswer handles the answer to a dial of a.
func (w *World) handleDialAnswer(a, b *node, e event) {
	target := e.body.(dial).target
	c := w.network.conns[between(a, b)]
	switch {
	case c == nil || c.id != e.link:
		a.dialFailed(dial{target, fd.DialReset}, b)
	case w.isCut(b, a):
		c.ended[c.side(a)] = true
		w.failDial(a, target, fd.DialTimeout, w.now+algo.DialTimeout)
	default: // even if b has ended it: as with TCP, the earlier frames of b come first
		a.dialing = slices.DeleteFunc(a.dialing, func(t engine.Target) bool { return t == target })
		e.action = greet
		w.handleConnect(a, b, e)
	}
}

// handleConnect informs n about its connection to peer. The connection replaces an older one, which ends visibly only
// if it was to another incarnation.
func (w *World) handleConnect(n, peer *node, e event) {
	c := w.network.conns[between(n, peer)]
	if c == nil || c.id != e.link {
		return
	}
	now, incarnation := n.now(), n.incarnation
	old := n.link(peer)
	sameIncarnation := old != nil && old.incarnations[old.side(peer)] == c.incarnations[c.side(peer)]
	if old != nil && !sameIncarnation {
		delete(n.links, peer.index)
		n.perform(n.engine.Down(now, peer.id, false))
		switch {
		case !n.up || n.incarnation != incarnation:
			return
		case n.paused:
			n.waiting = append(n.waiting, e)
			return
		}
	}
	n.links[peer.index] = c
	waiting := n.queued[peer.index]
	delete(n.queued, peer.index)
	for _, m := range waiting {
		w.transmit(n, peer, m, w.isCounted(m), c.id)
	}
	if !sameIncarnation {
		n.perform(n.engine.Up(now, engine.Peer{
			ID: peer.id, Name: peer.member.Name, Incarnation: uint64(c.incarnations[c.side(peer)]), Digest: peer.engine.Digest(), Addr: peer.member.Addr, Dialed: e.body.(dial).target.Addr,
		}))
	}
}

// handleHangUp handles the end of a connection at n.
func (w *World) handleHangUp(n, peer *node, e event) {
	if !e.own && w.isCut(peer, n) {
		return
	}
	if c := w.network.conns[between(n, peer)]; c != nil && c.id == e.link {
		c.ended[c.side(n)] = true
	}
	c := n.link(peer)
	if c == nil || c.id != e.link {
		return
	}
	delete(n.links, peer.index)
	n.discard(peer, "the connection broke")
	n.perform(n.engine.Down(n.now(), peer.id, e.graceful))
}

// rejectPeer closes a connection that n rejects.
func (w *World) rejectPeer(n *node, id algo.NodeID) {
	peer := w.find(id)
	if peer == nil || n.link(peer) == nil {
		return
	}
	link := n.link(peer).id
	w.queue.Add(w.now, event{action: hangUp, own: true, node: n.index, peer: peer.index, incarnation: n.incarnation, link: link})
	w.reset(n, peer, link)
}

// reset informs a peer that n, or its kernel, closed a connection.
func (w *World) reset(n, peer *node, link uint32) {
	if peer.up && !w.isCut(n, peer) {
		w.queue.Add(w.travel(n, peer, false), event{action: hangUp, node: peer.index, peer: n.index, incarnation: peer.incarnation, link: link})
	}
}

// hangUp closes all connections of n, as its kernel does when the process ends.
func (w *World) hangUp(n *node, graceful bool) {
	for _, peer := range w.nodes {
		c := w.network.conns[between(n, peer)]
		if c == nil || c.ended[c.side(n)] {
			continue
		}
		c.ended[c.side(n)] = true
		if !c.ended[c.side(peer)] {
			w.queue.Add(w.travel(n, peer, false), event{action: hangUp, graceful: graceful, node: peer.index, peer: n.index, incarnation: c.incarnations[c.side(peer)], link: c.id})
		}
	}
}
