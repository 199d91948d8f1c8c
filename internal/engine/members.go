package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
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
		e.refuse(now, from, Join{}, errors.New("it asks for an entry that is not its own"))
		return
	}
	if why := asks.malformed(); why != nil {
		e.refuse(now, from, Join{}, why)
		return
	}
	known, found := e.members.find(from)
	asks.Version = known.Version
	if found && asks == known {
		e.heal(now, from)
		return
	}
	if why := e.unfit(asks); why != nil {
		e.send(now, from, Reject{Reason: why.Error()})
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

// unfit is why an entry cannot become that of a member, or nil.
func (e *Engine) unfit(asks Entry) error {
	known, _ := e.members.find(asks.ID)
	if known.Gone {
		return fmt.Errorf("member %v was removed: empty its data folder to have it join as a new one", asks.ID)
	}
	for _, m := range e.members.live() {
		// With the same address too it is an earlier life, which kept nothing. This node lives.
		earlier := !e.members.strict && m.Addr == asks.Addr && m.ID != e.config.Self.ID
		if m.ID != asks.ID && m.Name == asks.Name && !earlier {
			return fmt.Errorf("the name %q belongs to member %v at %s: choose another name, or remove that member first", asks.Name, m.ID, m.Addr)
		}
	}
	if !e.members.room(asks) && !e.members.spares(asks) {
		return fmt.Errorf("the membership is full, with %d entries, those who were removed included", len(e.members.entries))
	}
	return nil
}

// meet takes over what is newer in the roster of a peer, and answers when ours has more.
func (e *Engine) meet(now time.Duration, from algo.NodeID, theirs Roster) {
	if why := e.unsound(from, theirs); why != nil {
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
		if why := e.unfit(sender); why != nil && !e.gone(from) {
			e.send(now, from, Reject{Reason: why.Error()})
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
	if why := e.unfit(e.own(0)); why != nil && !e.running {
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

// unsound is why a roster must not be merged, or nil.
func (e *Engine) unsound(from algo.NodeID, theirs Roster) error {
	switch {
	case theirs.Cluster.IsZero():
		return errors.New("it names no cluster")
	case e.joining():
	case theirs.Cluster != e.members.cluster:
		return fmt.Errorf("it is of cluster %v, this is %v", theirs.Cluster, e.members.cluster)
	case theirs.Size != e.members.size:
		return fmt.Errorf("it is of a fixed set of %d members, this of %d", theirs.Size, e.members.size)
	}
	switch {
	case theirs.Size < 0 || theirs.Size > maxEntries:
		return fmt.Errorf("it is of a fixed set of %d members, want at most %d", theirs.Size, maxEntries)
	case !e.members.strict && (theirs.Epoch > 0 || theirs.Number > 0 || theirs.Confirmed):
		return fmt.Errorf("it has a leader's stamp, and %s merges", e.config.Spec.Name)
	case theirs.Epoch == 0 && theirs.Number > 0:
		return errors.New("it has a number, and no leader's epoch")
	}
	var leaps leaps
	if e.members.strict {
		leaps.judge("its epoch", uint64(theirs.Epoch), uint64(max(e.epoch(), e.members.epoch)))
		leaps.judge("its number", theirs.Number, e.known(theirs.Number, e.view().Number()))
	}
	for i, entry := range theirs.Entries {
		if entry.ID.IsZero() || i > 0 && entry.ID.Compare(theirs.Entries[i-1].ID) <= 0 {
			return errors.New("its members are not in the order of their ids")
		}
		if why := entry.malformed(); why != nil {
			return why
		}
		if theirs.Epoch == 0 { // else its versions are bounded by its number
			leaps.judge("the version of "+entry.ID.String(), entry.Version, e.known(entry.Version, e.members.next(entry)-1))
		}
	}
	fits := &e.members
	if theirs.Epoch > 0 {
		fits = &roster{strict: true} // it replaces ours
	}
	switch _, found := theirs.find(from); {
	case leaps.poison != nil:
		return leaps.poison
	case !found:
		return errors.New("its sender is not in it")
	case !fits.room(theirs.Entries...):
		return errors.New("it has too many members, together with ours, to fit a frame")
	case leaps.doubt != nil:
		if e.doubted = !e.doubted; e.doubted {
			return leaps.doubt
		}
	}
	return nil
}

// known is what a number of a roster is judged by: who is just joining knows none.
func (e *Engine) known(theirs, ours uint64) uint64 {
	if e.joining() {
		return theirs
	}
	return ours
}

// leaps are numbers too far ahead of what is known, with the bounds of epochs.
type leaps struct {
	poison error
	doubt  error // what must be said twice to be believed
}

func (l *leaps) judge(what string, theirs, known uint64) {
	switch ahead := theirs - min(theirs, known); {
	case theirs == math.MaxUint64 || ahead > algo.MaxEpochLead:
		l.poison = cmp.Or(l.poison, errors.New(what+" is too far ahead"))
	case ahead > algo.MaxEpochLead-algo.EpochMargin:
		l.doubt = errors.New(what + " is too far ahead to be believed at once")
	}
}

// malformed is what is wrong with an entry, whoever it is for, or nil. Names and addresses
// are shown in logs and tables, and dialled.
func (e Entry) malformed() error {
	bad := func(s string) bool {
		return s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	if bad(e.Name) || bad(e.Addr) {
		return fmt.Errorf("the name %q or the address %q of a member is empty or not plain text", e.Name, e.Addr)
	}
	return nil
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
