package trace_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

var update = flag.Bool("update", false, "rewrite the diagrams in testdata")

const T = 10 * time.Millisecond

// spec returns an algorithm with timeouts for a transit time of T. change changes its options; it may be nil.
func spec(t *testing.T, name string, change func(options any)) algo.Spec {
	t.Helper()
	spec, err := builtin.Registry()[name](algo.Timing{RoundTrip: 2 * T, Heartbeat: 12 * T}, func(options any) error {
		if change != nil {
			change(options)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func patient(options any) { options.(*bully.Options).SkipSuspected = false }

// names returns the names of the nodes of sim and explore.
func names(id algo.NodeID) string {
	for n := 1; n < 100; n++ {
		if id == sim.ID(n) || id == explore.NodeID(n) {
			return "n" + strconv.Itoa(n)
		}
	}
	return ""
}

// election draws the election of sim.Run, without the events before it.
func election(o sim.Options) func(*testing.T, *trace.Diagram) {
	return func(t *testing.T, d *trace.Diagram) {
		var events []trace.Event
		o.Trace = func(e trace.Event) { events = append(events, e) }
		r, err := sim.Run(t.Context(), o)
		if err != nil || len(r.Violations) > 0 {
			t.Fatal(err, r.Violations)
		}
		d.Names, d.Messages, d.Unit, d.UnitName, d.From = names, o.Spec.Messages, o.Delay.Most, "T", r.Began
		for _, e := range events {
			d.Event(e)
		}
	}
}

// violation draws a run of bully that ends with two leaders in one epoch.
func violation(t *testing.T, d *trace.Diagram) {
	d.Names, d.Unit, d.UnitName = names, 1, "step"
	found, err := explore.Run(t.Context(), explore.Options{
		Spec: spec(t, "bully", nil), Nodes: 3, FalseSuspicions: 1, Epochs: 3, Properties: []algo.Property{algo.OneLeaderPerEpoch},
	})
	if err != nil || len(found.Violations) == 0 {
		t.Fatal(err, found)
	}
	for _, e := range found.Violations[0].Trace {
		d.Event(e)
	}
}

// events draws the given events.
func events(all ...trace.Event) func(*testing.T, *trace.Diagram) {
	return func(t *testing.T, d *trace.Diagram) {
		d.Names = names
		for _, e := range all {
			d.Event(e)
		}
	}
}

var n1, n2, n3 = sim.ID(1), sim.ID(2), sim.ID(3)

func TestDiagrams(t *testing.T) {
	lossy := sim.Options{
		Spec: spec(t, "bully", patient), Nodes: 5, Crashed: 2, Initiators: []int{1, 2}, Seed: 3,
		Delay: sim.Uniform(T/10, T), Faults: sim.Faults{Loss: 0.15},
	}
	for _, test := range []struct {
		name string
		draw func(*testing.T, *trace.Diagram)
		d    trace.Diagram
	}{
		{"bully", election(sim.Options{
			Spec: spec(t, "bully", patient), Nodes: 3, Crashed: 1, Initiators: []int{1}, Delay: sim.Fixed(T),
		}), trace.Diagram{}},
		{"bully_lossy", election(lossy), trace.Diagram{}},
		{"bully_narrow", election(lossy), trace.Diagram{Width: 60, ASCII: true}},
		{"ring", election(sim.Options{
			Spec: spec(t, "ring", nil), Nodes: 4, Priorities: []int{2, 4, 1, 3}, Initiators: []int{1}, Delay: sim.Fixed(T),
		}), trace.Diagram{}},
		{"vote", election(sim.Options{Spec: spec(t, "vote", nil), Nodes: 3, Delay: sim.Fixed(T)}), trace.Diagram{All: true}},
		{"explore", violation, trace.Diagram{All: true}},
		// One message is lost, one is late and arrives twice, one is rejected, one does not arrive.
		{"fates", events(
			trace.Event{Node: n1, Kind: trace.Start},
			trace.Event{Node: n1, Kind: trace.Send, Peer: n2, Message: bully.Election{Epoch: 7}},
			trace.Event{Node: n1, Kind: trace.Send, Peer: n3, Message: bully.Election{Epoch: 7}},
			trace.Event{Node: n3, Kind: trace.Drop, Peer: n1, Message: bully.Election{Epoch: 7}, Format: "cut off"},
			trace.Event{At: 1500 * time.Microsecond, Node: n2, Kind: trace.Send, Peer: n1, Message: bully.Answer{Epoch: 1}},
			trace.Event{At: 2 * time.Millisecond, Node: n2, Kind: trace.Deliver, Peer: n1, Message: bully.Election{Epoch: 7}},
			trace.Event{At: 3 * time.Millisecond, Node: n2, Kind: trace.Deliver, Peer: n1, Message: bully.Election{Epoch: 7}},
			trace.Event{At: 3 * time.Millisecond, Node: n2, Kind: trace.Drop, Peer: n1, Message: bully.Election{Epoch: 7}, Format: "too old"},
			trace.Event{At: 4 * time.Millisecond, Node: n2, Kind: trace.Crash},
			trace.Event{At: 5 * time.Millisecond, Node: n2, Kind: trace.Restart, Epoch: 7},
			trace.Event{At: 5 * time.Millisecond, Node: n2, Kind: trace.Start, Epoch: 7},
			trace.Event{At: 6 * time.Millisecond, Node: n2, Kind: trace.Trust, Peer: n3, Format: "it was heard of"},
		), trace.Diagram{Width: 70}},
		{"nothing", events(), trace.Diagram{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.draw(t, &test.d)
			got := test.d.String()
			golden := filepath.Join("testdata", test.name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the diagram is\n%s\nwant\n%s\n(-update rewrites it)", got, want)
			}
		})
	}
}

// TestDiagramFitsItsWidth uses chaos runs, which contain all kinds of events.
func TestDiagramFitsItsWidth(t *testing.T) {
	spec := spec(t, "bully", nil)
	for _, nodes := range []int{1, 2, 5, 7} {
		var all []trace.Event
		_, err := sim.Chaos(t.Context(), sim.ChaosOptions{
			Spec: spec, Nodes: nodes, Seed: uint64(nodes), Period: 3 * time.Second,
			Trace: func(e trace.Event) { all = append(all, e) },
		})
		if err != nil {
			t.Fatal(err)
		}
		lanes := make(map[algo.NodeID]bool) // also of joining nodes
		for _, e := range all {
			lanes[e.Node] = true
		}
		for _, width := range []int{70, 80, 100, 200} {
			if width < 8*len(lanes) {
				continue // a lane has a minimum width
			}
			for _, ascii := range []bool{false, true} {
				draw := func() string {
					d := trace.Diagram{Names: names, Messages: spec.Messages, Width: width, ASCII: ascii}
					for _, e := range all {
						d.Event(e)
					}
					return d.String()
				}
				drawn := draw()
				if drawn != draw() {
					t.Fatalf("%d nodes, width %d: two drawings of the same events", nodes, width)
				}
				for line := range strings.Lines(drawn) {
					line = strings.TrimSuffix(line, "\n")
					columns := utf8.RuneCountInString(line)
					if columns > width {
						t.Fatalf("%d nodes: a line of %d columns, want at most %d:\n%s", nodes, columns, width, line)
					}
					if ascii && columns != len(line) {
						t.Fatalf("not in ASCII: %s", line)
					}
				}
			}
		}
	}
}
