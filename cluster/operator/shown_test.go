package operator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/wire"
)

// Who answers a query may be anybody.
func TestAStatusIsNoOrderToATerminal(t *testing.T) {
	const bad, good = "\x1b[2J", "\ufffd[2J"
	id := algo.NodeID{1}
	require.Equal(t, cluster.Status{
		Cluster: good, Algorithm: good, Node: id, Epoch: 3,
		Members:  []cluster.Member{{ID: id, Name: good, Addr: good, State: good, Since: time.Unix(0, 5)}},
		Awaited:  []cluster.Awaited{{Addr: good, Answer: good}},
		Counters: map[string]uint64{good: 7},
	}, shown(wire.Status{
		Cluster: bad, Algorithm: bad, Node: id, Leader: algo.Leader{Epoch: 3},
		Members:  []wire.Member{{ID: id, Name: bad, Addr: bad, State: bad, Since: 5}},
		Counters: []wire.Counter{{Name: bad, Value: 7}},
		Awaited:  []wire.Awaited{{Addr: bad, Answer: bad}},
	}))
}
