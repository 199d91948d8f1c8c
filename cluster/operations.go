package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/wire"
)

// errand is what somebody waits for: a change of the membership that others have a part
// in. The loop looks at it after each of its turns.
type operation struct {
	start         func()    // set while it waits for work to return: see yield
	drainDeadline time.Time // when it waits for that no longer
	isDone        func() bool
	onTimeout     func() error // ends it when it waits no longer, and says how things stand then
	deadline      time.Time    // when that is; zero: when who waits says so
	result        func(error)  // called once, must not block
}

// by has it end at that time, if not before.
func (e *operation) limitDeadline(until time.Time) {
	if e.deadline.IsZero() || until.Before(e.deadline) {
		e.deadline = until
	}
}

// yield ends the work for this node's leadership, and has the errand begin when all of it has
// returned, or after Config.Drain. Until then the node leads for the others, and for no work.
func (n *Node) drainThen(cause error, e *operation, begin func()) *operation {
	n.endLeadership(cause)
	e.start, e.drainDeadline = begin, time.Now().Add(n.config.DrainTimeout)
	return e
}

func (n *Node) isDraining() bool {
	return slices.ContainsFunc(n.operations, func(e *operation) bool { return e.start != nil })
}

// settleErrands ends those that are over, and reports how they went. Where this node leads after all its
// work begins anew.
func (n *Node) completeOperations() {
	yielded := n.isDraining()
	n.operations = slices.DeleteFunc(n.operations, func(e *operation) bool {
		now := time.Now()
		if e.start != nil && n.failed == nil && (n.leadership.isIdle() || !now.Before(e.drainDeadline)) {
			begin := e.start
			e.start = nil
			begin()
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

// rest is how long the loop may wait, at most the longest: until an errand has to begin or be given
// up, or this node says again for whom it waits.
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

// run has the loop call start, and waits for the errand that it returns, if it returns one.
// When ctx ends that is given up, also where the loop was still starting it: that takes a
// save. The error is that of start or of the errand, context.Cause(ctx), or ErrStopped.
func (n *Node) runOperation(ctx context.Context, start func() (*operation, error)) error {
	outcome := make(chan error, 1) // the loop never waits for who asked
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
		case err := <-outcome: // it may be what ended the loop
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

// Remove ends the membership of another member, dead or alive, for good: it stops with
// ErrRemoved when it is told, or at its next start, and counts for no majority any more.
// Its ID never comes back; with an emptied data folder the node joins as a new member.
//
// The leader does it and tells the others, and is asked again and again until then. It makes one
// change at a time, and Remove returns when a majority of the remaining members holds it. A leader
// that is removed hands over first, and the next one removes it. When ctx ends it is
// given up, and may or may not have been done. To remove the node itself is to Leave.
//
// The error is ErrNoQuorum if the algorithm has none, ErrNoMember, ErrLastMember, ErrNoHeir,
// context.Cause(ctx), ErrStopped, or an ErrSave that stops the node.
func (n *Node) Remove(ctx context.Context, id algo.NodeID) error {
	return n.runOperation(ctx, func() (*operation, error) { return n.startRemove(id) })
}

// Leave ends the membership of this node for good. To stop it alone, end the context of
// Run: it says goodbye then, and stays a member. Leave resigns, waits until another member has removed
// this one, and returns nil; Run then returns nil. When ctx ends before, as that of
// the work does at once, the node stays, unless that other member is just doing it. The errors are those
// of Remove.
func (n *Node) Leave(ctx context.Context) error {
	return n.runOperation(ctx, func() (*operation, error) { return n.startRemove(n.self.ID) })
}

// removal starts a removal, or a leave.
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
		if err != nil { // the others have left since
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

// resignation starts one.
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
			return appliedLocally("done here, and nobody else leads yet" + n.noLeaderReason())
		},
	}
	return n.drainThen(ErrResigned, e, func() {
		e.limitDeadline(time.Now().Add(period))
		n.perform(n.engine.Resign(n.now(), period))
	}), nil
}

// ErrQuorum says that the algorithm has a quorum: nodes join, leave and are removed, and the list of members is not
// used any more.
var ErrQuorum = errors.New("cluster: with a quorum members are not listed: nodes join, and elect remove and elect leave remove them")

// SetMembers replaces Config.Members, of an algorithm without a quorum. It returns when this node uses the new list.
// Change the list on all nodes: a node rejects one that its list does not name. The list must name this node; to
// take the node itself out, change the lists of the others and stop it. The error is an *algo.SettingError, ErrQuorum,
// context.Cause(ctx) or ErrStopped.
func (n *Node) SetMembers(ctx context.Context, members []string) error {
	c := Config{Listen: n.config.Listen, Advertise: n.config.Advertise, AllowTextbook: n.config.AllowTextbook, Members: members}
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

// restate gives this node another priority, which holds at once. The errand is over when a majority
// knows, where one is needed.
func (n *Node) startSetPriority(priority int) (*operation, error) {
	if err := checkPriority(priority); err != nil {
		return nil, err
	}
	n.self.Priority = priority
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

// obstacle says what a change of the membership is waiting for: the reason, if that is known.
func (n *Node) blockedReason(reason error) string {
	leader, known := n.Leader()
	switch {
	case !known:
		return "no leader is known to do it" + n.noLeaderReason()
	case !n.engine.Committed():
		return "a majority of the members has yet to confirm the view"
	case reason != nil && n.IsLeader():
		return reason.Error()
	}
	return leader.Name + " leads and has not done it; it changes to no members of whom it reaches no majority"
}

// Why a member cannot be removed, or resign.
var (
	// ErrNoMember says that there is no such member.
	ErrUnknownMember = errors.New("there is no such member")
	// ErrLastMember says that it is the only one.
	ErrLastMember = errors.New("it is the last member: stop it, and delete its data")
	// ErrNoHeir says that no other member may lead.
	ErrNoEligibleMember = errors.New("no other member may lead")
	// ErrNoQuorum says that the algorithm has no quorum, which must agree that a member leaves or is removed.
	ErrNoQuorum = errors.New("its algorithm has no quorum to agree on that: change the list members on each node, or drop lease: off")
)

// unstruck is what the engine says of that.
var removeErrors = map[error]error{membership.ErrNoMember: ErrUnknownMember, membership.ErrLastMember: ErrLastMember, membership.ErrNoEligibleMember: ErrNoEligibleMember, membership.ErrNoQuorum: ErrNoQuorum}
