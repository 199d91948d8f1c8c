package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/membership"
)

// voters returns a cluster of vote with a leader, and a function that performs commands.
func voters(t *testing.T, nodes int) (w *World, do func(format string, args ...any)) {
	spec, err := build("vote", algo.LAN(), nil)
	require.NoError(t, err)
	w = New(Config{Spec: spec, Seed: 1, Delay: Fixed(time.Millisecond)})
	require.NoError(t, w.Cluster(nodes))
	w.Await(algo.LAN().RecoveryBound())
	return w, func(format string, args ...any) {
		t.Helper()
		require.NoError(t, w.Do(format, args...))
	}
}

// While a seventh node joins, a leader of six hears only some of them. If it commits the join, it may crash together
// with two followers: the others are a quorum with the new member, and adopt its config.
func TestClusterSurvivesThreeCrashesAfterJoin(t *testing.T) {
	for _, test := range []struct {
		hears string // number of followers that the leader hears
		count int
		in    bool
	}{{"one", 1, false}, {"two", 2, true}, {"three", 3, true}} {
		t.Run(test.hears, func(t *testing.T) {
			w, do := voters(t, 6)
			leader, _, _ := w.Leader()
			left, right := []string{Name(ID(leader))}, []string(nil)
			for _, n := range w.nodes {
				switch {
				case n.number() == leader:
				case len(left) <= test.count:
					left = append(left, n.name)
				default:
					right = append(right, n.name)
				}
			}
			do("join n%d", leader)
			do("partition %s,n7 %s", strings.Join(left, ","), strings.Join(right, ","))
			w.Run(50 * time.Millisecond)
			r := w.nodes[6].record.(membership.Record)
			require.Equal(t, test.in, r.Committed && r.Config.Has(w.nodes[6].id))
			if test.in {
				for _, n := range left[:3] {
					do("crash %s", n)
				}
			}
			do("heal")
			w.Await(algo.LAN().RecoveryBound())
			require.Empty(t, w.Violations())
			require.Contains(t, w.nodes[5].memberIDs(), w.nodes[6].id)
		})
	}
}

// TestRestartedNodeLearnsMissedReconfigs: of three nodes one is down while two nodes join, and the other two crash. The
// restarted node knows none of the nodes with which it has a quorum. It accepts their config, because they have the
// credentials of the cluster.
func TestRestartedNodeLearnsMissedReconfigs(t *testing.T) {
	w, do := voters(t, 3)
	do("crash n3")
	for range 2 {
		do("join n1")
		w.Await(algo.LAN().RecoveryBound())
	}
	do("crash n1")
	do("crash n2")
	do("restart n3")
	w.Await(algo.LAN().RecoveryBound())
	require.Empty(t, w.Violations())
	require.Len(t, w.nodes[2].memberIDs(), 5)
}
