package cluster

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/wire"
)

// FuzzWireTypes decodes arbitrary bytes with the codecs of peers, clients, hellos and records. A decoded value must
// encode again, and decode to the same value.
func FuzzWireTypes(f *testing.F) {
	n, err := New(Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off})
	require.NoError(f, err)
	codecs := append(slices.Collect(maps.Values(codecsOf(f))), recordCodec)

	id := algo.NodeID{0: 1, 15: 2}
	entry := membership.Member{ID: id, Name: "n1", Addr: "127.0.0.1:7400", Priority: -3, Witness: true}
	config := membership.Config{Cluster: id, ID: membership.ConfigID{Term: 1, Version: 2}, Author: id, Members: []membership.Member{entry}, Expired: []algo.NodeID{id}}
	for _, m := range []algo.Message{
		fd.Heartbeat{Digest: 1}, fd.Probe{Digest: 1}, fd.ProbeAck{Digest: 1}, fd.Subscribe{Interval: 1, TTL: 2, Digest: 3},
		bully.Election{Epoch: 1}, bully.Answer{Epoch: 2}, bully.Coordinator{Epoch: 3, Leader: id}, algo.Periodic{Message: bully.Coordinator{Epoch: 3, Leader: id}},
		ring.Election{Epoch: 1, Eligible: true, Priority: -3, ID: id, Hops: 4}, ring.Elected{Epoch: 2, ID: id, Hops: 5},
		vote.Elect{Round: 1, Term: 2, Msg: 3, Leader: id}, vote.Vote{Round: 4}, vote.Lead{Term: 5, Msg: 6},
		membership.Update{Config: config, Committed: true}, membership.Ack{Config: config.ID}, membership.Self{Member: entry, Holds: config.ID, Standby: 3, Bootstraps: true},
		membership.RemoveRequest{ID: id}, membership.Reject{Reason: "no"}, membership.BootstrapRequest{}, membership.BootstrapReply{Member: entry}, engine.Goodbye{},
		engine.SavedState{Epoch: 9, Vote: id, Extra: "x"}, membership.Record{Config: config, Committed: true, WasMember: true, Before: config.Members},
		wire.AdminRequest{Action: wire.Remove, Member: "n1", Timeout: 1}, wire.AdminRequest{Action: wire.SetPriority, Priority: -3, Timeout: -4}, wire.AdminReply{Reason: "no"}, identity{ID: id, Cluster: "elect"},
		n.newHello(id, "127.0.0.1:7400"), wire.StatusRequest{},
		statusReply(Status{Members: []Member{{ID: id, Name: "n1", State: "self"}}, PendingContacts: []PendingContact{{Addr: "n2:1", Answer: "no answer yet"}}, Counters: map[string]uint64{"saves": 1}}),
	} {
		known := false
		for _, codec := range codecs {
			if b, err := codec.Append(nil, m); err == nil {
				f.Add(b)
				known = true
			}
		}
		require.True(f, known, "no codec knows %T", m)
	}
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, codec := range codecs {
			m, err := codec.Decode(b)
			if err != nil {
				continue
			}
			again, err := codec.Append(nil, m)
			require.NoError(t, err)
			same, err := codec.Decode(again)
			require.NoError(t, err)
			require.Equal(t, m, same)
		}
	})
}
