package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/trace"
)

func note(format string, args ...any) trace.Event {
	return trace.Event{Kind: trace.Note, Format: format, Args: args}
}

func TestEventLogKeepsLastEvents(t *testing.T) {
	l := new(eventLog)
	events, first, count := l.after(0, 10)
	require.Empty(t, events)
	require.EqualValues(t, 1, first)
	require.Zero(t, count)
	for i := 1; i <= maxEvents+5; i++ {
		l.add(note("%d", i))
	}
	events, first, count = l.after(0, 2*maxEvents)
	require.Len(t, events, maxEvents)
	require.EqualValues(t, 6, first)
	require.EqualValues(t, maxEvents+5, count)
	require.Equal(t, "6", events[0].Text())
	require.Equal(t, "1005", events[maxEvents-1].Text())

	events, first, _ = l.after(maxEvents, 3)
	require.Equal(t, []string{"1001", "1002", "1003"}, []string{events[0].Text(), events[1].Text(), events[2].Text()})
	require.EqualValues(t, maxEvents+1, first)
	for _, beyond := range []uint64{maxEvents + 5, maxEvents + 6, 1<<64 - 1} {
		events, _, _ = l.after(beyond, 3)
		require.Empty(t, events, beyond)
	}
}

// largeMessage is a message of an algorithm of a program.
type largeMessage struct{ Text string }

func (largeMessage) Kind() string { return "large" }

func TestEventLogFormatsWhatMayChangeOrIsLarge(t *testing.T) {
	l := new(eventLog)
	small := note("a %s %d", algo.NodeID{1}, uint64(7))
	require.Equal(t, small, l.bound(small), "formatted when it is read")
	for _, test := range []struct {
		name string
		e    trace.Event
		want string
	}{
		{"an error", note("%v", errors.New("no")), "no"},
		{"a pointer", note("%v", &largeMessage{"x"}), "&{x}"},
		{"a long argument", note("%s", strings.Repeat("x", 1000)), strings.Repeat("x", maxEventText)},
		{"a long text", note(strings.Repeat("x", 1000)), strings.Repeat("x", maxEventText)},
	} {
		got := l.bound(test.e)
		require.Empty(t, got.Args, test.name)
		require.Equal(t, test.want, got.Text(), test.name)
	}
	body := func(m algo.Message) string {
		text, err := json.Marshal(l.bound(trace.Event{Kind: trace.Send, Message: m}).Message)
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, `{"Text":"x"}`, body(largeMessage{"x"}))
	require.Equal(t, `"omitted: 60011 bytes"`, body(largeMessage{strings.Repeat("x", 60000)}))
	for _, m := range []algo.Message{bully.Coordinator{}, ring.Election{}, vote.Elect{}, lease.Request{}} {
		require.Equal(t, m, l.bound(trace.Event{Message: m}).Message, "kept as it is")
	}
}

// A flood of large events costs no more memory than the limits allow.
func TestEventLogIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l := new(eventLog)
	for i := range 3 * maxEvents {
		large := strings.Repeat("x", 50000)
		l.add(trace.Event{Kind: trace.Drop, Message: largeMessage{large}, Format: "%v", Args: []any{fmt.Errorf("%d %s", i, large)}})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(4<<20))
	runtime.KeepAlive(l)
}

func TestEventJSON(t *testing.T) {
	zero := time.Unix(1_800_000_000, 0)
	e := trace.Event{At: 5, Node: algo.NodeID{1}, Kind: trace.Send, Peer: algo.NodeID{2}, Message: bully.Election{Epoch: 3}}
	require.Equal(t, `{"at":1800000000000000005,"node":"01000000-0000-0000-0000-000000000000","kind":"send","peer":"02000000-0000-0000-0000-000000000000",`+
		`"message":{"kind":"election","body":{"Epoch":3}}}`, eventJSON(e, zero))
	e.Message = trace.ReadMessage{Name: "x", Body: []byte("{")}
	require.Contains(t, eventJSON(e, zero), `"text":"send of 0 bytes cannot be shown"`)
	e.Message = trace.ReadMessage{Name: "x", Body: []byte(`"` + strings.Repeat("x", 2*maxEventJSON) + `"`)}
	require.Regexp(t, `"text":"send of 8\d{3} bytes cannot be shown"`, eventJSON(e, zero))
}

// A client that is slower than the events learns how many it has missed.
func TestDebugReplyReportsGap(t *testing.T) {
	n := newEventNode(t)
	for i := 1; i <= maxEvents; i++ {
		n.events.add(note("%d", i))
	}
	r := n.debugReply(0, time.Now())
	require.NotEmpty(t, r.About)
	require.EqualValues(t, maxEvents, r.Recorded)
	require.Len(t, r.Events, int(r.Next))
	for range maxEvents {
		n.events.add(note("later"))
	}
	next := n.debugReply(r.Next, time.Now())
	require.Empty(t, next.About)
	require.Contains(t, next.Events[0].JSON, fmt.Sprintf(`"kind":"lost","text":"%d events"`, maxEvents-r.Next))
	require.Contains(t, next.Events[1].JSON, "later")
}

// Each part of a debug report fits a frame, whatever the settings and the events are.
func TestDebugRepliesFitFrames(t *testing.T) {
	n := newEventNode(t)
	for range 400 {
		n.config.Join = append(n.config.Join, strings.Repeat("h", 250)+":7400")
	}
	long := strings.Repeat("\u2028", 400)
	for range maxEvents {
		n.events.add(trace.Event{Kind: trace.Drop, Message: largeMessage{long[:300]}, Format: long})
	}
	var events, parts int
	for after := uint64(0); ; parts++ {
		r := n.debugReply(after, time.Now())
		frame, err := clients.Append(nil, r)
		require.NoError(t, err)
		require.LessOrEqual(t, len(frame), maxFrame)
		events += len(r.Events)
		if r.Next == 0 {
			break
		}
		require.Greater(t, r.Next, after)
		after = r.Next
	}
	require.Equal(t, maxEvents, events)
	require.Greater(t, parts, 3)
}

// newEventNode returns a node that replies without running.
func newEventNode(t *testing.T) *Node {
	t.Helper()
	n, err := New(Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off})
	require.NoError(t, err)
	n.newEngine(identity{ID: algo.NodeID{1}}, "127.0.0.1:7400", nil)
	return n
}

// BenchmarkEventLog measures the cost of a heartbeat, which the log leaves out, and of events that it keeps.
func BenchmarkEventLog(b *testing.B) {
	n := new(Node)
	for name, e := range map[string]trace.Event{
		"heartbeat": {Kind: trace.Send, Message: fd.Heartbeat{}},
		"election":  {Kind: trace.Send, Message: bully.Election{}},
		"note":      note("votes for %s in round %d", algo.NodeID{1}, uint64(7)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n.observe(e)
			}
		})
	}
}
