package engine

import (
	"time"

	"github.com/elect-go/elect/algo"
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
	e.members.Restate(now, e.config.Self)
	return e.finish(now)
}

// Resign makes this node ineligible for a while, which any algorithm understands:
// another is elected. It stays a member and votes. It ends with the process.
func (e *Engine) Resign(now, period time.Duration) *Output {
	e.begin(now)
	e.members.Resign(now, period)
	return e.finish(now)
}

// Remove strikes a member, as [membership.Machine.Remove] does. With an error, that of Removable, there is
// no Output.
func (e *Engine) Remove(now time.Duration, id algo.NodeID) (*Output, error) {
	e.begin(now)
	if err := e.members.Remove(now, id); err != nil {
		return nil, err
	}
	return e.finish(now), nil
}

// Withdraw takes a Remove back, or all of them for a zero ID, unless it is done.
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
