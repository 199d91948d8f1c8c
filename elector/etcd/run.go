package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc/codes"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/contender"
)

// Run takes part in the election: see [elector.Elector]. Besides the end of ctx, only an error of the authentication
// or of the permissions ends it.
func (e *Elector) Run(ctx context.Context) error {
	if e.started.Swap(true) {
		return elector.ErrAlreadyStarted
	}
	defer e.state.Stop()
	// A leader that was read a TTL ago may be no more.
	forget := time.AfterFunc(e.ttl(), func() { e.state.Observe(elector.Leadership{}) })
	defer forget.Stop()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		began, err := e.runCandidacy(ctx, forget)
		switch {
		case ctx.Err() != nil:
			return nil
		case isFatal(err):
			return fmt.Errorf("etcd: %w", err)
		case err != nil:
			e.warn("candidacy ended", err)
		}
		if began {
			pause = 50 * time.Millisecond
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil
		}
	}
}

// warn logs an error, unless it is the last one that was logged since a lease was granted.
func (e *Elector) warn(what string, err error) {
	if last := e.logged.Swap(err.Error()); last != err.Error() {
		e.log.Warn(what, "error", err)
	}
}

// isFatal reports whether an error remains until an operator changes something.
func isFatal(err error) bool {
	for _, fatal := range []error{rpctypes.ErrAuthFailed, rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty} {
		if errors.Is(err, fatal) {
			return true
		}
	}
	return false
}

// candidacy is the time of one lease, with a client of its own: what a client does after an error depends on the error.
type candidacy struct {
	*Elector
	client *clientv3.Client
	lease  clientv3.LeaseID
	ttl    time.Duration // that the servers have granted; read it only with the lease
	key    string
	forget *time.Timer
	run    context.Context // of Run
	token  atomic.Uint64   // of the leadership; 0 before
	led    atomic.Int64    // revision at which the leadership began; 0 before

	ctx  context.Context // ends when the candidacy has ended, or its lease is lost; context.Cause is the reason
	lose context.CancelCauseFunc

	deadline *contender.Deadline // of the lease
}

// runCandidacy takes part in the election with one lease, until the lease is lost, a leadership has ended, or ctx ends.
// It reports whether it had a lease.
func (e *Elector) runCandidacy(ctx context.Context, forget *time.Timer) (began bool, err error) {
	base, closeBase := context.WithCancel(context.WithoutCancel(ctx))
	defer closeBase()
	giveUp := context.AfterFunc(ctx, closeBase) // while there is nothing to give back
	c := &candidacy{Elector: e, forget: forget, run: ctx}
	if c.client, err = e.client(base); err != nil {
		return false, fmt.Errorf("connect: %w", e.explain(err))
	}
	var parts sync.WaitGroup
	defer parts.Wait()
	defer c.client.Close()

	c.ctx, c.lose = context.WithCancelCause(base)
	defer c.lose(context.Canceled)
	parts.Go(c.observe) // also while there is no lease: the servers may have no space for one, and a leader
	if err = c.grant(); err != nil {
		return false, fmt.Errorf("grant of a lease: %w", e.explain(err))
	}
	if !giveUp() {
		return false, ctx.Err() // the client is closed: the lease, which has no key yet, expires
	}
	// The session is only what Election needs. Its own renewals end here: they do not say when they were sent.
	session, err := concurrency.NewSession(c.client, concurrency.WithLease(c.lease))
	if err != nil {
		return false, fmt.Errorf("session: %w", err)
	}
	session.Orphan()
	election := concurrency.NewElection(session, e.config.Prefix)
	c.key = fmt.Sprintf("%s/%x", e.config.Prefix, c.lease)
	e.current.Store(c)
	defer e.current.Store(nil)

	parts.Go(c.renew)
	parts.Go(c.expire)
	campaigning, endCampaign := context.WithCancel(clientv3.WithRequireLeader(c.ctx))
	defer endCampaign()
	led := make(chan struct{})
	parts.Go(func() { c.campaign(campaigning, election, led) })

	select {
	case <-ctx.Done():
	case <-c.ctx.Done():
	case <-led:
		c.awaitEnd(ctx)
	}
	if err = context.Cause(c.ctx); err == nil {
		e.state.EndLeadership(c.token.Load(), elector.ErrStopped)
	} else {
		e.state.EndLeadership(c.token.Load(), err) // also if the leadership has begun while the lease was lost
	}
	draining, cancel := context.WithTimeout(c.ctx, e.config.DrainTimeout)
	if !e.state.AwaitIdle(draining) && c.ctx.Err() == nil {
		e.log.Warn("work still running after the drain timeout", "for", e.config.DrainTimeout)
	}
	cancel()
	c.lose(context.Canceled)
	// This deletes the key. If it fails, the lease expires, because it is no longer renewed.
	revoking, cancel := context.WithTimeout(base, revokeTimeout)
	defer cancel()
	_, _ = c.client.Revoke(revoking, c.lease)
	return true, err
}

// grant requests a lease until it has one. While the servers have no space left, or too many requests, the connection
// stays, and so does the watch on it.
func (c *candidacy) grant() error {
	for {
		sent := contender.Now()
		ctx, cancel := context.WithTimeout(c.ctx, c.Elector.ttl())
		granted, err := c.client.Grant(ctx, int64(c.config.TTL))
		cancel()
		if err == nil {
			c.lease, c.ttl = granted.ID, time.Duration(granted.TTL)*time.Second
			c.deadline = contender.NewDeadline(contender.Now, contender.Usable(c.ttl), sent)
			c.logged.Store("")
			return nil
		}
		if answer, _ := errors.AsType[rpctypes.EtcdError](err); answer.Code() != codes.ResourceExhausted {
			return err
		}
		c.warn("no lease was granted", err)
		if !c.sleep(c.Elector.ttl() / 10) {
			return context.Cause(c.ctx)
		}
	}
}

// end ends the candidacy, and the leadership of this contender first.
func (c *candidacy) end(cause error) {
	c.state.EndLeadership(c.token.Load(), cause)
	c.lose(cause)
}

// renew renews the lease three times in each TTL. An attempt that gets no answer is repeated, with another server.
func (c *candidacy) renew() {
	for pause := c.ttl / 3; c.sleep(pause); {
		sent := contender.Now()
		ctx, cancel := context.WithTimeout(c.ctx, c.ttl/6)
		_, err := c.client.KeepAliveOnce(ctx, c.lease)
		cancel()
		switch {
		case err == nil:
			c.deadline.Renew(sent)
			pause = max(0, sent+c.ttl/3-contender.Now())
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			c.end(fmt.Errorf("etcd: the lease has ended on the servers: %w", elector.ErrLost))
			return
		default:
			pause = c.ttl / 50
		}
	}
}

// sleep waits, and reports false if the candidacy has ended.
func (c *candidacy) sleep(d time.Duration) bool { return sleep(c.ctx, d) }

// expire ends the candidacy at the deadline of the lease.
func (c *candidacy) expire() {
	if c.deadline.Await(c.ctx, c.ttl/20) {
		c.end(fmt.Errorf("etcd: the lease was not renewed in time: %w", elector.ErrLost))
	}
}

// campaign waits until this contender leads, and begins the leadership.
func (c *candidacy) campaign(ctx context.Context, election *concurrency.Election, led chan<- struct{}) {
	if !c.state.AwaitIdle(ctx) { // the work of an earlier leadership still runs
		return
	}
	for {
		err := election.Campaign(ctx, c.value)
		if err == nil {
			var leads bool
			if leads, err = c.lead(ctx, election); leads {
				close(led)
				return
			}
		}
		// Without space etcd may have written the key nevertheless, and would never confirm it. It goes with the lease.
		if isFatal(err) || errors.Is(err, rpctypes.ErrLeaseNotFound) || errors.Is(err, rpctypes.ErrNoSpace) {
			c.end(fmt.Errorf("etcd: campaign: %w: %w", elector.ErrLost, err))
			return
		}
		if !c.sleep(c.ttl / 50) { // a watch was lost: the key keeps its place
			return
		}
	}
}

// lead begins the leadership if the key of this contender is still there.
func (c *candidacy) lead(ctx context.Context, election *concurrency.Election) (bool, error) {
	reading, cancel := context.WithTimeout(ctx, c.ttl/3)
	defer cancel()
	resp, err := c.client.Get(reading, election.Key())
	if err != nil {
		return false, err
	}
	if len(resp.Kvs) == 0 || resp.Kvs[0].CreateRevision != election.Rev() {
		return false, errors.New("the key was deleted")
	}
	l := elector.Leadership{Name: c.config.Name, Token: uint64(election.Rev()), Scope: scope(resp.Header.ClusterId, c.config.Prefix), Meta: c.config.Meta}
	l = l.WithDeadline(c.deadline.Time)
	c.token.Store(l.Token)
	c.led.Store(resp.Header.Revision)
	return c.state.StartLeadership(l, func() bool { return c.run.Err() == nil && c.ctx.Err() == nil && c.deadline.Remaining() > 0 }), nil
}

// awaitEnd waits until the leadership has ended, or ctx ends.
func (c *candidacy) awaitEnd(ctx context.Context) {
	for s := c.state.Snapshot(); s.IsLeader; s = c.state.Snapshot() {
		select {
		case <-s.Changed:
		case <-ctx.Done():
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// observe reads the leader three times in each TTL, and at once when a watch reports a change.
func (c *candidacy) observe() {
	r, ttl := reader{c.client, c.config.Prefix}, c.Elector.ttl()
	for c.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(c.ctx), ttl/3)
		l, key, revision, err := r.read(ctx)
		if err == nil {
			c.forget.Reset(ttl)
			led := c.led.Load()
			if revision >= led { // an older reading shows a leader before this one
				c.state.Observe(l)
			}
			if led != 0 && revision >= led && key != c.key {
				c.end(fmt.Errorf("etcd: the key of this contender was deleted: %w", elector.ErrLost))
			}
		}
		if err != nil || !r.awaitChange(ctx, key, revision+1) && ctx.Err() == nil {
			c.sleep(ttl / 50)
		}
		cancel()
	}
}
