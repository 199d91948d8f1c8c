package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// maxEntries bounds the membership, those that are gone included: it has to fit a
// frame, and a cluster that elects by asking everybody is small.
const maxEntries = 512

// maxVersionLead is how far ahead of what is known the version of an entry may
// be, like algo.MaxEpochLead.
const maxVersionLead = 1 << 32

func (e *Engine) view() algo.View { return e.members.view }

// joining reports whether no member has let this node in yet.
func (e *Engine) joining() bool { return e.members.cluster.IsZero() }

// own is this node's entry as configured.
func (e *Engine) own(version uint64) Entry {
	s := e.config.Self
	return Entry{ID: s.ID, Name: s.Name, Addr: s.Addr, Priority: s.Priority, Eligible: s.Eligible, Version: version}
}

// restate brings this node's stored entry up to its configuration, and reports
// whether that changed it.
func (e *Engine) restate() bool {
	stored, _ := e.members.find(e.config.Self.ID)
	if stored == e.own(stored.Version) {
		return false
	}
	return e.members.put(e.own(stored.Version + 1))
}

// admit lets a node in that asks for it, and tells everybody.
func (e *Engine) admit(now time.Duration, from algo.NodeID, asks Entry) {
	if e.joining() || !e.view().Contains(e.config.Self.ID) {
		return // it will ask again
	}
	if asks.ID != from || asks.Name == "" || asks.Addr == "" || asks.Gone {
		e.refuse(now, from, Join{}, "it asks for an entry that is not its own, or without a name or an address")
		return
	}
	known, found := e.members.find(from)
	asks.Version = known.Version
	if found && asks == known {
		e.tell(now, from)
		return
	}
	if why := e.unfit(asks, found); why != "" {
		e.send(now, from, Reject{Reason: why})
		return
	}
	asks.Version++
	e.members.put(asks)
	e.retire(asks)
	e.changed(now)
	e.broadcast(now)
	e.proceed(now)
}

// retire removes the members whose name and address now belong to another ID: the
// earlier lives of a node that keeps nothing. An algorithm that counts votes must
// not take a node that forgot for a new one.
func (e *Engine) retire(now Entry) (changed bool) {
	for _, m := range e.members.live() {
		if e.earlierLife(m, now) {
			m.Gone = true
			m.Version++
			changed = e.members.put(m) || changed
		}
	}
	return changed
}

func (e *Engine) earlierLife(before, now Entry) bool {
	return !e.config.Spec.Claims.NeedsQuorum && before.ID != now.ID && before.Name == now.Name && before.Addr == now.Addr
}

// unfit says why an entry cannot become a member, or nothing.
func (e *Engine) unfit(asks Entry, known bool) string {
	for _, m := range e.members.live() {
		if m.Name == asks.Name && m.ID != asks.ID && !e.earlierLife(m, asks) {
			return "the name " + strconv.Quote(asks.Name) + " belongs to member " + m.ID.String() + " at " + m.Addr +
				": choose another name, or remove that member first"
		}
	}
	if !known && len(e.members.entries) >= maxEntries {
		return "the cluster has had " + strconv.Itoa(maxEntries) + " members already, which is the most"
	}
	return ""
}

// meet merges the roster of a peer into ours, and answers when ours has more.
func (e *Engine) meet(now time.Duration, from algo.NodeID, theirs Roster) {
	if why := e.unsound(theirs); why != "" {
		e.refuse(now, from, theirs, why)
		return
	}
	self := e.config.Self.ID
	joined := e.joining()
	if joined {
		own := func(entry Entry) bool { return entry.ID == self && !entry.Gone }
		if !slices.ContainsFunc(theirs.Entries, own) {
			return // not for us yet
		}
		e.members.cluster = theirs.Cluster
	}
	changed := false
	if theirs.Size > e.members.size {
		e.members.size, e.members.changed, changed = theirs.Size, true, true
	}
	for _, entry := range theirs.Entries {
		changed = e.members.put(entry) || changed
	}
	mine, _ := e.members.find(self)
	if mine.Gone {
		e.out.Removed = true
		return
	}
	if mine.Name != e.config.Self.Name || mine.Addr != e.config.Self.Addr {
		e.restate() // somebody remembers us from before
	}
	mine = e.own(mine.Version)
	changed = e.retire(mine) || changed
	if why := e.unfit(mine, true); why != "" && !e.running {
		e.out.Rejected = why
		return
	}
	if changed {
		e.changed(now)
	}
	their := roster{cluster: theirs.Cluster, size: theirs.Size, entries: theirs.Entries}
	switch {
	case joined:
		e.broadcast(now) // whoever does not know us yet must, before our algorithm speaks to it
	case their.sum() != e.members.digest:
		e.tell(now, from)
	}
	e.proceed(now)
	if e.view().Contains(from) {
		e.detector.Heard(now, from)
	}
}

// unsound says why a roster must not be merged, or nothing.
func (e *Engine) unsound(theirs Roster) string {
	if theirs.Cluster.IsZero() {
		return "it names no cluster"
	}
	if !e.joining() && theirs.Cluster != e.members.cluster {
		return "it is of cluster " + theirs.Cluster.String() + ", this is " + e.members.cluster.String()
	}
	if theirs.Size < 0 || theirs.Size > maxEntries || len(theirs.Entries) > maxEntries {
		return "it has " + strconv.Itoa(max(theirs.Size, len(theirs.Entries))) + " members, want at most " + strconv.Itoa(maxEntries)
	}
	for i, entry := range theirs.Entries {
		if entry.ID.IsZero() || i > 0 && entry.ID.Compare(theirs.Entries[i-1].ID) <= 0 {
			return "its members are not in the order of their ids"
		}
		known, _ := e.members.find(entry.ID)
		if entry.Version > known.Version && entry.Version-known.Version > maxVersionLead {
			return "the version of " + entry.ID.String() + " is too far ahead"
		}
	}
	return ""
}

// compare sends our roster to a peer that shows another digest.
func (e *Engine) compare(now time.Duration, peer algo.NodeID, digest uint64) {
	if !e.joining() && digest != e.members.digest {
		e.tell(now, peer)
	}
}

// tell sends our roster at once, before what the algorithm will send to the same
// peer in this Output: a stranger's messages are refused.
func (e *Engine) tell(now time.Duration, peer algo.NodeID) {
	if peer != e.config.Self.ID {
		e.send(now, peer, e.members.record())
	}
}

func (e *Engine) broadcast(now time.Duration) {
	for peer := range e.view().Others(e.config.Self.ID) {
		e.tell(now, peer)
	}
}

// changed takes over a roster that changed: the detector learns of members that
// are connected already, and forgets those who are gone.
func (e *Engine) changed(now time.Duration) {
	before := e.view()
	e.members.rebuild()
	after := e.view()
	e.detector.Digest(e.members.digest)
	for m := range after.All() {
		if incarnation, connected := e.links[m.ID]; connected && !before.Contains(m.ID) {
			e.detector.Up(now, m.ID, incarnation)
		}
	}
	for m := range before.All() {
		if !after.Contains(m.ID) {
			e.detector.Forget(m.ID)
		}
	}
	e.trace(trace.Event{At: now, Kind: trace.View, Number: after.Number()})
}

// proceed hands a view that may have changed to the algorithm, and starts the
// algorithm when the time has come.
func (e *Engine) proceed(now time.Duration) {
	switch {
	case !e.view().Contains(e.config.Self.ID):
	case e.running:
		if e.stepped != e.view() {
			e.stepped = e.view()
			e.step(now, algo.Event{Kind: algo.EventReconfigure, View: e.view()})
		}
	case e.complete(now):
		e.running = true
		e.stepped = e.view()
		e.trace(trace.Event{At: now, Kind: trace.Start, Epoch: e.kept.Epoch})
		e.step(now, algo.Event{Kind: algo.EventStart, View: e.view(), Saved: e.kept})
	}
}

// Resign makes this node ineligible for a while, which any algorithm understands:
// another is elected. It stays a member and votes.
func (e *Engine) Resign(now, period time.Duration) *Output {
	e.begin()
	if entry, ok := e.members.find(e.config.Self.ID); ok {
		e.resigned = now + period
		e.alter(now, entry, false)
	}
	return e.finish(now)
}

// reenter ends a resignation.
func (e *Engine) reenter(now time.Duration) {
	if entry, ok := e.members.find(e.config.Self.ID); ok {
		e.alter(now, entry, e.config.Self.Eligible)
	}
}

// alter changes whether this node is eligible, and tells everybody.
func (e *Engine) alter(now time.Duration, entry Entry, eligible bool) {
	if entry.Eligible == eligible {
		return
	}
	entry.Eligible = eligible
	entry.Version++
	e.members.put(entry)
	e.changed(now)
	e.broadcast(now)
	e.proceed(now)
}
