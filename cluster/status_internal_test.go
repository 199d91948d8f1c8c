package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
)

// Who answers a query may be anybody.
func TestAStatusIsNoOrderToATerminal(t *testing.T) {
	const bad, good = "\x1b[2J", "\ufffd[2J"
	id := algo.NodeID{1}
	status := func(text string) Status {
		return Status{
			Cluster: text, Algorithm: text, Node: id, Epoch: 3,
			Members:  []Member{{ID: id, Name: text, Addr: text, State: text, Since: time.Date(2026, 11, 23, 0, 18, 23, 5, time.UTC)}},
			Awaited:  []Awaited{{Addr: text, Answer: text}},
			Counters: map[string]uint64{text: 7},
		}
	}
	frame, err := clients.Append(nil, status(bad))
	require.NoError(t, err)
	shown, err := clients.Decode(frame)
	require.NoError(t, err)
	require.Equal(t, status(good), shown)
}
