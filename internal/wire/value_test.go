package wire

import (
	"reflect"
	"strings"
	"testing"
)

// The messages of the test that decoding allocates in proportion to the input.
type (
	costly struct {
		Few  []string `wire:"max=2"`
		Many []string
	}
	nested  struct{ Outer []struct{ Inner []int } }
	bare    struct{ Outer [][]int }
	vast    struct{ One, Two, Three chapter }
	chapter struct{ A, B, C, D letters }
	letters struct {
		A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X, Y, Z string
	}
)

func (costly) Kind() string { return "costly" }
func (nested) Kind() string { return "nested" }
func (bare) Kind() string   { return "bare" }
func (vast) Kind() string   { return "vast" }

// A client sanitizes all texts of a reply.
func TestClientCodecSanitizesText(t *testing.T) {
	c := NewClientCodec(strings.ToUpper)
	b, err := c.Append(nil, StatusReply{Cluster: "a", Members: []StatusMember{{Name: "n", Meta: []StatusMeta{{"k", "v"}}}}, OtherLists: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	want := StatusReply{Cluster: "A", Members: []StatusMember{{Name: "N", Meta: []StatusMeta{{"K", "V"}}}}, OtherLists: []string{"X"}}
	if got, err := c.Decode(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Decode = %+v, %v, want %+v", got, err, want)
	}
}
