package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// A contact is an address at which a member is expected, its ID yet unknown: a
// seed, or one of a fixed set.
type contact struct {
	addr   string
	failed bool // it refused, or could not be reached, at least once
	tries  int
	at     time.Duration // when to dial it next
}

// The back-off between dials to one address. The first are quick, for at a cold
// start the others are just starting as well.
const (
	minContact = 5 * time.Millisecond
	maxContact = time.Second
)

// bootstrap decides how this node becomes a member: it is one already, it belongs
// to a fixed set, somebody must let it in, or it founds a cluster of its own.
func (e *Engine) bootstrap(now time.Duration) {
	self := e.config.Self
	others := func(addrs []string) {
		for _, addr := range addrs {
			if addr != self.Addr {
				e.contacts = append(e.contacts, contact{addr: addr, at: now})
			}
		}
	}
	stored, found := e.members.find(self.ID)
	switch {
	case found && stored.Gone, !found && !e.joining():
		e.remove()
		return
	case found:
		if own := e.own(stored.Version); stored != own {
			if why := e.unfit(own); why != nil {
				e.out.Rejected = why
				return
			}
		}
		others(e.config.Fixed)
		// Where only the leader makes rosters it is asked for the change.
		restated := e.members.merging() && e.restate()
		e.changed(now)
		if !e.members.shared {
			for m := range e.view().All() {
				if m.ID != self.ID {
					e.agreed(m.ID) // if not, the hellos tell
					// Those who saw this node die take it for dead until it says hello.
					e.out.Dial = append(e.out.Dial, Target{ID: m.ID, Addr: m.Addr})
				}
			}
		}
		if restated {
			e.broadcast(now)
		}
		e.wish(now)
	case len(e.config.Fixed) > 0:
		others(e.config.Fixed)
		e.found(now, len(e.config.Fixed))
	default:
		others(e.config.Seeds)
		if len(e.contacts) == 0 {
			e.found(now, 0)
		}
	}
	e.firstContact, e.waiting = now+e.config.FirstContact, true
	e.contact(now)
	e.proceed(now)
}

// found begins a cluster with this node as its only member so far. Where the leader lets
// others in, there must be one who may lead.
func (e *Engine) found(now time.Duration, size int) {
	if e.members.strict && size == 0 && !e.config.Self.Eligible {
		e.out.Rejected = fmt.Errorf("a witness cannot found a cluster that runs %s: only a leader lets others in, "+
			"and nobody could lead; have it join another member", e.config.Spec.Name)
		return
	}
	e.members.cluster, e.members.size = e.config.Cluster, size
	e.members.put(e.own(1))
	e.changed(now)
}

// complete reports whether the algorithm may start. Bully and ring wait until they
// have heard of every member of a fixed set, or know that it does not answer: else
// a node that starts first would lead for a moment. With a quorum no such mistake
// can be made.
func (e *Engine) complete(now time.Duration) bool {
	view := e.view()
	if e.config.Spec.Claims.NeedsQuorum {
		return view.Len() >= view.Quorum()
	}
	if e.kept.Epoch > 0 || e.firstContact <= now {
		return true // it was complete once, or has waited long enough
	}
	return !slices.ContainsFunc(e.contacts, func(c contact) bool { return !c.failed && e.wanted(c) })
}

// wanted reports whether a contact still has to be made.
func (e *Engine) wanted(c contact) bool {
	if e.joining() {
		return true
	}
	if len(e.config.Fixed) == 0 {
		return false
	}
	return !slices.ContainsFunc(e.members.live(), func(m Entry) bool { return m.Addr == c.addr })
}

// contact dials whom it is time to dial, and asks again to be let in.
func (e *Engine) contact(now time.Duration) {
	asked := false
	for i := range e.contacts {
		c := &e.contacts[i]
		if c.at > now {
			continue
		}
		if !e.wanted(*c) {
			c.at = never
			continue
		}
		wait := minContact << min(c.tries, 20)
		c.tries++
		c.at = now + min(wait, maxContact)
		e.out.Dial = append(e.out.Dial, Target{Addr: c.addr})
		asked = true
	}
	if asked && e.joining() {
		for _, peer := range slices.SortedFunc(maps.Keys(e.links), algo.NodeID.Compare) {
			e.ask(now, peer)
		}
	}
	if e.waiting && e.firstContact <= now {
		e.waiting = false
		e.proceed(now)
	}
}

func (e *Engine) nextContact() time.Duration {
	next := never
	for _, c := range e.contacts {
		next = min(next, c.at)
	}
	if e.waiting {
		next = min(next, e.firstContact)
	}
	return next
}

// missed records that an address did not answer.
func (e *Engine) missed(now time.Duration, addr string) {
	for i := range e.contacts {
		if e.contacts[i].addr == addr {
			e.contacts[i].failed = true
		}
	}
	if !e.running {
		e.proceed(now)
	}
}

// ask asks a peer to let this node in.
func (e *Engine) ask(now time.Duration, peer algo.NodeID) {
	e.send(now, peer, Join{Entry: e.own(0)})
}

// disregard drops a contact that is this node itself, under another name. Who was
// configured with no other seed is the founder.
func (e *Engine) disregard(now time.Duration, addr string) {
	before := len(e.contacts)
	e.contacts = slices.DeleteFunc(e.contacts, func(c contact) bool { return c.addr == addr })
	switch {
	case len(e.contacts) == before:
	case len(e.contacts) == 0 && e.joining():
		e.found(now, 0)
		e.proceed(now)
	case !e.running:
		e.proceed(now)
	}
}
