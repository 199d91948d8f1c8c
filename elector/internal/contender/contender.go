// Package contender implements elector.Elector for outside engines, such as an etcd or a Lease of Kubernetes. It keeps
// what a contender knows of the leadership, and calls the work. The engine adds Run, which reports what it learns:
//
//	c := contender.New(contender.Config{Engine: "etcd", Name: "n1", GiveUp: giveUp, ResignTimeout: time.Minute, Log: log})
//	c.Observe(leader) // another contender leads
//	if c.StartLeadership(own, func() bool { return lease.Err() == nil }) { // Lead calls the work
//		<-lease.Done()
//		c.EndLeadership(own.Token, elector.ErrLost) // ends the context of the work
//	}
//	c.Stop()
package contender

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/elect-go/elect/elector"
)

// Config configures a Contender.
type Config struct {
	Engine string // name of the engine in errors, as "etcd"
	Name   string // of this contender
	// GiveUp asks the engine to end the leadership with a token in favor of another contender. It returns nil after
	// EndLeadership, or if that leadership has ended. Without another contender, it returns an ErrNoOther.
	GiveUp func(ctx context.Context, token uint64) error
	// ResignTimeout is the maximum time for the resignation after the work has returned.
	ResignTimeout time.Duration
	Log           *slog.Logger
}

// Contender is what one contender knows, for any number of readers, and the works that it runs. All methods may be
// called from any goroutine.
type Contender struct {
	config Config

	mu      sync.Mutex
	current elector.State
	seen    elector.Leadership // leader that the engine has shown last, also if it is this contender
	changed chan struct{}      // closed at the next change of this struct
	stopped bool
	tasks   map[*task]struct{}
}

// task is a call of the work.
type task struct {
	cancel context.CancelCauseFunc
	ended  bool // the leadership has ended; guarded by Contender.mu
}

// Snapshot is what a contender knows at one moment.
type Snapshot struct {
	elector.State
	// Changed is closed at the next change of any field.
	Changed <-chan struct{}
	// Callbacks is the number of calls of a work that have not returned.
	Callbacks int
	// Stopped is set if the state is the last one.
	Stopped bool
}

// New returns a contender that knows no leader.
func New(c Config) *Contender {
	return &Contender{config: c, changed: make(chan struct{}), tasks: make(map[*task]struct{})}
}

// signal wakes all readers. The caller holds mu.
func (c *Contender) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Observe publishes the leader that the engine shows. It is empty if the engine shows none. A leader with the name of
// this contender is not published: it is a leadership that has ended, or that has not begun.
func (c *Contender) Observe(l elector.Leadership) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = l
	c.publishSeen()
}

// publishSeen publishes the leader that the engine has shown, unless this contender leads. The caller holds mu.
func (c *Contender) publishSeen() {
	l := c.seen
	if l.Name == c.config.Name {
		l = elector.Leadership{}
	}
	if c.stopped || c.current.IsLeader || equal(l, c.current.Leader) {
		return
	}
	c.current.Leader = l
	c.signal()
}

func equal(a, b elector.Leadership) bool {
	return a.Name == b.Name && a.Token == b.Token && a.Scope == b.Scope && maps.Equal(a.Meta, b.Meta)
}

// StartLeadership publishes that this contender leads, unless the condition, which is checked under the lock, no longer
// holds.
func (c *Contender) StartLeadership(l elector.Leadership, holds func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || !holds() {
		return false
	}
	c.current = elector.State{Leader: l, IsLeader: true}
	c.seen = l // the engine has shown this leader before the leadership
	c.signal()
	return true
}

// EndLeadership ends the leadership with this token. It first cancels the contexts of the works, and then publishes the
// leader that the engine shows. It does nothing if this contender does not lead with the token.
func (c *Contender) EndLeadership(token uint64, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.current.IsLeader || c.current.Leader.Token != token {
		return
	}
	for t := range c.tasks {
		if !t.ended {
			t.ended = true
			t.cancel(cause)
		}
	}
	c.current = elector.State{Cause: cause}
	c.publishSeen()
	c.signal()
}

// Stop publishes the last state, and ends a leadership.
func (c *Contender) Stop() {
	c.EndLeadership(c.Snapshot().Leader.Token, elector.ErrStopped)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.Leader, c.stopped = elector.Leadership{}, true
	c.signal()
}

// Snapshot returns what the contender knows now.
func (c *Contender) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Snapshot{State: c.current, Changed: c.changed, Callbacks: len(c.tasks), Stopped: c.stopped}
}

// Leader is the method of [elector.Elector].
func (c *Contender) Leader() (elector.Leadership, bool) {
	s := c.Snapshot()
	return withoutDeadline(s.State).Leader, s.HasLeader()
}

// withoutDeadline returns a state for readers: its leadership has no deadline.
func withoutDeadline(s elector.State) elector.State {
	s.Leader = s.Leader.WithDeadline(nil)
	return s
}

// Watch is the method of [elector.Elector].
func (c *Contender) Watch(ctx context.Context) iter.Seq[elector.State] {
	return func(yield func(elector.State) bool) {
		var last elector.State
		for first := true; ctx.Err() == nil; first = false {
			s := c.Snapshot()
			isNew := first || s.IsLeader != last.IsLeader || s.Cause != last.Cause || !equal(s.Leader, last.Leader)
			if last = s.State; isNew && !yield(withoutDeadline(last)) || s.Stopped {
				return
			}
			select {
			case <-s.Changed:
			case <-ctx.Done():
			}
		}
	}
}

// AwaitIdle waits until no work runs, and reports false if ctx has ended before.
func (c *Contender) AwaitIdle(ctx context.Context) bool {
	for {
		s := c.Snapshot()
		if s.Callbacks == 0 {
			return true
		}
		select {
		case <-s.Changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Lead is the method of [elector.Elector].
func (c *Contender) Lead(ctx context.Context, work func(context.Context, elector.Leadership) error) error {
	for ctx.Err() == nil {
		s := c.Snapshot()
		if s.Stopped {
			return elector.ErrStopped
		}
		if s.IsLeader {
			ended, err := c.run(ctx, s.Leader, work)
			if !ended && ctx.Err() == nil {
				return err
			}
			continue
		}
		select {
		case <-s.Changed:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// run calls work in one leadership, and reports whether the leadership had ended when work returned.
func (c *Contender) run(ctx context.Context, l elector.Leadership, work func(context.Context, elector.Leadership) error) (ended bool, err error) {
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := c.register(l.Token, cancel)
	if t == nil {
		return true, nil
	}
	defer func() { // also after a panic
		if ended = c.unregister(t); !ended {
			c.resignAfterWork(ctx, l.Token)
		}
	}()
	return false, work(working, l)
}

// resignAfterWork resigns because a work has returned, also after the end of ctx.
func (c *Contender) resignAfterWork(ctx context.Context, token uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.ResignTimeout)
	defer cancel()
	if err := c.resign(ctx, token); err != nil && !errors.Is(err, elector.ErrNoOther) {
		c.config.Log.Warn("handover failed after the work returned", "error", err)
	}
}

// register returns a task of the leadership with the token; nil if it has ended.
func (c *Contender) register(token uint64, cancel context.CancelCauseFunc) *task {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.current.IsLeader || c.current.Leader.Token != token {
		return nil
	}
	t := &task{cancel: cancel}
	c.tasks[t] = struct{}{}
	return t
}

// unregister removes a task that has returned, and reports whether its leadership had ended.
func (c *Contender) unregister(t *task) (ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tasks, t)
	c.signal()
	return t.ended
}

// Resign is the method of [elector.Elector].
func (c *Contender) Resign(ctx context.Context) error {
	return c.resign(ctx, c.Snapshot().Leader.Token)
}

// resign gives up the leadership with this token, and waits until another contender leads.
func (c *Contender) resign(ctx context.Context, token uint64) error {
	s := c.Snapshot()
	switch {
	case s.Stopped:
		return elector.ErrStopped
	case !s.IsLeader || s.Leader.Token != token:
		return nil
	}
	err := c.config.GiveUp(ctx, token)
	if err == nil {
		err = c.awaitSuccessor(ctx, token)
	}
	switch {
	case err == nil, errors.Is(err, elector.ErrStopped):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("%s: resign: %w", c.config.Engine, err)
	}
}

// awaitSuccessor waits until another contender leads after the leadership with this token has ended. The error is
// context.Cause(ctx), ErrStopped, or that this contender leads again.
func (c *Contender) awaitSuccessor(ctx context.Context, token uint64) error {
	for {
		s := c.Snapshot()
		switch {
		case s.Stopped:
			return elector.ErrStopped
		case s.IsLeader && s.Leader.Token != token:
			return errors.New("the other contender has gone, and this one leads again")
		case !s.IsLeader && s.HasLeader():
			return nil
		}
		select {
		case <-s.Changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
