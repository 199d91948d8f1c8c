package cluster_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// shift is the period in which the Lead callback of one node ran.
type shift struct {
	name         string
	began, ended time.Time
}

// slow returns a Lead callback that returns some time after its context has ended.
func slow(takes time.Duration, done chan<- shift) func(context.Context, cluster.Leadership) error {
	return func(ctx context.Context, l cluster.Leadership) error {
		s := shift{name: l.Name, began: time.Now()}
		<-ctx.Done()
		testkit.Advance(takes)
		s.ended = time.Now()
		done <- s
		return nil
	}
}

// stopping runs a cluster of three members, and lets the leader give up its leadership with giveUp. The Lead callbacks
// need the time takes to return. stopping returns the shifts of the first and the next leader, and the time at which
// giveUp was called.
func stopping(t *testing.T, takes time.Duration, algorithm string, giveUp func(ctx context.Context, n *cluster.Node, stop func()), options ...option) (first, next shift, called time.Time) {
	f := newFleet(t)
	f.config = runs(algorithm)
	var members []*member
	for i := 1; i <= 3; i++ {
		members = append(members, f.start(i, options...))
		f.leader(2 * bound)
	}
	testkit.Advance(bound)
	leader := f.leader(0)
	done := make(chan shift, 10)
	var working sync.WaitGroup
	for _, m := range members { // as in the README: one context for Run and Lead
		ctx, cancel := context.WithCancel(t.Context())
		stop := m.stop
		m.stop = func() { cancel(); stop() }
		working.Go(func() { _ = m.Lead(ctx, slow(takes, done)) })
	}
	synctest.Wait()
	testkit.Advance(time.Second)
	called = time.Now()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		giveUp(t.Context(), leader.Node, leader.stop)
	}()
	first = <-done
	require.Equal(t, leader.name, first.name)
	<-gone
	delete(f.live, leader.name)
	testkit.Advance(2 * bound)
	another := f.leader(2 * bound)
	testkit.Advance(time.Second)
	another.stop()
	next = <-done
	require.Equal(t, another.name, next.name)
	require.NotEqual(t, first.name, next.name)
	for _, m := range members {
		m.stop()
	}
	working.Wait()
	return first, next, called
}

var waysToGiveUp = map[string]func(ctx context.Context, n *cluster.Node, stop func()){
	"stop":   func(_ context.Context, _ *cluster.Node, stop func()) { stop() },
	"resign": func(ctx context.Context, n *cluster.Node, _ func()) { _ = n.Resign(ctx, time.Hour) },
	"leave":  func(ctx context.Context, n *cluster.Node, _ func()) { _ = n.Leave(ctx) },
}

// algorithmsOf returns the algorithms that support a way to give up. Leaving needs a quorum.
func algorithmsOf(way string) []string {
	if way == "leave" {
		return quorums
	}
	return []string{"bully", "ring", "vote", "bully with a lease"}
}

// A leader hands over only after its Lead callback has returned, so two callbacks never run at once.
func TestNextLeadCallbackWaitsForPreviousOne(t *testing.T) {
	for name, giveUp := range waysToGiveUp {
		for _, algorithm := range algorithmsOf(name) {
			t.Run(name+"/"+algorithm, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					first, next, called := stopping(t, 3*time.Second, algorithm, giveUp)
					require.GreaterOrEqual(t, first.ended.Sub(called), 3*time.Second)
					require.GreaterOrEqual(t, next.began.Sub(first.ended), time.Duration(0), "two worked at once")
					require.Less(t, next.began.Sub(first.ended), bound)
				})
			})
		}
	}
}

// A Lead callback that does not return delays the hand-over by at most DrainTimeout.
func TestHandOverWaitsAtMostDrainTimeout(t *testing.T) {
	for name, giveUp := range waysToGiveUp {
		for _, algorithm := range algorithmsOf(name) {
			for drain, options := range map[time.Duration][]option{5 * time.Second: nil, time.Second: {withDrain(time.Second)}} {
				t.Run(name+"/"+algorithm+"/"+drain.String(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						_, next, called := stopping(t, 20*time.Second, algorithm, giveUp, options...)
						require.GreaterOrEqual(t, next.began.Sub(called), drain)
						require.Less(t, next.began.Sub(called), drain+bound)
					})
				})
			}
		}
	}
}

// While the Lead callback cleans up, the node sends heartbeats and no goodbye, so its peers still follow it.
func TestDrainingLeaderIsStillFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		sent := make(chan time.Time, 10) // goodbyes
		f.start(1)
		f.agree("n1", bound)
		leader := f.start(2, withTrace(func(e trace.Event) {
			if _, goodbye := e.Message.(engine.Goodbye); goodbye && e.Kind == trace.Send {
				sent <- time.Now()
			}
		}))
		f.agree("n2", bound)
		done := make(chan shift, 1)
		go func() { _ = leader.Lead(context.Background(), slow(4*time.Second, done)) }()
		synctest.Wait()
		go leader.stop()
		testkit.Advance(3 * time.Second)
		require.Empty(t, sent)
		require.Equal(t, "n2", leaderOf(f.live["n1"]), "n1 does not follow the draining leader")
		require.False(t, leader.IsLeader(), "a draining node reports that it leads")
		f.halt(leader)
		require.Equal(t, (<-done).ended, <-sent)
	})
}

// After its Lead callback has returned, a node hands over to another member.
func TestReturnOfLeadCallbackHandsOver(t *testing.T) {
	bad := errors.New("the database is gone")
	for name, returns := range map[string]func() error{
		"nil":   func() error { return nil },
		"error": func() error { return bad },
		"panic": func() error { panic(bad) },
	} {
		t.Run(name, func(t *testing.T) {
			eachAlgorithm(t, 3, func(t *testing.T, c *clustertest.Cluster, _ algo.Claims) {
				leader := c.WaitLeader()
				n := c.Node(leader.Name)
				var got any
				func() {
					defer func() {
						if r := recover(); r != nil {
							got = r
						}
					}()
					if err := n.Lead(t.Context(), func(context.Context, cluster.Leadership) error { return returns() }); err != nil {
						got = err
					}
				}()
				if name == "nil" {
					require.Nil(t, got)
				} else {
					require.Equal(t, bad, got)
				}
				require.False(t, n.IsLeader())
				next, known := n.Leader()
				require.True(t, known, "Lead returns when another leads")
				require.NotEqual(t, leader.Name, next.Name)
			})
		})
	}
}

// With KeepLeading the node leads on after its Lead callback has returned.
func TestKeepLeadingKeepsLeadershipAfterReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n := f.grow(2)[1]
		runs := 0
		for range 2 {
			require.NoError(t, n.Lead(t.Context(), func(_ context.Context, l cluster.Leadership) error {
				runs++
				require.True(t, l.Valid())
				return nil
			}, cluster.KeepLeading))
		}
		require.Equal(t, 2, runs, "the second call starts at once, because the node leads on")
		f.quiet(time.Minute)
		require.True(t, n.IsLeader())
	})
}

// Both callbacks of two concurrent Lead calls run in each leadership. The first that returns ends the leadership for
// both.
func TestTwoLeadCallsShareLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(2)
		n := members[1]
		w, finish := newWork(), make(chan struct{})
		other := lead(t.Context(), n, w)
		result := make(chan error, 1)
		enough := errors.New("enough")
		go func() {
			result <- n.Lead(t.Context(), func(context.Context, cluster.Leadership) error {
				<-finish
				return enough
			})
		}()
		first := <-w.begun
		synctest.Wait()
		require.Empty(t, w.results)
		close(finish)
		require.Equal(t, enough, <-result)
		require.Equal(t, cluster.ErrResigned, <-w.results)
		require.Equal(t, "n1", leaderOf(n))
		require.Empty(t, other, "the other call waits for the next leadership")
		second := <-w.begun // n2 leads again after its standby period
		require.Greater(t, second.Epoch, first.Epoch)
	})
}

// While a node waits for its Lead callback to return it starts no other callback, even if it is elected again.
func TestDrainingNodeStartsNoLeadCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n := f.grow(2)[1]
		w, done := newWork(), make(chan shift, 1)
		go func() { _ = n.Lead(t.Context(), slow(3*time.Second, done)) }()
		synctest.Wait()
		resigned := make(chan error, 1)
		go func() { resigned <- n.Resign(t.Context(), time.Minute) }()
		testkit.Advance(time.Second)
		lead(t.Context(), n, w) // another Lead call
		require.NoError(t, n.Campaign(t.Context()))
		synctest.Wait()
		require.False(t, n.IsLeader())
		require.NoError(t, <-resigned)
		require.Equal(t, "n1", leaderOf(n))
		require.Empty(t, w.begun)
		<-done
	})
}

// A Lead callback calls Resign or Leave with its own context, which ends at once. The node still hands over when the
// callback has returned. A canceled Leave does not end the membership.
func TestResignWithEndedContextHandsOver(t *testing.T) {
	for name, giveUp := range map[string]func(context.Context, *cluster.Node) error{
		"resign": func(ctx context.Context, n *cluster.Node) error { return n.Resign(ctx, time.Minute) },
		"leave":  func(ctx context.Context, n *cluster.Node) error { return n.Leave(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = leased
				n := f.grow(2)[1]
				calls := 0
				go func() {
					_ = n.Lead(t.Context(), func(ctx context.Context, l cluster.Leadership) error {
						if calls++; calls > 1 {
							<-ctx.Done()
							return nil
						}
						require.Equal(t, cluster.ErrResigned, giveUp(ctx, n.Node))
						require.False(t, l.Valid())
						testkit.Advance(3 * time.Second)
						require.Equal(t, "n2", leaderOf(f.live["n1"]))
						return nil
					})
				}()
				testkit.Advance(4 * time.Second)
				if name == "resign" {
					f.agree("n1", bound)
				}
				testkit.Advance(bound)
				f.leader(2 * bound)
				f.quiet(30 * time.Second)
				require.Len(t, n.Members(), 2)
			})
		})
	}
}

// A node that wants to leave becomes the last member while it drains. It stays, leads on, and its Lead callback starts
// again.
func TestLastMemberLeadsOnAfterDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = leased
		members := f.grow(2)
		n := members[1]
		done := make(chan shift, 10)
		go func() { _ = n.Lead(t.Context(), slow(3*time.Second, done)) }()
		synctest.Wait()
		left := make(chan error, 1)
		go func() { left <- n.Leave(t.Context()) }()
		testkit.Advance(time.Second)
		require.NoError(t, members[0].Leave(t.Context()))
		<-members[0].done
		delete(f.live, "n1")
		require.ErrorIs(t, <-left, cluster.ErrLastMember)
		first := <-done
		require.True(t, n.IsLeader())
		synctest.Wait()
		f.halt(n)
		require.Equal(t, first.name, (<-done).name)
	})
}

// A node reports its ID and the leadership before, during and after Run.
func TestNodeReportsIDAndLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := clustertest.NewNetwork()
		n, err := cluster.New(cluster.Config{Name: "n1", Listen: "n1:7400", Members: []string{"n1:7400"}, Lease: lease.Off, Network: w.Process("n1").Cluster()})
		require.NoError(t, err)
		require.Zero(t, n.ID())
		require.False(t, n.IsLeader())
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, n.WaitLeader(short), context.DeadlineExceeded)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		require.NoError(t, n.WaitLeader(t.Context()))
		require.True(t, n.IsLeader())
		now, _ := n.Leader()
		require.Equal(t, now.ID, n.ID())
		require.False(t, now.Valid(), "Valid holds only in a Lead callback")
		stop()
		require.NoError(t, <-done)
		require.False(t, n.IsLeader())
		require.Equal(t, now.ID, n.ID())
		require.Equal(t, cluster.ErrStopped, n.WaitLeader(t.Context()))
	})
}
