package membership

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Without a quorum no change is made. A member reports the learners and pending changes that it knows.
func TestLearnersAndPendingChanges(t *testing.T) {
	n, nodes := listOfThree(t)
	a := nodes[0].dynamic
	require.Empty(t, a.Learners())
	require.Empty(t, a.Pending())
	nodes[1].stop()
	nodes[2].stop()
	n.run(time.Second)
	d := n.add(3, "d", "D", Options{Join: []string{"A"}}).start()
	require.NoError(t, a.Remove(n.now, testID(1)))
	n.run(time.Second)
	require.Equal(t, []Member{d.self}, a.Learners())
	require.Empty(t, d.dynamic.Learners(), "a voter is no learner")
	b, _ := a.Config().Find(testID(1))
	require.Equal(t, []Change{{Remove, b, ErrNoLeader}}, a.Pending())

	nodes[2].start()
	n.run(2 * time.Second)
	n.requireMembers(t, "acd")
	require.Empty(t, a.Learners())
	require.Empty(t, a.Pending())
}

// The author of a config reports its change until the config is committed. The other members report none.
func TestAuthorReportsUncommittedChanges(t *testing.T) {
	n, nodes := listOfThree(t)
	leader := n.leader()
	d := n.add(3, "d", "D", Options{Join: []string{leader.self.Addr}}).start()
	for range 1000 {
		n.run(hop)
		if leader.dynamic.Config().Has(d.self.ID) {
			break
		}
	}
	require.Equal(t, []Change{{Add, d.self, errNotHeld}}, leader.dynamic.Pending())
	for _, p := range nodes {
		if p != leader {
			require.Empty(t, p.dynamic.Pending())
		}
	}
	n.run(time.Second)
	n.requireMembers(t, "abcd")
	require.Empty(t, leader.dynamic.Pending())
}
