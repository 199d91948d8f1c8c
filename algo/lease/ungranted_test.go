package lease

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
)

// A nominee says whose promise it waits for, while nobody leads that it knows of.
func TestWhoHasNotGranted(t *testing.T) {
	id := func(b byte) algo.NodeID { return algo.NodeID{15: b} }
	var members []algo.Member
	for b := range byte(5) {
		members = append(members, algo.Member{ID: id(b + 1), Eligible: true})
	}
	fresh := func() *node {
		return &node{self: id(5), view: algo.NewView(1, members...), nominee: algo.Leader{Epoch: 1, ID: id(5)}, candidate: candidate{stage: tries, free: algo.Set{id(2)}}}
	}
	for name, test := range map[string]struct {
		change    func(n *node)
		missing   []algo.NodeID
		nominated bool
	}{
		"one would grant":          {func(*node) {}, []algo.NodeID{id(1), id(3), id(4)}, true},
		"its own promise is on":    {func(n *node) { n.promise.on = true }, []algo.NodeID{id(1), id(3), id(4), id(5)}, true},
		"it asks for a ballot":     {func(n *node) { n.stage, n.rounds = asks, []round{{granted: algo.Set{id(1)}}, {}} }, []algo.NodeID{id(2), id(3), id(4)}, true},
		"it stands aside":          {func(n *node) { n.away, n.stage, n.nominee = true, idle, algo.Leader{} }, []algo.NodeID{id(1), id(3), id(4)}, true},
		"another is nominated":     {func(n *node) { n.nominee.ID = id(4) }, nil, false},
		"another leads":            {func(n *node) { n.leader = algo.Leader{Epoch: 1, ID: id(4)} }, nil, false},
		"it leads":                 {func(n *node) { n.stage = holds }, nil, false},
		"it may not lead any more": {func(n *node) { n.view = algo.NewView(2, members[:4]...) }, nil, false},
	} {
		missing, nominated := func() ([]algo.NodeID, bool) { n := fresh(); test.change(n); return n.Ungranted() }()
		require.Equal(t, test.missing, missing, name)
		require.Equal(t, test.nominated, nominated, name)
	}
}
