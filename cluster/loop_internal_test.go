package cluster

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// After a stall, the frames that arrive within catchUpTime are handled before the overdue timers, because the readers
// of the sockets have stalled, too.
func TestFramesPrecedeTimersAfterStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timing := algo.LAN()
		spec, err := bully.New(bully.Defaults(timing))
		require.NoError(t, err)
		var order []string
		n := &Node{inbox: make(chan func()), clock: runtimeClock(time.Now()), config: Config{Timing: timing}, leadership: newLeadershipState()}
		n.engine = engine.New(engine.Config{
			MemberConfig: engine.MemberConfig{
				Self: algo.Member{ID: algo.NodeID{15: 1}, Name: "n1", Addr: "n1:1", Eligible: true}, Cluster: algo.NodeID{15: 9}, List: []string{"n1:1"},
			},
			Spec:     spec,
			Detector: fd.New(algo.Timing{Heartbeat: timing.Heartbeat, Timeout: time.Second, MaxTimeout: time.Second}),
			Pick:     func(least, _ time.Duration) time.Duration { return least },
			Trace: func(e trace.Event) {
				if e.Kind == trace.Expire {
					order = append(order, "timer")
				}
			},
		})
		n.engine.Start(n.now()) // the only member leads, so its next timer repeats the announcement
		deadline, due := n.engine.Deadline()
		require.True(t, due)
		testkit.Advance(deadline + timing.Heartbeat)
		go func() {
			testkit.Advance(catchUpTime / 2)
			n.inbox <- func() { order = append(order, "frame") }
		}()
		n.fireDeadline()
		if len(order) == 1 {
			(<-n.inbox)() // the frame is late
		}
		require.Equal(t, []string{"frame", "timer"}, order)
	})
}

// An operation that is not done at its deadline is undone, and its caller gets the error.
func TestOperationEndsAtDeadline(t *testing.T) {
	for name, over := range map[string]bool{"in time": false, "late": true} {
		until := time.Now().Add(time.Hour)
		if over {
			until = time.Now()
		}
		undone, answers := false, []error(nil)
		n := &Node{operations: []*operation{{
			isDone: func() bool { return false }, onTimeout: func() error { undone = true; return errors.New("no answer") },
			deadline: until, result: func(err error) { answers = append(answers, err) },
		}}}
		n.completeOperations()
		require.Equal(t, over, undone, name)
		if !over {
			require.Len(t, n.operations, 1, name)
			continue
		}
		require.Empty(t, n.operations, name)
		require.Len(t, answers, 1, name)
		require.EqualError(t, answers[0], "no answer", name)
	}
}

// saving is a store that calls a function for each save.
type saving func()

func (saving) Load() ([]byte, error) { return nil, nil }
func (s saving) Save([]byte) error   { s(); return nil }
func (saving) Close() error          { return nil }

// A save may be slow. So the context of a Lead callback ends before the save if another node leads, or if this node is
// removed. If this node leads on in a newer epoch, the context ends after the save. With vote it does not end if the
// epoch is the next one, because no other node can have led in between.
func TestLeadContextEndsBeforeSaveUnlessReelected(t *testing.T) {
	bullies, err := bully.New(bully.Defaults(algo.LAN()))
	require.NoError(t, err)
	votes, err := vote.New(vote.Defaults(algo.LAN()))
	require.NoError(t, err)
	self := leading(1).Leader.ID
	on := func(epoch algo.Epoch) *engine.Output {
		return &engine.Output{Leaders: []algo.Leader{{Epoch: epoch, ID: self}}}
	}
	removed := &engine.Output{End: membership.ErrRemoved}
	for name, test := range map[string]struct {
		spec  algo.Spec
		out   *engine.Output
		want  []string
		cause error
	}{
		"another node leads":              {bullies, &engine.Output{Leaders: []algo.Leader{{Epoch: 2, ID: algo.NodeID{15: 2}}}}, []string{"ended", "saved"}, ErrDeposed},
		"removed":                         {bullies, removed, []string{"ended", "saved"}, ErrRemoved},
		"leads on":                        {bullies, on(2), []string{"saved", "ended"}, ErrReelected},
		"leads on, vote":                  {votes, on(2), []string{"saved"}, nil},
		"another node may have led, vote": {votes, on(3), []string{"saved", "ended"}, ErrReelected},
	} {
		t.Run(name, func(t *testing.T) {
			var order []string
			n := &Node{leadership: newLeadershipState(), self: algo.Member{ID: self}, log: slog.New(slog.DiscardHandler), spec: test.spec, config: Config{Lease: lease.Off, Timing: algo.LAN()}, clock: runtimeClock{}}
			n.peers = map[algo.NodeID]*peer{{15: 2}: {}}
			n.engine = engine.New(engine.Config{MemberConfig: engine.MemberConfig{Self: n.self}, Spec: test.spec, Detector: fd.New(algo.Timing{})})
			n.records = newRecords(saving(func() { order = append(order, "saved") }), "")
			n.leadership.publish(leading(1))
			w := n.leadership.register(leading(1).Leader, func(cause error) {
				order = append(order, "ended")
				require.ErrorIs(t, cause, test.cause)
			})
			test.out.Save = []algo.Message{engine.SavedState{Epoch: 2}}
			n.perform(test.out)
			require.Equal(t, test.want, order)
			require.Equal(t, test.cause == nil, Leadership{task: w}.Valid())
			now, _ := n.Leader()
			if len(test.out.Leaders) > 0 {
				require.Equal(t, test.out.Leaders[0].Epoch, now.Epoch)
			}
		})
	}
}

// A save that takes a large part of the lease is logged with both durations.
func TestSlowSaveIsLoggedWithDurations(t *testing.T) {
	lasts := 960 * time.Millisecond
	for name, test := range map[string]struct {
		takes time.Duration
		lease lease.Options
		want  string
	}{
		"slow":          {300 * time.Millisecond, lease.Options{Duration: lasts}, "level=WARN msg=\"slow save\" took=300ms lease=960ms\n"},
		"fast":          {30 * time.Millisecond, lease.Options{Duration: lasts}, ""},
		"without lease": {300 * time.Millisecond, lease.Off, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				spec, err := bully.New(bully.Defaults(algo.LAN()))
				require.NoError(t, err)
				n := &Node{leadership: newLeadershipState(), self: algo.Member{ID: algo.NodeID{15: 1}}, log: slog.New(slog.DiscardHandler), spec: spec, config: Config{Lease: test.lease, Timing: algo.LAN()}, clock: runtimeClock{}}
				n.limitedLog.To = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				}}))
				n.engine = engine.New(engine.Config{MemberConfig: engine.MemberConfig{Self: n.self}, Spec: spec, Detector: fd.New(algo.Timing{})})
				n.records = newRecords(saving(func() { testkit.Advance(test.takes) }), "")
				n.perform(&engine.Output{Save: []algo.Message{engine.SavedState{Epoch: 2}}})
				require.Equal(t, test.want, log.String())
			})
		})
	}
}
