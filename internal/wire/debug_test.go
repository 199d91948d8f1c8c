package wire

import (
	"reflect"
	"strings"
	"testing"
)

// A client sanitizes the texts of a debug reply. Texts and lists beyond their limits are not encoded.
func TestDebugReplyIsSafe(t *testing.T) {
	c := NewClientCodec(strings.ToUpper)
	b, err := c.Append(nil, DebugReply{About: []DebugFact{{"a", "b"}}, Settings: []DebugFact{{"c", "d"}}, Events: []DebugEvent{{`"e"`}}, Recorded: 5, Next: 4})
	if err != nil {
		t.Fatal(err)
	}
	want := DebugReply{About: []DebugFact{{"A", "B"}}, Settings: []DebugFact{{"C", "D"}}, Events: []DebugEvent{{`"E"`}}, Recorded: 5, Next: 4}
	if got, err := c.Decode(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Decode = %+v, %v, want %+v", got, err, want)
	}
	for _, long := range []DebugReply{
		{About: []DebugFact{{Name: strings.Repeat("x", MaxDebugName+1)}}},
		{Settings: make([]DebugFact, MaxDebugFacts+1)},
		{Settings: []DebugFact{{Value: strings.Repeat("x", 2049)}}},
		{Events: []DebugEvent{{strings.Repeat("x", 4097)}}},
		{Events: make([]DebugEvent, 513)},
	} {
		if b, err := c.Append(nil, long); err == nil {
			t.Errorf("%d bytes are encoded, want an error", len(b))
		}
	}
}
