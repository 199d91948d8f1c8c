package engine

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// maxVersionLead is how far ahead of what is known the version of an entry may be, and
// versionMargin how much of that must be said twice, like algo.MaxEpochLead and
// algo.EpochMargin.
const (
	maxVersionLead = 1 << 32
	versionMargin  = 1 << 16
)

func (e *Engine) view() algo.View { return e.members.view }

// joining reports whether no member has let this node in yet.
func (e *Engine) joining() bool { return e.members.cluster.IsZero() }

// admit lets a node in that asks for it, or asks the leader to, and tells everybody.
func (e *Engine) admit(now time.Duration, from algo.NodeID, asks Entry) {
	if e.joining() {
		return // it will ask again
	}
	if asks.ID != from || asks.Gone {
		e.refuse(now, from, Join{}, "it asks for an entry that is not its own")
		return
	}
	if why := asks.malformed(); why != "" {
		e.refuse(now, from, Join{}, why)
		return
	}
	known, found := e.members.find(from)
	asks.Version = known.Version
	if found && asks == known {
		e.heal(now, from)
		return
	}
	if why := e.unfit(asks); why != "" {
		e.send(now, from, Reject{Reason: why})
		return
	}
	if e.members.strict {
		e.petition(now, asks)
		return
	}
	asks.Version = e.members.next(asks)
	e.members.put(asks)
	e.changed(now)
	e.broadcast(now)
	e.proceed(now)
}

// unfit says why an entry cannot become that of a member, or nothing.
func (e *Engine) unfit(asks Entry) string {
	known, _ := e.members.find(asks.ID)
	if known.Gone {
		return "member " + asks.ID.String() + " was removed: empty its data folder to have it join as a new one"
	}
	for _, m := range e.members.live() {
		// With the same address too it is an earlier life, which kept nothing. This node lives.
		earlier := !e.members.strict && m.Addr == asks.Addr && m.ID != e.config.Self.ID
		if m.ID != asks.ID && m.Name == asks.Name && !earlier {
			return "the name " + strconv.Quote(asks.Name) + " belongs to member " + m.ID.String() + " at " + m.Addr +
				": choose another name, or remove that member first"
		}
	}
	if !e.members.room(asks) && !e.members.spares(asks) {
		return "the membership is full, with " + strconv.Itoa(len(e.members.entries)) + " entries, those who were removed included"
	}
	return ""
}

// meet takes over what is newer in the roster of a peer, and answers when ours has more.
func (e *Engine) meet(now time.Duration, from algo.NodeID, theirs Roster) {
	if why := e.unsound(from, theirs); why != "" {
		e.refuse(now, from, theirs, why)
		return
	}
	if !e.members.merging() || e.members.strict && (theirs.Epoch > 0 || theirs.Confirmed) {
		e.succeed(now, from, theirs)
		return
	}
	e.merge(now, from, theirs)
}

// merge takes over what is newer in the roster of a peer, entry by entry.
func (e *Engine) merge(now time.Duration, from algo.NodeID, theirs Roster) {
	joined := e.joining()
	if joined {
		if own, found := theirs.find(e.config.Self.ID); !found || own.Gone {
			return // not for us yet
		}
		e.members.cluster, e.members.size = theirs.Cluster, theirs.Size
	}
	if sender, _ := theirs.find(from); e.members.strict && !joined && !sender.Gone && !e.view().Contains(from) {
		if why := e.unfit(sender); why != "" && !e.gone(from) {
			e.send(now, from, Reject{Reason: why})
			return
		}
	}
	changed := joined
	for _, entry := range theirs.Entries {
		changed = e.members.put(entry) || changed
	}
	mine, found := e.members.find(e.config.Self.ID)
	if mine.Gone || !found && e.returned {
		e.changed(now)
		e.remove()
		return
	}
	// Without an entry, an earlier life of this node has its seat, or another node that
	// is set up like this one. Only the former leaves it to us.
	e.returned = e.returned || !found
	changed = e.restate() || changed
	if changed {
		e.changed(now)
	}
	if why := e.unfit(e.own(0)); why != "" && !e.running {
		e.out.Rejected = why
		return
	}
	switch {
	case joined || !found:
		e.broadcast(now) // whoever does not know us yet must, before our algorithm speaks to it
	case sum(theirs) != e.members.digest:
		e.heal(now, from)
	default:
		e.settled(now, from)
	}
	e.proceed(now)
	if e.view().Contains(from) {
		e.detector.Heard(now, from)
	}
}

// remove ends this node's membership.
func (e *Engine) remove() {
	e.out.Removed, e.out.Left = true, e.wishes.leaving
	e.contacts = nil
}

func (e *Engine) gone(id algo.NodeID) bool {
	entry, _ := e.members.find(id)
	return entry.Gone
}

// unsound says why a roster must not be merged, or nothing.
func (e *Engine) unsound(from algo.NodeID, theirs Roster) string {
	switch {
	case theirs.Cluster.IsZero():
		return "it names no cluster"
	case e.joining():
	case theirs.Cluster != e.members.cluster:
		return "it is of cluster " + theirs.Cluster.String() + ", this is " + e.members.cluster.String()
	case theirs.Size != e.members.size:
		return "it is of a fixed set of " + strconv.Itoa(theirs.Size) + " members, this of " + strconv.Itoa(e.members.size)
	}
	if theirs.Size < 0 || theirs.Size > maxEntries {
		return "it is of a fixed set of " + strconv.Itoa(theirs.Size) + " members, want at most " + strconv.Itoa(maxEntries)
	}
	why, doubtful := e.misplaced(theirs)
	if why != "" {
		return why
	}
	for i, entry := range theirs.Entries {
		if entry.ID.IsZero() || i > 0 && entry.ID.Compare(theirs.Entries[i-1].ID) <= 0 {
			return "its members are not in the order of their ids"
		}
		if why := entry.malformed(); why != "" {
			return why
		}
		if theirs.Epoch > 0 {
			continue // its versions are bounded by its number
		}
		known := e.members.next(entry) - 1
		what := "the version of " + entry.ID.String() + " is too far ahead"
		switch ahead := entry.Version - min(known, entry.Version); {
		case entry.Version == math.MaxUint64 || !e.joining() && ahead > maxVersionLead:
			return what
		case !e.joining() && ahead > maxVersionLead-versionMargin:
			doubtful = what + " to be believed at once"
		}
	}
	if _, found := theirs.find(from); !found {
		return "its sender is not in it"
	}
	fits := &e.members
	if theirs.Epoch > 0 {
		fits = &roster{strict: true} // it replaces ours
	}
	if !fits.room(theirs.Entries...) {
		return "it has too many members, together with ours, to fit a frame"
	}
	if doubtful != "" {
		e.doubted = !e.doubted
	}
	if doubtful != "" && e.doubted {
		return doubtful
	}
	return ""
}

// misplaced says why the stamp of a roster is impossible, and else what must be said
// twice to be believed, or nothing.
func (e *Engine) misplaced(theirs Roster) (why, doubtful string) {
	if !e.members.strict {
		if theirs.Epoch > 0 || theirs.Number > 0 || theirs.Confirmed {
			why = "it has a leader's stamp, and " + e.config.Spec.Name + " merges"
		}
		return why, ""
	}
	ahead := func(what string, theirs, ours, most, margin uint64) {
		switch lead := theirs - min(theirs, ours); {
		case theirs == math.MaxUint64 || lead > most:
			why = "its " + what + " is too far ahead"
		case lead > most-margin:
			doubtful = "its " + what + " is too far ahead to be believed at once"
		}
	}
	ahead("epoch", uint64(theirs.Epoch), uint64(max(e.epoch(), e.members.epoch)), algo.MaxEpochLead, algo.EpochMargin)
	if number := e.view().Number(); theirs.Epoch == 0 && theirs.Number > 0 {
		why = "it has a number, and no leader's epoch"
	} else if e.joining() {
		ahead("number", theirs.Number, theirs.Number, maxVersionLead, versionMargin)
	} else {
		ahead("number", theirs.Number, number, maxVersionLead, versionMargin)
	}
	return why, doubtful
}

// malformed says what is wrong with an entry, whoever it is for, or nothing. Names
// and addresses are shown in logs and tables, and dialled.
func (e Entry) malformed() string {
	bad := func(s string) bool {
		return s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	if bad(e.Name) || bad(e.Addr) {
		return "the name " + strconv.Quote(e.Name) + " or the address " + strconv.Quote(e.Addr) + " of a member is empty or not plain text"
	}
	return ""
}

// changed takes over a roster that changed, or was loaded: the detector learns of members that
// are connected already, and forgets those who are gone.
func (e *Engine) changed(now time.Duration) {
	before := e.turned
	e.members.rebuild()
	after := e.view()
	e.turned = after
	e.out.ViewChanged = true
	e.owing = true // maybe, to those who are members now
	e.detector.Digest(e.members.digest)
	if !e.members.shared {
		e.turnover(now, before, after)
	}
	e.trace(trace.Event{At: now, Kind: trace.View, Number: after.Number()})
}

// turnover greets who is a member now, and forgets who is none any more.
func (e *Engine) turnover(now time.Duration, before, after algo.View) {
	for m := range after.All() {
		if incarnation, connected := e.links[m.ID]; connected && !before.Contains(m.ID) {
			e.detector.Up(now, m.ID, incarnation)
		}
	}
	for m := range before.All() {
		if after.Contains(m.ID) {
			continue
		}
		e.detector.Forget(m.ID)
		delete(e.met, m.ID)
		if _, connected := e.links[m.ID]; connected && (e.members.merging() || e.members.confirmed) {
			e.tell(now, m.ID) // so that it knows
		}
	}
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
			e.rewatch(now)
		}
	case e.complete(now):
		e.running = true
		e.stepped = e.view()
		e.trace(trace.Event{At: now, Kind: trace.Start, Epoch: e.kept.Epoch})
		e.step(now, algo.Event{Kind: algo.EventStart, View: e.view(), Saved: e.kept})
	}
}
