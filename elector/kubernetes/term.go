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

// term is one leadership of this contender.
type term struct {
	*Elector
	token uint64
	next  time.Duration // when to renew; only lead uses it
	wake  chan struct{} // a resignation has begun

	ctx  context.Context // ends when the Lease is lost
	lose context.CancelFunc

	deadline *contender.Deadline

	mu   sync.Mutex
	call *call // the resignation that runs; nil if there is none
	over bool
}

// call is a resignation that asks whether another contender is there.
type call struct {
	id    string
	limit time.Duration // for the answer; first for the question
	asked bool          // the Lease shows the call
	done  chan struct{}
	err   error // set before done is closed
}

// ask notes that the Lease shows the call. There must be an answer until the limit.
func (c *call) ask(limit time.Duration) { c.asked, c.limit = true, limit }

func newTerm(e *Elector, token uint64, sent time.Duration) *term {
	return &term{Elector: e, token: token, wake: make(chan struct{}, 1), next: sent + e.config.RetryPeriod,
		deadline: contender.NewDeadline(e.now, e.config.RenewDeadline, sent)}
}

// end ends the leadership without anything to give up.
func (t *term) end(format string, args ...any) {
	t.state.End(t.token, fmt.Errorf("kubernetes: "+format+": %w", append(args, elector.ErrLost)...))
	t.lose()
}

// expire ends the leadership at its deadline.
func (t *term) expire() {
	if t.deadline.Await(t.ctx, t.config.LeaseDuration/20) {
		t.end("the Lease was not renewed in time")
	}
}

// resign returns the resignation that runs, and begins one if there is none.
func (t *term) resign() *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.call != nil {
		return t.call
	}
	c := &call{id: rand.Text(), limit: t.now() + t.config.LeaseDuration, done: make(chan struct{})}
	if t.over {
		close(c.done)
		return c
	}
	t.call = c
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return c
}

// pending returns the resignation that runs; nil if there is none.
func (t *term) pending() *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.call
}

// finish ends the resignation that runs. With over, each later one ends at once.
func (t *term) finish(err error, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = t.over || over
	if t.call != nil {
		t.call.err = err
		close(t.call.done)
		t.call = nil
	}
}

// lead leads until the leadership has ended and the work has returned. Then it releases the Lease.
func (r *run) lead(ctx context.Context, t *term) {
	t.ctx, t.lose = context.WithCancel(r.ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer t.lose()
	r.current.Store(t)
	defer t.finish(nil, true)
	l := r.lease.leader(r.lease.get().version)
	l = l.WithDeadline(t.deadline.Time)
	r.state.Begin(l, func() bool { return l.Token == t.token && ctx.Err() == nil && t.deadline.Remaining() > 0 })
	parts.Go(t.expire)
	defer context.AfterFunc(ctx, func() { r.state.End(t.token, elector.ErrStopped) })()

	var drained time.Duration // when the wait for the work ends; 0 while this contender leads
	for t.ctx.Err() == nil {
		l := r.lease.get()
		if !l.isHeldBy(r.id, t.token) {
			t.end("%s", lossOf(l))
			return
		}
		s, now := r.state.Snapshot(), r.now()
		until := t.next
		if s.IsLeader {
			until = min(until, r.checkCall(t, l))
			s, now = r.state.Snapshot(), r.now()
		}
		if !s.IsLeader {
			if drained == 0 {
				drained = now + r.config.DrainTimeout
			}
			switch {
			case s.Works == 0:
				r.standBack = now + r.config.LeaseDuration/2
				r.release(t.token)
				return
			case now >= drained:
				r.log.Warn("work still runs after the drain timeout: the Lease expires", "timeout", r.config.DrainTimeout)
				r.standBack = now + 2*r.config.LeaseDuration
				return
			}
			until = min(t.next, drained)
		}
		if now >= t.next {
			r.renew(t, l)
			continue
		}
		select {
		case <-time.After(min(until-now, r.period()/2)):
		case <-l.changed:
		case <-s.Changed:
		case <-t.wake:
		case <-t.ctx.Done():
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
func (r *run) renew(t *term, l reading) {
	c := t.pending()
	id := ""
	if c != nil {
		id = c.id
	}
	sent, result := r.write(t.ctx, toUpdate, l.renewal(r.config, id, r.writeTime()))
	switch result {
	case done:
		t.deadline.Renew(sent)
		t.next = sent + r.period()
		if c != nil && !c.asked {
			c.ask(r.now() + r.config.LeaseDuration/2)
		}
	case conflict:
		t.next = r.now()
	default:
		t.next = r.now() + r.pause()
	}
}

// checkCall continues the resignation that runs, and returns when to look at it again. It ends the leadership when
// another contender has answered.
func (r *run) checkCall(t *term, l reading) time.Duration {
	c := t.pending()
	switch {
	case c == nil:
		return t.next
	case l.record.Call == c.id && l.record.Answer != "":
		r.state.End(t.token, elector.ErrResigned)
		t.finish(nil, true)
	case r.now() >= c.limit && c.asked:
		t.finish(elector.ErrNoOther, false)
	case r.now() >= c.limit:
		t.finish(errors.New("the API server does not respond"), false)
	case !c.asked && t.next > r.now()+r.pause(): // not after a failed attempt
		t.next = r.now()
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
