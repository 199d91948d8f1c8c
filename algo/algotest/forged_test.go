package algotest

import (
	"reflect"
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

// A forged message differs from the original only in the changed values, and the original does not change.
func TestForgingLeavesMessage(t *testing.T) {
	sent := nested{Leader: algo.Leader{Epoch: 1, ID: algo.NodeID{1}}, IDs: []algo.NodeID{{2}, {3}}, Round: 4, Text: "x"}
	copied, ids := forged(sent, idType, func(_ int, v reflect.Value) { v.Set(reflect.ValueOf(algo.NodeID{9})) })
	want := nested{Leader: algo.Leader{Epoch: 1, ID: algo.NodeID{9}}, IDs: []algo.NodeID{{9}, {9}}, Round: 4, Text: "x"}
	if !reflect.DeepEqual(copied, want) || ids != 3 {
		t.Errorf("forged, with %d ids, it is %+v, want %+v with 3", ids, copied, want)
	}
	if sent.IDs[0] != (algo.NodeID{2}) {
		t.Errorf("what was sent has become %+v", sent)
	}
	copied, epochs := forged(sent, epochType, func(i int, v reflect.Value) { v.SetUint(uint64(i)) })
	if got := copied.(nested); epochs != 2 || got.Leader.Epoch != 0 || got.Round != 1 {
		t.Errorf("with its %d epochs numbered it is %+v, want those of the leader and of the round", epochs, got)
	}
}
