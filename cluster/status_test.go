package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
)

// Who answers a query may be anybody.
func TestAStatusIsNoOrderToATerminal(t *testing.T) {
	const bad, good = "\x1b[2J", "\ufffd[2J"
	id := algo.NodeID{1}
	require.Equal(t, Status{
		Cluster: good, Algorithm: good, Node: id, Epoch: 3,
		Members:  []Member{{ID: id, Name: good, Addr: good, State: "unknown", Since: time.Unix(0, 5)}},
		Counters: map[string]uint64{good: 7},
	}, statusReply{
		Cluster: bad, Algorithm: bad, Node: id, Leader: algo.Leader{Epoch: 3},
		Members:  []memberReply{{ID: id, Name: bad, Addr: bad, State: 200, Since: 5}},
		Counters: []counterReply{{bad, 7}},
	}.status())
}

// Whoever gave an order is told why it was not carried out, whatever the reason says.
func TestAnyReasonCanBeSaid(t *testing.T) {
	for _, reason := range []string{"", "no", "é" + strings.Repeat("a", 498) + "é", strings.Repeat("é", 600), "\xff/data", strings.Repeat("\xff", 400)} {
		_, err := adminCodec.Append(nil, done{shorten(reason)})
		require.NoError(t, err, "%q", reason)
	}
}
