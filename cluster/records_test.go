package cluster

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/store"
)

// TestAllThatANodeKeepsHasRoom: every record as large as it may be, and the membership as
// large as a frame, which is how the others hear of it.
func TestAllThatANodeKeepsHasRoom(t *testing.T) {
	roster := membership.Roster{Cluster: algo.NodeID{15: 1}, Unmet: 512, Epoch: math.MaxUint64, Number: math.MaxUint64, Confirmed: true}
	for i := range 512 {
		roster.Entries = append(roster.Entries, membership.Entry{
			ID: algo.NodeID{0: byte(i >> 8), 1: byte(i)}, Name: fmt.Sprintf("%064d", i), Addr: strings.Repeat("a", 8),
			Priority: math.MinInt, Eligible: true,
		})
	}
	var owed membership.Owed
	for i := range 512 {
		roster.Strikes = append(roster.Strikes, algo.NodeID{0: byte(i >> 8), 1: byte(i)})
	}
	owed.Strikes = roster.Strikes
	kept := engine.Kept{Epoch: math.MaxUint64, Vote: algo.NodeID{15: 1}, Extra: strings.Repeat("x", algo.MaxExtra), Algorithm: strings.Repeat("a", 32)}
	self := identity{ID: algo.NodeID{15: 1}, Cluster: strings.Repeat("c", 64), Starts: math.MaxUint32 - 1}

	s, err := store.Open(t.TempDir())
	require.NoError(t, err)
	defer s.Close()
	r := newRecords(s, "")
	frame, err := recorded.Append(nil, roster)
	require.NoError(t, err)
	require.InDelta(t, 64<<10, len(frame), 4<<10, "the roster is not as large as a frame")
	require.NoError(t, r.save(self, kept, owed, roster))

	again := newRecords(s, "")
	who, saved, err := again.load(self.Cluster)
	require.NoError(t, err)
	self.Starts++
	require.Equal(t, self, who)
	require.Equal(t, []algo.Message{owed, kept, roster}, saved)
}
