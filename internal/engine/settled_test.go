package engine

import (
	"slices"
	"testing"

	"github.com/elect-go/elect/trace"
)

func settled(size int) Roster {
	r := Roster{Cluster: id(99)}
	for i := range size {
		m := member(i + 1)
		r.Entries = append(r.Entries, Entry{ID: m.ID, Name: m.Name, Addr: m.Addr, Eligible: true, Version: 1})
	}
	return r
}

// TestSettledIsLikeItsRoster: the same first Output, view and digest.
func TestSettledIsLikeItsRoster(t *testing.T) {
	record := settled(3)
	loaded, shared := solo(t, nil, record), solo(t, nil, Settle(record))
	one, other := loaded.Start(0), shared.Start(0)
	if len(one.Send) == 0 || !slices.Equal(one.Send, other.Send) || !slices.Equal(one.Leaders, other.Leaders) || len(one.Save) != len(other.Save) {
		t.Errorf("with a Settled: %+v\nwith its Roster: %+v", other, one)
	}
	if loaded.Digest() != shared.Digest() || loaded.View().Number() != shared.View().Number() || shared.View().Len() != 3 {
		t.Errorf("with a Settled: view %d of %d members, want view %d of 3", shared.View().Number(), shared.View().Len(), loaded.View().Number())
	}
}

// TestAChangeOfOneDoesNotShowInOthers: who shares a Settled has its own after a change,
// and tells it to all.
func TestAChangeOfOneDoesNotShowInOthers(t *testing.T) {
	s := Settle(settled(3))
	var events []trace.Event
	one, other := solo(t, traced(&events), s), solo(t, nil, s)
	one.Start(0)
	other.Start(0)
	before := other.Digest()
	out := one.Resign(ms, 1000*ms)
	told := map[byte]bool{}
	for _, e := range out.Send {
		if _, ok := e.Message.(Roster); ok {
			told[e.To[15]] = true
		}
	}
	if !told[2] || !told[3] {
		t.Errorf("told %v, want n2 and n3", told)
	}
	if m, _ := one.View().Member(id(1)); m.Eligible || one.Digest() == before {
		t.Errorf("n1 resigned and has the entry %+v", m)
	}
	if m, _ := other.View().Member(id(1)); !m.Eligible || other.Digest() != before {
		t.Errorf("the other engine has the entry %+v", m)
	}
	if again := solo(t, nil, s); again.Digest() != before {
		t.Error("the Settled changed")
	}
}
