package algo_test

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/elect-go/elect/algo"
)

// id is the ID of node i of these tests.
func id(i int) algo.NodeID { return algo.NodeID{15: byte(i)} }

func member(i, priority int, eligible bool) algo.Member {
	return algo.Member{ID: id(i), Name: fmt.Sprint(i), Priority: priority, Eligible: eligible}
}

func numbers(ids iter.Seq[algo.NodeID]) string {
	var all []byte
	for id := range ids {
		all = append(all, id[15])
	}
	return fmt.Sprint(all)
}

func TestMembersAreOrderedByEligibilityPriorityID(t *testing.T) {
	inOrder := []algo.Member{
		member(1, 9, false), member(8, 9, false), member(2, 0, true), member(7, 0, true), member(3, 1, true), member(6, 1, true),
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			got := a.Compare(b)
			if (got > 0) != (i > j) || (got == 0) != (i == j) {
				t.Errorf("%d compared with %d is %d", i, j, got)
			}
		}
	}
}

func TestAboveAndBelow(t *testing.T) {
	// From the lowest to the highest: 1, which is ineligible, then 2, 4, 5, and 3 by its priority.
	view := algo.NewView(1, member(5, 0, true), member(4, 0, true), member(3, 1, true), member(2, 0, true), member(1, 7, false))
	for _, tc := range []struct {
		of                   int
		above, below, others string
	}{
		{1, "[2 3 4 5]", "[]", "[2 3 4 5]"},
		{2, "[3 4 5]", "[1]", "[1 3 4 5]"},
		{3, "[]", "[1 2 4 5]", "[1 2 4 5]"},
		{4, "[3 5]", "[1 2]", "[1 2 3 5]"},
		{5, "[3]", "[1 2 4]", "[1 2 3 4]"},
		{6, "[]", "[]", "[]"}, // a non-member
	} {
		above, below, others := numbers(view.Higher(id(tc.of))), numbers(view.Lower(id(tc.of))), numbers(view.Others(id(tc.of)))
		if above != tc.above || below != tc.below || others != tc.others {
			t.Errorf("of %d: above %s, below %s, others %s, want %s, %s, %s", tc.of, above, below, others, tc.above, tc.below, tc.others)
		}
		for other := range 7 {
			want := slices.Contains(slices.Collect(view.Higher(id(tc.of))), id(other))
			if got := view.IsHigher(id(other), id(tc.of)); got != want {
				t.Errorf("IsAbove(%d, %d) = %v, want %v", other, tc.of, got, want)
			}
		}
	}
}

func TestIterationOverMembersMayEndEarly(t *testing.T) {
	view := algo.NewView(1, member(1, 0, true), member(2, 0, true), member(3, 0, true))
	for other := range view.Others(id(1)) {
		if other != id(2) {
			t.Errorf("the first other member is %d, want 2", other[15])
		}
		break
	}
}

func TestWitnessIsAboveNoMember(t *testing.T) {
	view := algo.NewView(1, member(1, 0, false), member(2, 0, false))
	if got := numbers(view.Higher(id(1))); got != "[]" {
		t.Errorf("members above a witness: %s, want none", got)
	}
	if got := numbers(view.Lower(id(1))); got != "[2]" {
		t.Errorf("members below a witness: %s, want all other witnesses", got)
	}
	if view.IsHigher(id(2), id(1)) || view.IsHigher(id(1), id(2)) {
		t.Error("one witness is above another")
	}
}

func TestSuccessorGoesAroundRing(t *testing.T) {
	view := algo.NewView(1, member(2, 0, true), member(4, 0, true), member(6, 0, true))
	for of, want := range map[int]int{2: 4, 4: 6, 6: 2} {
		if got := view.Successor(id(of)); got != id(want) {
			t.Errorf("Successor(%d) = %d, want %d", of, got[15], want)
		}
	}
	if got := algo.NewView(1, member(1, 0, true)).Successor(id(1)); got != id(1) {
		t.Errorf("alone, the successor is %v", got)
	}
}

func TestQuorum(t *testing.T) {
	for size, want := range []int{1, 1, 2, 2, 3, 3, 4, 4} {
		members := make([]algo.Member, size)
		for i := range members {
			members[i] = member(i+1, 0, true)
		}
		if got := algo.NewView(1, members...).Quorum(); got != want {
			t.Errorf("Quorum of %d = %d, want %d", size, got, want)
		}
	}
}

func TestSizeOfView(t *testing.T) {
	view := algo.NewView(3, member(1, 0, true), member(2, 0, true))
	if view.Version() != 3 || view.Len() != 2 || view.Quorum() != 2 {
		t.Errorf("view %d: %d members, quorum %d", view.Version(), view.Len(), view.Quorum())
	}
	var none algo.View
	if none.Len() != 0 || none.Contains(id(1)) || none.Index(id(1)) != -1 || none.IsEligible(id(1)) {
		t.Error("the zero view has members")
	}
	view = algo.NewView(3, member(1, 0, true), member(2, 0, false))
	if !view.IsEligible(id(1)) || view.IsEligible(id(2)) || view.IsEligible(id(3)) {
		t.Error("want n1 as the only eligible member")
	}
}

func TestViewIsImmutable(t *testing.T) {
	given := []algo.Member{member(2, 0, true), member(1, 0, true)}
	view := algo.NewView(1, given...)
	given[0].Name = "changed"
	for m := range view.All() {
		if m.Name == "changed" {
			t.Error("the view shares memory with its arguments")
		}
	}
	if given[1].ID != id(1) {
		t.Error("NewView sorts its arguments")
	}
}

func TestLastMemberWithSameIDCounts(t *testing.T) {
	view := algo.NewView(1, member(1, 1, true), member(2, 0, true), member(1, 2, true), member(1, 3, false))
	m, ok := view.Member(id(1))
	if !ok || view.Len() != 2 || m != member(1, 3, false) {
		t.Errorf("%d members, with %+v", view.Len(), m)
	}
	if _, ok := view.Member(id(3)); ok || view.Index(id(2)) != 1 || view.At(1).ID != id(2) {
		t.Error("members are not at their position in the order of IDs")
	}
}

func TestConfigIDs(t *testing.T) {
	members := []algo.Member{member(1, 0, true), member(2, 0, true)}
	view := algo.NewView(7, members...)
	if got := view.ConfigID(); got != (algo.ConfigID{Version: 7}) {
		t.Errorf("the config ID of view 7 is %v", got)
	}
	in := view.WithTerm(4)
	if in.ConfigID() != (algo.ConfigID{Term: 4, Version: 7}) || in.Len() != 2 || view.ConfigID().Term != 0 {
		t.Errorf("in epoch 4: %v, %d members", in.ConfigID(), in.Len())
	}
	if got := (algo.View{}).WithTerm(2).ConfigID(); got != (algo.ConfigID{Term: 2}) {
		t.Errorf("the config ID of an empty view is %v", got)
	}
	inOrder := []algo.ConfigID{{Term: 1, Version: 9}, {Term: 2, Version: 1}, {Term: 2, Version: 3}, {Term: 1 << 40}}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := a.OlderThan(b); got != (i < j) {
				t.Errorf("%v is older than %v: %v", a, b, got)
			}
		}
		early := algo.ConfigID{Version: 1 << 50}
		if a.OlderThan(early) || early.OlderThan(algo.ConfigID{}) || !early.OlderThan(a) {
			t.Errorf("%v and %v: a view that no leader has made must be older than all others, and none older than it", a, early)
		}
	}
}
