package explore

import (
	"reflect"
	"testing"

	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/driver"
)

// Every field of a node state changes its fingerprint. Add new fields to this test and to
// internNode.
func TestFingerprintCoversNodeState(t *testing.T) {
	spec, err := bully.New(bully.Options{AnswerTimeout: 20, CoordinatorTimeout: 40, AnnounceInterval: 100})
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(&Options{Spec: spec, View: NewView(2)})
	started := m.outcome(m.internNode(nodeState{}), starts, 0).node
	changes := map[string]func(*nodeState){
		"node":  func(l *nodeState) { l.node = 1 },
		"phase": func(l *nodeState) { l.phase = down },
		"machine": func(l *nodeState) {
			l.machine = l.machine.Clone()
			l.machine.Step(driver.Event{Kind: driver.EventSuspect, Peer: NodeID(2)})
		},
		"saved":            func(l *nodeState) { l.saved.Extra = "x" },
		"leader":           func(l *nodeState) { l.leader.Epoch++ },
		"timers":           func(l *nodeState) { l.timers = l.timers.change([]driver.TimerChange{{Timer: "more", Max: 1}}) },
		"monitored":        func(l *nodeState) { l.monitored = 0xf },
		"suspected":        func(l *nodeState) { l.suspected = 0xf },
		"missed":           func(l *nodeState) { l.missed = 0xf },
		"highestAnnounced": func(l *nodeState) { l.highestAnnounced++ },
	}
	seen := map[uint32]string{started: "nothing"}
	for field := range reflect.TypeFor[nodeState]().Fields() {
		change, ok := changes[field.Name]
		if !ok {
			if field.Name != "fingerprint" && field.Name != "expiries" { // which the other fields determine
				t.Errorf("field %s is not tested", field.Name)
			}
			continue
		}
		l := m.nodes[started]
		change(&l)
		number := m.internNode(l)
		if other, ok := seen[number]; ok {
			t.Errorf("a change of %s gives the same node as a change of %s", field.Name, other)
		}
		seen[number] = field.Name
	}
}
