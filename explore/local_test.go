package explore

import (
	"reflect"
	"testing"

	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/driver"
)

// Whatever a node contributes to a state counts. A field that is added has to be added
// here, and then to intern.
func TestEveryFieldOfANodeCounts(t *testing.T) {
	spec, err := bully.New(bully.Options{AnswerTimeout: 20, CoordinatorTimeout: 40, AnnounceInterval: 100})
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(&Options{Spec: spec, View: NewView(2)})
	begun := m.outcome(m.intern(local{}), starts, 0).local
	changes := map[string]func(*local){
		"node":  func(l *local) { l.node = 1 },
		"phase": func(l *local) { l.phase = down },
		"machine": func(l *local) {
			l.machine = l.machine.Clone()
			l.machine.Step(driver.Event{Kind: driver.EventSuspect, Peer: NodeID(2)})
		},
		"saved":     func(l *local) { l.saved.Extra = "x" },
		"leader":    func(l *local) { l.leader.Epoch++ },
		"timers":    func(l *local) { l.timers = l.timers.change([]driver.TimerChange{{Timer: "more", Max: 1}}) },
		"watched":   func(l *local) { l.watched = 0xf },
		"suspected": func(l *local) { l.suspected = 0xf },
		"missed":    func(l *local) { l.missed = 0xf },
		"told":      func(l *local) { l.told++ },
	}
	seen := map[uint32]string{begun: "nothing"}
	for field := range reflect.TypeFor[local]().Fields() {
		change, ok := changes[field.Name]
		if !ok {
			if field.Name != "print" && field.Name != "expiries" { // which follow from the others
				t.Errorf("%s is not tried", field.Name)
			}
			continue
		}
		l := m.locals[begun]
		change(&l)
		number := m.intern(l)
		if other, ok := seen[number]; ok {
			t.Errorf("another %s makes the same node as another %s", field.Name, other)
		}
		seen[number] = field.Name
	}
}
