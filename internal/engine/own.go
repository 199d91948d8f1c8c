package engine

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/membership"
)

// What a node says of itself in the membership: its name, its address, its priority and
// whether it may lead. All of it is configured; the last two can be changed while it
// runs.

// self is this node as it should be.
func (e *Engine) self() algo.Member {
	self := e.config.Self
	self.Priority = e.priority()
	return self
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
	e.begin(now)
	if e.priority() != priority {
		e.override = override{Override{Configured: e.config.Self.Priority, Priority: priority}, true, true}
		e.members.Restate(now, e.self())
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
	e.begin(now)
	before := e.priority()
	e.config.Self.Priority = priority
	e.override = override{record: Override{Configured: priority, Priority: priority}, set: true, changed: true}
	if before != priority {
		e.members.Restate(now, e.self())
	}
	return e.finish(now)
}

// Resign makes this node ineligible for a while, which any algorithm understands:
// another is elected. It stays a member and votes. It ends with the process.
func (e *Engine) Resign(now, period time.Duration) *Output {
	e.begin(now)
	e.members.Resign(now, period)
	return e.finish(now)
}

// Remove strikes another member, dead or alive: it learns of that when it is told, or at
// its next start, and stops. The leader is asked until it is done, or Withdraw is called.
// With an error, which is ErrNoMember, ErrLast or ErrNoHeir, there is no Output. To remove
// itself is to leave.
func (e *Engine) Remove(now time.Duration, id algo.NodeID) (*Output, error) {
	e.begin(now)
	if err := e.members.Remove(now, id); err != nil {
		return nil, err
	}
	return e.finish(now), nil
}

// Leave ends the membership of this node for good. It stands aside, and has the leader
// strike it; Output.Removed says when that is done. The errors are those of Remove.
func (e *Engine) Leave(now time.Duration) (*Output, error) { return e.Remove(now, e.config.Self.ID) }

// Withdraw takes a Remove or a Leave back, or all of them for a zero ID, unless it is done.
// It may be done all the same if somebody was asked already.
func (e *Engine) Withdraw(now time.Duration, id algo.NodeID) *Output {
	e.begin(now)
	e.members.Withdraw(now, id)
	return e.finish(now)
}

// Why a member cannot be struck.
var (
	ErrNoMember = membership.ErrNoMember
	ErrLast     = membership.ErrLast
	ErrNoHeir   = membership.ErrNoHeir
)
