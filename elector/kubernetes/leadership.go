package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/contender"
)

// leadership is one leadership of this contender.
type leadership struct {
	*Elector
	token uint64
	next  time.Duration // when to renew; only lead uses it
	wake  chan struct{} // a resignation has begun

	ctx  context.Context // ends when the Lease is lost
	stop context.CancelFunc

	deadline *contender.Deadline

	mu     sync.Mutex
	call   *resignCall // the resignation that runs; nil if there is none
	closed bool        // each later resignation ends at once
}

// resignCall is a resignation that asks whether another contender is there.
type resignCall struct {
	id    string
	limit time.Duration // for the answer; first for the question
	asked bool          // the Lease shows the call
	done  chan struct{}
	err   error // set before done is closed
}

// markAsked notes that the Lease shows the call. There must be an answer until the limit.
func (c *resignCall) markAsked(limit time.Duration) { c.asked, c.limit = true, limit }

func newLeadership(e *Elector, token uint64, sent time.Duration) *leadership {
	return &leadership{Elector: e, token: token, wake: make(chan struct{}, 1), next: sent + e.config.RetryPeriod,
		deadline: contender.NewDeadline(e.now, e.config.RenewDeadline, sent)}
}

// lose ends the leadership without anything to give up.
func (l *leadership) lose(format string, args ...any) {
	l.state.EndLeadership(l.token, fmt.Errorf("kubernetes: "+format+": %w", append(args, elector.ErrLost)...))
	l.stop()
}

// expire ends the leadership at its deadline.
func (l *leadership) expire() {
	if l.deadline.Await(l.ctx, l.config.LeaseDuration/20) {
		l.lose("the Lease was not renewed in time")
	}
}

// resign returns the resignation that runs, and begins one if there is none.
func (l *leadership) resign() *resignCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.call != nil {
		return l.call
	}
	c := &resignCall{id: rand.Text(), limit: l.now() + l.config.LeaseDuration, done: make(chan struct{})}
	if l.closed {
		close(c.done)
		return c
	}
	l.call = c
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return c
}

// pending returns the resignation that runs; nil if there is none.
func (l *leadership) pending() *resignCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.call
}

// finish ends the resignation that runs. With closed, each later one ends at once.
func (l *leadership) finish(err error, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = l.closed || closed
	if l.call != nil {
		l.call.err = err
		close(l.call.done)
		l.call = nil
	}
}

// lead leads until the leadership has ended and the work has returned. Then it releases the Lease.
func (r *run) lead(ctx context.Context, own *leadership) {
	own.ctx, own.stop = context.WithCancel(r.ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer own.stop()
	r.current.Store(own)
	defer own.finish(nil, true)
	l := r.lease.leader(r.lease.get().version)
	l = l.WithDeadline(own.deadline.Time)
	r.state.StartLeadership(l, func() bool { return l.Token == own.token && ctx.Err() == nil && own.deadline.Remaining() > 0 })
	parts.Go(own.expire)
	defer context.AfterFunc(ctx, func() { r.state.EndLeadership(own.token, elector.ErrStopped) })()

	var drained time.Duration // when the wait for the work ends; 0 while this contender leads
	for own.ctx.Err() == nil {
		l := r.lease.get()
		if !l.isHeldBy(r.id, own.token) {
			own.lose("%s", lossOf(l))
			return
		}
		s, now := r.state.Snapshot(), r.now()
		until := own.next
		if s.IsLeader {
			until = min(until, r.checkCall(own, l))
			s, now = r.state.Snapshot(), r.now()
		}
		if !s.IsLeader {
			if drained == 0 {
				drained = now + r.config.DrainTimeout
			}
			switch {
			case s.Callbacks == 0:
				r.standBack = now + r.config.LeaseDuration/2
				r.release(own.token)
				return
			case now >= drained:
				r.log.Warn("work still runs after the drain timeout: the Lease expires", "timeout", r.config.DrainTimeout)
				r.standBack = now + 2*r.config.LeaseDuration
				return
			}
			until = min(own.next, drained)
		}
		if now >= own.next {
			r.renew(own, l)
			continue
		}
		select {
		case <-time.After(min(until-now, r.period()/2)):
		case <-l.changed:
		case <-s.Changed:
		case <-own.wake:
		case <-own.ctx.Done():
		}
	}
}

// lossOf states why a Lease is no longer that of its holder.
func lossOf(l reading) string {
	switch {
	case l.version.lease == nil:
		return "the Lease was deleted"
	case l.holder() == "":
		return "the Lease has no holder any more"
	case l.record.Token == 0:
		return fmt.Sprintf("another writer has changed the Lease, which now names %q", l.holder())
	default:
		return fmt.Sprintf("%q has taken the Lease", l.holder())
	}
}

// renew renews the Lease, and shows the resignation that runs.
func (r *run) renew(own *leadership, l reading) {
	c := own.pending()
	id := ""
	if c != nil {
		id = c.id
	}
	sent, result := r.write(own.ctx, toUpdate, l.renewal(r.config, id, r.writeTime()))
	switch result {
	case done:
		own.deadline.Renew(sent)
		own.next = sent + r.period()
		if c != nil && !c.asked {
			c.markAsked(r.now() + r.config.LeaseDuration/2)
		}
	case conflict:
		own.next = r.now()
	default:
		own.next = r.now() + r.pause()
	}
}

// checkCall continues the resignation that runs, and returns when to look at it again. It ends the leadership when
// another contender has answered.
func (r *run) checkCall(own *leadership, l reading) time.Duration {
	c := own.pending()
	switch {
	case c == nil:
		return own.next
	case l.record.Call == c.id && l.record.Answer != "":
		r.state.EndLeadership(own.token, elector.ErrResigned)
		own.finish(nil, true)
	case r.now() >= c.limit && c.asked:
		own.finish(elector.ErrNoOther, false)
	case r.now() >= c.limit:
		own.finish(errors.New("the API server does not respond"), false)
	case !c.asked && own.next > r.now()+r.pause(): // not after a failed attempt
		own.next = r.now()
	}
	return c.limit
}

// release releases the Lease that this run holds with a token. If it fails, the Lease expires.
func (r *run) release(token uint64) {
	ctx, cancel := context.WithTimeout(r.ctx, min(r.config.LeaseDuration/2, 5*time.Second))
	defer cancel()
	for ctx.Err() == nil {
		l := r.lease.get()
		if !l.isHeldBy(r.id, token) {
			return
		}
		if _, result := r.write(ctx, toUpdate, l.release(r.writeTime())); result == failed {
			r.wait(ctx, r.pause(), nil, nil)
		}
	}
}
