package elector_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/elector"
)

// fake is an elector that leads at once, or fails to run.
type fake struct {
	fails   error
	stopped chan struct{} // closed when Run has returned
}

func (f *fake) Run(ctx context.Context) error {
	defer close(f.stopped)
	if f.fails == nil {
		<-ctx.Done()
	}
	return f.fails
}

func (f *fake) Lead(ctx context.Context, work func(context.Context, elector.Leadership) error) error {
	if f.fails != nil {
		<-f.stopped
		return fmt.Errorf("fake: %w", elector.ErrStopped)
	}
	if err := work(ctx, elector.Leadership{Name: "n1", Token: 1}); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

func (f *fake) Leader() (l elector.Leadership, known bool) { return l, false }
func (f *fake) Watch(ctx context.Context) iter.Seq[elector.State] {
	return func(func(elector.State) bool) {}
}
func (f *fake) Resign(ctx context.Context) error { return nil }
func (f *fake) Claims() elector.Claims           { return elector.Claims{} }

func TestRunReturnsWhyItEnded(t *testing.T) {
	broken := errors.New("broken")
	working := func(ctx context.Context, l elector.Leadership) error { <-ctx.Done(); return broken }
	returning := func(err error) func(context.Context, elector.Leadership) error {
		return func(context.Context, elector.Leadership) error { return err }
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	for name, test := range map[string]struct {
		ctx   context.Context
		fails error
		work  func(context.Context, elector.Leadership) error
		want  error
	}{
		"the context ends":               {ended, nil, working, nil},
		"the work returns":               {t.Context(), nil, returning(nil), nil},
		"the work fails":                 {t.Context(), nil, returning(broken), broken},
		"the work fails with a Canceled": {t.Context(), nil, returning(context.Canceled), context.Canceled},
		"the elector stops":              {t.Context(), broken, working, broken},
	} {
		t.Run(name, func(t *testing.T) {
			e := &fake{fails: test.fails, stopped: make(chan struct{})}
			err := elector.Run(test.ctx, e, test.work)
			<-e.stopped
			if test.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, test.want)
				require.NotErrorIs(t, err, elector.ErrStopped)
			}
		})
	}
}

func TestDeadlineIsUnboundedUnlessSet(t *testing.T) {
	_, bounded := elector.Leadership{}.Deadline()
	require.False(t, bounded)
}
