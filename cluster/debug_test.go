package cluster_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

func debugOf(t *testing.T, f *fleet, i int) (client.Debug, []trace.Event) {
	t.Helper()
	d, err := f.operator().Debug(t.Context(), addrOf(i))
	require.NoError(t, err)
	var events []trace.Event
	for _, line := range d.Events {
		e, err := trace.ParseJSON([]byte(line))
		require.NoError(t, err)
		events = append(events, e)
	}
	return d, events
}

// A node reports its events, its settings, and its time, and records nothing at rest.
func TestDebugReportsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = leased
		members := f.grow(3)
		f.agree("n3", bound)
		d, events := debugOf(t, f, 3)
		require.Equal(t, []string{"n3", members[2].ID().String(), "1"}, []string{d.About["name"], d.About["id"], d.About["protocol"]})
		require.Equal(t, []string{"n3", addrOf(3), "bully", "on", "120ms", "5s"}, []string{
			d.Settings["name"], d.Settings["advertise"], d.Settings["algorithm"], d.Settings["lease"], d.Settings["timing.heartbeat"], d.Settings["drain_timeout"],
		})
		require.Equal(t, "960ms", d.Settings["lease.duration"])
		require.Equal(t, "true", d.Settings["bully.skip_suspected"])
		now, err := time.Parse(time.RFC3339Nano, d.About["time"])
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), now, time.Second)

		require.Equal(t, trace.Ready, events[0].Kind)
		require.Len(t, events, int(d.Recorded))
		var kinds []trace.Kind
		for i, e := range events {
			kinds = append(kinds, e.Kind)
			require.Equal(t, members[2].ID(), e.Node)
			require.WithinDuration(t, time.Now(), time.Unix(0, int64(e.At)), time.Minute)
			require.True(t, i == 0 || e.At >= events[i-1].At)
		}
		for _, want := range []trace.Kind{trace.Start, trace.Save, trace.Saved, trace.Announce, trace.Send, trace.Deliver, trace.ConfigChanged} {
			require.Contains(t, kinds, want)
		}

		testkit.Advance(10 * time.Minute)
		later, _ := debugOf(t, f, 3)
		require.Equal(t, d.Recorded, later.Recorded, "%v", later.Events)

		require.NoError(t, members[2].SetPriority(t.Context(), -5))
		require.NoError(t, members[2].SetMeta(t.Context(), map[string]string{"http": ":80"}))
		changed, _ := debugOf(t, f, 3)
		require.Equal(t, []string{"-5", `[http=":80"]`}, []string{changed.Settings["priority"], changed.Settings["meta"]})
		require.Greater(t, changed.Recorded, d.Recorded)
	})
}

// The function of the program still gets each event, also those that a report leaves out.
func TestDebugKeepsTraceOfProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kinds []trace.Kind
		f := newFleet(t)
		m := f.start(1, withTrace(func(e trace.Event) { kinds = append(kinds, e.Kind) }))
		m.follows(t, "n1", bound)
		d, _ := debugOf(t, f, 1)
		require.NoError(t, m.halt())
		require.Contains(t, kinds, trace.SetTimer)
		require.Greater(t, len(kinds), int(d.Recorded))
	})
}

// The last 1000 events take several replies, and arrive in their order.
func TestDebugReadsAllParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		m := f.grow(1)[0]
		f.agree("n1", bound)
		for range 400 {
			require.NoError(t, m.Campaign(t.Context()))
			testkit.Advance(10 * time.Millisecond)
		}
		d, events := debugOf(t, f, 1)
		require.Greater(t, d.Recorded, uint64(1000))
		require.Len(t, events, 1000)
		require.True(t, slices.IsSortedFunc(events, func(a, b trace.Event) int { return int(a.At - b.At) }))
	})
}

// A node sends at most one debug reply in 10 ms, so debug requests of many clients delay no status and cause no
// election.
func TestDebugRequestsShareTheirCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = leased
		members := f.grow(3)
		f.agree("n3", bound)
		start := time.Now()
		const clients = 50
		var replies sync.WaitGroup
		for range clients {
			replies.Go(func() {
				_, err := f.operator().Debug(t.Context(), addrOf(3))
				require.NoError(t, err)
			})
		}
		testkit.Advance(20 * time.Millisecond)
		asked := time.Now()
		_, err := f.operator().Status(t.Context(), addrOf(3))
		require.NoError(t, err)
		require.Less(t, time.Since(asked), 50*time.Millisecond)
		replies.Wait()
		require.GreaterOrEqual(t, time.Since(start), (clients-1)*10*time.Millisecond)
		require.Less(t, time.Since(start), 2*time.Second)
		require.Len(t, slices.DeleteFunc(members[2].seen(), func(s cluster.State) bool { return !s.IsLeader }), 1, "it led all the time")
	})
}

// A node with a blocked loop reports its events, although it replies to no status request.
func TestDebugDoesNotWaitForLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		hangs := make(chan struct{})
		var blocked atomic.Bool
		m := f.start(1, withTrace(func(e trace.Event) {
			if e.Kind == trace.Note || e.Kind == trace.Save {
				if blocked.Load() {
					<-hangs
				}
			}
		}))
		m.follows(t, "n1", bound)
		synctest.Wait()
		blocked.Store(true)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		require.Error(t, m.Campaign(ctx))
		_, err := f.operator().Status(ctx, addrOf(1))
		require.Error(t, err)
		d, _ := debugOf(t, f, 1)
		require.Contains(t, strings.Join(d.Events, "\n"), `"kind":"announce"`)
		close(hangs)
	})
}
