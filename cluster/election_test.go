package cluster_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
)

func TestHighestMemberLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.grow(3)
		f.quiet(time.Minute)
	})
}

func TestKilledLeaderIsReplacedByEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(5)
		before := f.agree("n5", bound)
		start := time.Now()
		f.kill(members[4])
		after := f.agree("n4", bound)
		require.Less(t, time.Since(start), 20*time.Millisecond, "a refused dial needs no timeout")
		require.Greater(t, after.Epoch, before.Epoch)
		f.quiet(time.Minute)
	})
}

func TestSilentLeaderIsReplacedAfterTimeout(t *testing.T) {
	cases := map[string]func(f *fleet, leader *member){
		"paused":      func(f *fleet, leader *member) { f.t.Cleanup(f.pause(leader)) },
		"unreachable": func(f *fleet, leader *member) { f.net.Partition([]string{leader.name}) },
		"its loop hangs": func(f *fleet, leader *member) {
			f.t.Cleanup(leader.Hold())
		},
	}
	for name, silence := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				members := f.grow(3)
				testkit.Advance(time.Second)
				start := time.Now()
				silence(f, members[2])
				f.agree("n2", bound, members[2])
				took, timing := time.Since(start), algo.LAN()
				require.GreaterOrEqual(t, took, timing.Timeout-timing.Heartbeat)
				require.LessOrEqual(t, took, timing.Timeout+2*timing.Heartbeat+timing.RoundTrip)
			})
		})
	}
}

func TestTimeoutOnlyIgnoresEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) {
			c.Timing = algo.LAN()
			c.Timing.TimeoutOnly = true
		}
		members := f.grow(3)
		start := time.Now()
		f.kill(members[2])
		f.agree("n2", bound)
		require.GreaterOrEqual(t, time.Since(start), algo.LAN().Timeout-algo.LAN().Heartbeat)
		f.quiet(time.Minute)
	})
}

func TestNextMemberLeadsAtOnceAfterGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) {
			c.Timing = algo.LAN()
			c.Timing.TimeoutOnly = true // so the goodbye is the only evidence
		}
		members := f.grow(3)
		start := time.Now()
		f.halt(members[2])
		f.agree("n2", bound)
		require.Less(t, time.Since(start), 20*time.Millisecond)
	})
}

func TestHealEndsWithOneLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(5)
		f.net.Partition([]string{"n1", "n4"}, []string{"n2", "n3", "n5"})
		members[0].follows(t, "n4", bound)
		members[3].follows(t, "n4", bound)
		testkit.Advance(10 * time.Second)
		require.Equal(t, "n5", leaderOf(members[1]), "bully leads on both sides")

		f.net.Heal()
		f.agree("n5", bound)
		f.quiet(time.Minute)
	})
}

func TestResumedLeaderLeadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		resume := f.pause(members[2])
		f.agree("n2", bound, members[2])
		testkit.Advance(10 * time.Second)
		resume()
		f.agree("n3", bound)
		f.quiet(time.Minute)
	})
}

func TestResumedFollowerSuspectsNoPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		resume := f.pause(members[0])
		testkit.Advance(10 * time.Second)
		synctest.Wait()
		seen := len(members[0].seen())
		resume()
		f.quiet(time.Minute)
		require.Len(t, members[0].seen(), seen)
	})
}

// The members stop and start again one after another. The leader changes only if the leader itself stops, or if the
// highest member returns.
func TestRollingRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(5)
		for i, m := range members {
			leader := "n5"
			if m.name == "n5" {
				leader = "n4"
			}
			before := f.agree("n5", bound)
			f.halt(m)
			during := f.agree(leader, bound)
			require.Equal(t, m.name == "n5", during != before, "n%d stopped: %v, then %v", i+1, before, during)
			f.quiet(10 * time.Second)
			f.start(i + 1)
			after := f.agree("n5", bound)
			require.GreaterOrEqual(t, after.Epoch, during.Epoch)
			if m.name != "n5" {
				require.Equal(t, before.ID, after.ID)
			}
			f.quiet(10 * time.Second)
		}
	})
}

func TestRestartedMemberKeepsIDAndEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		before := f.agree("n3", bound)
		f.kill(members[2])
		f.start(3)
		after := f.agree("n3", bound)
		require.Equal(t, before.ID, after.ID)
		require.Greater(t, after.Epoch, before.Epoch)
	})
}

func TestJoinWhileOthersElect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		f.kill(members[2])
		f.start(4)
		f.agree("n4", bound)
		f.quiet(time.Minute)
		status, err := members[0].Status(t.Context())
		require.NoError(t, err)
		require.Len(t, status.Members, 4, "the dead node stays a member")
	})
}

func TestColdStart(t *testing.T) {
	cases := map[string]func(i int, c *cluster.Config){
		"static members": func(_ int, c *cluster.Config) { c.Members = listOf(5) },
		"join": func(i int, c *cluster.Config) {
			leased(c)
			if c.Bootstrap = i == 2; !c.Bootstrap {
				c.Join = listOf(5) // includes its own address
			}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				synctest.Test(t, func(t *testing.T) {
					f := newFleet(t)
					for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(5) {
						f.config = func(c *cluster.Config) { change(i, c) }
						f.start(i + 1)
					}
					f.agree("n5", 2*bound)
					f.quiet(time.Minute)
					var versions []uint64
					for _, m := range f.live {
						status, err := m.Status(t.Context())
						require.NoError(t, err)
						require.Len(t, status.Members, 5)
						versions = append(versions, status.ConfigVersion)
					}
					for _, version := range versions {
						require.Equal(t, versions[0], version)
					}
				})
			}
		})
	}
}

func TestStaticMembersStartWithoutDeadMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Members = listOf(3) }
		f.start(1)
		f.start(2)
		f.agree("n2", bound)
		f.quiet(10 * time.Second)
		f.start(3)
		f.agree("n3", bound)
	})
}

func leaderOf(m *member) string {
	l, _ := m.Leader()
	return l.Name
}
