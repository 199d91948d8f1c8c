package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cluster"
)

// The list of its first node creates the cluster. A node with another list takes part if that list names it, and joins
// otherwise. Both log a warning.
func TestListOfFirstNodeCreatesCluster(t *testing.T) {
	lists := map[string][]string{"n1": {"n1:7400", "n2:7400"}, "n2": {"n1:7400", "n2:7400", "n3:7400"}, "n3": {"n1:7400", "n2:7400", "n3:7400"}}
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) {
			c.Algorithm, c.Members = builtin.Lookup("vote"), lists[c.Name]
		}
		one, two := f.start(1), f.start(2)
		f.leader(3 * bound)
		require.Len(t, one.Members(), 2)
		for _, m := range []*member{one, two} {
			require.NotEmpty(t, m.log.Lines("level=WARN", "static members differ from the peer's"), m.name)
		}
		f.start(3)
		f.leader(3 * bound)
		require.Len(t, one.Members(), 3)
	})
}

// Without a quorum, nodes that name each other elect one leader, even if one of them also names a third. Both warn.
func TestNodesWithDifferentListsElectOneLeader(t *testing.T) {
	each(t, []string{"bully", "ring"}, func(t *testing.T, f *fleet) {
		lists := map[string][]string{"n1": listOf(2), "n2": listOf(3)}
		algorithm := f.config
		f.config = func(c *cluster.Config) {
			algorithm(c)
			c.Members = lists[c.Name]
		}
		one, two := f.start(1), f.start(2)
		f.leader(3 * bound)
		f.quiet(time.Minute)
		for _, m := range []*member{one, two} {
			require.NotEmpty(t, m.log.Lines("level=WARN", "static members differ from the peer's"), m.name)
			require.Len(t, m.Members(), 2, m.name)
		}
	})
}

// Lists change node by node, so a difference between members that have met causes only a warning.
func TestChangedListCausesWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := []string{"n1:7400", "n2:7400", "n3:7400"}
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Members = list }
		one, two := f.start(1), f.start(2)
		f.agree("n2", bound) // n3 never starts
		f.halt(two)
		list = []string{"N1:07400", "n2:7400", "n4:7400"}
		two = f.start(2)
		f.agree("n2", bound)
		for _, m := range []*member{one, two} {
			require.NotEmpty(t, m.log.Lines("level=WARN", "static members differ from the peer's"), m.name)
			require.Empty(t, m.log.Lines("level=ERROR"), m.name)
		}
	})
}

// Lists with the same addresses are equal, whatever the order and the spelling of the addresses.
func TestListOrderAndSpellingDoNotMatter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := map[string][]string{"n1": {"n1:7400", "n2:7400"}, "n2": {"N2:07400", "n1:7400"}}
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Members = lists[c.Name] }
		one := f.start(1)
		f.start(2)
		f.agree("n2", bound)
		require.Empty(t, one.log.Lines("static members differ"))
	})
}
