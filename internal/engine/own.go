package engine

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// What a node says of itself in the membership: its name, its address, its priority and
// whether it may lead. All of it is configured; the last two can be changed while it
// runs.

// own is this node's entry as it should be.
func (e *Engine) own(version uint64) Entry {
	s := e.config.Self
	return Entry{
		ID: s.ID, Name: s.Name, Addr: s.Addr, Priority: e.priority(),
		Eligible: s.Eligible && e.resigned == never && !e.wishes.leaving, Version: version,
	}
}

// priority is the one that was set, until the configuration changes: whichever of the
// two was decided later.
func (e *Engine) priority() int {
	configured := e.config.Self.Priority
	if o := e.override; o.set && o.record.Configured == configured {
		return o.record.Priority
	}
	return configured
}

// override is a priority that was set while the node ran.
type override struct {
	record  Override
	set     bool
	changed bool // since it was last saved
}

// SetPriority changes the priority of this node, with the effect that the algorithm
// gives to it. It survives a restart with the same configuration. A node that is started
// with another priority in its configuration than before has that one.
func (e *Engine) SetPriority(now time.Duration, priority int) *Output {
	e.begin()
	if e.priority() != priority {
		e.override = override{Override{Configured: e.config.Self.Priority, Priority: priority}, true, true}
		e.alter(now)
	}
	return e.finish(now)
}

// restored is what a restart makes of the record. Where the configuration has changed
// meanwhile it takes the place of what was set, for good: going back to the number of before
// does not bring that back.
func (o Override) restored(configured int) override {
	if o.Configured != configured {
		return override{record: Override{Configured: configured, Priority: configured}, set: true, changed: true}
	}
	return override{record: o, set: true}
}

// ConfigurePriority is SetPriority for one that stands in the configuration from now on: a
// restart with it finds nothing changed, and one with another is the later decision.
func (e *Engine) ConfigurePriority(now time.Duration, priority int) *Output {
	e.begin()
	before := e.priority()
	e.config.Self.Priority = priority
	e.override = override{record: Override{Configured: priority, Priority: priority}, set: true, changed: true}
	if before != priority {
		e.alter(now)
	}
	return e.finish(now)
}

// Resign makes this node ineligible for a while, which any algorithm understands:
// another is elected. It stays a member and votes. It ends with the process.
func (e *Engine) Resign(now, period time.Duration) *Output {
	e.begin()
	if e.view().Contains(e.config.Self.ID) {
		e.resigned = now + min(max(period, 0), never-now-1)
		e.alter(now)
	}
	return e.finish(now)
}

// reenter ends a resignation.
func (e *Engine) reenter(now time.Duration) {
	e.resigned = never
	e.alter(now)
	if e.leads() {
		// It was the last who may lead, so that nobody could take over. Its work was told all
		// the same that the leadership is over, so it leads in a new epoch.
		e.step(now, algo.Event{Kind: algo.EventCampaign})
	}
}

// resigning is until when this node has resigned; 0 when it has not.
func (e *Engine) resigning() time.Duration {
	if e.resigned == never {
		return 0
	}
	return e.resigned
}

// alter takes over a change of this node's own entry, and tells everybody. Where only the
// leader changes the membership, it is asked to.
func (e *Engine) alter(now time.Duration) {
	switch {
	case !e.view().Contains(e.config.Self.ID):
	case !e.members.merging():
		e.wish(now)
	case e.restate():
		e.changed(now)
		e.broadcast(now)
		e.proceed(now)
	}
}

// restate brings this node's entry up to what it should be, and reports whether that
// changed it. Nobody else knows better, except that this node was removed.
func (e *Engine) restate() bool {
	stored, _ := e.members.find(e.config.Self.ID)
	if stored == e.own(stored.Version) {
		return false
	}
	return e.members.put(e.own(e.members.next(e.own(0))))
}
