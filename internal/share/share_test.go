package share_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/share"
	"github.com/elect-go/elect/internal/testkit"
)

// builder builds 1, 2, 3, …, each in one second.
type builder struct{ built, now, most int }

func (b *builder) build(ctx context.Context) (int, error) {
	b.now++
	defer func() { b.now-- }()
	b.most = max(b.most, b.now)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	b.built++
	return b.built, nil
}

func TestManyRequestsShareOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answer share.Answer[int]
		var b builder
		get := func(want int) {
			t.Helper()
			got, err := answer.Get(t.Context(), b.build)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { get(1) })
		}
		wg.Wait()
		testkit.Advance(share.MaxAge - 1)
		get(1)
		testkit.Advance(time.Nanosecond)
		get(2)
		answer.Invalidate()
		get(3)
		require.Equal(t, 1, b.most)
	})
}

// A request that ends does not end the build for other requests. The last one does.
func TestBuildEndsWithLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answer share.Answer[int]
		var b builder
		var wg sync.WaitGroup
		ended := errors.New("ended")
		short, cancel := context.WithTimeoutCause(t.Context(), time.Second/2, ended)
		defer cancel()
		wg.Go(func() {
			_, err := answer.Get(short, b.build)
			require.ErrorIs(t, err, ended)
		})
		wg.Go(func() {
			got, err := answer.Get(t.Context(), b.build)
			require.NoError(t, err)
			require.Equal(t, 1, got)
		})
		wg.Wait()
		testkit.Advance(share.MaxAge)
		_, err := answer.Get(short, b.build)
		require.ErrorIs(t, err, ended)
		synctest.Wait()
		require.Zero(t, b.now, "no caller waits for the second build")
		require.Equal(t, 1, b.built)
	})
}

// The last request reports why its own context ended, even if the build, which ends at the same time, returns first.
func TestLastRequestReportsItsOwnEnd(t *testing.T) {
	ended := errors.New("ended")
	for range 3000 {
		var answer share.Answer[int]
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := answer.Get(ctx, func(build context.Context) (int, error) {
			cancel(ended)
			for build.Err() == nil { // on another processor, this sees the end before the request continues
				runtime.Gosched()
			}
			return 0, build.Err()
		})
		require.ErrorIs(t, err, ended)
	}
}

func TestErrorIsNotKept(t *testing.T) {
	var answer share.Answer[int]
	failed := errors.New("failed")
	_, err := answer.Get(t.Context(), func(context.Context) (int, error) { return 0, failed })
	require.ErrorIs(t, err, failed)
	got, err := answer.Get(t.Context(), func(context.Context) (int, error) { return 1, nil })
	require.NoError(t, err)
	require.Equal(t, 1, got)
}
