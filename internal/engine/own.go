package engine

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
)

// What a node says of itself in the membership: its name, its address, its priority and
// whether it may lead. All of it is configured; the last two can be changed while it
// runs.

// SetPriority changes the priority of this node, with the effect that the algorithm
// gives to it, until it is started again.
func (e *Engine) SetPriority(now time.Duration, priority int) *Output {
	e.begin(now)
	e.config.Self.Priority = priority
	e.members.SetSelf(now, membership.MemberOf(e.config.Self))
	return e.finish(now)
}

// Resign makes this node ineligible for a while, which any algorithm understands:
// another is elected. It stays a member and votes. It ends with the process.
func (e *Engine) Resign(now, period time.Duration) *Output {
	e.begin(now)
	e.members.Resign(now, period)
	return e.finish(now)
}

// Remove requests the removal of a member, dead or alive, as [membership.Dynamic.Remove] does. With an error,
// that of CheckRemoval, there is no Output.
func (e *Engine) Remove(now time.Duration, id algo.NodeID) (*Output, error) {
	if err := e.CheckRemoval(id); err != nil {
		return nil, err
	}
	e.begin(now)
	if err := e.dynamic.Remove(now, id); err != nil {
		return nil, err
	}
	return e.finish(now), nil
}

// CancelRemove stops repeating the request for a removal, or for all of them if the ID is zero. The removal
// may still happen.
func (e *Engine) CancelRemove(now time.Duration, id algo.NodeID) *Output {
	e.begin(now)
	if e.dynamic != nil {
		e.dynamic.CancelRemove(id)
	}
	return e.finish(now)
}

// SetMembers replaces the list of members, as [membership.Static.SetMembers] does. With an error there is no Output.
// With a quorum it is an error: the members change by join, leave and remove.
func (e *Engine) SetMembers(now time.Duration, list []string) (*Output, error) {
	if e.static == nil {
		return nil, membership.ErrQuorum
	}
	e.begin(now)
	if err := e.static.SetMembers(now, list); err != nil {
		return nil, err
	}
	for peer := range e.View().Others(e.config.Self.ID) { // most of them do not monitor this node
		if _, connected := e.links[peer]; connected {
			e.send(now, peer, fd.Heartbeat{Digest: e.members.Digest()})
		}
	}
	return e.finish(now), nil
}

// DifferingLists returns the connected members that have another list than this node.
func (e *Engine) DifferingLists() []algo.NodeID {
	if e.static == nil {
		return nil
	}
	return e.static.Differing()
}
