package engine

import (
	"cmp"
	"time"

	"github.com/elect-go/elect/algo"
)

// How one roster follows another where only the leader makes them.

// succeed has the roster of a peer replace ours if it is the later one.
func (e *Engine) succeed(now time.Duration, from algo.NodeID, theirs Roster) {
	own, listed := theirs.find(e.config.Self.ID)
	switch order := e.members.compare(theirs); {
	case order > 0:
		e.heal(now, from)
	case order == 0:
		e.settled(now, from)
		e.hold(now, from, theirs)
	case !listed:
		// It was made by who had not heard of this node, or it has forgotten it.
		e.wishes.entry = true
		e.wishes.again = now + repeat
		e.ask(now, from)
	case own.Gone && !theirs.Confirmed:
		// Whether this node was struck is not decided. If it was it will be told.
	case e.leads() && theirs.Epoch <= e.machine.Leader().Epoch:
		// It is what a leader before this one could not finish.
		e.amend(now, max(e.members.number, theirs.Number))
	default:
		e.replace(now, from, theirs)
	}
}

// compare is the order of rosters: positive when ours is the later one. The last two
// matter only where two leaders made rosters in one epoch, which no sound algorithm lets
// happen: all choose alike.
func (r *roster) compare(theirs Roster) int {
	if r.cluster.IsZero() {
		return -1
	}
	return cmp.Or(
		algo.Stamp.Compare(r.view.Stamp(), theirs.stamp()),
		compareBool(r.confirmed, theirs.Confirmed),
		cmp.Compare(r.digest, sum(theirs)),
	)
}

func (e *Engine) replace(now time.Duration, from algo.NodeID, theirs Roster) {
	e.members.replace(theirs)
	e.holders, e.wishes.entry = nil, false
	e.changed(now)
	if mine, _ := e.members.find(e.config.Self.ID); mine.Gone {
		e.remove()
		return
	}
	e.settled(now, from)
	e.proceed(now)
	e.hold(now, from, theirs)
	if e.view().Contains(from) {
		e.detector.Heard(now, from)
	}
	e.wish(now)
}

// hold answers that this node holds a roster. Later than in the epoch of its stamp it
// must not say so: it may have helped meanwhile to elect a leader with an older one.
func (e *Engine) hold(now time.Duration, to algo.NodeID, theirs Roster) {
	if !theirs.Confirmed && theirs.Epoch > 0 && e.epoch() <= theirs.Epoch && e.view().Contains(to) {
		e.send(now, to, Held{Epoch: theirs.Epoch, Number: theirs.Number})
	}
}

// epoch is up to which one this node has taken part in elections.
func (e *Engine) epoch() algo.Epoch { return max(e.kept.Epoch, e.machine.Stable().Epoch) }
