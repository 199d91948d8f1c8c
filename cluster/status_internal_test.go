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
)

// Who answers a query may be anybody.
func TestAStatusIsNoOrderToATerminal(t *testing.T) {
	const bad, good = "\x1b[2J", "\ufffd[2J"
	id := algo.NodeID{1}
	status := func(text string) Status {
		return Status{
			Cluster: text, Algorithm: text, Node: id, Epoch: 3,
			Members:  []Member{{ID: id, Name: text, Addr: text, State: text, Since: time.Date(2026, 11, 23, 0, 18, 23, 5, time.UTC), Meta: map[string]string{text: text}}},
			Awaited:  []Awaited{{Addr: text, Answer: text}},
			Counters: map[string]uint64{text: 7},
			Lease:    &Lease{Missing: []string{text}},
		}
	}
	frame, err := clients.Append(nil, status(bad))
	require.NoError(t, err)
	shown, err := clients.Decode(frame)
	require.NoError(t, err)
	require.Equal(t, status(good), shown)
}

// 512 members that say as much of themselves as they may are half a MiB, and a frame has 64 KiB: the leader and who
// answers are there whole, the others as far as there is room.
func TestAStatusOfManyFits(t *testing.T) {
	long := map[string]string{}
	for i := range 4 {
		long[fmt.Sprint(i)] = strings.Repeat("x", 253)
	}
	_, err := metaText(long)
	require.NoError(t, err)
	var s Status
	for i := range maxMembers {
		s.Members = append(s.Members, Member{ID: algo.NodeID{0: byte(i >> 8), 1: byte(i)}, Name: fmt.Sprint("n", i), Addr: "10.0.10.100:7400",
			State: "suspected", Since: time.Now(), Timeout: time.Second, Meta: long})
	}
	s.Node, s.Leader = s.Members[400].ID, &s.Members[511].ID
	fits := s.fitting()
	frame, err := clients.Append(nil, fits)
	require.NoError(t, err)
	require.LessOrEqual(t, len(frame), maxFrame)
	require.Greater(t, len(frame), maxFrame-4096, "there is room for more")
	said := 0
	for i, m := range fits.Members {
		if len(m.Meta) == 0 {
			continue
		}
		require.Equal(t, long, m.Meta)
		said++
		require.True(t, i < said || i == 400 || i == 511, "the last ones are left out: %d", i)
	}
	require.Equal(t, maxMembers-said, fits.MetaLeftOut)
	require.NotEmpty(t, fits.Members[400].Meta)
	require.NotEmpty(t, fits.Members[511].Meta)
	require.Equal(t, fits, fits.fitting(), "that fits as it is")
}

// What a member says of itself may be anything.
func TestMetadataOfAStranger(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                               {},
		"http=a:1\nb==":                  {"http": "a:1", "b": "="},
		"a=\x1b[2J\xff\nb\n=c\na b=c":    {"a": "\ufffd[2J\ufffd", "b": ""},
		"a=" + strings.Repeat("\a", 900): {"a": strings.Repeat("\ufffd", 85)},
	} {
		require.Equal(t, want, metadata(text), "%q", text)
	}
}

// What is kept of others is what members have said, and who is connected.
func TestWhatTheGoneHaveSaidIsForgotten(t *testing.T) {
	id := func(b byte) algo.NodeID { return algo.NodeID{15: b} }
	spec, err := bully.New(bully.Defaults(algo.LAN()))
	require.NoError(t, err)
	n := &Node{self: algo.Member{ID: id(1)}, called: map[algo.NodeID]string{id(2): "n2"}, metas: map[algo.NodeID]string{id(1): "a=1", id(2): "a=2", id(3): "a=3"}}
	n.engine = engine.New(engine.Config{Place: engine.Place{Self: n.self}, Spec: spec, Detector: fd.New(algo.Timing{})})
	n.forget()
	require.Equal(t, map[algo.NodeID]string{id(1): "a=1", id(2): "a=2"}, n.metas)
}
