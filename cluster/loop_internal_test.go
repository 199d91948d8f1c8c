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

// When a process did not run, the readers of its sockets did not either: what they bring
// within a moment comes before the timers that ended long ago.
func TestWhatComesAMomentAfterAPauseComesBeforeTheTimers(t *testing.T) {
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
		n.engine.Start(n.now()) // alone, it leads: the next thing due is to say so again
		deadline, due := n.engine.Deadline()
		require.True(t, due)
		testkit.Pass(deadline + timing.Heartbeat)
		go func() {
			testkit.Pass(catchUpTime / 2)
			n.inbox <- func() { order = append(order, "frame") }
		}()
		n.fireDeadline()
		if len(order) == 1 {
			(<-n.inbox)() // it comes too late
		}
		require.Equal(t, []string{"frame", "timer"}, order)
	})
}

// What somebody waits for is given up when its time is over, and taken back.
func TestAnErrandEndsWithItsTime(t *testing.T) {
	for name, over := range map[string]bool{"in time": false, "late": true} {
		until := time.Now().Add(time.Hour)
		if over {
			until = time.Now()
		}
		undone, answers := false, []error(nil)
		n := &Node{operations: []*operation{{
			isDone: func() bool { return false }, onTimeout: func() error { undone = true; return errors.New("nobody answers") },
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
		require.EqualError(t, answers[0], "nobody answers", name)
	}
}

// saving is a store that says when it saves.
type saving func()

func (saving) Load() ([]byte, error) { return nil, nil }
func (s saving) Save([]byte) error   { s(); return nil }
func (saving) Close() error          { return nil }

// A save may be slow: the work of a leader is told before it that another leads, or that this node is no member
// any more. Where this node leads on in a newer epoch its work lasts until that is saved; with vote it goes on
// where that epoch is the next one, for no other can have led.
func TestTheWorkIsToldBeforeASaveUnlessThisNodeLeadsOn(t *testing.T) {
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
		"another leads":                 {bullies, &engine.Output{Leaders: []algo.Leader{{Epoch: 2, ID: algo.NodeID{15: 2}}}}, []string{"told", "saved"}, ErrDeposed},
		"it is removed":                 {bullies, removed, []string{"told", "saved"}, ErrRemoved},
		"it leads on":                   {bullies, on(2), []string{"saved", "told"}, ErrReelected},
		"it leads on, of vote":          {votes, on(2), []string{"saved"}, nil},
		"another may have led, of vote": {votes, on(3), []string{"saved", "told"}, ErrReelected},
	} {
		t.Run(name, func(t *testing.T) {
			var order []string
			n := &Node{leadership: newLeadershipState(), self: algo.Member{ID: self}, log: slog.New(slog.DiscardHandler), spec: test.spec, config: Config{Lease: lease.Off, Timing: algo.LAN()}, clock: runtimeClock{}}
			n.peers = map[algo.NodeID]*peer{{15: 2}: {}}
			n.engine = engine.New(engine.Config{MemberConfig: engine.MemberConfig{Self: n.self}, Spec: test.spec, Detector: fd.New(algo.Timing{})})
			n.records = newRecords(saving(func() { order = append(order, "saved") }), "")
			n.leadership.publish(leading(1))
			w := n.leadership.register(leading(1).Leader, func(cause error) {
				order = append(order, "told")
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

// Saves that use up the lease let no node lead for long: the log says so, with both times.
func TestASlowSaveIsAWarningWithItsNumbers(t *testing.T) {
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
				n.records = newRecords(saving(func() { testkit.Pass(test.takes) }), "")
				n.perform(&engine.Output{Save: []algo.Message{engine.SavedState{Epoch: 2}}})
				require.Equal(t, test.want, log.String())
			})
		})
	}
}
