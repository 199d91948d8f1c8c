package trace_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

type ballot struct {
	For   algo.NodeID
	Round uint64
}

func (ballot) Kind() string { return "ballot" }

func TestJSONLines(t *testing.T) {
	n1, n2 := algo.NodeID{15: 1}, algo.NodeID{15: 2}
	names := map[algo.NodeID]string{n1: "n1"}
	var out strings.Builder
	j := trace.NewJSON(&out)
	j.Names = func(id algo.NodeID) string { return names[id] }
	for _, test := range []struct {
		event trace.Event
		want  string
	}{
		{
			trace.Event{At: time.Millisecond, Node: n1, Kind: trace.Send, Peer: n2, Message: ballot{n1, 7}},
			`{"at":1000000,"node":"n1","kind":"send","peer":"00000000-0000-0000-0000-000000000002",` +
				`"message":{"kind":"ballot","body":{"For":"00000000-0000-0000-0000-000000000001","Round":7}}}`,
		},
		{trace.Event{Node: n1, Kind: trace.SetTimer, Timer: "answer", Until: 5}, `{"at":0,"node":"n1","kind":"set","timer":"answer","until":5}`},
		{trace.Event{Node: n1, Kind: trace.Save}, `{"at":0,"node":"n1","kind":"save","epoch":0}`},
		{trace.Event{Node: n1, Kind: trace.Announce, Leader: algo.Leader{Epoch: 3, ID: n1}}, `{"at":0,"node":"n1","kind":"announce","leader":{"epoch":3,"id":"n1"}}`},
		{trace.Event{Node: n1, Kind: trace.Announce, Leader: algo.Leader{Epoch: 3}}, `{"at":0,"node":"n1","kind":"announce","leader":{"epoch":3,"id":""}}`},
		{trace.Event{Node: n1, Kind: trace.ConfigChanged, ConfigVersion: 9}, `{"at":0,"node":"n1","kind":"config-changed","config_version":9}`},
		{trace.Event{Node: n1, Kind: trace.Note, Format: "contests <%s>", Args: []any{n1}}, `{"at":0,"node":"n1","kind":"note","text":"contests <n1>"}`},
	} {
		out.Reset()
		j.Event(test.event)
		if got := out.String(); got != test.want+"\n" {
			t.Errorf("%s: got %s want %s", test.event.Kind, got, test.want)
		}
	}
	if j.Err() != nil {
		t.Error(j.Err())
	}
}

// TestParseJSONReadsWhatJSONWrites requires that a read event gives the same line again.
func TestParseJSONReadsWhatJSONWrites(t *testing.T) {
	n1, n2 := algo.NodeID{15: 1}, algo.NodeID{15: 2}
	var first, again strings.Builder
	for _, e := range []trace.Event{
		{At: time.Millisecond, Node: n1, Kind: trace.Send, Peer: n2, Message: ballot{n1, 7}},
		{Node: n1, Kind: trace.Deliver, Peer: n2, Message: algo.Periodic{Message: ballot{n1, 7}}},
		{Node: n1, Kind: trace.SetTimer, Timer: "answer", Until: 5},
		{Node: n1, Kind: trace.Save, Epoch: 4},
		{Node: n1, Kind: trace.Announce, Leader: algo.Leader{Epoch: 3, ID: n2}},
		{Node: n1, Kind: trace.ConfigChanged, ConfigVersion: 9},
		{Node: n1, Kind: trace.Lost, Format: "%d events, 100%%", Args: []any{7}},
	} {
		first.Reset()
		trace.NewJSON(&first).Event(e)
		read, err := trace.ParseJSON([]byte(first.String()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Message != nil && (read.Message.Kind() != "ballot" || read.Peer != n2) {
			t.Errorf("read %+v of %s", read, first.String())
		}
		again.Reset()
		trace.NewJSON(&again).Event(read)
		if first.String() != again.String() {
			t.Errorf("read %s, wrote %s", first.String(), again.String())
		}
	}
}

func TestParseJSONRejects(t *testing.T) {
	for _, text := range []string{"", "no event", `{"at":"soon"}`, `{"node":"n1"}`, `{"leader":{"id":"n1"}}`} {
		if e, err := trace.ParseJSON([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
	for _, text := range []string{`{}`, `{"message":null,"epoch":null,"leader":null}`, `{"message":{"body":null}}`} {
		if e, err := trace.ParseJSON([]byte(text)); err != nil || e.Message != nil || e.Epoch != 0 || !e.Leader.IsVacant() {
			t.Errorf("%q is read as %+v, %v, want nothing", text, e, err)
		}
	}
}

type broken struct{ writes int }

var errBroken = errors.New("no more room")

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, errBroken
}

func TestJSONStopsAtFirstError(t *testing.T) {
	var b broken
	j := trace.NewJSON(&b)
	j.Event(trace.Event{Kind: trace.Note})
	j.Event(trace.Event{Kind: trace.Note})
	if !errors.Is(j.Err(), errBroken) || b.writes != 1 {
		t.Errorf("%d writes and the error %v, want 1 and %v", b.writes, j.Err(), errBroken)
	}
}
