package algo_test

import (
	"slices"
	"testing"

	"github.com/elect-go/elect/algo"
)

func TestSetIsSorted(t *testing.T) {
	id := func(i byte) algo.NodeID { return algo.NodeID{15: i} }
	var s algo.Set
	for _, i := range []byte{3, 1, 2} {
		if !s.Add(id(i)) || s.Add(id(i)) {
			t.Errorf("%d is not new once", i)
		}
	}
	if want := (algo.Set{id(1), id(2), id(3)}); !slices.Equal(s, want) {
		t.Errorf("added: %v, want %v", s, want)
	}
	if !s.Remove(id(2)) || s.Remove(id(2)) || s.Has(id(2)) || !s.Has(id(3)) {
		t.Errorf("2 was not removed once: %v", s)
	}
	s.Retain(algo.Set{id(3), id(4)})
	if want := (algo.Set{id(3)}); !slices.Equal(s, want) {
		t.Errorf("kept: %v, want %v", s, want)
	}
	if s.Retain(nil); len(s) != 0 || s.Has(id(3)) {
		t.Errorf("after Retain(nil): %v", s)
	}
}
