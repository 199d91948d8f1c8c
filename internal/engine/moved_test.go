package engine

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// All members move to new addresses, one after the other or at once. They find each other by the addresses in their new
// settings.
func TestAllMembersMove(t *testing.T) {
	seeds := func(addrs ...string) func(*Config) { return func(c *Config) { c.Join = addrs } }
	list := []string{addr(51), addr(52), addr(53)}
	for name, spec := range map[string]algo.Spec{"bully": bullySpec(), "vote": voteSpec()} {
		hows := map[string]func(*Config){"list": func(c *Config) { c.List = list }}
		if spec.Claims.NeedsQuorum {
			hows["one"], hows["all"] = seeds(list[0]), seeds(list...)
		}
		for how, named := range hows {
			for _, gap := range []time.Duration{0, 400 * ms} {
				w := newCluster(t, spec, 3)
				for _, h := range w.nodes {
					h.crash()
				}
				w.run(time.Second)
				for i, h := range w.nodes {
					h.config.Self.Addr, h.config.Join = addr(51+i), nil
					named(&h.config)
					h.start()
					w.run(gap)
				}
				w.run(15 * time.Second)
				w.wantView(1, 2, 3)
				for i, h := range w.nodes {
					if m, _ := w.node(1).engine.View().Member(id(i + 1)); h.leader.IsVacant() || h.leader != w.node(1).leader || m.Addr != addr(51+i) {
						t.Errorf("%s, named %s, %v apart: n%d at %s follows %v", name, how, gap, i+1, m.Addr, h.leader)
					}
				}
			}
		}
	}
}

// A node that has created a cluster continues alone if its first joiner crashes at any moment, and adds it again when
// it returns, unless the joiner is in a committed config: a quorum of two members needs both.
func TestFirstJoinerCrashesAtAnyMoment(t *testing.T) {
	outcomes := map[bool]int{}
	for after := time.Duration(0); after < 30*ms; after += ms {
		w := newCluster(t, voteSpec(), 1)
		joiner := w.add(testMember(2), by(voteSpec(), joins(addr(1)))).start()
		w.run(after)
		one := w.node(1)
		needsGuest := one.engine.View().Len() == 2 && one.engine.Committed()
		outcomes[needsGuest]++
		joiner.crash()
		w.run(5 * time.Second)
		if needsGuest {
			w.wantView(1, 2)
			w.wantLeader(0)
		} else {
			w.wantView(1)
			w.wantLeader(1)
		}
		if !one.engine.Committed() {
			t.Errorf("after %v: n1 holds an uncommitted config", after)
		}
		joiner.start()
		w.run(5 * time.Second)
		w.wantView(1, 2)
		w.wantCommitted()
		if leader := one.leader; leader.IsVacant() || joiner.leader != leader {
			t.Errorf("after %v: n1 follows %v, n2 %v", after, leader, joiner.leader)
		}
	}
	if outcomes[true] < 3 || outcomes[false] < 3 {
		t.Errorf("n1 needs its joiner %d times, and %d times not: the test shows too little", outcomes[true], outcomes[false])
	}
}

// Two of five members die, just when the leader writes the removal of a third, live one. The leader rolls the removal
// back, even if it restarts or another node starts an election before: three of five live.
func TestAuthorRollsBackChange(t *testing.T) {
	for name, then := range map[string]func(w *world){
		"it starts again": func(w *world) {
			w.node(1).crash()
			w.node(1).start()
		},
		"it starts again late": func(w *world) {
			w.node(1).crash()
			w.run(20 * time.Second)
			w.node(1).start()
		},
		"another calls an election": func(w *world) { w.node(2).perform(w.node(2).engine.Campaign(w.now)) },
	} {
		w := newCluster(t, voteSpec(), 5)
		w.wantLeader(1)
		w.node(3).crash()
		w.node(4).crash()
		if err := w.remove(1, 5); err != nil {
			t.Fatal(err)
		}
		w.run(hop / 2)
		then(w)
		w.node(1).engine.CancelRemove(w.now, id(5))
		w.run(10 * time.Second)
		l := w.node(1).leader
		if l.IsVacant() || l != w.node(2).leader || l != w.node(5).leader {
			t.Errorf("%s: they follow %v, %v and %v", name, l, w.node(2).leader, w.node(5).leader)
		}
		w.node(3).start()
		w.node(4).start()
		w.run(10 * time.Second)
		w.wantView(1, 2, 3, 4, 5)
	}
}

// A known limit: three of seven members are down, among them the author of an uncommitted removal. Of the six members
// that remain three live, which is no quorum, and only the author may roll the removal back.
func TestUncommittedChangeWithoutAuthorBlocks(t *testing.T) {
	w := newCluster(t, voteSpec(), 7)
	w.wantLeader(1)
	w.node(5).crash()
	w.node(6).crash()
	w.cutOff(1, 2)
	if err := w.remove(1, 7); err != nil {
		t.Fatal(err)
	}
	w.run(2 * hop)
	w.node(1).crash()
	w.run(20 * time.Second)
	for _, i := range []int{2, 3, 4, 7} {
		if l := w.node(i).leader; !l.IsVacant() {
			t.Errorf("n%d follows %v: the limitation is gone, so change the guarantees", i, l)
		}
	}
	clear(w.cut)
	w.node(1).start()
	w.run(10 * time.Second)
	w.wantLeader(1)
	if l := w.node(2).leader; l != w.node(1).leader || !w.node(7).removed {
		t.Errorf("with n1, which leads in %v, n2 follows %v, and n7 was removed: %v", w.node(1).leader, l, w.node(7).removed)
	}
}
