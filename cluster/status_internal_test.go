package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/wire"
)

// Any process may answer a status request, so control characters in a reply are replaced.
func TestStatusReplyHasNoControlCharacters(t *testing.T) {
	const bad, good = "\x1b[2J", "\ufffd[2J"
	id := algo.NodeID{1}
	reply := func(text string) wire.StatusReply {
		return statusReply(Status{
			Cluster: text, Algorithm: text, Node: id, Epoch: 3,
			Members:         []Member{{ID: id, Name: text, Addr: text, State: text, Since: time.Date(2026, 11, 23, 0, 18, 23, 5, time.UTC), Meta: map[string]string{text: text}}},
			PendingContacts: []PendingContact{{Addr: text, Answer: text}},
			Counters:        map[string]uint64{text: 7},
			Lease:           &Lease{PendingGrants: []string{text}},
		})
	}
	frame, err := clients.Append(nil, reply(bad))
	require.NoError(t, err)
	shown, err := clients.Decode(frame)
	require.NoError(t, err)
	require.Equal(t, reply(good), shown)
}

// manyMembers returns maxMembers members, each with metadata.
func manyMembers(name, addr string, meta map[string]string) []Member {
	var members []Member
	for i := range maxMembers {
		members = append(members, Member{ID: algo.NodeID{0: byte(i >> 8), 1: byte(i)}, Name: fmt.Sprintf("%s%03d", name, i), Addr: addr,
			State: "suspected", Since: time.Now(), Timeout: time.Second, Meta: meta})
	}
	return members
}

// longestMeta returns the longest metadata that a member may have.
func longestMeta(t *testing.T) map[string]string {
	long := map[string]string{}
	for i := range 4 {
		long[fmt.Sprint(i)] = strings.Repeat("x", 253)
	}
	_, err := encodeMeta(long)
	require.NoError(t, err)
	return long
}

// requireFills checks that a reply fits a frame, and that nothing was omitted without need.
func requireFills(t *testing.T, r wire.StatusReply, spare int) {
	t.Helper()
	frame, err := clients.Append(nil, r)
	require.NoError(t, err)
	require.LessOrEqual(t, len(frame), maxFrame)
	require.Greater(t, len(frame), maxFrame-spare, "there is room for more")
	decoded, err := clients.Decode(frame)
	require.NoError(t, err)
	require.Equal(t, r, decoded)
	again := r
	trimToFrame(&again)
	require.Equal(t, r, again, "a reply that fits is trimmed")
}

// 512 members with the longest metadata need half a MiB, and a frame has 64 KiB. All members are there. The metadata of
// the last ones is omitted, but not that of the leader and of the node that replies.
func TestStatusReplyOmitsMetadata(t *testing.T) {
	long := longestMeta(t)
	s := Status{Members: manyMembers("n", "10.0.10.100:7400", long)}
	s.Node, s.Leader = s.Members[400].ID, &s.Members[511].ID
	r := statusReply(s)
	requireFills(t, r, 4096)
	require.Len(t, r.Members, maxMembers)
	require.Zero(t, r.MembersOmitted)
	shown := 0
	for i, m := range r.Members {
		require.Equal(t, s.Members[i].ID, m.ID)
		if len(m.Meta) == 0 {
			continue
		}
		require.Len(t, m.Meta, len(long))
		shown++
		require.True(t, i < shown || i == 400 || i == 511, "the last ones are omitted: %d", i)
	}
	require.EqualValues(t, maxMembers-shown, r.MetaOmitted)
	require.NotEmpty(t, r.Members[400].Meta)
	require.NotEmpty(t, r.Members[511].Meta)
	require.Equal(t, long, s.Members[0].Meta, "the status itself has changed")
}

// 512 members with the longest names and addresses do not fit into a frame either.
func TestStatusReplyOmitsMembers(t *testing.T) {
	s := Status{Members: manyMembers(strings.Repeat("n", 61), strings.Repeat("a", 250)+":7400", longestMeta(t))}
	s.Node, s.Leader = s.Members[400].ID, &s.Members[511].ID
	for i := range maxMembers {
		s.PendingContacts = append(s.PendingContacts, PendingContact{Addr: strings.Repeat("a", 255), Answer: strings.Repeat("x", maxAnswer)})
		s.OtherLists = append(s.OtherLists, s.Members[i].Name)
	}
	r := statusReply(s)
	requireFills(t, r, 512)
	shown := len(r.Members)
	require.EqualValues(t, maxMembers-shown, r.MembersOmitted)
	require.EqualValues(t, maxMembers-2, r.MetaOmitted)
	require.Len(t, r.Contacts, keptContacts)
	require.EqualValues(t, maxMembers-keptContacts, r.ContactsOmitted)
	require.Greater(t, shown, 30)
	for i, m := range r.Members[:shown-2] {
		require.Equal(t, s.Members[i].ID, m.ID, "the last ones are omitted")
	}
	require.Equal(t, s.Node, r.Members[shown-2].ID)
	require.Equal(t, *s.Leader, r.Members[shown-1].ID)
	require.Len(t, s.Members, maxMembers, "the status itself has changed")

	s.PendingContacts, s.OtherLists = nil, nil
	r = statusReply(s)
	requireFills(t, r, 512)
	require.Greater(t, len(r.Members), 160)
}

// A peer may send any bytes as its metadata.
func TestReceivedMetadataHasNoControlCharacters(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                               {},
		"http=a:1\nb==":                  {"http": "a:1", "b": "="},
		"a=\x1b[2J\xff\nb\n=c\na b=c":    {"a": "\ufffd[2J\ufffd", "b": ""},
		"a=" + strings.Repeat("\a", 900): {"a": strings.Repeat("\ufffd", 85)},
	} {
		require.Equal(t, want, decodeMeta(text), "%q", text)
	}
}

// A node keeps the metadata of members and connected peers only.
func TestMetadataOfUnknownNodeIsDropped(t *testing.T) {
	id := func(b byte) algo.NodeID { return algo.NodeID{15: b} }
	spec, err := bully.New(bully.Defaults(algo.LAN()))
	require.NoError(t, err)
	n := &Node{self: algo.Member{ID: id(1)}, peers: map[algo.NodeID]*peer{id(2): {}}, peerMeta: map[algo.NodeID]string{id(1): "a=1", id(2): "a=2", id(3): "a=3"}}
	n.engine = engine.New(engine.Config{MemberConfig: engine.MemberConfig{Self: n.self}, Spec: spec, Detector: fd.New(algo.Timing{})})
	n.dropMeta()
	require.Equal(t, map[algo.NodeID]string{id(1): "a=1", id(2): "a=2"}, n.peerMeta)
}
