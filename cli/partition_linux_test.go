package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
)

// split is a cluster on a network of its own that can be partitioned. n1 runs on host 0, and so on.
type split struct {
	*proccluster.Cluster
	lab *netlab.Lab
}

// newSplit starts real nodes on five hosts and waits until they agree.
func newSplit(t *testing.T) *split {
	t.Helper()
	testkit.OnlyLong(t)
	const nodes = 5
	lab, err := netlab.New(nodes)
	if errors.Is(err, netlab.ErrUnavailable) {
		testkit.Need(t, false, err.Error())
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	config := proccluster.Config{Command: []string{os.Args[0]}, Env: childEnv, Nodes: nodes, StartTimeout: patience, Args: []string{"--lease=off"}}
	for i := range nodes {
		config.Hosts = append(config.Hosts, proccluster.Host{Command: lab.Command(i), Addr: net.JoinHostPort(lab.Addr(i), "7400")})
	}
	f, err := proccluster.New(within(t), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	leader, err := f.WaitQuiet(within(t))
	require.NoError(t, err)
	require.Equal(t, "n5", leader.Name)
	return &split{Cluster: f, lab: lab}
}

// side is one side of a partition: the nodes that follow one leader.
type side struct {
	hosts  []int
	leader string
	elects bool // the previous leader is on the other side
}

// await waits until all nodes of a side follow its leader. It returns the time at which the last node learned of it.
func (s *split) await(t *testing.T, side side) (since int64) {
	t.Helper()
	require.NoError(t, s.WaitUntil(within(t), func(all []proccluster.State) bool {
		since = 0
		for _, host := range side.hosts {
			n := all[host]
			if n.Leader != side.leader || n.IsLeader != (n.Name == side.leader) {
				return false
			}
			since = max(since, n.AnnouncedAt)
		}
		return true
	}))
	return since
}

// outcome is the leader that a node follows, its epoch, and the number of Election messages that the node has sent.
// Replies do not count: TCP delivers an Election from before the heal some time after it, and a node replies to it
// without an election of its own.
type outcome struct {
	leader string
	epoch  uint64
	sent   int
}

func fullOutcome(n proccluster.State) outcome {
	return outcome{n.LeaderID, n.Epoch, n.Sent["election"]}
}

// leaderOnly leaves out the epoch and the Election messages: a leader that still hears the other side raises its epoch.
func leaderOnly(n proccluster.State) outcome { return outcome{leader: n.LeaderID} }

// requireCalm waits until the sides follow their leaders, and requires that their outcomes do not change for a while.
// It retries after a change that a busy machine may have caused.
func (s *split) requireCalm(t *testing.T, during time.Duration, look func(proccluster.State) outcome, sides ...side) {
	t.Helper()
	outcomes := func(all []proccluster.State) (o []outcome) {
		for _, n := range all {
			o = append(o, look(n))
		}
		return o
	}
	requireCalm(t, s.Cluster, func() string {
		for _, side := range sides {
			s.await(t, side)
		}
		before := outcomes(s.States())
		var after []outcome
		ctx, cancel := context.WithTimeout(t.Context(), during)
		defer cancel()
		err := s.WaitUntil(ctx, func(all []proccluster.State) bool {
			after = outcomes(all)
			return !slices.Equal(before, after)
		})
		if errors.Is(err, context.DeadlineExceeded) {
			return ""
		}
		return fmt.Sprintf("%v became %v, error %v", before, after, err)
	})
}

// A partition refuses no connection, so nodes suspect peers by timeout only. Without a lease, bully then has a leader
// on each side, as a leader that reaches no follower keeps leading. After the heal, all nodes follow the highest node
// within the bound and stay with it.
func TestEachSideOfPartitionElectsAndHighestLeadsAfterHeal(t *testing.T) {
	t.Parallel()
	timing := algo.LAN()
	// Two leaders discover each other by their periodic announcements.
	announceInterval := max(10*timing.Heartbeat, 2*timing.RoundTrip)
	sides := func(l *netlab.Lab, a, b side) error { return l.Split(a.hosts, b.hosts) }
	mute := func(l *netlab.Lab, a, b side) error { return l.Drop(a.hosts[0], b.hosts...) }
	deaf := func(l *netlab.Lab, a, b side) error {
		for _, host := range b.hosts {
			if err := l.Drop(host, a.hosts...); err != nil {
				return err
			}
		}
		return nil
	}
	cases := []struct {
		name string
		cut  func(l *netlab.Lab, a, b side) error
		a, b side
	}{
		{"the leader alone", sides, side{[]int{4}, "n5", false}, side{[]int{0, 1, 2, 3}, "n4", true}},
		{"the leader is heard but does not hear", deaf, side{[]int{4}, "n5", false}, side{[]int{0, 1, 2, 3}, "n4", true}},
		{"the leader and a follower", sides, side{[]int{1, 4}, "n5", false}, side{[]int{0, 2, 3}, "n4", true}},
		{"two followers", sides, side{[]int{0, 1}, "n2", true}, side{[]int{2, 3, 4}, "n5", false}},
		{"the leader hears but is not heard", mute, side{[]int{4}, "n5", false}, side{[]int{0, 1, 2, 3}, "n4", true}},
	}
	// Each case takes some seconds. The simulator tests other partitions.
	for _, tc := range cases[:testkit.Rounds(1, len(cases))] {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSplit(t)
			at, lost := proccluster.Now(), losing(s.Cluster)
			require.NoError(t, tc.cut(s.lab, tc.a, tc.b))
			for _, side := range []side{tc.a, tc.b} {
				since := s.await(t, side)
				if side.elects {
					took := time.Duration(since - at)
					t.Logf("%s elected %v after the cut", side.leader, took)
					require.Greater(t, took, timing.Timeout-2*timing.Heartbeat, "only silence tells")
					require.Less(t, took, timing.RecoveryBound()+lost())
				}
			}
			// Within this time the nodes give up the connections across the cut.
			s.requireCalm(t, 2*announceInterval, leaderOnly, tc.a, tc.b)

			at, lost = proccluster.Now(), losing(s.Cluster)
			require.NoError(t, s.lab.Heal())
			leader, err := s.WaitQuiet(within(t))
			require.NoError(t, err)
			require.Equal(t, "n5", leader.Name)
			all := side{hosts: []int{0, 1, 2, 3, 4}, leader: "n5"}
			took := time.Duration(s.await(t, all) - at)
			t.Logf("all agree %v after the heal", took)
			require.Less(t, took, timing.RecoveryBound()+lost())
			s.requireCalm(t, 3*announceInterval, fullOutcome, all)
		})
	}
}
