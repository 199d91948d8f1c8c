package cluster

import (
	"context"
	"time"
)

// Lead runs fn whenever this node leads, in the calling goroutine, until fn returns
// of its own accord, ctx ends or the node stops.
//
// The context of fn ends as soon as this node knows that the leadership it was
// started for is over, before anything is saved or sent that gives it up, and
// context.Cause says why: see State.Cause. (Where this node leads on, in a newer epoch, it
// ends when that is saved.) Then Lead waits for fn to return, whatever
// it returns, and for the next leadership. So one Lead never runs its fn twice at a
// time. On two nodes it may for a while: see what the algorithm promises.
//
// When fn returns while the node still leads, Lead returns what fn returned; the node
// goes on leading: call Resign to have another elected. When fn panics the panic goes
// on, and the node resigns. Otherwise Lead returns context.Cause(ctx), or ErrStopped.
func (n *Node) Lead(ctx context.Context, fn func(ctx context.Context, l Leadership) error) error {
	for s := range n.Watch(ctx) {
		if !s.Leads {
			continue
		}
		over, err := n.serve(ctx, s.Leader, fn)
		if over {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrStopped
}

// serve runs fn for one leadership, and reports whether that was over when fn
// returned.
func (n *Node) serve(ctx context.Context, l Leadership, fn func(context.Context, Leadership) error) (over bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := n.board.serve(l, cancel)
	if done == nil {
		return true, nil
	}
	returned := false
	defer func() {
		over = done()
		if !returned && !over {
			n.abandon(l)
		}
	}()
	err = fn(ctx, l)
	returned = true
	return over, err
}

// abandon resigns from a leadership whose work has panicked. It does not wait for the
// loop: the panic goes on. To the application the leadership is over at once.
func (n *Node) abandon(l Leadership) {
	n.board.lose(l.Epoch, ErrResigned, time.Now())
	n.tell(func() {
		if now, _ := n.engine.Leader(); now.ID == l.ID {
			n.resign(n.config.Timing.Bound())
		}
	})
}
