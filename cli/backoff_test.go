package cli

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/watchdog"
)

func TestBackoffDoublesWithEachEarlyFailure(t *testing.T) {
	b := backoff{lease: 30 * time.Second}
	fail := func() time.Duration { return b.pause(true, time.Second) }
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		require.Equal(t, want*time.Second, fail())
	}
	require.Equal(t, restartPause, b.pause(true, 30*time.Second), "failure after a lease")
	require.Equal(t, restartPause, fail())
	require.Equal(t, 2*restartPause, fail())
	require.Equal(t, restartPause, b.pause(false, time.Second), "success")
	require.Equal(t, restartPause, fail())
	for range 1000 {
		fail()
	}
	require.Equal(t, maxStandby, fail())
	b = backoff{lease: time.Second}
	fail()
	require.Equal(t, 2*restartPause, b.pause(true, soonTime-1))
	require.Equal(t, restartPause, b.pause(true, soonTime))
}

// commands replaces the commands of members and records their starts. The command of member bad fails at once.
type commands struct {
	bad   string
	mu    sync.Mutex
	began map[string][]time.Time
}

func (c *commands) run(ctx context.Context, name string) (watchdog.Outcome, error) {
	c.mu.Lock()
	c.began[name] = append(c.began[name], time.Now())
	c.mu.Unlock()
	if name == c.bad {
		return watchdog.Outcome{Voluntary: true, Status: 1}, nil
	}
	<-ctx.Done()
	return watchdog.Outcome{}, nil
}

// runInVirtualTime runs commands on n members for period, with --restart always and --lease-preempt. It returns the
// start times of the commands, by member.
func runInVirtualTime(t *testing.T, n int, bad string, period time.Duration) (began map[string][]time.Time) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := commands{bad: bad, began: make(map[string][]time.Time)}
		o := lease.Defaults(algo.LAN())
		require.True(t, o.Preempt)
		members := clustertest.New(t, clustertest.Config{Nodes: n, Configure: func(c *cluster.Config) { c.Lease = o }})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, node := range members.Nodes() {
			r := &runner{running: running{restart: "always"}, contender: &memberContender{Elector: node.Elector(), node: node}, log: slog.New(slog.DiscardHandler), lease: o.Duration, leased: true,
				supervisor: fakeSupervisor(func(ctx context.Context) (watchdog.Outcome, error) { return c.run(ctx, node.Config().Name) })}
			all.Go(func() { _ = r.always(ctx) })
		}
		members.Advance(period)
		stop()
		all.Wait()
		began = c.began
	})
	return began
}

// fakeSupervisor runs a function instead of a command.
type fakeSupervisor func(ctx context.Context) (watchdog.Outcome, error)

func (f fakeSupervisor) Prepare() error { return nil }

func (f fakeSupervisor) Run(ctx context.Context, _ watchdog.Command, _ func() watchdog.Renewal) (watchdog.Outcome, error) {
	return f(ctx)
}

// The command of the highest member fails at once. Although that member preempts, it leaves the leadership to the next
// member, where the command works.
func TestMemberWithFailingCommandBacksOff(t *testing.T) {
	began := runInVirtualTime(t, 3, "n3", 150*time.Second)
	bad := began["n3"]
	require.Greater(t, len(bad), 6, "n3 tries again")
	for i, at := range bad[1:] {
		require.GreaterOrEqual(t, at.Sub(bad[i]), restartPause<<i, "n3 after failure %d", i+1)
	}
	require.NotEmpty(t, began["n2"], "n2 takes over")
	require.Empty(t, began["n1"])
}

// A member without peers pauses between two runs of its command as well.
func TestLoneMemberWithFailingCommandBacksOff(t *testing.T) {
	began := runInVirtualTime(t, 1, "n1", 70*time.Second)["n1"]
	require.Len(t, began, 7)
	for i, at := range began[1:] {
		require.Equal(t, restartPause<<i, at.Sub(began[i]), "after failure %d", i+1)
	}
}
