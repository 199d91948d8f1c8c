package cluster_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
)

func TestSetPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		require.NoError(t, members[0].SetPriority(t.Context(), 9))
		f.agree("n1", bound)
		for _, m := range f.live {
			for _, seen := range m.Members() {
				if seen.Name == "n1" {
					require.Equal(t, 9, seen.Priority, m.name)
				}
			}
		}
		f.halt(members[0])
		f.agree("n3", bound)
		f.start(1) // with the priority of its settings
		f.agree("n3", bound)
		f.members(bound, "n1", "n2", "n3")

		var mistake *algo.SettingError
		if strconv.IntSize > 32 {
			require.ErrorAs(t, members[1].SetPriority(t.Context(), math.MaxInt), &mistake)
			require.Equal(t, "priority", mistake.Field)
		}
		require.NoError(t, members[1].halt())
		delete(f.live, "n2")
		require.ErrorIs(t, members[1].SetPriority(t.Context(), 1), cluster.ErrStopped)
	})
}

// members waits until the committed config of each live member has exactly the members in want.
func (f *fleet) members(within time.Duration, want ...string) {
	f.t.Helper()
	slices.Sort(want)
	limit := time.Now().Add(within)
	for {
		synctest.Wait()
		same := true
		var all [][]string
		for _, m := range f.live {
			s, err := m.Status(f.t.Context())
			require.NoError(f.t, err)
			var names []string
			for _, seen := range s.Members {
				names = append(names, seen.Name)
			}
			slices.Sort(names)
			all = append(all, names)
			same = same && slices.Equal(names, want) && s.Committed
		}
		if same {
			return
		}
		require.True(f.t, time.Now().Before(limit), "they know %v, want %v", all, want)
		testkit.Advance(time.Millisecond)
	}
}

// growTo starts members 1 to n, one after another, until all know each other. Unlike grow it requires no leader.
func (f *fleet) growTo(n int) []*member {
	f.t.Helper()
	f.list = listOf(n)
	var all []*member
	var names []string
	for i := 1; i <= n; i++ {
		all, names = append(all, f.start(i)), append(names, nameOf(i))
		f.members(2*bound, names...)
	}
	return all
}

// leader waits until all live members follow one live leader, and returns it.
func (f *fleet) leader(within time.Duration) *member {
	f.t.Helper()
	limit := time.Now().Add(within)
	for {
		synctest.Wait()
		followed := make(map[cluster.Leadership]bool)
		for _, m := range f.live {
			l, _ := m.Leader()
			followed[l] = true
		}
		for l := range followed {
			if m := f.live[l.Name]; len(followed) == 1 && m != nil {
				return m
			}
		}
		require.True(f.t, time.Now().Before(limit), "no agreement: %v", followed)
		testkit.Advance(time.Millisecond)
	}
}

// each runs a test with each of the algorithms.
func each(t *testing.T, algorithms []string, test func(t *testing.T, f *fleet)) {
	for _, algorithm := range algorithms {
		t.Run(algorithm, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = runs(algorithm)
				test(t, f)
			})
		})
	}
}

// operator returns a client on a separate host.
func (f *fleet) operator() client.Client {
	return client.Client{Dial: f.net.Process("operator").Dial}
}

func TestDeadMemberIsRemoved(t *testing.T) {
	each(t, quorums, func(t *testing.T, f *fleet) {
		all := f.growTo(4)
		id, err := all[3].Status(t.Context())
		require.NoError(t, err)
		f.kill(all[3])
		f.leader(2 * bound)
		require.NoError(t, all[0].Remove(t.Context(), id.Node))
		f.members(bound, "n1", "n2", "n3")
		require.ErrorIs(t, all[1].Remove(t.Context(), id.Node), cluster.ErrUnknownMember)

		again := f.start(4) // with its data
		<-again.done
		require.ErrorIs(t, again.err, cluster.ErrRemoved)
		delete(f.live, "n4")
		f.stores["n4"] = store.NewMemory() // emptied
		f.start(4)
		f.members(2*bound, "n1", "n2", "n3", "n4")
	})
}

func TestLiveLeaderIsRemoved(t *testing.T) {
	each(t, quorums, func(t *testing.T, f *fleet) {
		f.growTo(3)
		leader := f.leader(bound)
		other := f.live[map[bool]string{true: "n1", false: "n2"}[leader.name != "n1"]]
		w := newWork()
		led := lead(t.Context(), leader, w)
		<-w.begun
		l, _ := leader.Leader()
		require.NoError(t, other.Remove(t.Context(), l.ID))
		<-leader.done
		require.ErrorIs(t, leader.err, cluster.ErrRemoved)
		require.ErrorIs(t, <-led, cluster.ErrStopped)
		delete(f.live, leader.name)
		f.leader(bound)
		require.Len(t, f.live, 2)
		for _, m := range f.live {
			require.Len(t, m.Members(), 2)
		}
	})
}

// A leader that leaves ends its Lead callback first, then its leadership, then its membership.
func TestLeave(t *testing.T) {
	each(t, quorums, func(t *testing.T, f *fleet) {
		f.growTo(3)
		leader := f.leader(bound)
		w := newWork()
		led := lead(t.Context(), leader, w)
		<-w.begun
		require.NoError(t, leader.Leave(t.Context()))
		require.True(t, w.ended())
		require.ErrorIs(t, <-w.results, cluster.ErrResigned)
		<-leader.done
		require.NoError(t, leader.err, "a requested leave is no error")
		require.ErrorIs(t, <-led, cluster.ErrStopped)
		delete(f.live, leader.name)
		f.leader(bound)
		again := f.start(int(leader.name[1] - '0'))
		<-again.done
		require.ErrorIs(t, again.err, cluster.ErrRemoved)
		delete(f.live, leader.name)

		rest := slices.Collect(maps.Values(f.live))
		require.NoError(t, rest[0].Leave(t.Context()))
		<-rest[0].done
		delete(f.live, rest[0].name)
		require.ErrorIs(t, rest[1].Leave(t.Context()), cluster.ErrLastMember)
		f.leader(2 * bound)
	})
}

// Without a quorum, Leave is canceled when its context ends, and the node stays a member.
func TestLeaveWithoutQuorumIsCanceled(t *testing.T) {
	each(t, quorums, func(t *testing.T, f *fleet) {
		all := f.growTo(3)
		f.kill(all[0])
		f.kill(all[1])
		testkit.Advance(2 * bound)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, all[2].Leave(ctx), context.DeadlineExceeded)
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var refused *client.RejectedError
		require.ErrorAs(t, f.operator().Leave(ctx, "n3:7400"), &refused)
		require.Contains(t, refused.Reason, "not done in time")
		f.start(1)
		f.start(2)
		f.members(3*bound, "n1", "n2", "n3")
		f.leader(bound)
	})
}

// A leave is canceled, too, if its context ends during the first save.
func TestLeaveIsCanceledDuringSave(t *testing.T) {
	each(t, quorums, func(t *testing.T, f *fleet) {
		for i := 1; i <= 3; i++ {
			f.stores[nameOf(i)] = newHooked()
		}
		f.growTo(3)
		leader := f.leader(bound)
		var others []int
		for i := 1; i <= 3; i++ {
			if nameOf(i) != leader.name {
				others = append(others, i)
				f.kill(f.live[nameOf(i)])
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan struct{})
		f.stores[leader.name].(*hooked).set(func([]string) error {
			cancel()
			<-returned
			return nil
		})
		time.AfterFunc(2*bound, cancel) // if the leave needs no save
		require.ErrorIs(t, leader.Leave(ctx), context.Canceled)
		close(returned)
		testkit.Advance(2 * bound)
		for _, i := range others {
			f.start(i)
		}
		f.members(3*bound, "n1", "n2", "n3")
		testkit.Advance(bound)
		f.members(0, "n1", "n2", "n3")
	})
}

func TestOperator(t *testing.T) {
	each(t, quorums, func(t *testing.T, f *fleet) {
		all := f.growTo(4)
		o := f.operator()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		status := func(at string) cluster.Status {
			s, err := f.operator().Status(t.Context(), at+":7400")
			require.NoError(t, err)
			return s
		}

		require.NoError(t, o.SetPriority(ctx, "n2:7400", 50))
		i := slices.IndexFunc(status("n2").Members, func(m cluster.Member) bool { return m.Name == "n2" })
		require.Equal(t, 50, status("n2").Members[i].Priority)

		testkit.Advance(time.Second) // the log limit allows new lines
		leader := f.leader(bound)
		require.NoError(t, o.Resign(ctx, leader.name+":7400", 2*time.Second))
		require.NotEqual(t, leader, f.leader(bound))
		require.NotEmpty(t, leader.log.Lines(`msg="admin request accepted" from=`, ` action=resign period=2s`))
		testkit.Advance(3 * time.Second)

		require.NoError(t, o.Remove(ctx, "n1:7400", "n3"))
		require.NotEmpty(t, all[0].log.Lines(`msg="admin request accepted" from=`, ` action=remove member=n3`))
		require.NotEmpty(t, all[1].log.Lines(`msg="admin request accepted" from=`, ` action=priority priority=50`))
		<-all[2].done
		delete(f.live, "n3")
		require.ErrorIs(t, all[2].err, cluster.ErrRemoved)
		require.NoError(t, o.Remove(ctx, "n1:7400", status("n4").Node.String()))
		<-all[3].done
		delete(f.live, "n4")
		f.members(bound, "n1", "n2")
		f.leader(2 * bound)

		var refused *client.RejectedError
		require.ErrorAs(t, o.Remove(ctx, "n1:7400", "n9"), &refused)
		require.Contains(t, refused.Error(), `n1:7400: rejected: remove "n9": there is no such member`)
		if strconv.IntSize > 32 {
			require.ErrorAs(t, o.SetPriority(ctx, "n1:7400", math.MaxInt), &refused)
		}
		require.ErrorAs(t, o.Resign(ctx, "n1:7400", -time.Second), &refused)
		require.ErrorAs(t, o.Resign(ctx, "n1:7400", 25*time.Hour), &refused)

		require.NoError(t, o.Leave(ctx, "n2:7400"))
		<-all[1].done
		require.NoError(t, all[1].err)
		delete(f.live, "n2")
		f.members(bound, "n1")
		require.ErrorAs(t, o.Leave(ctx, "n1:7400"), &refused)
		require.Contains(t, refused.Reason, "last member")
		require.Error(t, o.Leave(ctx, "n1"), "no port")
		require.Error(t, o.Leave(ctx, "n2:7400"), "no node listens")
	})
}

// Without a quorum, suspected members may not know of a change. The reply names them.
func TestAdminReplyNamesSuspectedMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		all := f.grow(3)
		f.kill(all[2])
		f.agree("n2", 2*bound)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var unheard *client.PartiallyAppliedError
		require.ErrorAs(t, f.operator().SetPriority(ctx, "n1:7400", 50), &unheard)
		require.Equal(t, "done here; suspected members learn of it when they connect again: n3", unheard.Reason)
		f.agree("n1", bound)
	})
}

// A removal without a quorum times out. The reply and the status name the reason.
func TestRemoveWithoutQuorumTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Algorithm = builtin.Lookup("vote") }
		all := f.growTo(2)
		testkit.Advance(31 * time.Second)
		f.kill(all[1])
		testkit.Advance(2 * bound)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var refused *client.RejectedError
		require.ErrorAs(t, f.operator().Remove(ctx, "n1:7400", "n2"), &refused)
		require.Equal(t, "cluster: not done in time: no leader is known to do it (this node hears from 1 of 2 members, and 2 are needed: if the others are lost for good see elect recover); it is given up, and may still happen", refused.Reason)
		canceled, cancelRemove := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, func() {
			defer cancelRemove()
			status, err := all[0].Status(t.Context())
			require.NoError(t, err)
			require.Equal(t, []cluster.Change{{What: "remove", ID: all[1].ID(), Name: "n2", Reason: "no leader is known"}}, status.Pending)
		})
		require.ErrorContains(t, f.operator().Remove(canceled, "n1:7400", "n2"), "context canceled: the request may have been carried out; look with elect status")
		require.Len(t, all[0].Members(), 2)
	})
}

// A node rejects admin requests until its cluster has been created.
func TestAdminRequestBeforeBootstrapIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) {
			c.Algorithm, c.Members = builtin.Lookup("vote"), listOf(3)
		}
		f.start(1)
		f.start(2)
		testkit.Advance(2 * bound)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var refused *client.RejectedError
		require.ErrorAs(t, f.operator().SetPriority(ctx, "n1:7400", 7), &refused)
		require.Equal(t, "rejected: this node is in no cluster yet", refused.Reason)
		f.start(3)
		testkit.Advance(2 * bound)
		ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		require.NoError(t, f.operator().SetPriority(ctx, "n1:7400", 7))
	})
}

func TestNoAdminRejectsAdminRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.NoAdmin = c.Name == "n1" }
		all := f.growTo(2)
		o, ctx := f.operator(), t.Context()
		for what, err := range map[string]error{
			"remove": o.Remove(ctx, "n1:7400", "n2"), "leave": o.Leave(ctx, "n1:7400"),
			"priority": o.SetPriority(ctx, "n1:7400", 1), "resign": o.Resign(ctx, "n1:7400", 0),
		} {
			var refused *client.RejectedError
			require.ErrorAs(t, err, &refused, what)
			require.Contains(t, refused.Reason, "no_admin")
		}
		f.members(bound, "n1", "n2")
		require.NotEmpty(t, all[0].log.Lines(`msg="admin request rejected" from=`, "action=remove member=n2 error=", "no_admin is set"))
		require.NoError(t, o.SetPriority(ctx, "n2:7400", 1), "no_admin of n1 concerns n2")
		_, err := o.Status(ctx, "n1:7400")
		require.NoError(t, err, "no_admin rejects a status request")
	})
}

// A node rejects admin requests above its limit, and runs on.
func TestExcessAdminRequestsAreRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Algorithm = builtin.Lookup("vote") }
		all := f.growTo(2)
		testkit.Advance(31 * time.Second)
		f.kill(all[1])
		testkit.Advance(2 * bound)
		var flood sync.WaitGroup
		var busy atomic.Int32
		for range 200 {
			flood.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				err := f.operator().Remove(ctx, "n1:7400", "n2")
				require.Error(t, err)
				if strings.Contains(err.Error(), "too many admin requests") {
					busy.Add(1)
				}
			})
		}
		flood.Wait()
		require.NotZero(t, busy.Load())
		f.start(2)
		f.members(2*bound, "n1", "n2")
	})
}

// A long series of admin requests does not fill the log.
func TestLogOfAdminRequestsIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		one := f.growTo(2)[0]
		for priority := range 200 {
			require.NoError(t, f.operator().SetPriority(t.Context(), "n1:7400", priority))
		}
		for _, line := range []string{"admin request accepted", "config changed"} {
			got := len(one.log.Lines("level=INFO", line))
			require.NotZero(t, got, line)
			require.Less(t, got, 50, line)
		}
		testkit.Advance(2 * time.Second)
		require.NoError(t, f.operator().SetPriority(t.Context(), "n1:7400", 7))
		require.NotEmpty(t, one.log.Lines("suppressed="))
	})
}

func TestSuspectedMemberIsRemoved(t *testing.T) {
	each(t, quorums, func(t *testing.T, f *fleet) {
		algorithm := f.config
		f.config = func(c *cluster.Config) {
			algorithm(c)
			c.RemoveSuspectedAfter = time.Minute
		}
		all := f.growTo(4)
		f.kill(all[1])
		testkit.Advance(59 * time.Second)
		f.members(0, "n1", "n2", "n3", "n4")
		f.members(10*time.Second, "n1", "n3", "n4")
		f.kill(all[2])
		testkit.Advance(5 * time.Minute)
		f.members(0, "n1", "n3", "n4") // three members remain
		expired := f.start(2)
		require.ErrorIs(t, expired.ends(t, bound), cluster.ErrRemoved)
	})
	c := good()
	c.Algorithm, c.RemoveSuspectedAfter = builtin.Lookup("vote"), time.Second
	_, err := cluster.New(c)
	require.ErrorContains(t, err, "remove_suspected_after is 1s, want 0, or at least max_timeout (3.8s)")
}

// Two nodes with copies of one data directory have the same ID. Each logs that another node uses it, and not that it
// has connected to itself.
func TestCopiedDataDirectoryIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Members = listOf(2) }
		one := f.start(1)
		f.agree("n1", 2*bound)
		state, err := f.stores["n1"].Load()
		require.NoError(t, err)
		f.stores["n2"] = store.NewMemory()
		require.NoError(t, f.stores["n2"].Save(state))
		two := f.start(2)
		require.ErrorIs(t, two.ends(t, bound), cluster.ErrDuplicateID)
		require.NotEmpty(t, append(one.log.Lines("level=ERROR", "duplicate id"), two.log.Lines("level=ERROR", "duplicate id")...))
		for _, m := range []*member{one, two} {
			require.NotEmpty(t, m.log.Lines("is a data directory a copy of another's"), m.name)
		}
	})
}

// A seed may be a DNS name with the addresses of all members, including dead ones and this node itself.
func TestNodeJoinsThroughDNSName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := clustertest.NewNetwork()
		var mu sync.Mutex
		found := []string{"10.0.0.2", "10.0.0.9"} // the node itself, and an unused address
		lookup := func(_ context.Context, host string) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			if host != "seeds" {
				return nil, errors.New("no such host")
			}
			return slices.Clone(found), nil
		}
		start := func(host string, join ...string) *member {
			options := []option{inProcess(net.Process(host)), withStore(store.NewMemory()), withLookup(lookup)}
			return run(t, cluster.Config{Name: "n" + host[len(host)-1:], Listen: host + ":7400", Bootstrap: join == nil, Join: join}, options...)
		}
		one := start("10.0.0.1")
		one.follows(t, "n1", bound)
		two := start("10.0.0.2", "nowhere:7400", "seeds:7400")
		testkit.Advance(10 * time.Second)
		require.False(t, two.seen()[len(two.seen())-1].HasLeader(), "it created a cluster, although the name may have other nodes")
		mu.Lock()
		found = []string{"10.0.0.9", "10.0.0.2", "10.0.0.1"}
		mu.Unlock()
		testkit.Advance(5 * time.Second)
		require.Len(t, one.Members(), 2)
		require.Len(t, two.Members(), 2)
		a, known := one.Leader()
		b, _ := two.Leader()
		require.True(t, known)
		require.Equal(t, a, b)

		// If the name has only the address of this node, the node joins no cluster, and creates none.
		mu.Lock()
		found = []string{"10.0.0.3"}
		mu.Unlock()
		three := start("10.0.0.3", "seeds:7400")
		testkit.Advance(6 * time.Second)
		require.Len(t, three.log.Lines(`msg="waiting for members"`, `answers="seeds:7400: this node itself"`), 1)
		_, known = three.Leader()
		require.False(t, known)
	})
}
