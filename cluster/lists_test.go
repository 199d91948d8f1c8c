package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/virtual"
)

// The first node of a list founds its cluster. A node with another list takes part if it is listed, or joins,
// and a warning shows both lists.
func TestTheListOfTheFirstNodeCounts(t *testing.T) {
	lists := map[string][]string{"n1": {"n1:7400", "n2:7400"}, "n2": {"n1:7400", "n2:7400", "n3:7400"}, "n3": {"n1:7400", "n2:7400", "n3:7400"}}
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) {
			c.Algorithm, c.Join, c.Members = "vote", nil, lists[c.Name]
		}
		one, two := f.start(1), f.start(2)
		f.leader(3 * bound)
		require.Len(t, one.Members(), 2)
		for _, m := range []*member{one, two} {
			require.NotEmpty(t, m.log.with("level=WARN", "peer has another list of members"), m.name)
		}
		f.start(3)
		f.leader(3 * bound)
		require.Len(t, one.Members(), 3)
	})
}

// Without a quorum two with different lists found no cluster together, nor two side by side, and both show
// both lists. When the lists are equal they found one.
func TestListsThatDiffer(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring"} {
		t.Run(algorithm, func(t *testing.T) {
			lists := map[string][]string{"n1": {"n1:7400", "n2:7400"}, "n2": {"n1:7400", "n2:7400", "n3:7400"}}
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = func(c *cluster.Config) {
					c.Algorithm, c.Join, c.Members = algorithm, nil, lists[c.Name]
				}
				one, two := f.start(1), f.start(2)
				virtual.Pass(time.Minute)
				clusters := 0
				for _, m := range []*member{one, two} {
					require.NotEmpty(t, m.log.with("level=ERROR", "[n1:7400, n2:7400]", "[n1:7400, n2:7400, n3:7400]"), m.name)
					if _, leads := m.Leader(); leads {
						clusters++ // it began before the other one was there
					} else {
						require.NotEmpty(t, m.log.with("msg=waiting", "has another list of members"), m.name)
					}
				}
				require.LessOrEqual(t, clusters, 1)
				f.halt(two)
				lists["n2"] = lists["n1"]
				f.start(2)
				f.leader(3 * bound)
			})
		})
	}
}

// Lists are changed node by node: once the members have met, a difference is a warning.
func TestListsThatAreChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := []string{"n1:7400", "n2:7400", "n3:7400"}
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Join, c.Members = nil, list }
		one, two := f.start(1), f.start(2)
		f.agree("n2", bound) // n3 has never come
		f.halt(two)
		list = []string{"N1:07400", "n2:7400", "n4:7400"}
		two = f.start(2)
		f.agree("n2", bound)
		for _, m := range []*member{one, two} {
			require.NotEmpty(t, m.log.with("level=WARN", "peer has another list of members"), m.name)
			require.Empty(t, m.log.with("level=ERROR"), m.name)
		}
	})
}

// A list is the same however its addresses are written, and in whichever order.
func TestListsThatAreWrittenDifferently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := map[string][]string{"n1": {"n1:7400", "n2:7400"}, "n2": {"N2:07400", "n1:7400"}}
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Join, c.Members = nil, lists[c.Name] }
		one := f.start(1)
		f.start(2)
		f.agree("n2", bound)
		require.Empty(t, one.log.with("another list"))
	})
}
