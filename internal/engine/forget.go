package engine

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// forgets reports whether this node removes members that stay dead: the leader does,
// where that is configured. Without a majority nothing can be decided by an algorithm
// that needs one, so there the dead must go on counting.
func (e *Engine) forgets() bool {
	return e.config.ForgetAfter > 0 && !e.members.strict && e.running && e.machine.Leader().ID == e.config.Self.ID
}

// forget removes those who were suspected for so long without a break. The leader has
// its detector watch everybody for that, which costs a heartbeat of each.
//
// The time counts only while it hears of more than half of all members: of two sides of a
// partition at most one may forget the other, or none would be left when it heals.
func (e *Engine) forget(now time.Duration) {
	if e.nextForget() > now {
		return
	}
	for _, m := range e.members.live() {
		if state, since := e.detector.State(m.ID); state == fd.Suspected && max(since, e.hearing)+e.config.ForgetAfter <= now {
			e.strike(now, m.ID)
		}
	}
	e.settle(now)
}

// nextForget is when forget has something to do.
func (e *Engine) nextForget() time.Duration {
	next := never
	if e.hearing == never || !e.forgets() {
		return next
	}
	for m := range e.view().All() {
		if state, since := e.detector.State(m.ID); state == fd.Suspected {
			next = min(next, max(since, e.hearing)+e.config.ForgetAfter)
		}
	}
	return next
}

// listen finds out since when this node leads and hears of more than half of all members.
func (e *Engine) listen(now time.Duration) {
	if !e.forgets() {
		e.hearing = never
		return
	}
	suspected := 0
	for m := range e.view().All() {
		if state, _ := e.detector.State(m.ID); state == fd.Suspected {
			suspected++
		}
	}
	switch majority := 2*suspected < e.view().Len(); {
	case !majority:
		e.hearing = never
	case e.hearing == never:
		e.hearing = now
	}
}

// monitor replaces whom the algorithm monitors.
func (e *Engine) monitor(now time.Duration, peers []algo.NodeID) {
	known := slices.Clone(e.watched)
	before := slices.Clone(e.monitored)
	e.monitored = append(e.monitored[:0], peers...)
	// What was found out about somebody who is watched no more is forgotten here too:
	// watched again, he would be taken for dead by the algorithm alone.
	e.news = slices.DeleteFunc(e.news, func(c fd.Change) bool { return !slices.Contains(e.monitored, c.Peer) })
	for _, id := range peers {
		if slices.Contains(before, id) || !slices.Contains(known, id) {
			continue
		}
		// The detector, which watches him already, reports only what is new.
		if state, _ := e.detector.State(id); state == fd.Suspected {
			e.news = append(e.news, fd.Change{Peer: id, Suspected: true, Why: "it is suspected already"})
		}
	}
	e.watch(now)
}

// watch has the detector watch whom the algorithm monitors, and whom this node may have
// to forget.
func (e *Engine) watch(now time.Duration) {
	watched := slices.Clone(e.monitored)
	if e.forgets() {
		for id := range e.view().Others(e.config.Self.ID) {
			if !slices.Contains(watched, id) {
				watched = append(watched, id)
			}
		}
	}
	e.watched = watched
	e.detector.Monitor(now, watched)
}

// rewatch follows a change of the leader or of the members.
func (e *Engine) rewatch(now time.Duration) {
	if e.config.ForgetAfter > 0 && !e.members.strict {
		e.watch(now)
	}
}
