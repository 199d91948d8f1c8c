package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// LeadOption is an option of [Node.Lead].
type LeadOption uint8

// KeepLeading lets the node lead on when the callback returns or panics, without a callback.
const KeepLeading LeadOption = 1

// Run creates a node, takes part in elections, and calls work while the node leads. When ctx ends or work returns, the
// node hands over and Run returns. The callback of the next leader starts only after work has returned here, or after
// Config.DrainTimeout.
//
// The error is nil if ctx has ended. Otherwise it is the error of work, the reason why the node stopped (see
// [Node.Run]), or a problem of the configuration (see [New]). See [Node.Lead] for the context of work.
func Run(ctx context.Context, c Config, work func(ctx context.Context, l Leadership) error) error {
	n, err := New(c)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- n.Run(running) }()
	err = n.Lead(running, work)
	stop()
	if err == ErrStopped || ctx.Err() != nil {
		err = nil // Run of the node says why it stopped
	}
	return errors.Join(err, <-stopped)
}

// Lead calls fn whenever this node leads, in the calling goroutine, until fn returns during a leadership, ctx ends, or
// the node stops.
//
// The context of fn ends as soon as this node knows that its leadership has ended, before the node saves or sends
// anything that gives it up. context.Cause returns the reason: see State.Cause. If this node is elected again in a
// newer epoch, the context ends when that epoch is saved, unless no other node can have led in between.
//
// After the end of the context, Lead waits until fn has returned, ignores its result, and waits for the next
// leadership. So one Lead never runs fn twice at a time. Two nodes may run fn at the same time as far as the algorithm
// allows two leaders.
//
// If fn returns or panics while the node leads, the node resigns, and another member is elected. If no other member is
// eligible, this node stays leader. Lead then returns the result of fn, or panics. It waits for the resignation as
// Resign does, even if ctx has ended. In other cases Lead returns context.Cause(ctx) or ErrStopped.
//
// Several calls at the same time each run their fn in every leadership. The first fn that returns during a leadership
// resigns for all of them. The node hands over when the others have returned, or after Config.DrainTimeout.
func (n *Node) Lead(ctx context.Context, fn func(ctx context.Context, l Leadership) error, options ...LeadOption) error {
	for s := range n.Watch(ctx) {
		if !s.IsLeader {
			continue
		}
		over, err := n.runTask(ctx, s.Leader, fn, slices.Contains(options, KeepLeading))
		if !over && ctx.Err() == nil {
			return err
		}
	}
	return iterationError(ctx)
}

// iterationError returns the reason why Watch has ended: the cause of ctx, or ErrStopped.
func iterationError(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrStopped
}

// runTask runs fn for one leadership, and reports whether the leadership had ended when fn returned.
func (n *Node) runTask(ctx context.Context, l Leadership, fn func(context.Context, Leadership) error, keep bool) (over bool, err error) {
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if l.task = n.leadership.register(l, cancel); l.task == nil {
		return true, nil
	}
	defer func() {
		var epoch algo.Epoch
		if epoch, over = n.leadership.unregister(l.task); over {
			n.enqueue(func() {}) // wakes the loop, which may wait for the return
		} else if !keep {
			n.resignEpoch(ctx, epoch)
		}
	}()
	returned := make(chan struct{})
	defer close(returned)
	go n.warnOverdue(working.Done(), returned, l.Epoch)
	return false, fn(working, l)
}

// warnOverdue warns if a callback is still running after Config.DrainTimeout.
func (n *Node) warnOverdue(cancelled, returned <-chan struct{}, epoch algo.Epoch) {
	select {
	case <-cancelled:
	case <-returned:
		return
	}
	select {
	case <-time.After(n.config.DrainTimeout):
		n.warn("", "Lead callback still running after the drain timeout", "epoch", uint64(epoch), "for", n.config.DrainTimeout)
	case <-returned:
	}
}

// resignEpoch resigns from the leadership of the epoch, unless it has ended.
func (n *Node) resignEpoch(ctx context.Context, epoch algo.Epoch) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.config.DrainTimeout+n.config.Timing.RecoveryBound())
	defer cancel()
	err := n.runOperation(ctx, func() (*operation, error) {
		if s, _, _ := n.leadership.snapshot(); !s.IsLeader || s.Leader.Epoch != epoch || n.ctx.Err() != nil {
			return nil, nil // the leadership has ended, or the node is stopping
		}
		return n.startResign(0)
	})
	if err != nil {
		n.limitedInfo.Warn("handover failed after the Lead callback returned", "error", err)
	}
}
