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
	if e.config.Self.Priority != priority {
		e.config.Self.Priority = priority
		e.members.Restate(now, e.config.Self)
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
