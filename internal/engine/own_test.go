package engine

import (
	"testing"
	"time"
)

func TestSetPriority(t *testing.T) {
	w := joined(t, 3)
	w.wantLeader(3)
	one := w.nodes[0]
	one.perform(one.engine.SetPriority(w.now, 7))
	w.run(20 * hop)
	w.wantLeader(1) // bully: the highest leads
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(1)); m.Priority != 7 {
			t.Errorf("%s knows n1 with priority %d, want 7", h.config.Self.Name, m.Priority)
		}
	}
	before := len(one.out)
	one.perform(one.engine.SetPriority(w.now, 7))
	if out := one.out[before]; len(out.Save)+len(out.Send) != 0 {
		t.Errorf("the same priority again: %+v", out)
	}
}

// The later decision counts: what was set, until the configuration changes.
func TestASetPriorityAndTheConfiguredOne(t *testing.T) {
	w := joined(t, 3)
	one := w.nodes[0]
	again := func(configured int) {
		one.crash()
		w.run(time.Second)
		one.config.Self.Priority = configured
		one.start()
		w.run(2 * time.Second)
	}
	wants := func(what string, priority int) {
		t.Helper()
		for _, h := range w.nodes {
			if m, _ := h.engine.View().Member(id(1)); m.Priority != priority {
				t.Errorf("%s: %s knows n1 with priority %d, want %d", what, h.config.Self.Name, m.Priority, priority)
			}
		}
	}
	again(2)
	wants("configured", 2)
	one.perform(one.engine.SetPriority(w.now, 7))
	w.run(time.Second)
	again(2)
	wants("set, then restarted", 7)
	again(5)
	wants("the configuration has changed since", 5)
	one.perform(one.engine.SetPriority(w.now, -3))
	again(5)
	wants("set again", -3)
	one.perform(one.engine.SetPriority(w.now, 5))
	again(5)
	wants("set back", 5)
	one.perform(one.engine.SetPriority(w.now, 9))
	again(6)
	wants("configured again", 6)
	again(5)
	wants("the configuration goes back, which is no reason to remember what was set before", 5)
	one.perform(one.engine.SetPriority(w.now, 9))
	one.perform(one.engine.ConfigurePriority(w.now, 8))
	w.run(time.Second)
	wants("configured while it runs", 8)
	again(8)
	wants("and restarted with that", 8)
	one.perform(one.engine.ConfigurePriority(w.now, 9))
	again(8)
	wants("configured while it runs, and back while it does not", 8)
}

// It is kept also by a node that is no member yet, and goes with its request.
func TestSetPriorityWhileJoining(t *testing.T) {
	w := newWorld(t)
	two := w.add(member(2), joins(addr(1))).start()
	two.perform(two.engine.SetPriority(w.now, 4))
	if len(two.out[len(two.out)-1].Save) != 1 {
		t.Errorf("it saves %v, want the priority", two.out[len(two.out)-1].Save)
	}
	w.add(member(1), nil).start()
	w.run(3 * time.Second)
	if m, _ := w.nodes[1].engine.View().Member(id(2)); m.Priority != 4 {
		t.Errorf("n1 knows n2 with priority %d, want 4", m.Priority)
	}
}
