package contender

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/elector"
)

var (
	own   = elector.Leadership{Name: "n1", Token: 3}
	other = elector.Leadership{Name: "n2", Token: 5}
)

func always() bool { return true }

func TestOwnNameIsShownOnlyWhileItLeads(t *testing.T) {
	c := New("n1")
	c.Observe(own)
	_, known := c.Leader()
	require.False(t, known, "the engine shows a leadership that has not begun")
	require.False(t, c.Begin(own, func() bool { return false }))
	require.False(t, c.Snapshot().IsLeader)
	require.True(t, c.Begin(own, always))
	c.Observe(other)
	require.True(t, c.Snapshot().IsLeader, "only End ends a leadership")
	c.End(4, elector.ErrLost)
	require.True(t, c.Snapshot().IsLeader, "another token")
	c.End(3, elector.ErrLost)
	l, known := c.Leader()
	require.True(t, known)
	require.Equal(t, other.Token, l.Token)
	require.ErrorIs(t, c.Snapshot().Cause, elector.ErrLost)
	c.Stop()
	_, known = c.Leader()
	require.False(t, known)
	c.Observe(other)
	require.False(t, c.Snapshot().HasLeader(), "nothing follows the last state")
	require.False(t, c.Begin(own, always))
}

func TestEndCancelsWorkBeforeReadersLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New("n1")
		require.True(t, c.Begin(own, always))
		var resigned []uint64
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
			}, func(token uint64) { resigned = append(resigned, token) })
		}()
		synctest.Wait()
		require.Equal(t, 1, c.Snapshot().Works)
		c.End(own.Token, elector.ErrLost)
		synctest.Wait()
		require.Equal(t, 1, c.Snapshot().Works, "the work has not returned")
		close(quit)
		synctest.Wait()
		require.Zero(t, c.Snapshot().Works)
		require.Empty(t, resigned, "the result of work that returns after the end does not count")
		require.True(t, c.Begin(elector.Leadership{Name: "n1", Token: 7}, always))
		require.EqualError(t, <-returned, "done")
		require.Equal(t, []uint64{7}, resigned)
		c.Stop()
	})
}

func TestWatchSkipsAndEnds(t *testing.T) {
	c := New("n1")
	var states []elector.State
	for s := range c.Watch(t.Context()) {
		switch states = append(states, s); len(states) {
		case 1:
			c.Observe(other)
			c.Observe(other)
		case 2:
			c.Observe(elector.Leadership{})
			require.True(t, c.Begin(own.WithDeadline(nil), always))
		case 3:
			c.Stop()
		}
	}
	require.Len(t, states, 4)
	require.False(t, states[0].HasLeader())
	require.Equal(t, other.Token, states[1].Leader.Token)
	require.True(t, states[2].IsLeader)
	require.ErrorIs(t, states[3].Cause, elector.ErrStopped)
	require.ErrorIs(t, c.Lead(t.Context(), nil, nil), elector.ErrStopped)
}

func TestAwaitSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New("n1")
		require.True(t, c.Begin(own, always))
		result := make(chan error, 1)
		await := func(ctx context.Context) { go func() { result <- c.AwaitSuccessor(ctx, own.Token) }() }
		await(t.Context())
		c.End(own.Token, elector.ErrResigned)
		synctest.Wait()
		require.Empty(t, result)
		c.Observe(other)
		require.NoError(t, <-result)
		c.Observe(elector.Leadership{})
		ctx, cancel := context.WithCancelCause(t.Context())
		await(ctx)
		cancel(errors.New("enough"))
		require.EqualError(t, <-result, "enough")
		await(t.Context())
		require.True(t, c.Begin(elector.Leadership{Name: "n1", Token: 8}, always))
		require.ErrorContains(t, <-result, "leads again")
		await(t.Context())
		c.Stop()
		require.ErrorIs(t, <-result, elector.ErrStopped)
	})
}
