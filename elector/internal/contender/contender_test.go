package contender

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/elector"
)

var (
	own   = elector.Leadership{Name: "n1", Token: 3}
	other = elector.Leadership{Name: "n2", Token: 5}
)

func always() bool { return true }

// newContender returns the contender n1 of an engine with this GiveUp function.
func newContender(giveUp func(ctx context.Context, token uint64) error) *Contender {
	return New(Config{Engine: "engine", Name: "n1", GiveUp: giveUp, ResignTimeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
}

func TestOwnNameIsShownOnlyWhileItLeads(t *testing.T) {
	c := newContender(nil)
	c.Observe(own)
	_, known := c.Leader()
	require.False(t, known, "the engine shows a leadership that has not begun")
	require.False(t, c.StartLeadership(own, func() bool { return false }))
	require.False(t, c.Snapshot().IsLeader)
	require.True(t, c.StartLeadership(own, always))
	c.Observe(other)
	require.True(t, c.Snapshot().IsLeader, "only EndLeadership ends a leadership")
	c.EndLeadership(4, elector.ErrLost)
	require.True(t, c.Snapshot().IsLeader, "another token")
	c.EndLeadership(3, elector.ErrLost)
	l, known := c.Leader()
	require.True(t, known)
	require.Equal(t, other.Token, l.Token)
	require.ErrorIs(t, c.Snapshot().Cause, elector.ErrLost)
	c.Stop()
	_, known = c.Leader()
	require.False(t, known)
	c.Observe(other)
	require.False(t, c.Snapshot().HasLeader(), "nothing follows the last state")
	require.False(t, c.StartLeadership(own, always))
}

func TestEndCancelsWorkBeforeReadersLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var resigned []uint64
		c := newContender(func(_ context.Context, token uint64) error {
			resigned = append(resigned, token)
			return elector.ErrNoOther
		})
		require.True(t, c.StartLeadership(own, always))
		returned := make(chan error, 1)
		quit := make(chan struct{})
		go func() {
			returned <- c.Lead(t.Context(), func(ctx context.Context, l elector.Leadership) error {
				if l.Token == own.Token {
					<-ctx.Done()
					if context.Cause(ctx) != elector.ErrLost {
						t.Errorf("the cause is %v", context.Cause(ctx))
					}
					<-quit
				}
				return errors.New("done")
			})
		}()
		synctest.Wait()
		require.Equal(t, 1, c.Snapshot().Callbacks)
		c.EndLeadership(own.Token, elector.ErrLost)
		synctest.Wait()
		require.Equal(t, 1, c.Snapshot().Callbacks, "the work has not returned")
		close(quit)
		synctest.Wait()
		require.Zero(t, c.Snapshot().Callbacks)
		require.Empty(t, resigned, "the result of work that returns after the end does not count")
		require.True(t, c.StartLeadership(elector.Leadership{Name: "n1", Token: 7}, always))
		require.EqualError(t, <-returned, "done")
		require.Equal(t, []uint64{7}, resigned)
		c.Stop()
	})
}

func TestWatchSkipsAndEnds(t *testing.T) {
	c := newContender(nil)
	var states []elector.State
	for s := range c.Watch(t.Context()) {
		switch states = append(states, s); len(states) {
		case 1:
			c.Observe(other)
			c.Observe(other)
		case 2:
			c.Observe(elector.Leadership{})
			require.True(t, c.StartLeadership(own.WithDeadline(nil), always))
		case 3:
			c.Stop()
		}
	}
	require.Len(t, states, 4)
	require.False(t, states[0].HasLeader())
	require.Equal(t, other.Token, states[1].Leader.Token)
	require.True(t, states[2].IsLeader)
	require.ErrorIs(t, states[3].Cause, elector.ErrStopped)
	require.ErrorIs(t, c.Lead(t.Context(), nil), elector.ErrStopped)
}

// A leader that the engine showed before a leadership is not its successor.
func TestOldLeaderIsNoSuccessor(t *testing.T) {
	c := newContender(nil)
	c.Observe(other)
	require.True(t, c.StartLeadership(own, always))
	c.EndLeadership(own.Token, elector.ErrResigned)
	_, known := c.Leader()
	require.False(t, known)
}

func TestResignWaitsForSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *Contender
		c = newContender(func(_ context.Context, token uint64) error {
			c.EndLeadership(token, elector.ErrResigned)
			return nil
		})
		result := make(chan error, 1)
		resign := func(ctx context.Context, token uint64) {
			t.Helper()
			require.True(t, c.StartLeadership(elector.Leadership{Name: "n1", Token: token}, always))
			go func() { result <- c.Resign(ctx) }()
			synctest.Wait()
			require.Empty(t, result)
		}
		require.NoError(t, c.Resign(t.Context()), "it does not lead")
		resign(t.Context(), 3)
		c.Observe(other)
		require.NoError(t, <-result)
		ctx, cancel := context.WithCancelCause(t.Context())
		resign(ctx, 6)
		cancel(errors.New("enough"))
		require.EqualError(t, <-result, "enough")
		resign(t.Context(), 7)
		require.True(t, c.StartLeadership(elector.Leadership{Name: "n1", Token: 8}, always))
		require.EqualError(t, <-result, "engine: resign: the other contender has gone, and this one leads again")
		resign(t.Context(), 9)
		c.Stop()
		require.ErrorIs(t, <-result, elector.ErrStopped)
		require.ErrorIs(t, c.Resign(t.Context()), elector.ErrStopped)
	})
}

func TestResignReturnsErrorOfEngine(t *testing.T) {
	c := newContender(func(context.Context, uint64) error { return elector.ErrNoOther })
	require.True(t, c.StartLeadership(own, always))
	err := c.Resign(t.Context())
	require.ErrorIs(t, err, elector.ErrNoOther)
	require.ErrorContains(t, err, "engine: resign: ")
	require.True(t, c.Snapshot().IsLeader, "nothing has changed")
}

func TestAwaitIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newContender(nil)
		require.True(t, c.AwaitIdle(t.Context()))
		require.True(t, c.StartLeadership(own, always))
		quit := make(chan struct{})
		go func() {
			_ = c.Lead(t.Context(), func(context.Context, elector.Leadership) error { <-quit; return nil })
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, c.AwaitIdle(ctx))
		c.EndLeadership(own.Token, elector.ErrLost)
		idle := make(chan bool, 1)
		go func() { idle <- c.AwaitIdle(t.Context()) }()
		synctest.Wait()
		require.Empty(t, idle, "the work ignores its context")
		close(quit)
		require.True(t, <-idle)
		c.Stop()
	})
}
