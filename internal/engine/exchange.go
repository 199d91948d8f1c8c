package engine

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// pause is the time between two rosters that answer one peer. Nodes that never come
// to agree, because one of them is not what it should be, must not keep each other
// busy with it.
const pause = 100 * time.Millisecond

// met is what this node knows of what a peer knows of the membership. Without one the
// peer may never have heard of this node.
type met struct {
	digest uint64        // of the roster that it was told last
	at     time.Duration // when
	owed   bool          // it is to be told again, after the pause
	has    uint64        // the digest of ours that it has shown last
}

// tell sends our roster at once, before what the algorithm will send to the same
// peer in this Output: a stranger's messages are refused.
func (e *Engine) tell(now time.Duration, peer algo.NodeID) {
	e.send(now, peer, e.members.record())
	e.met[peer] = met{digest: e.members.digest, at: now, has: e.met[peer].has}
}

// broadcast tells every member.
func (e *Engine) broadcast(now time.Duration) {
	for peer := range e.view().Others(e.config.Self.ID) {
		e.tell(now, peer)
	}
}

// introduce tells a member that may not have heard of this node, before anything
// else is said to it.
func (e *Engine) introduce(now time.Duration, peer algo.NodeID) {
	if e.members.shared {
		return // everybody knows everybody
	}
	if _, ok := e.met[peer]; !ok && e.view().Contains(peer) {
		e.tell(now, peer)
	}
}

// compare has our roster sent to a peer that shows another digest.
func (e *Engine) compare(now time.Duration, peer algo.NodeID, digest uint64) {
	switch {
	case e.joining():
	case digest == e.members.digest && e.awaits(peer):
		e.heal(now, peer)
	case digest == e.members.digest:
		e.agreed(peer)
	default:
		e.heal(now, peer)
	}
}

// agreed notes that a peer knows what we know.
func (e *Engine) agreed(peer algo.NodeID) {
	m := e.met[peer]
	m.digest, m.has, m.owed = e.members.digest, e.members.digest, false
	e.met[peer] = m
}

// settled says to a peer whose roster is the same as ours that it is.
func (e *Engine) settled(now time.Duration, peer algo.NodeID) {
	e.agreed(peer)
	e.send(now, peer, fd.Beat{View: e.members.digest})
}

// remind tells a peer that speaks to us, and has not shown that it has our roster. Two
// that do not watch each other show each other no digest. Without this, two leaders of
// whom each is the higher one in its own view would fight for ever.
func (e *Engine) remind(now time.Duration, peer algo.NodeID) {
	if !e.joining() && !e.members.shared && e.met[peer].has != e.members.digest {
		e.heal(now, peer)
	}
}

// heal tells a peer that knows something else: now, or after the pause.
func (e *Engine) heal(now time.Duration, peer algo.NodeID) {
	m, ok := e.met[peer]
	if !ok || now-m.at >= pause {
		e.tell(now, peer)
		return
	}
	m.owed = m.owed || m.digest != e.members.digest
	e.met[peer] = m
	e.owing = e.owing || m.owed
}

// repay tells those whose pause is over.
func (e *Engine) repay(now time.Duration) {
	if !e.owing {
		return
	}
	for m := range e.view().All() {
		if known := e.met[m.ID]; known.owed && known.at+pause <= now {
			e.tell(now, m.ID)
		}
	}
}

// nextExchange is when repay has something to do. It is asked after every message, so
// it looks at the members only when one of them may be owed something.
func (e *Engine) nextExchange() time.Duration {
	next := never
	if !e.owing {
		return next
	}
	for m := range e.view().All() {
		if known := e.met[m.ID]; known.owed {
			next = min(next, known.at+pause)
		}
	}
	e.owing = next != never
	return next
}
