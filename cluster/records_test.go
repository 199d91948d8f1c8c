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

// The store has room for all records at their largest size. The record of the membership has two lists of members, so
// it is larger than a frame.
func TestLargestRecordsFitStore(t *testing.T) {
	config := membership.Config{Cluster: algo.NodeID{15: 1}, ID: membership.ConfigID{Term: algo.MaxEpoch, Version: math.MaxUint64}, Author: algo.NodeID{15: 1}}
	for i := range 512 {
		config.Members = append(config.Members, membership.Member{
			ID: algo.NodeID{0: byte(i >> 8), 1: byte(i)}, Name: fmt.Sprintf("%05d", i), Addr: strings.Repeat("a", 64), Priority: math.MinInt32, Witness: true,
		})
	}
	for i := range 64 {
		config.Expired = append(config.Expired, algo.NodeID{0: 1, 1: byte(i)})
	}
	record := membership.Record{Config: config, Committed: true, WasMember: true, Before: config.Members}
	kept := engine.SavedState{Epoch: algo.MaxEpoch, Vote: algo.NodeID{15: 1}, Extra: strings.Repeat("x", algo.MaxExtra), Algorithm: strings.Repeat("a", 32)}
	self := identity{ID: algo.NodeID{15: 1}, Cluster: strings.Repeat("c", 64), Starts: math.MaxUint32 - 1}

	s, err := store.Open(t.TempDir())
	require.NoError(t, err)
	defer s.Close()
	r := newRecords(s, "")
	value, err := recordCodec.Append(nil, record)
	require.NoError(t, err)
	require.Greater(t, len(value), maxFrame, "the record has two lists of members")
	require.NoError(t, r.save(self, kept, record))

	again := newRecords(s, "")
	loaded, saved, err := again.load(self.Cluster)
	require.NoError(t, err)
	self.Starts++
	require.Equal(t, self, loaded)
	require.Equal(t, []algo.Message{record, kept}, saved)
}
