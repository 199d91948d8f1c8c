package engine

import (
	"testing"
	"time"
)

func TestSetPriority(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	w.wantLeader(3)
	one := w.nodes[0]
	one.perform(one.engine.SetPriority(w.now, 7))
	w.run(20 * hop)
	w.wantLeader(1) // bully: the highest priority leads
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(1)); m.Priority != 7 {
			t.Errorf("%s knows n1 with priority %d, want 7", h.config.Self.Name, m.Priority)
		}
	}
	before := len(one.out)
	one.perform(one.engine.SetPriority(w.now, 7))
	if out := one.out[before]; len(out.Save)+len(out.Leaders) != 0 || out.ViewChanged {
		t.Errorf("the same priority again: %+v", out)
	}
}

// A priority that was set at run time lasts until the node restarts. Then its settings count.
func TestSetPriorityEndsWithProcess(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
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
	wants("set", 7)
	again(2)
	wants("restarted", 2)
	one.perform(one.engine.SetPriority(w.now, 7))
	again(5)
	wants("configured again", 5)
}

// A node joins with the priority that was set before.
func TestSetPriorityWhileJoining(t *testing.T) {
	w := newWorld(t)
	two := w.add(testMember(2), by(voteSpec(), joins(addr(1)))).start()
	two.perform(two.engine.SetPriority(w.now, 4))
	w.add(testMember(1), by(voteSpec())).start()
	w.run(3 * time.Second)
	if m, _ := w.nodes[1].engine.View().Member(id(2)); m.Priority != 4 {
		t.Errorf("n1 knows n2 with priority %d, want 4", m.Priority)
	}
}
