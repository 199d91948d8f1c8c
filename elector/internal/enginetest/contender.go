package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/elector"
)

// EventTimeout is the time within which each expected event has happened, however slow the machine is.
const EventTimeout = 2 * time.Minute

// Running is a contender that runs.
type Running struct {
	stop  context.CancelFunc
	ended chan error
}

// Run starts a contender.
func Run(e elector.Elector) *Running {
	ctx, stop := context.WithCancel(context.Background())
	r := &Running{stop, make(chan error, 1)}
	go func() { r.ended <- e.Run(ctx) }()
	return r
}

// Stop ends the context of Run, and returns what Run returns.
func (r *Running) Stop() error {
	r.stop()
	err := <-r.ended
	r.ended <- err // for a second call
	return err
}

// WaitState returns the first state of a contender that fits.
func WaitState(t *testing.T, e elector.Elector, fits func(elector.State) bool) elector.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), EventTimeout)
	defer cancel()
	var last elector.State
	for last = range e.Watch(ctx) {
		if fits(last) {
			return last
		}
	}
	require.Fail(t, "no state fits", "the last one is %+v", last)
	return elector.State{}
}

// IsLeader reports whether the contender with a state leads.
func IsLeader(s elector.State) bool { return s.IsLeader }

// IsVacant reports whether the contender with a state knows no leader.
func IsVacant(s elector.State) bool { return !s.HasLeader() }

// IsAfter returns a condition for a leadership of another contender or token.
func IsAfter(l elector.Leadership) func(elector.State) bool {
	return func(s elector.State) bool { return s.HasLeader() && s.Leader.Token != l.Token }
}
