package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// "Views merge the same way whatever the order of arrival."
func TestRostersMergeTheSameWhateverTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strict := rapid.Bool().Draw(t, "strict")
		entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Entry {
			node := rapid.IntRange(1, 6).Draw(t, "node")
			return Entry{
				ID: id(node), Name: fmt.Sprintf("n%d", node%4), // some share a seat
				Addr:     addr(node % 4),
				Priority: rapid.IntRange(0, 1).Draw(t, "priority"), Eligible: rapid.Bool().Draw(t, "eligible"),
				Version: rapid.Uint64Range(1, 4).Draw(t, "version"), Gone: rapid.Bool().Draw(t, "gone"),
			}
		}), 0, 20).Draw(t, "entries")
		merge := func(entries []Entry) *roster {
			r := &roster{cluster: id(99), strict: strict}
			for _, e := range entries {
				r.put(e)
			}
			r.rebuild()
			return r
		}
		// Some go to one node and some to another, which then exchange rosters.
		a, b := merge(entries), &roster{}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 3 {
			doubled := slices.Concat(entries, entries)
			random.Shuffle(len(doubled), func(i, j int) { doubled[i], doubled[j] = doubled[j], doubled[i] })
			b = merge(doubled)
			if !slices.Equal(a.entries, b.entries) || a.digest != b.digest || a.view.Number() != b.view.Number() {
				t.Fatalf("%+v\nand\n%+v", a.entries, b.entries)
			}
			half := random.IntN(len(entries) + 1)
			left, right := merge(entries[:half]), merge(entries[half:])
			if both := merge(slices.Concat(left.entries, right.entries)); !slices.Equal(both.entries, a.entries) {
				t.Fatalf("apart, then together: %+v, want %+v", both.entries, a.entries)
			}
		}
		if !slices.IsSortedFunc(a.entries, func(x, y Entry) int { return x.ID.Compare(y.ID) }) {
			t.Fatal("not sorted")
		}
	})
}

// The digest tells any two rosters apart that differ in anything.
func TestTheDigestCoversEverything(t *testing.T) {
	base := Roster{Cluster: id(9), Size: 3, Entries: []Entry{{ID: id(1), Name: "n1", Addr: "a:1", Version: 1}}}
	seen := map[uint64]string{sum(base): "nothing"}
	for what, change := range map[string]func(*Roster, *Entry){
		"cluster":  func(r *Roster, _ *Entry) { r.Cluster = id(8) },
		"size":     func(r *Roster, _ *Entry) { r.Size = 4 },
		"epoch":    func(r *Roster, _ *Entry) { r.Epoch = 4 },
		"number":   func(r *Roster, _ *Entry) { r.Number = 4 },
		"confirm":  func(r *Roster, _ *Entry) { r.Confirmed = true },
		"id":       func(_ *Roster, e *Entry) { e.ID = id(2) },
		"name":     func(_ *Roster, e *Entry) { e.Name = "n1a" },
		"both":     func(_ *Roster, e *Entry) { e.Name, e.Addr = "n1a", ":1" },
		"addr":     func(_ *Roster, e *Entry) { e.Addr = "b:1" },
		"priority": func(_ *Roster, e *Entry) { e.Priority = 1 },
		"eligible": func(_ *Roster, e *Entry) { e.Eligible = true },
		"version":  func(_ *Roster, e *Entry) { e.Version = 2 },
		"gone":     func(_ *Roster, e *Entry) { e.Gone = true },
		"entries":  func(r *Roster, _ *Entry) { r.Entries = nil },
	} {
		r := base
		r.Entries = slices.Clone(base.Entries)
		change(&r, &r.Entries[0])
		digest := sum(r)
		if other, taken := seen[digest]; taken || digest == 0 {
			t.Errorf("a change of %s and one of %s have one digest", what, other)
		}
		seen[digest] = what
	}
}

func TestSupersedesIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Entry {
			return Entry{
				Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, name), Addr: rapid.SampledFrom([]string{"a", "b"}).Draw(t, name),
				Priority: rapid.IntRange(0, 1).Draw(t, name), Eligible: rapid.Bool().Draw(t, name),
				Gone: rapid.Bool().Draw(t, name), Version: rapid.Uint64Range(0, 1).Draw(t, name),
			}
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		if a != b && a.supersedes(b) == b.supersedes(a) || a == b && a.supersedes(b) {
			t.Fatalf("%+v and %+v: neither or both", a, b)
		}
		if a.supersedes(b) && b.supersedes(c) && !a.supersedes(c) {
			t.Fatalf("%+v > %+v > %+v, but not the first above the last", a, b, c)
		}
	})
}

// Any interleaving of joins, crashes, restarts, resignations and partitions ends in one
// view and one leader, once it is healed.
func TestMembershipsConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.add(member(1), nil).start()
		w.run(10 * ms)
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			h := w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")]
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				if len(w.nodes) < 7 {
					w.add(member(len(w.nodes)+1), joins(addr(1), h.config.Self.Addr)).start()
				}
			case 2:
				if h.up {
					h.crash()
				}
			case 3:
				if !h.up {
					h.start()
				}
			case 4:
				if h.up {
					h.perform(h.engine.Resign(w.now, timeout))
				}
			case 5:
				other := w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(t, "other")]
				w.cut[[2]string{h.config.Self.Name, other.config.Self.Name}] = true
			case 6:
				clear(w.cut)
			}
			w.run(time.Duration(rapid.SampledFrom([]int{0, 1, 5, 300}).Draw(t, "wait")) * ms)
		}
		clear(w.cut)
		for _, h := range w.nodes {
			if !h.up {
				h.start()
			}
		}
		w.run(30 * timeout)
		var all []int
		for i := range w.nodes {
			all = append(all, i+1)
		}
		w.wantView(all...)
		w.wantLeader(len(all))

	})
}

// Who moves to a seat that is taken by a later life is no member any more.
func TestWhoMovesToATakenSeat(t *testing.T) {
	r := &roster{}
	r.put(Entry{ID: id(1), Name: "a", Addr: "a:1", Version: 1})
	r.put(Entry{ID: id(2), Name: "b", Addr: "b:1", Version: 5})
	if !r.put(Entry{ID: id(1), Name: "b", Addr: "b:1", Version: 2}) || len(r.entries) != 1 || r.entries[0].ID != id(2) {
		t.Errorf("the entries are %+v, want that of n2", r.entries)
	}
	if r.put(Entry{ID: id(1), Name: "b", Addr: "b:1", Version: 2}) {
		t.Error("it changes something a second time")
	}
}
