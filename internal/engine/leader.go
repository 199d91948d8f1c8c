package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// What the leader does where it alone makes the rosters.

// leads reports whether this node may make a roster: it leads, and has not taken part in
// a later epoch since.
func (e *Engine) leads() bool {
	l := e.machine.Leader()
	return e.members.strict && e.running && l.ID == e.config.Self.ID && l.Epoch == e.epoch() && e.view().Contains(l.ID)
}

// leader is whom this node follows, if that is another member.
func (e *Engine) leader() (algo.NodeID, bool) {
	l := e.machine.Leader()
	return l.ID, e.running && l.ID != e.config.Self.ID && e.view().Contains(l.ID)
}

// preside has a new leader finish what was begun: a roster of which nobody knows whether
// a majority holds it.
func (e *Engine) preside(now time.Duration) {
	if e.leads() && !e.members.confirmed && e.members.epoch < e.machine.Leader().Epoch {
		e.amend(now, e.view().Number())
		e.settle(now)
	}
}

// petition has an entry made what it should be by the leader, if there is one. Whoever
// wants it will ask again.
func (e *Engine) petition(now time.Duration, entry Entry) {
	if e.leads() {
		e.grant(now, entry)
	} else if leader, ok := e.leader(); ok {
		e.send(now, leader, Propose{Entry: entry})
	}
}

// consider takes a Propose.
func (e *Engine) consider(now time.Duration, from algo.NodeID, entry Entry) {
	why := entry.malformed()
	if entry.ID.IsZero() {
		why = errors.New("it is for nobody")
	}
	if why != nil {
		e.refuse(now, from, Propose{}, why)
		return
	}
	switch {
	case e.members.strict:
		if e.leads() {
			e.grant(now, entry)
		}
	case !entry.Gone:
		e.refuse(now, from, Propose{}, errors.New("it is not to strike a member"))
	case entry.ID != from: // who removes another one strikes it itself
		e.refuse(now, from, Propose{}, errors.New("it is to strike another than its sender"))
	default:
		e.strike(now, entry.ID)
	}
}

// grant changes one entry, if that may be done now.
func (e *Engine) grant(now time.Duration, entry Entry) {
	known, found := e.members.find(entry.ID)
	entry.Version = known.Version
	switch {
	case entry.Gone && entry.ID == e.config.Self.ID:
		e.handOver(now)
	case entry.Gone && found && !known.Gone:
		known.Gone = true
		e.change(now, known)
	case entry.Gone, found && entry == known, e.unfit(entry) != nil:
	case !found && e.members.unmet() > 0 && !e.seats(entry.Addr):
		// It would take the place of one of the fixed set who is still to come.
	default:
		e.change(now, entry)
	}
}

// maxWaiting bounds what waits for its turn. The rest is asked for again.
const maxWaiting = 64

// change makes the next roster with one entry changed, now or when its turn comes.
func (e *Engine) change(now time.Duration, entry Entry) {
	if e.amend(now, e.view().Number(), entry) || e.members.confirmed || !e.leads() {
		return // done, or not to be done
	}
	e.queue = slices.DeleteFunc(e.queue, func(o Entry) bool { return o.ID == entry.ID })
	if len(e.queue) < maxWaiting {
		e.queue = append(e.queue, entry)
	}
}

// seats reports whether an address is one of the fixed set.
func (e *Engine) seats(addr string) bool { return slices.Contains(e.config.Fixed, addr) }

// handover is for how long a leader that is to be struck may not lead: the next one has
// that time to be elected and to strike it.
const handover = 10 * time.Second

// handOver has somebody else lead, if anybody may.
func (e *Engine) handOver(now time.Duration) {
	for m := range e.view().All() {
		if m.Eligible && m.ID != e.config.Self.ID {
			e.resigned = max(now+handover, e.resigning())
			e.wish(now)
			return
		}
	}
}

// amend makes the next roster, with a number above the one given: ours, stamped by this
// leader, with some entries changed. It reports whether these were.
//
// Who is a member changes only when a majority of those who are now are known to hold the
// roster in this leader's epoch: no two leaders go on from one roster in two ways. A new
// leader stamps it as it is for that. Nor does it change to members of whom no majority is
// there, nor to such of whom none may lead: nobody could lead then, and nothing be changed
// back.
func (e *Engine) amend(now time.Duration, number uint64, changes ...Entry) bool {
	epoch := e.machine.Leader().Epoch
	next := e.members.with(number+1, changes...)
	if len(changes) > 0 && !slices.ContainsFunc(next.live(), func(o Entry) bool { return o.Eligible }) {
		return false
	}
	if !sameVoters(e.view(), next.view) {
		switch {
		case e.members.epoch < epoch:
			e.amend(now, number)
			return e.members.confirmed && e.leads() && e.amend(now, e.view().Number(), changes...) // it is alone
		case !e.members.confirmed, !overlap(e.view(), next.view), !e.reaches(next.view):
			return false
		}
	}
	next.epoch, next.number, next.confirmed, next.changed = epoch, number+1, false, true
	e.members, e.holders = next, nil
	e.changed(now)
	e.broadcast(now)
	e.proceed(now)
	e.confirm(now)
	return true
}

// with returns the roster with some entries replaced or added, each with a version. The
// oldest of those that are gone make room.
func (r *roster) with(version uint64, changes ...Entry) roster {
	next := *r
	next.replace(r.record())
	for _, change := range changes {
		if _, found := next.find(change.ID); !found {
			next.spare(change)
		}
		change.Version = version
		at, found := next.search(change.ID)
		if found {
			next.entries[at] = change
		} else {
			next.entries = slices.Insert(next.entries, at, change)
		}
	}
	next.rebuild()
	return next
}

// sameVoters reports whether two views have the same members, whatever these are like.
func sameVoters(a, b algo.View) bool {
	if a.Len() != b.Len() || a.Size() != b.Size() {
		return false
	}
	for m := range a.All() {
		if !b.Contains(m.ID) {
			return false
		}
	}
	return true
}

// overlap reports whether any two majorities, one of each view, have a member in common.
// Who takes an empty seat of a fixed set was counted before.
func overlap(before, after algo.View) bool {
	all := after.Size()
	for m := range before.All() {
		if !after.Contains(m.ID) {
			all++
		}
	}
	return before.Quorum()+after.Quorum() > max(all, before.Size())
}

// reaches reports whether a majority of a view is there, as far as this node knows.
func (e *Engine) reaches(view algo.View) bool {
	there := 0
	for m := range view.All() {
		if state, _ := e.detector.State(m.ID); state != fd.Suspected {
			there++
		}
	}
	return there >= view.Quorum()
}

// held takes the word of a member that it holds our roster.
func (e *Engine) held(now time.Duration, from algo.NodeID, m Held) {
	if e.members.confirmed || !e.leads() || (algo.Stamp{Epoch: m.Epoch, Number: m.Number}) != e.view().Stamp() {
		return
	}
	if e.holders == nil {
		e.holders = make(map[algo.NodeID]bool)
	}
	e.holders[from] = true
	e.confirm(now)
}

// awaits reports whether a peer that has our roster has yet to say that it holds it.
func (e *Engine) awaits(peer algo.NodeID) bool {
	return !e.members.confirmed && e.leads() && e.members.epoch == e.machine.Leader().Epoch && !e.holders[peer]
}

// confirm tells everybody when a majority holds our roster, and goes on to what waits
// for that.
func (e *Engine) confirm(now time.Duration) {
	if e.members.confirmed || !e.leads() || e.members.epoch != e.machine.Leader().Epoch {
		return
	}
	holders := 1 // this node
	for m := range e.view().All() {
		if e.holders[m.ID] {
			holders++
		}
	}
	if holders < e.view().Quorum() {
		return
	}
	e.members.confirm()
	e.out.ViewChanged = true
	e.owing = true
	e.detector.Digest(e.members.digest)
	e.broadcast(now)
	e.dismiss(now)
	turn := e.queue
	e.queue = nil
	for _, entry := range turn {
		if e.leads() {
			e.grant(now, entry)
		}
	}
	e.wish(now)
}

// dismiss tells those who are gone and still here.
func (e *Engine) dismiss(now time.Duration) {
	for _, entry := range e.members.entries {
		if _, connected := e.links[entry.ID]; connected && entry.Gone {
			e.tell(now, entry.ID)
		}
	}
}
