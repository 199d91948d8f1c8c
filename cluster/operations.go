package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/wire"
)

// operation is a request that other members must help to complete, such as a change of the members. The loop checks it
// after each of its turns.
type operation struct {
	start         func()    // set while the operation waits for Lead callbacks: see drainThen
	drainDeadline time.Time // end of that wait
	isDone        func() bool
	onTimeout     func() error // cancels the operation at its deadline, and returns its error
	deadline      time.Time    // zero: the caller decides
	result        func(error)  // called once; it must not block
}

// limitDeadline moves the deadline to until, if that is earlier.
func (e *operation) limitDeadline(until time.Time) {
	if e.deadline.IsZero() || until.Before(e.deadline) {
		e.deadline = until
	}
}

// drainThen ends the leadership of this node for its own Lead callbacks. It starts e when they have returned, or after
// Config.DrainTimeout. Until then this node is still the leader for the other members.
func (n *Node) drainThen(cause error, e *operation, begin func()) *operation {
	n.endLeadership(cause)
	e.start, e.drainDeadline = begin, time.Now().Add(n.config.DrainTimeout)
	return e
}

func (n *Node) isDraining() bool {
	return slices.ContainsFunc(n.operations, func(e *operation) bool { return e.start != nil })
}

// completeOperations starts, completes and times out operations. If this node leads although it has drained its
// callbacks, its callbacks start again.
func (n *Node) completeOperations() {
	yielded := n.isDraining()
	n.operations = slices.DeleteFunc(n.operations, func(e *operation) bool {
		now := time.Now()
		if e.start != nil && n.failed == nil && (n.leadership.isIdle() || !now.Before(e.drainDeadline)) {
			begin := e.start
			e.start = nil
			begin()
			if !n.leadership.isIdle() {
				n.perform(n.engine.HandleDrainEnded(n.now())) // the lease does not wait again for callbacks that hang
			}
		}
		switch {
		case e.start == nil && e.isDone():
			e.result(nil)
		case n.failed != nil:
			e.result(n.failed)
		case e.start == nil && !e.deadline.IsZero() && !now.Before(e.deadline):
			e.result(e.onTimeout())
		default:
			return false
		}
		return true
	})
	if yielded && !n.isDraining() {
		l, _ := n.engine.Leader()
		n.publishLeader(l)
	}
}

// waitTime returns how long the loop may wait, at most longest: until an operation is due, or the next log of what this
// node waits for.
func (n *Node) waitTime(longest time.Duration) time.Duration {
	for _, e := range n.operations {
		next := e.deadline
		if e.start != nil {
			next = e.drainDeadline
		}
		if !next.IsZero() {
			longest = min(longest, time.Until(next))
		}
	}
	if n.nextWaitLog > 0 {
		longest = min(longest, n.nextWaitLog-n.now())
	}
	return longest
}

// runOperation has the loop call start, and waits for the operation that start returns, if any. When ctx ends, the
// operation is given up, even if start is still running, which takes a save. The error is that of start or of the
// operation, context.Cause(ctx), or ErrStopped.
func (n *Node) runOperation(ctx context.Context, start func() (*operation, error)) error {
	outcome := make(chan error, 1) // the loop never waits for the caller
	var e *operation               // belongs to the loop
	begin := func() {
		if ctx.Err() != nil {
			return
		}
		begun, err := start()
		if begun == nil || err != nil {
			outcome <- err
			return
		}
		e = begun
		e.result = func(err error) { outcome <- err }
		n.operations = append(n.operations, e)
	}
	select {
	case n.inbox <- begin:
	case <-n.loopCtx.Done():
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-outcome:
		return err
	case <-n.loopCtx.Done():
		select {
		case err := <-outcome: // the operation may have ended the loop
			return err
		default:
			return ErrStopped
		}
	case <-ctx.Done():
		n.enqueue(func() {
			if e != nil {
				e.limitDeadline(time.Now())
			}
		})
		return context.Cause(ctx)
	}
}

// Remove ends the membership of another member for good, dead or alive. The removed node stops with ErrRemoved when it
// learns of the removal, at the latest at its next start. Its ID never returns: with an empty data directory the node
// joins as a new member.
//
// The leader removes the member. This node repeats the request until it is done. The leader makes one change at a time,
// and Remove returns when a majority of the remaining members holds the change. A leader that is to be removed hands
// over first, and the next leader removes it. When ctx ends, the request is given up, and the removal may still happen.
// To remove the node itself, call Leave.
//
// The error is ErrNoQuorum without a quorum, ErrUnknownMember, ErrLastMember, ErrNoEligibleMember, context.Cause(ctx),
// ErrStopped, or an ErrSaveFailed that stops the node.
func (n *Node) Remove(ctx context.Context, id algo.NodeID) error {
	return n.runOperation(ctx, func() (*operation, error) { return n.startRemove(id) })
}

// Leave ends the membership of this node for good. To stop it only, end the context of Run: then it says goodbye and
// stays a member. Leave resigns, waits until another member has removed this node, and returns nil. Run returns nil
// then. If ctx ends first, the node stays a member, unless the other member is just removing it. The context of a Lead
// callback ends at once. The errors are those of Remove.
func (n *Node) Leave(ctx context.Context) error {
	return n.runOperation(ctx, func() (*operation, error) { return n.startRemove(n.self.ID) })
}

// startRemove starts the removal of a member, or of this node.
func (n *Node) startRemove(id algo.NodeID) (*operation, error) {
	refused := func(err error) error {
		return fmt.Errorf("cluster: remove %s: %w", n.displayName(id), removeErrors[err])
	}
	if err := n.engine.CheckRemoval(id); err != nil {
		return nil, refused(err)
	}
	e := &operation{onTimeout: func() error {
		why := n.blockedReason(n.engine.RemovalObstacle(id))
		n.perform(n.engine.CancelRemove(n.now(), id))
		return fmt.Errorf("cluster: not done in time: %s; it is given up, and may still happen", why)
	}}
	remove := func() {
		out, err := n.engine.Remove(n.now(), id)
		if err != nil { // the other members have left in the meantime
			e.onTimeout, e.deadline = func() error { return refused(err) }, time.Now()
			return
		}
		n.perform(out)
	}
	if id == n.self.ID {
		e.isDone = func() bool { return errors.Is(n.failed, ErrLeft) }
		return n.drainThen(ErrResigned, e, remove), nil
	}
	e.isDone = func() bool { return !n.engine.View().Contains(id) && n.engine.Committed() }
	remove()
	return e, n.failed
}

// startResign starts a resignation.
func (n *Node) startResign(period time.Duration) (*operation, error) {
	view := n.engine.View()
	if !slices.ContainsFunc(slices.Collect(view.Others(n.self.ID)), view.IsEligible) {
		return nil, fmt.Errorf("cluster: resign: %w", ErrNoEligibleMember)
	}
	led := n.IsLeader()
	period = cmp.Or(period, n.config.Timing.RecoveryBound())
	e := &operation{
		isDone: func() bool {
			s, _, _ := n.leadership.snapshot()
			return !s.IsLeader && (s.HasLeader() || !led)
		},
		onTimeout: func() error {
			if n.engine.View().IsEligible(n.self.ID) {
				return errors.New("cluster: it resigned, no other member was elected, and it may be elected again")
			}
			return appliedLocally("done here, and no other member leads yet" + n.noLeaderReason())
		},
	}
	return n.drainThen(ErrResigned, e, func() {
		e.limitDeadline(time.Now().Add(period))
		n.perform(n.engine.Resign(n.now(), period))
	}), nil
}

// ErrQuorum is the error of SetMembers with a quorum: nodes join, leave and are removed, and the list of members is not
// used.
var ErrQuorum = errors.New("cluster: with a quorum members are not listed: nodes join, and elect remove and elect leave remove them")

// SetMembers replaces Config.Members, of an algorithm without a quorum. It returns when this node uses the new list.
// Change the list on all nodes: a node rejects one that its list does not name. The list must name this node, by its
// address in Members or by Config.Listen; to take the node itself out, change the lists of the others and stop it. The
// error is an *algo.SettingError, ErrQuorum, context.Cause(ctx) or ErrStopped.
func (n *Node) SetMembers(ctx context.Context, members []string) error {
	c := Config{Listen: n.config.Listen, Advertise: n.config.Advertise, AllowTextbook: n.config.AllowTextbook, Members: canonicals(members)}
	if n.hello.Load() != nil { // it listens, so its own address is known also if the port was 0
		c.Members, c.Advertise = n.resolveListen(c.Members), n.self.Addr
	}
	if err := c.checkMembers(); err != nil {
		return err
	}
	return n.runOperation(ctx, func() (*operation, error) {
		list := n.resolveListen(c.Members)
		out, err := n.engine.SetMembers(n.now(), list)
		switch {
		case errors.Is(err, membership.ErrQuorum):
			return nil, ErrQuorum
		case err != nil:
			return nil, fmt.Errorf("cluster: %w", err)
		}
		hello := *n.hello.Load()
		hello.Members = wire.Members(list)
		n.hello.Store(&hello)
		n.perform(out)
		return nil, n.failed
	})
}

// startSetPriority sets the priority of this node, which takes effect at once. The operation is done when a quorum
// knows the priority, where a quorum is needed.
func (n *Node) startSetPriority(priority int) (*operation, error) {
	if err := checkPriority(priority); err != nil {
		return nil, err
	}
	n.self.Priority = priority
	n.priority.Store(int64(priority))
	n.perform(n.engine.SetPriority(n.now(), priority))
	return &operation{
		isDone: func() bool {
			m, _ := n.engine.View().Member(n.self.ID)
			return m.Priority == priority && n.engine.Committed()
		},
		onTimeout: func() error {
			if n.self.Priority != priority {
				return fmt.Errorf("cluster: it was set to %d since", n.self.Priority)
			}
			return appliedLocally("done here until the node is started again, and not known to all yet: " + n.blockedReason(nil))
		},
	}, n.failed
}

// blockedReason describes what a change of the members waits for; reason is the cause, if it is known.
func (n *Node) blockedReason(reason error) string {
	leader, known := n.Leader()
	switch {
	case !known:
		return "no leader is known to do it" + n.noLeaderReason()
	case !n.engine.Committed():
		return "a majority of the members is not known to hold the config yet"
	case reason != nil && n.IsLeader():
		return reason.Error()
	}
	return leader.Name + " leads and has not done it: a leader makes only changes after which it reaches a majority"
}

// Why a member cannot be removed, or resign.
var (
	// ErrUnknownMember: no member has this ID or name.
	ErrUnknownMember = errors.New("there is no such member")
	// ErrLastMember: this is the only member.
	ErrLastMember = errors.New("it is the last member: stop it, and delete its data")
	// ErrNoEligibleMember: no other member is eligible.
	ErrNoEligibleMember = newReason("no other member may lead", elector.ErrNoOther)
	// ErrNoQuorum: the algorithm has no quorum, which must agree that a member leaves or is removed.
	ErrNoQuorum = errors.New("its algorithm has no quorum to agree on that: change the list members on each node, or drop lease: off")
)

// removeErrors maps errors of the membership to those of this package.
var removeErrors = map[error]error{membership.ErrNoMember: ErrUnknownMember, membership.ErrLastMember: ErrLastMember, membership.ErrNoEligibleMember: ErrNoEligibleMember, membership.ErrNoQuorum: ErrNoQuorum}
