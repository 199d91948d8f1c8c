package cluster

import (
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/internal/wire"
)

var example = regexp.MustCompile("(?s)<!-- decode: ([a-z-]+) -->\n```hex\n(.*?)```")

// codecsOf returns the codecs of all messages: the frames of each algorithm, hellos, and the messages of clients. The
// codec of the clients keeps control characters.
func codecsOf(t testing.TB) map[string]*wire.Codec {
	t.Helper()
	codecs := map[string]*wire.Codec{"hello": wire.HelloCodec, "clients": wire.NewClientCodec(strings.Clone)}
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		n, err := New(Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: "data", Algorithm: builtin.Lookup(algorithm), Lease: lease.Off})
		require.NoError(t, err)
		codecs[algorithm] = n.frames
	}
	n, err := New(Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: "data"})
	require.NoError(t, err)
	codecs["bully+lease"] = n.frames
	return codecs
}

// This package encodes and decodes the examples of docs/protocol.md, and each kind of message has an example.
func TestProtocolDocument(t *testing.T) {
	id := func(high byte) (id algo.NodeID) {
		for i := range id {
			id[i] = high<<4 | byte(i)
		}
		return id
	}
	self := id(1)
	settings := []algo.Setting{{Name: "announce_interval", Value: "1s"}, {Name: "skip_suspected", Value: "true"}}
	want := map[string]algo.Message{
		"heartbeat":   fd.Heartbeat{Digest: 99},
		"probe":       fd.Probe{Peer: id(2), Digest: 99},
		"probe-ack":   fd.ProbeAck{Peer: id(2), Digest: 99},
		"subscribe":   fd.Subscribe{Interval: 120 * time.Millisecond, TTL: 1200 * time.Millisecond, Digest: 99},
		"goodbye":     engine.Goodbye{},
		"coordinator": bully.Coordinator{Epoch: 3, Leader: id(2)},
		"election":    bully.Election{Epoch: 2},
		"answer":      bully.Answer{Epoch: 2},
		"inquiry":     bully.Inquiry{},
		// Ring and bully both have a kind "election".
		"ring-election": ring.Election{Epoch: 3, Eligible: true, Priority: 5, ID: id(2), Hops: 1},
		"elected":       ring.Elected{Epoch: 3, ID: id(2), Hops: 4},
		"elect":         vote.Elect{Round: 8, Term: 7, Msg: 1000, Leader: id(2), ConfigID: algo.ConfigID{Term: 6, Version: 9}, FailedRounds: 2, WantsReply: true},
		"config": membership.Update{
			Config: membership.Config{
				Cluster: id(12), ID: membership.ConfigID{Term: 6, Version: 9}, Author: id(1),
				Members: []membership.Member{{ID: id(1), Name: "n1", Addr: "10.0.0.1:7400"}}, Expired: []algo.NodeID{id(2)},
			},
			Committed: true,
		},
		"config-ack": membership.Ack{Config: membership.ConfigID{Term: 6, Version: 9}},
		"self": membership.Self{
			Member: membership.Member{ID: id(1), Name: "n1", Addr: "10.0.0.1:7400", Priority: -1, Witness: true},
			Holds:  membership.ConfigID{Term: 6, Version: 9}, Standby: 2 * time.Second, Bootstraps: true,
		},
		"remove-request":    membership.RemoveRequest{ID: id(2)},
		"join-rejected":     membership.Reject{Reason: "full", Holds: membership.ConfigID{Version: 4}},
		"bootstrap-request": membership.BootstrapRequest{},
		"bootstrap-reply":   membership.BootstrapReply{Member: membership.Member{ID: id(1), Name: "n1", Addr: "10.0.0.1:7400", Priority: -1}},

		"lease-request": lease.Request{
			Ballot: 7, Round: 2, ConfigID: algo.ConfigID{Term: 6, Version: 9}, Duration: 960 * time.Millisecond, Leading: true, Again: true,
		},
		"lease-reply":    lease.Reply{Ballot: 7, Round: 2, Granted: true, HighestBallot: 7},
		"lease-release":  lease.Release{Ballot: 7},
		"lease-withdraw": lease.Withdraw{ID: id(2), Seq: 3},

		"vote":           vote.Vote{Round: 8},
		"lead":           algo.Periodic{Message: vote.Lead{Term: 8, Msg: 2}},
		"status-request": wire.StatusRequest{},
		"status-reply": statusReply(Status{
			Cluster: "demo", Algorithm: "bully", Node: id(1), Leader: &self, Epoch: 3, ConfigVersion: 2, ConfigTerm: 1, Committed: true,
			Members:         []Member{{ID: self, Name: "n1", Addr: "10.0.0.1:7400", Eligible: true, State: "self", Since: time.Date(2026, 11, 23, 0, 18, 23, 0, time.UTC), Meta: map[string]string{"http": ":80"}}},
			PendingContacts: []PendingContact{{Addr: "n2:7", Answer: "no answer"}},
			Counters:        map[string]uint64{"saves": 5},
			Election:        algo.ElectionCause{Caller: self, Reason: fd.ReasonSilence, Previous: id(2), Epoch: 2, SilentFor: 380 * time.Millisecond},
			ElectionAt:      time.Date(2026, 11, 23, 0, 18, 22, 0, time.UTC),
			Lease:           &Lease{Token: 3, Remaining: 600 * time.Millisecond},
		}),
		"admin-request": wire.AdminRequest{Action: wire.Remove, Member: "n3", Timeout: 10 * time.Second},
		"admin-reply":   wire.AdminReply{Reason: "busy"},
		"watch-request": wire.WatchRequest{},
		"watch-reply": wire.WatchReply{
			Cluster: id(12), Epoch: 3, Addrs: []string{"n2:7"}, Watchers: 1,
			Leader: []wire.WatchLeader{{ID: id(2), Name: "n2", Addr: "n2:7", Meta: []wire.StatusMeta{{Key: "http", Value: ":80"}}}},
		},
		"debug-request": wire.DebugRequest{After: 7},
		"debug-reply": wire.DebugReply{
			About: []wire.DebugFact{{Name: "go", Value: "go1.26"}}, Settings: []wire.DebugFact{{Name: "listen", Value: "n1:7"}},
			Events: []wire.DebugEvent{{JSON: `{"at":1,"node":"n1","kind":"saved"}`}}, Recorded: 9, Next: 8,
		},
		"end": wire.End{Cluster: id(12), Node: id(2), Incarnation: 3<<32 | 7, Epoch: 6},
		"hello": wire.Hello{
			MinVersion: 1, MaxVersion: 1, Cluster: "demo", ClusterID: id(12), Algorithm: "bully",
			Settings: wire.Settings(settings), Name: "n1", ID: id(1), Incarnation: 3<<32 | 7, Addr: "10.0.0.1:7400", Digest: 99, Uptime: 2 * time.Second, Meta: "http=:80",
		},
	}
	codecs := codecsOf(t)
	missing := make(map[string]bool) // kinds, by codec
	for name, codec := range codecs {
		for _, kind := range codec.Kinds() {
			missing[name+": "+kind] = true
		}
	}

	text, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	found := example.FindAllStringSubmatch(string(text), -1)
	require.Len(t, found, len(want)+1)
	for _, match := range found {
		name, payload := match[1], bytesOf(t, match[2])
		require.GreaterOrEqual(t, len(payload), 4, name)
		require.EqualValues(t, len(payload)-4, binary.BigEndian.Uint32(payload), "%s: the length", name)
		payload = payload[4:]
		if name == "close" {
			require.Equal(t, "\x00busy", string(payload))
			continue
		}
		decoded := false
		for of, codec := range codecs {
			again, err := codec.Append(nil, want[name])
			if err != nil {
				continue // a message of another algorithm
			}
			decoded = true
			delete(missing, of+": "+want[name].Kind())
			require.Equal(t, payload, again, "%s: this package encodes it differently", name)
			m, err := codec.Decode(payload)
			require.NoError(t, err)
			require.Equal(t, want[name], m, name)
		}
		require.True(t, decoded, "%s: no codec has it", name)
	}
	require.Empty(t, slices.Sorted(maps.Keys(missing)), "kinds without an example")
}

// The cluster ID and the settings in the example hello of docs/protocol.md, of a node without a quorum, can be
// recomputed.
func TestProtocolDocumentHello(t *testing.T) {
	example := testkit.Example(t, "../docs/protocol.md", "cluster id")
	require.Equal(t, "elect:"+example["cluster"], example["text"])
	id := newClusterID(&Config{Cluster: example["cluster"]}, false, nil)
	require.Equal(t, example["id"], hex.EncodeToString(id[:]))

	spec, err := bully.Factory(algo.LAN(), nil)
	require.NoError(t, err)
	lines := slices.Sorted(maps.Keys(testkit.Example(t, "../docs/protocol.md", "settings")))
	require.Equal(t, strings.Join(lines, "\n"), wire.Settings(spec.Settings))
}

// bytesOf decodes lines of hex with comments after #.
func bytesOf(t *testing.T, lines string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(lines) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	require.NoError(t, err)
	return b
}
