package algo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
)

func TestNodeIDText(t *testing.T) {
	id := algo.NodeID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x4d, 0xef, 0x80, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde}
	const text = "01234567-89ab-4def-8012-3456789abcde"
	if got := id.String(); got != text {
		t.Errorf("String() = %q, want %q", got, text)
	}
	for _, written := range []string{text, "01234567-89AB-4DEF-8012-3456789ABCDE"} {
		if got, err := algo.ParseNodeID(written); err != nil || got != id {
			t.Errorf("ParseNodeID(%q) = %v, %v", written, got, err)
		}
	}
	data, err := json.Marshal(map[algo.NodeID]algo.NodeID{id: id})
	if want := `{"` + text + `":"` + text + `"}`; err != nil || string(data) != want {
		t.Errorf("JSON %s, %v, want %s", data, err, want)
	}
	var back map[algo.NodeID]algo.NodeID
	if err := json.Unmarshal(data, &back); err != nil || back[id] != id {
		t.Errorf("from JSON %v, %v", back, err)
	}
}

func TestParseNodeIDRejects(t *testing.T) {
	for name, text := range map[string]string{
		"empty":           "",
		"short":           "01234567-89ab-4def-8012-3456789abcd",
		"half a byte":     "0",
		"long":            "01234567-89ab-4def-8012-3456789abcde0",
		"no dashes":       "0123456789ab4def80123456789abcde",
		"a dash too soon": "0123456-789ab-4def-8012-3456789abcde",
		"not hexadecimal": "g1234567-89ab-4def-8012-3456789abcde",
		"not in low half": "0g234567-89ab-4def-8012-3456789abcde",
		"braces":          "{01234567-89ab-4def-8012-3456789abcde}",
		"not of one byte": "0\u00e9234567-89ab-4def-8012-3456789abcd",
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := algo.ParseNodeID(text); err == nil || !strings.Contains(err.Error(), "a node id is a UUID") || !id.IsZero() {
				t.Errorf("ParseNodeID(%q) = %v, %v, want an error", text, id, err)
			}
			kept := algo.NodeID{1}
			if err := kept.UnmarshalText([]byte(text)); err == nil || kept != (algo.NodeID{1}) {
				t.Errorf("UnmarshalText(%q) leaves %v, %v", text, kept, err)
			}
		})
	}
}

func TestNodeIDsAreOrderedBytewise(t *testing.T) {
	low, high := algo.NodeID{0: 1, 15: 9}, algo.NodeID{0: 2}
	if low.Compare(high) >= 0 || high.Compare(low) <= 0 || low.Compare(low) != 0 {
		t.Errorf("%v is not below %v", low, high)
	}
	if !(algo.NodeID{}).IsZero() || low.IsZero() {
		t.Error("IsZero is not true for the zero value only")
	}
}

func FuzzParseNodeID(f *testing.F) {
	f.Add("01234567-89ab-4def-8012-3456789abcde")
	f.Add("01234567-89AB-4def-8012-3456789abcd")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := algo.ParseNodeID(text)
		if err != nil {
			return
		}
		if back, err := algo.ParseNodeID(id.String()); err != nil || back != id {
			t.Errorf("%q is read as %v, which is read as %v, %v", text, id, back, err)
		}
	})
}

func TestLeadersAreOrderedByEpochThenID(t *testing.T) {
	inOrder := []algo.Leader{
		{Epoch: 1}, {Epoch: 1, ID: algo.NodeID{1}}, {Epoch: 1, ID: algo.NodeID{2}}, {Epoch: 2}, {Epoch: 2, ID: algo.NodeID{1}},
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got, want := a.OlderThan(b), i < j; got != want {
				t.Errorf("%v older than %v: %v, want %v", a, b, got, want)
			}
		}
	}
	if !inOrder[3].IsVacant() || inOrder[4].IsVacant() {
		t.Error("Vacant is not true for leaders with a zero ID only")
	}
}
