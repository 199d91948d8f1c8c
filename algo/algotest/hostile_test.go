package algotest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/elect-go/elect/algo"
)

type nested struct {
	Leader algo.Leader
	IDs    []algo.NodeID
	Round  algo.Epoch
	Text   string
}

func (nested) Kind() string { return "nested" }

// A forged message differs from what was sent where it is to, and what was sent stays.
func TestForgingLeavesTheMessage(t *testing.T) {
	sent := nested{Leader: algo.Leader{Epoch: 1, ID: algo.NodeID{1}}, IDs: []algo.NodeID{{2}, {3}}, Round: 4, Text: "x"}
	forged := changed(sent, func(_ string, v reflect.Value) {
		if v.Type() == idType {
			v.Set(reflect.ValueOf(algo.NodeID{9}))
		}
	})
	want := nested{Leader: algo.Leader{Epoch: 1, ID: algo.NodeID{9}}, IDs: []algo.NodeID{{9}, {9}}, Round: 4, Text: "x"}
	if !reflect.DeepEqual(forged, want) {
		t.Errorf("forged it is %+v, want %+v", forged, want)
	}
	if sent.IDs[0] != (algo.NodeID{2}) {
		t.Errorf("what was sent has become %+v", sent)
	}
	if got, want := fields(sent, epochType), []string{".Leader.Epoch", ".Round"}; !slices.Equal(got, want) {
		t.Errorf("its epochs are %q, want %q", got, want)
	}
}
