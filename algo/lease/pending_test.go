package lease

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
)

// A nominee reports the members from which it waits for grants, while it knows of no leader.
func TestNomineeReportsPendingGrants(t *testing.T) {
	id := func(b byte) algo.NodeID { return algo.NodeID{15: b} }
	var members []algo.Member
	for b := range byte(5) {
		members = append(members, algo.Member{ID: id(b + 1), Eligible: true})
	}
	fresh := func() *node {
		return &node{self: id(5), view: algo.NewView(1, members...), nominee: algo.Leader{Epoch: 1, ID: id(5)}, candidate: candidate{stage: preVoting, preVotes: algo.Set{id(2)}}}
	}
	for name, test := range map[string]struct {
		change    func(n *node)
		missing   []algo.NodeID
		nominated bool
	}{
		"one would grant":          {func(*node) {}, []algo.NodeID{id(1), id(3), id(4)}, true},
		"its own grant is active":  {func(n *node) { n.grant.active = true }, []algo.NodeID{id(1), id(3), id(4), id(5)}, true},
		"it requests grants":       {func(n *node) { n.stage, n.requests = requesting, []request{{grants: algo.Set{id(1)}}, {}} }, []algo.NodeID{id(2), id(3), id(4)}, true},
		"it has withdrawn":         {func(n *node) { n.withdrawn, n.stage, n.nominee = true, idle, algo.Leader{} }, []algo.NodeID{id(1), id(3), id(4)}, true},
		"another is nominated":     {func(n *node) { n.nominee.ID = id(4) }, nil, false},
		"another leads":            {func(n *node) { n.leader = algo.Leader{Epoch: 1, ID: id(4)} }, nil, false},
		"it leads":                 {func(n *node) { n.stage = holding }, nil, false},
		"it is no longer eligible": {func(n *node) { n.view = algo.NewView(2, members[:4]...) }, nil, false},
	} {
		missing, nominated := func() ([]algo.NodeID, bool) { n := fresh(); test.change(n); return n.PendingGrants() }()
		require.Equal(t, test.missing, missing, name)
		require.Equal(t, test.nominated, nominated, name)
	}
}
