package cluster_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/testkit"
)

// A node with too many watchers rejects the next one, serves the others, and still replies to other clients.
func TestNodeLimitsWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 512
		f := newFleet(t)
		m := f.grow(1)[0]
		f.agree("n1", bound)
		var watching, rejected atomic.Int32
		for i := range limit + 3 {
			if i%100 == 0 {
				testkit.Advance(10 * time.Millisecond) // fewer connections without a session than the transport allows
			}
			go func() {
				for s := range client.Watch(t.Context(), client.Config{Client: f.operator(), Addrs: []string{addrOf(1)}}) {
					switch {
					case s.Err == nil && s.HasLeader():
						watching.Add(1)
					case s.Err != nil:
						rejected.Add(1)
						assert.ErrorContains(t, s.Err, "this node has 512 watchers already: watch another member")
					}
				}
			}()
		}
		testkit.Advance(time.Second)
		synctest.Wait()
		require.EqualValues(t, limit, watching.Load())
		require.EqualValues(t, 3, rejected.Load())
		s, err := f.operator().Status(t.Context(), addrOf(1))
		require.NoError(t, err)
		require.EqualValues(t, limit, s.Counters["watchers"])

		require.NoError(t, m.Campaign(t.Context()))
		testkit.Advance(time.Second)
		synctest.Wait()
		require.EqualValues(t, 2*limit, watching.Load(), "each learns of the next epoch")
	})
}

// A watcher that disconnects frees its slot.
func TestNodeForgetsWatchersThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.grow(1)
		for range client.Watch(t.Context(), client.Config{Client: f.operator(), Addrs: []string{addrOf(1)}}) {
			break
		}
		testkit.Advance(time.Second)
		s, err := f.operator().Status(t.Context(), addrOf(1))
		require.NoError(t, err)
		require.Zero(t, s.Counters["watchers"])
	})
}
