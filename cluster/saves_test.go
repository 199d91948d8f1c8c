package cluster_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// slowed starts members 1 to n. Each of their saves takes *save.
func slowed(t *testing.T, n int, save *time.Duration) *fleet {
	f := newFleet(t)
	f.config = leased
	for i := 1; i <= n; i++ {
		s := newHooked()
		s.set(func([]string) error {
			testkit.Advance(*save)
			return nil
		})
		f.stores[nameOf(i)] = s
	}
	f.grow(n)
	return f
}

// The members elect a leader and keep it although each save takes half of the lease duration.
func TestSavesOfHalfLeaseKeepLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		save := time.Duration(0)
		f := slowed(t, 3, &save)
		save = 480 * time.Millisecond
		f.kill(f.live["n3"])
		f.agree("n2", 2*bound)
		f.quiet(20 * time.Second)
		for _, m := range f.live {
			require.NotEmpty(t, m.log.Lines("slow save", "took=480ms", "lease=960ms"))
			near, err := m.Status(t.Context())
			require.NoError(t, err)
			require.Zero(t, near.Counters["suspicions.silence"], "a slow disk causes a suspicion")
			far, err := f.operator().Status(t.Context(), m.name+":7400")
			require.NoError(t, err)
			require.Len(t, near.Warnings, 1)
			require.Equal(t, "slow save: took=480ms, lease=960ms", near.Warnings[0].Text)
			require.NotZero(t, near.Warnings[0].Count)
			require.Equal(t, near.Warnings[0].Text, far.Warnings[0].Text)
			require.True(t, near.Warnings[0].At.Equal(far.Warnings[0].At))
		}
		testkit.Advance(10 * time.Minute)
		s, err := f.live["n2"].Status(t.Context())
		require.NoError(t, err)
		require.Empty(t, s.Warnings)
	})
}

// If a lease expires during a slow save, the log names the save as the cause of the lost leadership.
func TestLogNamesSaveThatExpiredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		save := time.Duration(0)
		f := slowed(t, 3, &save)
		leader, once := f.live["n3"], 2*time.Second
		f.stores["n3"].(*hooked).set(func([]string) error {
			testkit.Advance(once)
			once = 0
			return nil
		})
		f.start(4)
		f.agree("n4", 10*time.Second) // it has the highest priority
		require.NotEmpty(t, leader.log.Lines("lost leadership", cluster.ErrLeaseExpired.Error(), "save=", "lease=960ms"))
		require.NotEmpty(t, leader.log.Lines("slow save", "took=2s", "lease=960ms"))
	})
}

// The trace of a node begins with its address, and shows when each save is durable.
func TestTraceShowsReadyAndSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		s := newHooked()
		s.set(func([]string) error {
			testkit.Advance(100 * time.Millisecond)
			return nil
		})
		f.stores["n1"] = s
		var events []trace.Event
		n := f.start(1, withTrace(func(e trace.Event) { events = append(events, e) }))
		f.agree("n1", bound)
		s.set(func([]string) error { return errors.New("no more room") })
		require.ErrorIs(t, n.Campaign(t.Context()), cluster.ErrSaveFailed)
		<-n.done
		delete(f.live, "n1")
		require.Equal(t, trace.Ready, events[0].Kind)
		require.Equal(t, addrOf(1), events[0].Text())
		saves := slices.DeleteFunc(events, func(e trace.Event) bool { return e.Kind != trace.Save && e.Kind != trace.Saved })
		require.Len(t, saves, 3)
		require.Equal(t, trace.Saved, saves[1].Kind)
		require.Equal(t, 100*time.Millisecond, saves[1].At-saves[0].At)
		require.Equal(t, trace.Save, saves[2].Kind, "the last save has failed")
	})
}
