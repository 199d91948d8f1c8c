package engine

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
)

// SetPriority changes the priority of this node until its next start. The algorithm decides the effect.
func (e *Engine) SetPriority(now time.Duration, priority int) *Output {
	e.startCall(now)
	e.config.Self.Priority = priority
	e.members.SetSelf(now, membership.MemberOf(e.config.Self))
	return e.finishCall(now)
}

// Resign makes this node ineligible for a period, so any algorithm elects another leader. The node stays a member and
// votes. The period also ends with the process.
func (e *Engine) Resign(now, period time.Duration) *Output {
	e.startCall(now)
	e.members.Resign(now, period)
	return e.finishCall(now)
}

// Remove requests the removal of a member, dead or alive: see [membership.Dynamic.Remove]. With an error, which is
// that of CheckRemoval, there is no Output.
func (e *Engine) Remove(now time.Duration, id algo.NodeID) (*Output, error) {
	if err := e.CheckRemoval(id); err != nil {
		return nil, err
	}
	e.startCall(now)
	if err := e.dynamic.Remove(now, id); err != nil {
		return nil, err
	}
	return e.finishCall(now), nil
}

// CancelRemove stops repeating the request for a removal, or for all of them if the ID is zero. The removal may still
// happen.
func (e *Engine) CancelRemove(now time.Duration, id algo.NodeID) *Output {
	e.startCall(now)
	if e.dynamic != nil {
		e.dynamic.CancelRemove(id)
	}
	return e.finishCall(now)
}

// SetMembers replaces the list of members: see [membership.Static.SetMembers]. With an error there is no Output. With
// a quorum, SetMembers is an error: there, members join, leave and are removed.
func (e *Engine) SetMembers(now time.Duration, list []string) (*Output, error) {
	if e.static == nil {
		return nil, membership.ErrQuorum
	}
	e.startCall(now)
	if err := e.static.SetMembers(now, list); err != nil {
		return nil, err
	}
	for peer := range e.View().Others(e.config.Self.ID) { // most of them do not monitor this node
		if _, connected := e.conns[peer]; connected {
			e.send(now, peer, fd.Heartbeat{Digest: e.members.Digest()})
		}
	}
	return e.finishCall(now), nil
}

// DifferingLists returns the connected members with a list that differs from that of this node.
func (e *Engine) DifferingLists() []algo.NodeID {
	if e.static == nil {
		return nil
	}
	return e.static.Differing()
}
