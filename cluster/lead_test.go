package cluster_test

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// hooked is a store that calls hook before each save with the kinds of the changed records. The save fails with the
// error of the hook.
type hooked struct {
	testkit.HookedStore
	mu   sync.Mutex
	hook func(kinds []string) error
	kept map[string]bool // the records of the last save
}

func newHooked() *hooked {
	h := new(hooked)
	h.HookedStore = testkit.HookedStore{Store: store.NewMemory(), BeforeSave: h.beforeSave}
	return h
}

func (h *hooked) set(hook func(kinds []string) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hook = hook
}

func (h *hooked) beforeSave(state []byte) error {
	h.mu.Lock()
	hook, kept, kinds := h.hook, make(map[string]bool), []string{}
	for rest := state; len(rest) > 0; {
		size, n := binary.Uvarint(rest)
		record := string(rest[n:][:size]) // an array that begins with the kind
		if kept[record] = true; !h.kept[record] {
			kinds = append(kinds, record[2:][:record[1]&0x1f])
		}
		rest = rest[n+int(size):]
	}
	h.kept = kept
	h.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(kinds)
}

// leadTask is a Lead callback that runs until its leadership ends, and records its leaderships and their causes.
type leadTask struct {
	begun   chan cluster.Leadership
	results chan error // causes of the ends
	ctx     atomic.Pointer[context.Context]
}

func newWork() *leadTask {
	return &leadTask{begun: make(chan cluster.Leadership, 100), results: make(chan error, 100)}
}

func (w *leadTask) do(ctx context.Context, l cluster.Leadership) error {
	w.ctx.Store(&ctx)
	w.begun <- l
	<-ctx.Done()
	w.results <- context.Cause(ctx)
	return nil
}

// ended reports whether the context of the callback has ended.
func (w *leadTask) ended() bool {
	ctx := w.ctx.Load()
	return ctx != nil && (*ctx).Err() != nil
}

// lead calls Lead of a member with w. The returned channel receives the result of Lead.
func lead(ctx context.Context, m *member, w *leadTask) <-chan error {
	result := make(chan error, 1)
	go func() { result <- m.Lead(ctx, w.do) }()
	return result
}

func TestCauseNamesEndOfLeadership(t *testing.T) {
	bad := errors.New("the disk is full")
	cases := []struct {
		name string
		end  func(f *fleet, leader *member, s *hooked)
		want func(t *testing.T, cause error)
	}{
		{
			"deposed by a higher one",
			func(f *fleet, _ *member, _ *hooked) { f.start(3) },
			func(t *testing.T, cause error) {
				var deposed *cluster.DeposedError
				require.ErrorAs(t, cause, &deposed)
				require.ErrorIs(t, cause, cluster.ErrDeposed)
				require.Equal(t, "n3", deposed.By.Name)
				require.Equal(t, "n3:7400", deposed.By.Addr)
				require.ErrorContains(t, cause, "deposed by n3 in epoch ")
			},
		},
		{
			"elected again in a newer epoch",
			func(_ *fleet, leader *member, _ *hooked) { _ = leader.Campaign(context.Background()) },
			func(t *testing.T, cause error) { require.Equal(t, cluster.ErrReelected, cause) },
		},
		{
			"resigned",
			func(_ *fleet, leader *member, _ *hooked) { _ = leader.Resign(context.Background(), 0) },
			func(t *testing.T, cause error) { require.Equal(t, cluster.ErrResigned, cause) },
		},
		{
			"stopped",
			func(f *fleet, leader *member, _ *hooked) { f.halt(leader) },
			func(t *testing.T, cause error) { require.Equal(t, cluster.ErrStopped, cause) },
		},
		{
			"save failed",
			func(f *fleet, leader *member, s *hooked) {
				s.set(func([]string) error { return bad })
				require.ErrorIs(f.t, leader.Campaign(context.Background()), bad)
				<-leader.done
			},
			func(t *testing.T, cause error) {
				require.ErrorIs(t, cause, cluster.ErrSaveFailed)
				require.ErrorIs(t, cause, bad)
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				s := newHooked()
				f.stores["n2"] = s
				members := f.grow(2)
				w := newWork()
				lead(t.Context(), members[1], w)
				<-w.begun
				require.NoError(t, (*w.ctx.Load()).Err())
				c.end(f, members[1], s)
				c.want(t, <-w.results)
			})
		})
	}
}

func TestLeadContextEndsBeforeSaveAndSend(t *testing.T) {
	cases := map[string]func(f *fleet, leader *member){
		"goodbye":     func(f *fleet, leader *member) { f.halt(leader) },
		"resignation": func(_ *fleet, leader *member) { _ = leader.Resign(context.Background(), 0) },
		"deposition":  func(f *fleet, _ *member) { f.net.Heal(); f.agree("n3", bound) },
	}
	for name, end := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				w, s := newWork(), newHooked()
				f.stores["n2"] = s
				var watching, acted atomic.Bool
				check := func(what any) {
					if watching.Load() {
						acted.Store(true)
						if !w.ended() {
							t.Errorf("%v before the context of the callback has ended", what)
						}
					}
				}
				f.start(1)
				f.agree("n1", bound)
				leader := f.start(2, withTrace(func(e trace.Event) {
					_, goodbye := e.Message.(engine.Goodbye)
					if e.Kind == trace.Send && goodbye {
						check("goodbye")
					}
				}))
				f.agree("n2", bound)
				if name == "deposition" { // by a leader in a newer epoch, which the node has to save
					other := f.start(3)
					f.agree("n3", bound)
					f.net.Partition([]string{"n3"})
					f.agree("n2", bound, other)
					for range 5 {
						require.NoError(t, other.Campaign(t.Context()))
					}
				}
				s.set(func(kinds []string) error {
					for _, kind := range kinds {
						if kind == "hard-state" || name == "resignation" {
							check("a save of " + kind)
						}
					}
					return nil
				})
				lead(t.Context(), leader, w)
				<-w.begun
				watching.Store(true)
				end(f, leader)
				require.True(t, acted.Load(), "the test needs a save or a goodbye")
			})
		})
	}
}

func TestLeadContextEndsWhileSaveHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		s := newHooked()
		f.stores["n2"] = s
		members := f.grow(2)
		leader, w := members[1], newWork()
		lead(t.Context(), leader, w)
		<-w.begun
		saving, disk := make(chan struct{}), make(chan struct{})
		var once sync.Once
		s.set(func([]string) error {
			once.Do(func() { close(saving) })
			<-disk
			return nil
		})
		joined := f.start(3) // the node has to save the new member
		<-saving
		leader.stop()
		synctest.Wait()
		require.True(t, w.ended())
		_, known := leader.Leader()
		require.False(t, known)
		start := time.Now()
		close(disk)
		require.NoError(t, leader.halt())
		require.Less(t, time.Since(start), time.Second)
		delete(f.live, "n2")
		joined.follows(t, "n3", bound)
	})
}

// Lead does not return when a leadership ends. It calls the callback again in the next leadership of the node.
func TestLeadWaitsForNextLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(2)
		w := newWork()
		result := lead(t.Context(), members[0], w)
		synctest.Wait()
		require.Empty(t, w.begun, "the callback of a follower runs")
		f.halt(members[1])
		first := <-w.begun
		f.start(2)
		require.Error(t, <-w.results)
		f.halt(f.live["n2"])
		second := <-w.begun
		require.Greater(t, second.Epoch, first.Epoch)
		require.Empty(t, result)
		f.halt(members[0])
		require.Equal(t, cluster.ErrStopped, <-w.results)
		require.Equal(t, cluster.ErrStopped, <-result)
	})
}

func TestLeadReturnsAfterCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n := f.grow(1)[0]
		begun, release := make(chan struct{}), make(chan struct{})
		var running atomic.Int32
		result := make(chan error, 1)
		go func() {
			result <- n.Lead(t.Context(), func(context.Context, cluster.Leadership) error {
				if running.Add(1) > 1 {
					t.Error("the callback runs twice at once")
				}
				begun <- struct{}{}
				<-release // ignores its context
				running.Add(-1)
				return nil
			})
		}()
		<-begun
		require.NoError(t, n.Campaign(t.Context())) // the newer leadership waits for the callback
		testkit.Advance(time.Minute)
		require.Empty(t, begun)
		release <- struct{}{}
		<-begun
		f.halt(n)
		testkit.Advance(time.Minute)
		require.Empty(t, result)
		release <- struct{}{}
		require.Equal(t, cluster.ErrStopped, <-result)
	})
}

func TestLeadReturnsErrorOfCallback(t *testing.T) {
	for _, want := range []error{nil, errors.New("nothing left to do")} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			n := f.grow(1)[0]
			got := n.Lead(t.Context(), func(context.Context, cluster.Leadership) error { return want })
			require.Equal(t, want, got)
			require.Equal(t, "n1", leaderOf(n), "the only member does not lead on")
		})
	}
}

// Lead ignores the error that a callback returns after its leadership has ended, and calls it in the next leadership.
func TestErrorOfLateCallbackIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n := f.grow(1)[0]
		var epochs []algo.Epoch
		got := n.Lead(t.Context(), func(ctx context.Context, l cluster.Leadership) error {
			if epochs = append(epochs, l.Epoch); len(epochs) == 2 {
				return nil
			}
			require.NoError(t, n.Campaign(context.WithoutCancel(ctx)))
			<-ctx.Done()
			return errors.New("late")
		})
		require.NoError(t, got)
		require.Len(t, epochs, 2)
		require.Less(t, epochs[0], epochs[1])
	})
}

func TestLeadEndsWithItsContext(t *testing.T) {
	enough := errors.New("enough")
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(2)
		for _, m := range members { // in one Lead waits, in the other the callback runs
			ctx, cancel := context.WithCancelCause(t.Context())
			w := newWork()
			result := lead(ctx, m, w)
			synctest.Wait()
			cancel(enough)
			require.Equal(t, enough, <-result)
			require.Equal(t, enough, m.Lead(ctx, w.do))
		}
		require.Equal(t, "n1", leaderOf(members[1]), "n2 leads without a callback")
		f.agree("n2", 2*bound) // its standby period has ended
		f.quiet(time.Minute)
	})
}

func TestPanicPropagatesAndNodeResigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(2)
		broken := func(context.Context, cluster.Leadership) error { panic("broken") }
		require.PanicsWithValue(t, "broken", func() { _ = members[1].Lead(t.Context(), broken) })
		require.NotEqual(t, "n2", leaderOf(members[1]), "the leadership lasts after the panic")
		f.agree("n1", bound)
		now := members[1].follows(t, "n1", bound)
		require.Equal(t, cluster.ErrResigned, now.Cause)
	})
}

func TestPanicAfterLeadershipEndIsNoResignation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n := f.grow(2)[1]
		late := func(ctx context.Context, _ cluster.Leadership) error {
			_ = n.Campaign(context.WithoutCancel(ctx))
			panic("late")
		}
		require.Panics(t, func() { _ = n.Lead(t.Context(), late) })
		testkit.Advance(time.Millisecond)
		require.Equal(t, "n2", leaderOf(n))
	})
}

func TestFollowerSeesNoEndOfOwnLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.grow(2)
		follower := f.live["n1"]
		states := follower.seen()
		f.kill(f.live["n2"])
		f.agree("n1", bound)
		for _, s := range states {
			if s.Leader.Name == "n2" && !s.IsLeader && s.Cause != nil {
				// n1 led before n2 joined.
				var deposed *cluster.DeposedError
				require.ErrorAs(t, s.Cause, &deposed)
			}
		}
		// A node that joins a cluster with a higher leader never leads.
		f = newFleet(t)
		f.start(5)
		f.agree("n5", bound)
		never := f.start(1)
		f.agree("n5", bound)
		w := newWork()
		result := lead(t.Context(), never, w)
		f.halt(never)
		require.Equal(t, cluster.ErrStopped, <-result)
		require.Empty(t, w.begun)
		for _, s := range never.seen() {
			require.NoError(t, s.Cause)
			require.False(t, s.IsLeader)
		}
	})
}

func TestWatchYieldsCurrentAndLatestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n := f.grow(1)[0]
		var seen []cluster.State
		for s := range n.Watch(t.Context()) {
			seen = append(seen, s)
			switch len(seen) {
			case 1:
				require.Equal(t, "n1", s.Leader.Name)
				for range 5 { // this reader is slow
					require.NoError(t, n.Campaign(t.Context()))
				}
			case 2:
				now, _ := n.Leader()
				require.Equal(t, now, s.Leader, "a slow reader gets an older state than the latest")
				f.halt(n)
			}
		}
		require.Len(t, seen, 3)
		require.False(t, seen[2].HasLeader(), "the last state has no leader")
		require.Equal(t, cluster.ErrStopped, seen[2].Cause)

		for s := range n.Watch(t.Context()) {
			require.Equal(t, seen[2], s, "a later reader gets another last state")
		}
	})
}

func TestWatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFleet(t).grow(1)[0]
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		states := 0
		for range n.Watch(ctx) {
			states++
		}
		require.Equal(t, 1, states)
		for range n.Watch(ctx) {
			t.Error("a state after the end")
		}
	})
}

func TestStuckReaderBlocksNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		stuck := make(chan struct{})
		for range 10 {
			go func() {
				for range members[0].Watch(context.Background()) {
					<-stuck
				}
			}()
		}
		f.kill(members[2])
		f.agree("n2", bound)
		f.halt(members[0])
		close(stuck)
	})
}

func TestVacancyIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(2)
		before := len(members[0].seen())
		f.config = func(*cluster.Config) {}
		f.net.Partition([]string{"n2"})
		f.agree("n1", bound, members[1])
		synctest.Wait()
		states := members[0].seen()[before:]
		require.True(t, states[len(states)-1].IsLeader)
		// n1 leads as soon as it suspects n2, without a vacancy. A witness has a vacancy.
		f = newFleet(t)
		f.start(2)
		f.agree("n2", bound)
		f.config = func(c *cluster.Config) { c.Witness = true }
		witness := f.start(1)
		f.agree("n2", bound)
		f.kill(f.live["n2"])
		witness.shows(t, "a vacancy", bound, func(s cluster.State) bool { return !s.HasLeader() })
	})
}

func TestResignReturnsWhenAnotherLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		require.NoError(t, members[2].Resign(t.Context(), 0))
		require.Equal(t, "n2", leaderOf(members[2]))
		start := time.Now()
		f.agree("n2", bound)
		f.agree("n3", 2*bound) // n3 leads again after its standby period
		require.InDelta(t, bound, time.Since(start), float64(100*time.Millisecond))
		f.quiet(time.Minute)
	})
}

func TestResignOfFollowerReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(2)
		require.NoError(t, members[0].Resign(t.Context(), 0))
		require.Equal(t, "n2", leaderOf(members[0]))
	})
}

func TestResignWithoutEligiblePeerIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n := f.grow(1)[0]
		require.ErrorIs(t, n.Resign(t.Context(), 0), cluster.ErrNoEligibleMember)
		require.Equal(t, "n1", leaderOf(n))
		other := f.start(2)
		f.agree("n2", bound)
		require.NoError(t, n.Resign(t.Context(), time.Minute))
		synctest.Wait() // n2 receives the standby state of n1
		require.ErrorIs(t, other.Resign(t.Context(), 0), cluster.ErrNoEligibleMember, "n1 has resigned")
		f.quiet(time.Minute)
	})
}

func TestResignWithoutLivePeerEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(2)
		n := members[1]
		f.kill(members[0])
		ctx, cancel := context.WithTimeout(t.Context(), bound/2)
		defer cancel()
		require.ErrorIs(t, n.Resign(ctx, 0), context.DeadlineExceeded)
		require.Empty(t, leaderOf(n))
		n.follows(t, "n2", bound)

		result := make(chan error, 1)
		go func() { result <- n.Resign(t.Context(), 0) }()
		synctest.Wait()
		f.halt(n)
		require.Equal(t, cluster.ErrStopped, <-result)
	})
}

func TestCampaignStartsElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		before := f.agree("n3", bound)
		require.NoError(t, members[2].Campaign(t.Context()))
		synctest.Wait()
		after := f.agree("n3", bound)
		require.Greater(t, after.Epoch, before.Epoch)
		require.NoError(t, members[0].Campaign(t.Context()))
		f.agree("n3", bound)
		f.quiet(time.Minute)
	})
}

func TestMethodsReturnAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n := f.grow(1)[0]
		require.Equal(t, "n1", leaderOf(n))
		f.halt(n)
		_, known := n.Leader()
		require.False(t, known)
		ctx := context.Background()
		require.Equal(t, cluster.ErrStopped, n.Campaign(ctx))
		require.Equal(t, cluster.ErrStopped, n.Resign(ctx, 0))
		require.Equal(t, cluster.ErrStopped, n.Lead(ctx, newWork().do))
		_, err := n.Status(ctx)
		require.Equal(t, cluster.ErrStopped, err)
		require.Empty(t, n.Members())
		require.Equal(t, cluster.ErrAlreadyStarted, n.Run(ctx))
	})
}

func TestMethodsWaitForRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := clustertest.NewNetwork()
		n, err := cluster.New(cluster.Config{Name: "n1", Listen: "n1:7400", Members: []string{"n1:7400"}, Lease: lease.Off, Network: network.Process("n1").Cluster()})
		require.NoError(t, err)
		require.Empty(t, n.Members())
		_, known := n.Leader()
		require.False(t, known)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, n.Campaign(ctx), context.DeadlineExceeded)

		w := newWork()
		ctx, stop := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- n.Lead(context.Background(), w.do) }()
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		require.Equal(t, "n1", (<-w.begun).Name)
		members := n.Members()
		require.Len(t, members, 1)
		require.Equal(t, "self", members[0].State)
		stop()
		require.NoError(t, <-done)
		require.Equal(t, cluster.ErrStopped, <-result)
	})
}

// After a failed save, a node sends nothing that depends on the save.
func TestFailedSaveStopsNodeBeforeSend(t *testing.T) {
	bad := errors.New("no space left")
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		s := newHooked()
		f.stores["n2"] = s
		var mu sync.Mutex
		var heard algo.Epoch // highest epoch that n1 received from n2
		var lost algo.Epoch  // epoch that n2 failed to save
		var failing atomic.Bool
		f.start(1, withTrace(func(e trace.Event) {
			if e.Kind != trace.Deliver {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch m := e.Message.(type) {
			case bully.Election:
				heard = max(heard, m.Epoch)
			case bully.Answer:
				heard = max(heard, m.Epoch)
			case bully.Coordinator:
				heard = max(heard, m.Epoch)
			}
		}))
		f.agree("n1", bound)
		victim := f.start(2, withTrace(func(e trace.Event) {
			if e.Kind == trace.Save && failing.Load() {
				lost = e.Epoch
			}
		}))
		before := f.agree("n2", bound)
		w := newWork()
		lead(t.Context(), victim, w)
		<-w.begun
		s.set(func([]string) error {
			failing.Store(true)
			return bad
		})
		failing.Store(true)
		require.ErrorIs(t, victim.Campaign(t.Context()), cluster.ErrSaveFailed)
		<-victim.done
		delete(f.live, "n2")
		require.ErrorIs(t, victim.err, cluster.ErrSaveFailed)
		require.ErrorIs(t, victim.err, bad)
		require.Error(t, <-w.results)
		require.NotEmpty(t, victim.log.Lines("save failed"))
		f.agree("n1", bound)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, before.Epoch+1, lost)
		require.Equal(t, before.Epoch, heard)
	})
}

// docs/guarantees.md states how long an isolated leader of vote may lead.
func TestIsolatedVoteLeaderStopsInTime(t *testing.T) {
	for name, timing := range algo.Presets() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = func(c *cluster.Config) { c.Algorithm, c.Timing = builtin.Lookup("vote"), timing }
				for i := 1; i <= 3; i++ {
					f.start(i)
					f.leader(3 * timing.RecoveryBound())
				}
				testkit.Advance(timing.RecoveryBound())
				leader := f.leader(0)
				f.net.Partition([]string{leader.name})
				cut := time.Now()
				s := leader.shows(t, "no leadership", time.Minute, func(s cluster.State) bool { return !s.IsLeader })
				require.ErrorIs(t, s.Cause, cluster.ErrNoMajority)
				limit := timing.Timeout + 3*4*timing.Heartbeat
				require.InDelta(t, limit, time.Since(cut), float64(timing.Heartbeat+10*time.Millisecond))
				require.LessOrEqual(t, time.Since(cut), limit+10*time.Millisecond)
			})
		})
	}
}
