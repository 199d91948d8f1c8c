package etcd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/elect-go/elect/elector"
)

// state is what a contender knows, for any number of readers, and the works that run.
type state struct {
	name string // of this contender

	mu      sync.Mutex
	current elector.State
	seen    elector.Leadership // leader that the contender has read last, also if it is this one
	changed chan struct{}      // closed at the next change of this struct
	ended   bool
	tasks   map[*task]struct{}
}

// task is a call of the work.
type task struct {
	cancel context.CancelCauseFunc
	ended  bool // the leadership has ended; guarded by state.mu
}

func newState(name string) *state {
	return &state{name: name, changed: make(chan struct{}), tasks: make(map[*task]struct{})}
}

// signal wakes all readers. The caller holds mu.
func (s *state) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// observe publishes the leader that the contender has read. It is empty if no leader is known. A leader with the name
// of this contender is not published: it is a leadership that has ended, or that has not begun.
func (s *state) observe(l elector.Leadership) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = l
	s.publishSeen()
}

// publishSeen publishes the leader that the contender has read, unless this contender leads. The caller holds mu.
func (s *state) publishSeen() {
	l := s.seen
	if l.Name == s.name {
		l = elector.Leadership{}
	}
	if s.ended || s.current.IsLeader || isSame(l, s.current.Leader) {
		return
	}
	s.current.Leader = l
	s.signal()
}

// begin publishes that this contender leads, unless the condition, which is checked under the lock, no longer holds.
func (s *state) begin(l elector.Leadership, holds func() bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || !holds() {
		return false
	}
	s.current = elector.State{Leader: l, IsLeader: true}
	s.signal()
	return true
}

// end ends the leadership with this token, or any leadership if the token is 0. It first cancels the contexts of the
// works. It reports whether this contender led.
func (s *state) end(token uint64, cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.current.IsLeader || token != 0 && s.current.Leader.Token != token {
		return false
	}
	for t := range s.tasks {
		if !t.ended {
			t.ended = true
			t.cancel(cause)
		}
	}
	s.current = elector.State{Cause: cause}
	s.publishSeen()
	s.signal()
	return true
}

// stop publishes the last state.
func (s *state) stop() {
	s.end(0, elector.ErrStopped)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.Leader, s.ended = elector.Leadership{}, true
	s.signal()
}

// register returns a task of the leadership with the token; nil if it has ended.
func (s *state) register(token uint64, cancel context.CancelCauseFunc) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.current.IsLeader || s.current.Leader.Token != token {
		return nil
	}
	t := &task{cancel: cancel}
	s.tasks[t] = struct{}{}
	return t
}

// unregister removes a task that has returned, and reports whether its leadership had ended.
func (s *state) unregister(t *task) (over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tasks, t)
	s.signal()
	return t.ended
}

// snapshot returns the state, a channel that is closed at the next change, the number of works that run, and whether
// the state is the last one.
func (s *state) snapshot() (current elector.State, changed <-chan struct{}, works int, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.changed, len(s.tasks), s.ended
}

// awaitIdle waits until no work runs, and reports false if ctx has ended before.
func (s *state) awaitIdle(ctx context.Context) bool {
	for {
		_, changed, works, _ := s.snapshot()
		if works == 0 {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Leader returns the leader that this contender has read last: see [elector.Elector].
func (e *Elector) Leader() (elector.Leadership, bool) {
	s, _, _, _ := e.state.snapshot()
	return shown(s).Leader, s.HasLeader()
}

// shown returns a state for readers, which have no deadline.
func shown(s elector.State) elector.State {
	s.Leader = s.Leader.WithDeadline(nil)
	return s
}

// Watch iterates over the states: see [elector.Elector].
func (e *Elector) Watch(ctx context.Context) iter.Seq[elector.State] {
	return func(yield func(elector.State) bool) {
		var last elector.State
		for first := true; ctx.Err() == nil; first = false {
			s, changed, _, ended := e.state.snapshot()
			isNew := first || s.IsLeader != last.IsLeader || s.Leader.Token != last.Leader.Token || s.Leader.Name != last.Leader.Name ||
				s.Cause != last.Cause || !maps.Equal(s.Leader.Meta, last.Leader.Meta)
			if last = s; isNew && !yield(shown(s)) || ended {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// Lead calls work whenever this contender leads: see [elector.Elector].
func (e *Elector) Lead(ctx context.Context, work func(ctx context.Context, l elector.Leadership) error) error {
	for ctx.Err() == nil {
		s, changed, _, ended := e.state.snapshot()
		if ended {
			return elector.ErrStopped
		}
		if s.IsLeader {
			over, err := e.runTask(ctx, s.Leader, work)
			if !over && ctx.Err() == nil {
				return err
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// runTask calls work in one leadership, and reports whether the leadership had ended when work returned.
func (e *Elector) runTask(ctx context.Context, l elector.Leadership, work func(context.Context, elector.Leadership) error) (over bool, err error) {
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := e.state.register(l.Token, cancel)
	if t == nil {
		return true, nil
	}
	defer func() { // also after a panic
		if over = e.state.unregister(t); over {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.config.DrainTimeout+3*e.ttl())
		defer cancel()
		if err := e.resign(ctx, l.Token); err != nil && !errors.Is(err, elector.ErrNoOther) {
			e.log.Warn("handover failed after the work returned", "error", err)
		}
	}()
	return false, work(working, l)
}

func (e *Elector) ttl() time.Duration { return time.Duration(e.config.TTL) * time.Second }

// Resign gives up the leadership: see [elector.Elector].
func (e *Elector) Resign(ctx context.Context) error { return e.resign(ctx, 0) }

// resign gives up the leadership with this token, or any leadership if the token is 0.
func (e *Elector) resign(ctx context.Context, token uint64) error {
	s, _, _, ended := e.state.snapshot()
	c := e.current.Load()
	switch {
	case ended:
		return elector.ErrStopped
	case !s.IsLeader || token != 0 && s.Leader.Token != token || c == nil:
		return nil
	}
	// Without another key no contender would lead after the resignation.
	resp, err := c.client.Get(ctx, e.config.Prefix+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(2))
	switch {
	case ctx.Err() != nil && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("etcd: resign: read the other contenders: %w", err)
	case len(resp.Kvs) < 2:
		return fmt.Errorf("etcd: resign: %w", elector.ErrNoOther)
	}
	e.state.end(s.Leader.Token, elector.ErrResigned)
	for {
		next, changed, _, ended := e.state.snapshot()
		switch {
		case ended:
			return elector.ErrStopped
		case next.IsLeader:
			return errors.New("etcd: resign: the other contender has gone, and this one leads again")
		case next.HasLeader() && next.Leader.Token != s.Leader.Token:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
