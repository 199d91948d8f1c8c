package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
)

func leading(epoch algo.Epoch) State {
	return State{Leader: Leadership{Epoch: epoch, ID: algo.NodeID{15: 1}}, IsLeader: true, At: time.Now()}
}

// A slow reader may register a callback for a leadership that has ended while the node leads in a newer one.
func TestCallbackOfOlderLeadershipDoesNotStart(t *testing.T) {
	b := newLeadershipState()
	require.True(t, b.publish(leading(1)))
	require.True(t, b.publish(leading(2)))
	end := func(error) { t.Error("a callback that was not started is ended") }
	require.Nil(t, b.register(leading(1).Leader, end))
	require.Nil(t, b.register(leading(3).Leader, end))
	var ended error
	w := b.register(leading(2).Leader, func(cause error) { ended = cause })
	require.NotNil(t, w)
	require.NoError(t, ended)
	epoch, over := b.unregister(w)
	require.False(t, over, "the leadership lasts")
	require.EqualValues(t, 2, epoch)
}

// A callback does not start after another node has become the leader.
func TestCallbackDoesNotStartAfterLeadershipEnd(t *testing.T) {
	b := newLeadershipState()
	b.publish(leading(1))
	b.publish(State{Leader: Leadership{Epoch: 1, ID: algo.NodeID{15: 2}}, At: time.Now()})
	require.Nil(t, b.register(leading(1).Leader, func(error) { t.Error("a callback that was not started is ended") }))
}

// The end of a leadership is reported to a callback once. The node is idle when the callback has returned.
func TestCallbackIsEndedOnce(t *testing.T) {
	b := newLeadershipState()
	b.publish(leading(2))
	var ended []error
	w := b.register(leading(2).Leader, func(cause error) { ended = append(ended, cause) })
	why := errors.New("now")
	b.endLeadership(why, false)
	b.endLeadership(errors.New("again"), false)
	require.Equal(t, []error{why}, ended)
	require.False(t, b.isIdle(), "the callback has not returned")
	_, over := b.unregister(w)
	require.True(t, over)
	require.True(t, b.isIdle())
}

// An unchanged state wakes no reader, and neither does a state after the last one.
func TestUnchangedStateIsNotPublished(t *testing.T) {
	b := newLeadershipState()
	require.True(t, b.publish(leading(1)))
	_, changed, _ := b.snapshot()
	require.False(t, b.publish(leading(1)))
	select {
	case <-changed:
		t.Error("the same state is published again")
	default:
	}
	b.endLeadership(ErrStopped, true)
	last, _, over := b.snapshot()
	require.True(t, over)
	require.False(t, b.publish(leading(2)))
	now, _, _ := b.snapshot()
	require.Equal(t, last, now)
}

// Valid compares the end of the lease with the clock. It does not need the loop.
func TestLeadershipIsValidUntilLeaseEnds(t *testing.T) {
	b := newLeadershipState()
	now := time.Duration(0)
	b.clock = func() time.Duration { return now }
	b.publish(leading(1))
	l := leading(1).Leader
	l.task = b.register(l, func(error) {})
	_, bounded := l.Deadline()
	require.False(t, bounded)
	require.True(t, l.Valid())
	b.leaseEnd.Store(int64(time.Hour))
	end, bounded := l.Deadline()
	require.True(t, bounded)
	require.WithinDuration(t, time.Now().Add(time.Hour), end, time.Minute)
	require.True(t, l.Valid())
	now = time.Hour
	require.False(t, l.Valid())
}

// A reader of Watch may skip states, and the trace may not.
func TestUntracedLeadersAreKeptUntilTaken(t *testing.T) {
	b := newLeadershipState()
	b.publish(leading(1))
	b.publishMeta(leading(1).Leader.ID, "key=value") // no new leader
	b.endLeadership(errors.New("expired"), false)
	b.publish(State{At: time.Now()}) // the same vacancy, from the engine
	b.publish(leading(2))
	b.endLeadership(ErrStopped, true)
	var epochs []algo.Epoch
	for _, s := range b.takeUntraced() {
		epochs = append(epochs, s.Leader.Epoch)
	}
	require.Equal(t, []algo.Epoch{1, 0, 2, 0}, epochs)
	require.Empty(t, b.takeUntraced())
}
