package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// LeadOption changes what Lead does.
type LeadOption uint8

// Keep has the node lead on when the work returns, or panics: with nobody who works for it.
const KeepLeading LeadOption = 1

// Run makes a node, takes part in elections, and calls work while this node leads. When ctx ends, or when work
// returns of its own accord, the node hands over to another and Run returns: no other node is told to begin before
// the work has returned here, for Config.Drain at most.
//
// The error is nil after the end of ctx; otherwise it is what work returned, what stopped the node (see [Node.Run]),
// or a mistake in the configuration (see [New]). See [Node.Lead] for the context of work.
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

// Lead runs fn whenever this node leads, in the calling goroutine, until fn returns
// of its own accord, ctx ends or the node stops.
//
// The context of fn ends as soon as this node knows that the leadership it was
// started for is over, before anything is saved or sent that gives it up, and
// context.Cause says why: see State.Cause. (Where this node leads on, in a newer epoch, it
// ends when that is saved; and not at all where nobody can have led in between, as vote knows
// of the epoch that follows.) Then Lead waits for fn to return, whatever
// it returns, and for the next leadership. So one Lead never runs its fn twice at a
// time. On two nodes it may for a while: see what the algorithm promises.
//
// When fn returns or panics while the node still leads, the node resigns, and another is elected
// where one can be: without an heir it leads on. Then Lead returns what fn returned, or the panic
// goes on. It waits for that as Resign does, also when ctx has ended. Otherwise Lead returns
// context.Cause(ctx), or ErrStopped.
//
// Several calls at once each run their fn in every leadership. The first that returns of its own
// accord resigns for all, and the node hands over when the others have returned, or after Config.Drain.
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

// ended is why the states have: ctx, or the node.
func iterationError(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrStopped
}

// serve runs fn for one leadership, and reports whether that was over when fn
// returned.
func (n *Node) runTask(ctx context.Context, l Leadership, fn func(context.Context, Leadership) error, keep bool) (over bool, err error) {
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if l.task = n.leadership.register(l, cancel); l.task == nil {
		return true, nil
	}
	defer func() {
		var epoch algo.Epoch
		if epoch, over = n.leadership.unregister(l.task); over {
			n.enqueue(func() {}) // it may wait for that
		} else if !keep {
			n.resignEpoch(ctx, epoch)
		}
	}()
	returned := make(chan struct{})
	defer close(returned)
	go n.warnOverdue(working.Done(), returned, l.Epoch)
	return false, fn(working, l)
}

// warnOverdue warns when work goes on for Config.Drain after it was told to end.
func (n *Node) warnOverdue(told, returned <-chan struct{}, epoch algo.Epoch) {
	select {
	case <-told:
	case <-returned:
		return
	}
	select {
	case <-time.After(n.config.DrainTimeout):
		n.warn("", "work goes on after its leadership", "epoch", uint64(epoch), "for", n.config.DrainTimeout)
	case <-returned:
	}
}

// giveUp resigns from the leadership of that epoch, if it lasts.
func (n *Node) resignEpoch(ctx context.Context, epoch algo.Epoch) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.config.DrainTimeout+n.config.Timing.RecoveryBound())
	defer cancel()
	err := n.runOperation(ctx, func() (*operation, error) {
		if s, _, _ := n.leadership.snapshot(); !s.IsLeader || s.Leader.Epoch != epoch || n.ctx.Err() != nil {
			return nil, nil // that is over, or everything is about to be
		}
		return n.startResign(0)
	})
	if err != nil {
		n.limitedInfo.Warn("not handed over after the work", "error", err)
	}
}
