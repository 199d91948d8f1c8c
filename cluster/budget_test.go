package cluster_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
)

// A member causes a save with each of its messages, for 5 s. The member's budget bounds the saves, and log and status
// name the member.
func TestFaultyMemberIsDelayed(t *testing.T) {
	const burst, rate, each = 64, 20, 2 // a change of the members is saved again when it is committed
	for name, test := range map[string]struct {
		config func(*cluster.Config)
		faulty string
		cause  func(f *fleet) (end func())
	}{
		"rising epochs": {
			func(c *cluster.Config) { c.Members = append(listOf(3), malloryAt) }, "mallory",
			func(f *fleet) func() {
				r, id := f.mallory()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					for i := range 20_000 {
						r.say(bully.Coordinator{Epoch: algo.Epoch(100 + 2*i), Leader: id})
					}
				}()
				return func() { r.Close(); <-sent }
			},
		},
		"restated priorities": {
			leased, "n1",
			func(f *fleet) func() {
				ctx, cancel := context.WithCancel(f.t.Context())
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					for i := 0; ctx.Err() == nil; i++ {
						_ = f.live["n1"].SetPriority(ctx, -i)
						testkit.Advance(time.Millisecond / 4)
					}
				}()
				return func() { cancel(); <-sent }
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = test.config
				members := f.grow(3)
				saves := func(m *member) uint64 {
					s, err := m.Status(t.Context())
					require.NoError(t, err)
					return s.Counters["saves"]
				}
				var before []uint64
				for _, m := range members {
					before = append(before, saves(m))
				}
				end := test.cause(f)
				testkit.Advance(5 * time.Second)
				for i, m := range members {
					require.Less(t, saves(m)-before[i], uint64(each*(burst+5*rate)+50), m.name)
				}
				require.Greater(t, saves(members[2])-before[2], uint64(burst), "its messages cause no saves")
				require.NotEmpty(t, members[2].log.Lines("peer costs too much", "peer="+test.faulty))
				s, err := members[2].Status(t.Context())
				require.NoError(t, err)
				require.Contains(t, s.Warnings[0].Text, "peer="+test.faulty)
				end()
				testkit.Advance(time.Minute) // its budget has recovered
				f.agree("n3", bound)
			})
		})
	}
}

// A member sends 1,000 messages while the loop of the receiver hangs. The receiver reads only some of them, which
// leaves room for the messages of other members.
func TestPeerBacklogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Members = append(listOf(3), malloryAt) }
		f.grow(3)
		r, _ := f.mallory()
		n3 := f.live["n3"]
		before := n3.FramesIn()
		resume := n3.Hold()
		for range 1000 {
			r.say(bully.Answer{Epoch: 1})
		}
		synctest.Wait()
		read := n3.FramesIn() - before
		resume()
		synctest.Wait()
		r.Close()
		require.Greater(t, read, uint64(32))
		require.Less(t, read, uint64(128))
		require.Greater(t, n3.FramesIn()-before, uint64(999))
	})
}

// mallory connects to n3 as a member that the test drives, and discards what n3 sends.
func (f *fleet) mallory() (raw, algo.NodeID) {
	f.t.Helper()
	conn, err := f.net.Process("mallory").Dial(f.t.Context(), "n3:7400")
	require.NoError(f.t, err)
	r := raw{f.t, conn}
	id := r.join()
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	return r, id
}
