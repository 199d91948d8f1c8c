package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// says has one member tell all others something, as if they had heard it on its connection.
func (w *world) says(liar int, m algo.Message) {
	for _, h := range w.nodes {
		if h.up && h.config.Self.ID != id(liar) {
			h.perform(h.engine.Receive(w.now, id(liar), m))
		}
	}
}

// What one member may say that is not so. Each is said again and again for a while.
var lies = map[string]func(r Roster, i int) algo.Message{
	"a number far ahead": func(r Roster, i int) algo.Message { r.Number += 1 << 33; return r },
	"the farthest number that is believed": func(r Roster, i int) algo.Message {
		r.Number += algo.MaxEpochLead
		return r
	},
	"an epoch far ahead":                  func(r Roster, i int) algo.Message { r.Epoch += 1 << 40; return r },
	"the farthest epoch that is believed": func(r Roster, i int) algo.Message { r.Epoch += algo.MaxEpochLead; return r },
	"the last epoch":                      func(r Roster, i int) algo.Message { r.Epoch = 1<<64 - 2; return r },
	"a roster without the leader":         func(r Roster, i int) algo.Message { return lieAbout(r, without(4)) },
	"a roster of itself alone":            func(r Roster, i int) algo.Message { return lieAbout(r, without(1, 2, 4, 5)) },
	"a roster in which nobody may lead": func(r Roster, i int) algo.Message {
		return lieAbout(r, func(e *Entry) bool { e.Eligible = false; return true })
	},
	"other addresses of all": func(r Roster, i int) algo.Message {
		return lieAbout(r, func(e *Entry) bool { e.Addr = fmt.Sprintf("elsewhere:%d", e.ID[15]); return true })
	},
	"that all hold what they do not": func(r Roster, i int) algo.Message { return Held{Epoch: r.Epoch, Number: r.Number + 1} },
	"that all are turned away":       func(r Roster, i int) algo.Message { return Reject{Reason: "go away"} },
	"who should join": func(r Roster, i int) algo.Message {
		return Propose{Entry: Entry{ID: id(100 + i), Name: fmt.Sprintf("x%d", i), Addr: fmt.Sprintf("nowhere:%d", i), Eligible: true}}
	},
	"that another has resigned": func(r Roster, i int) algo.Message { return Stand{Resigned: i%2 == 0, Count: uint64(i)} },
	"what makes it the first of all": func(r Roster, i int) algo.Message {
		e := r.Entries[2]
		e.Priority = math.MaxInt
		return Propose{Entry: e}
	},
}

func lieAbout(r Roster, about func(e *Entry) bool) Roster {
	r.Number++
	r.Entries = slices.DeleteFunc(slices.Clone(r.Entries), func(e Entry) bool { return !about(&e) })
	for i := range r.Entries {
		about(&r.Entries[i])
	}
	return r
}

func without(who ...int) func(*Entry) bool {
	return func(e *Entry) bool { return !slices.ContainsFunc(who, func(i int) bool { return e.ID == id(i) }) }
}

// Whatever one member says, it can be removed, and the others agree and have a leader again.
func TestALiarCanBeRemoved(t *testing.T) {
	const liar = 3
	for _, what := range slices.Sorted(maps.Keys(lies)) {
		t.Run(what, func(t *testing.T) {
			w := joined(t, 5)
			r := w.node(liar).engine.rosters.Roster()
			for i := range 20 {
				w.says(liar, lies[what](r, i))
				w.run(200 * ms)
			}
			for _, h := range w.nodes {
				if !h.up {
					t.Fatalf("%s has stopped: removed %v, rejected %q", h.config.Self.Name, h.removed, h.rejected)
				}
			}
			w.run(5 * time.Second)
			if err := w.remove(1, liar); err != nil {
				t.Fatal(err)
			}
			w.run(30 * time.Second)
			if w.node(liar).up {
				t.Errorf("the liar lives")
			}
			digests, leaders := map[uint64]bool{}, map[algo.Leader]bool{}
			for _, h := range w.nodes {
				if h != w.node(liar) {
					digests[h.engine.Digest()], leaders[h.leader] = true, true
					if !h.up || h.engine.View().Contains(id(liar)) || h.leader.Vacant() {
						t.Errorf("%s: up %v, follows %v, has %v", h.config.Self.Name, h.up, h.leader, h.engine.View())
					}
				}
			}
			if len(digests) != 1 || len(leaders) != 1 {
				t.Errorf("the others do not agree: they follow %v and have %d memberships", slices.Collect(maps.Keys(leaders)), len(digests))
			}
		})
	}
}

// Who was not told the lie hears of it from the leader, as one number more than it believes.
func TestTheFarthestNumberIsOvercome(t *testing.T) {
	w := joined(t, 4)
	leader := w.node(4)
	r := leader.engine.rosters.Roster()
	r.Number += algo.MaxEpochLead
	leader.perform(leader.engine.Receive(w.now, id(3), r))
	leader.perform(leader.engine.SetPriority(w.now, 1))
	w.run(10 * time.Second)
	w.wantView(1, 2, 3, 4)
	before := w.refused()
	if w.run(10 * time.Second); w.refused() != before {
		t.Error("messages are still refused")
	}
}

// What a member says of another's end counts when it says it again, and nobody whom it leaves in
// contradicts. One that says it of all, and goes on saying it, ends all where no majority is needed.
func TestWhatALiarCanEnd(t *testing.T) {
	const liar = 3
	var w *world
	ends := func(frames int, struck ...int) (down int) {
		w = joined(t, 5)
		r := lieAbout(w.node(liar).engine.rosters.Roster(), without(struck...))
		for _, i := range struck {
			r.Strikes = append(r.Strikes, id(i))
		}
		for range frames {
			for _, i := range struck {
				if h := w.node(i); h.up {
					h.perform(h.engine.Receive(w.now, id(liar), r))
				}
			}
			w.run(1100 * ms)
		}
		w.run(10 * time.Second)
		for _, h := range w.nodes {
			if !h.up {
				down++
			}
		}
		return down
	}
	if got := ends(1, 1, 2, 4, 5); got != 0 {
		t.Errorf("%d have stopped at one frame each", got)
	}
	if got := ends(10, 1); got != 0 {
		t.Errorf("%d have stopped though the others contradict", got)
	}
	if got := ends(10, 1, 2, 4, 5); got != 4 {
		t.Errorf("%d have stopped that all were told so, want 4: what the guarantees say of it is to be changed", got)
	}
	w.node(liar).crash()
	for _, i := range []int{1, 2, 4, 5} {
		if h := w.node(i); !h.up {
			h.start()
		}
	}
	w.run(10 * time.Second)
	w.wantView(1, 2, 3, 4, 5)
	w.wantLeader(5)
}

// met is a fixed set whose members have met, and of which no leader has made a roster.
func met(t *testing.T, size int) *world {
	w := newWorld(t)
	for i := range size {
		w.add(testMember(i+1), fixed(size)).start()
	}
	w.run(3 * time.Second)
	if r := w.node(1).engine.rosters.Roster(); r.Epoch != 0 || r.Unmet != 0 {
		t.Fatalf("it has %+v, want one without a stamp and without empty seats", r)
	}
	return w
}

// A stranger changes nothing, whatever it says.
func TestAStrangerChangesNothing(t *testing.T) {
	for name, w := range map[string]*world{
		"joined": joined(t, 3), "a fixed set": met(t, 3),
	} {
		before, leader := w.node(1).engine.Digest(), w.node(1).leader
		r := w.node(1).engine.rosters.Roster()
		// Of a fixed set the rosters are put together if they have as many members.
		instead := lieAbout(r, func(e *Entry) bool { e.Addr = "x" + e.Addr; return e.ID != id(3) })
		instead.Number = r.Number
		instead.Entries = append(instead.Entries, Entry{ID: id(9), Name: "x", Addr: "x:1", Eligible: true})
		theirs := r
		theirs.Entries = append(slices.Clone(r.Entries), Entry{ID: id(9), Name: "x", Addr: "x:1", Eligible: true})
		for i := range 20 {
			for _, what := range slices.Sorted(maps.Keys(lies)) {
				for _, base := range []Roster{r, theirs} {
					w.says(9, lies[what](base, i))
				}
			}
			w.says(9, instead)
			w.run(100 * ms)
		}
		w.run(5 * time.Second)
		w.wantView(1, 2, 3)
		if w.node(1).engine.Digest() != before || w.node(1).leader != leader {
			t.Errorf("%s: another roster, or another leader: %v", name, w.node(1).leader)
		}
	}
}

// A leader that says goodbye and stays is believed until its next frame: without that its cluster elects
// for ever.
func TestAGoodbyeThatIsNone(t *testing.T) {
	w := joined(t, 3)
	w.wantLeader(3)
	w.says(3, Goodbye{})
	w.run(20 * time.Second)
	w.wantLeader(3)
	before := w.node(1).leader
	if w.run(20 * time.Second); w.node(1).leader != before {
		t.Errorf("%v leads after %v", w.node(1).leader, before)
	}
}
