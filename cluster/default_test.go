package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/store"
)

func TestLeaseIsOnByDefault(t *testing.T) {
	defaults := lease.Defaults(algo.LAN())
	defaults.DrainTimeout = 5 * time.Second
	given := lease.Defaults(algo.WAN())
	given.DrainTimeout = 5 * time.Second
	for name, tc := range map[string]struct {
		algorithm   string
		lease, want lease.Options
	}{
		"bully":                   {"bully", lease.Options{}, defaults},
		"vote":                    {"vote", lease.Options{}, defaults},
		"other options":           {"ring", given, given},
		"off":                     {"ring", lease.Off, lease.Off},
		"textbook":                {"textbook-bully", lease.Options{}, lease.Off},
		"textbook, off":           {"textbook-ring", lease.Off, lease.Off},
		"textbook with a lease":   {"textbook-ring", defaults, defaults},
		"textbook, other options": {"textbook-vote", given, given},
	} {
		c := cluster.Config{Listen: "127.0.0.1:7400", DataDir: "data", AllowTextbook: true, Algorithm: builtin.Lookup(tc.algorithm), Lease: tc.lease}
		n, err := cluster.New(c)
		require.NoError(t, err, name)
		require.Equal(t, tc.want, n.Config().Lease, name)
	}
}

func TestLeaseNeedsDataOrStore(t *testing.T) {
	c := cluster.Config{Listen: "127.0.0.1:7400"}
	_, err := cluster.New(c)
	require.EqualError(t, err, "data_dir is empty, want a folder, because a node that forgets a lease that it has granted makes two leaders possible; "+
		"or lease: off, which needs no folder, and lets two nodes lead at once under a partition")
	c.Store = store.NewMemory()
	_, err = cluster.New(c)
	require.NoError(t, err)
	c.Store = nil
	c.Lease = lease.Off
	_, err = cluster.New(c)
	require.NoError(t, err)
	c.Algorithm = builtin.Lookup("vote")
	const vote = "data_dir is empty, want a folder: a node that forgets its vote lets vote elect two leaders"
	_, err = cluster.New(c)
	require.EqualError(t, err, vote)
	c.Lease = lease.Options{} // vote needs the folder with a lease, too
	_, err = cluster.New(c)
	require.EqualError(t, err, vote)
}

// A wrong timing, lease or algorithm is reported as such, and not as a missing quorum.
func TestJoinIsAcceptedDespiteOtherErrors(t *testing.T) {
	for field, change := range map[string]func(*cluster.Config){
		"timing.heartbeat":  func(c *cluster.Config) { c.Timing = algo.LAN(); c.Timing.Heartbeat = -1 },
		"lease.clock_drift": func(c *cluster.Config) { c.Lease = lease.Defaults(algo.LAN()); c.Lease.ClockDrift = 90 },
		"algorithm":         func(c *cluster.Config) { c.Algorithm = builtin.Lookup("paxos") },
	} {
		c := cluster.Config{Listen: "127.0.0.1:7400", DataDir: "data", Join: []string{"127.0.0.1:7401"}}
		change(&c)
		_, err := cluster.New(c)
		for _, m := range problems(err) {
			require.Equal(t, field, m.Field)
		}
		require.Error(t, err)
	}
}

func TestNodeWarnsAtStartThatLeaseIsOff(t *testing.T) {
	for _, tc := range []struct{ algorithm, effect string }{
		{"bully", "without a lease two nodes may lead at the same time: each side of a partition may elect a leader"},
		{"ring", "without a lease two nodes may lead at the same time: each side of a partition may elect a leader"},
		{"vote", "without a lease two nodes may lead at the same time: a leader that is cut off or paused leads until it learns that another leads in a newer epoch"},
		{"bully with a lease", ""},
		{"vote with a lease", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			f.config = runs(tc.algorithm)
			m := f.start(1)
			f.agree("n1", bound)
			require.Equal(t, tc.effect != "", len(m.log.Lines("level=WARN", `msg="lease is off"`, tc.effect)) == 1, tc.algorithm)
		})
	}
}

// With a quorum a node warns after each change to two members, and after a start with two.
func TestTwoMembersWithQuorumCauseWarning(t *testing.T) {
	const warning = "of two members neither can lead without the other"
	for algorithm, warns := range map[string]int{"bully with a lease": 1, "vote": 1, "bully": 0} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			f.config = runs(algorithm)
			f.list = listOf(2)
			one, two := f.start(1), f.start(2)
			f.leader(bound)
			require.Len(t, one.log.Lines("level=WARN", warning), warns, algorithm)
			require.Len(t, two.log.Lines("level=WARN", warning), warns, algorithm)
			f.halt(one)
			one = f.start(1)
			f.leader(bound)
			require.Len(t, one.log.Lines(warning), warns, "%s: a start", algorithm)
			if warns == 0 {
				return
			}
			three := f.start(3)
			f.leader(bound)
			require.Empty(t, three.log.Lines(warning), algorithm)
			status, err := three.Status(t.Context())
			require.NoError(t, err)
			delete(f.live, "n3")
			require.NoError(t, two.Remove(t.Context(), status.Node))
			f.leader(bound)
			require.Len(t, two.log.Lines(warning), 2, "%s: a removal", algorithm)
			require.Len(t, one.log.Lines(warning), 2, "%s: a removal", algorithm)
		})
	}
}

// Three nodes with default settings: two of them replace a killed leader, and one alone does not lead.
func TestThreeNodesWithDefaultsSurviveOneFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		old := c.WaitLeader()
		duration := c.Node(old.Name).Config().Lease.Duration
		began := time.Now()
		c.Kill(old.Name)
		next := c.WaitLeader()
		require.Greater(t, next.Token, old.Token)
		require.Less(t, time.Since(began), duration+100*time.Millisecond)
		c.Partition([]string{next.Name})
		c.Advance(2 * duration)
		require.False(t, c.Node(next.Name).IsLeader(), "it leads without a quorum")
	})
}
