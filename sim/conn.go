package sim

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/engine"
)

// conn is a connection between two processes. Each side learns of its beginning and of
// its end in its own time, and of the end maybe never.
type conn struct {
	id    uint32
	nodes [2]*node
	lives [2]uint32
	ended [2]bool // that side knows that it is over, or died
}

// side is the place of n in the arrays of c.
func (c *conn) side(n *node) int {
	if c.nodes[0] == n {
		return 0
	}
	return 1
}

// stands reports whether neither side has ended it. The other side may be about to
// learn of it.
func (c *conn) stands() bool {
	return c != nil && !c.ended[0] && !c.ended[1]
}

// between is the key of the connections of two nodes.
func between(a, b *node) pair { return pair{min(a.index, b.index), max(a.index, b.index)} }

// link is the connection to a peer that n knows to stand, or nil.
func (n *node) link(peer *node) *conn { return n.links[peer.index] }

// maxQueued is how many messages wait for one dial, as in the live cluster.
const maxQueued = 1024

// wait keeps a message until there is a connection, and dials if nobody does.
func (w *World) wait(n, peer *node, m algo.Message) {
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

// dial makes one attempt, unless there is a connection or another attempt.
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
		w.fails(n, target, fd.DialTimeout, w.now+algo.DialTimeout)
		return
	}
	b := w.nodes[at]
	w.queue.Add(w.travel(n, b, false), event{
		action: knock, node: b.index, peer: n.index, life: n.life, body: dial{target: target},
	})
}

func (w *World) fails(n *node, target engine.Target, fact fd.DialResult, at time.Duration) {
	w.queue.Add(at, event{action: fail, node: n.index, peer: n.index, life: n.life, body: dial{target, fact}})
}

// knocked is a dial that arrives at b.
func (w *World) knocked(b *node, e event) {
	a, target := w.nodes[e.peer], e.body.(dial).target
	if !a.up || a.life != e.life {
		return // nobody waits for the answer
	}
	timeout := w.now + algo.DialTimeout
	switch {
	case w.isCut(a, b) || w.isCut(b, a):
		w.fails(a, target, fd.DialTimeout, timeout)
	case !b.up:
		w.fails(a, target, fd.DialRefused, w.travel(b, a, false))
	case a == b:
		w.fails(a, target, 0, w.now)
	case b.unsaved != nil:
		b.waiting = append(b.waiting, e)
	case b.paused:
		w.fails(a, target, fd.DialTimeout, timeout) // its kernel accepts, and that is all
	case !target.ID.IsZero() && target.ID != b.id:
		w.fails(a, target, fd.DialTimeout, w.travel(b, a, false))
	case w.network.conns[between(a, b)].stands():
		if target.ID.IsZero() { // who is there is news all the same
			w.queue.Add(w.travel(b, a, false), event{action: fail, node: a.index, peer: b.index, life: a.life, body: dial{target: target}})
			return
		}
		// They dialled each other at once: one connection is enough.
		a.dialing = slices.DeleteFunc(a.dialing, func(t engine.Target) bool { return t == target })
	default:
		w.connect(a, b, target)
	}
}

// connect makes the connection that a dialled. b learns of it now, a when the answer is
// there.
func (w *World) connect(a, b *node, target engine.Target) {
	w.network.made++
	c := &conn{id: w.network.made, nodes: [2]*node{a, b}, lives: [2]uint32{a.life, b.life}}
	w.network.conns[between(a, b)] = c
	w.queue.Add(w.travel(b, a, false), event{
		action: answer, node: a.index, peer: b.index, life: a.life, link: c.id, body: dial{target: target},
	})
	w.happensTo(b, event{action: greet, node: b.index, peer: a.index, life: b.life, link: c.id, body: dial{}})
}

// answered is the answer to a dial of a.
func (w *World) answered(a, b *node, e event) {
	target := e.body.(dial).target
	c := w.network.conns[between(a, b)]
	switch {
	case c == nil || c.id != e.link:
		a.dialFailed(dial{target, fd.DialReset}, b)
	case w.isCut(b, a):
		c.ended[c.side(a)] = true
		w.fails(a, target, fd.DialTimeout, w.now+algo.DialTimeout)
	default: // also if b has ended it since: what b has sent before comes first, as on a TCP connection
		a.dialing = slices.DeleteFunc(a.dialing, func(t engine.Target) bool { return t == target })
		e.action = greet
		w.hello(a, b, e)
	}
}

// hello tells n that it is connected to peer, at the address that it dialled, if it did. A connection that n still believed in is
// replaced, which shows only if it was to another process.
func (w *World) hello(n, peer *node, e event) {
	c := w.network.conns[between(n, peer)]
	if c == nil || c.id != e.link {
		return
	}
	now, life := n.now(), n.life
	old := n.link(peer)
	again := old != nil && old.lives[old.side(peer)] == c.lives[c.side(peer)]
	if old != nil && !again {
		delete(n.links, peer.index)
		n.perform(n.engine.Down(now, peer.id, false))
		switch {
		case !n.up || n.life != life:
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
		w.transmit(n, peer, m, w.counted(m), c.id)
	}
	if !again {
		n.perform(n.engine.Up(now, engine.Peer{
			ID: peer.id, Name: peer.member.Name, Incarnation: uint64(c.lives[c.side(peer)]), Digest: peer.engine.Digest(), Addr: peer.member.Addr, Dialed: e.body.(dial).target.Addr,
		}))
	}
}

// hungUp is the end of a connection, as n learns it.
func (w *World) hungUp(n, peer *node, e event) {
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
	n.perform(n.engine.Down(n.now(), peer.id, e.polite))
}

// refuse ends a connection that n does not want.
func (w *World) refuse(n *node, id algo.NodeID) {
	peer := w.find(id)
	if peer == nil || n.link(peer) == nil {
		return
	}
	link := n.link(peer).id
	w.queue.Add(w.now, event{action: hangUp, own: true, node: n.index, peer: peer.index, life: n.life, link: link})
	w.reset(n, peer, link)
}

// reset has a peer learn that a connection is over, as n or its kernel says.
func (w *World) reset(n, peer *node, link uint32) {
	if peer.up && !w.isCut(n, peer) {
		w.queue.Add(w.travel(n, peer, false), event{action: hangUp, node: peer.index, peer: n.index, life: peer.life, link: link})
	}
}

// hangUp is what the kernel of n does when the process ends.
func (w *World) hangUp(n *node, politely bool) {
	for _, peer := range w.nodes {
		c := w.network.conns[between(n, peer)]
		if c == nil || c.ended[c.side(n)] {
			continue
		}
		c.ended[c.side(n)] = true
		if !c.ended[c.side(peer)] {
			w.queue.Add(w.travel(n, peer, false), event{action: hangUp, polite: politely, node: peer.index, peer: n.index, life: c.lives[c.side(peer)], link: c.id})
		}
	}
}
