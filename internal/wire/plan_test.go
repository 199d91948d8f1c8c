package wire

import (
	"reflect"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
)

type (
	odd struct {
		algo.Leader // an embedded struct is a field like any other
		Weights     map[int]string
		Pointer     *float32
		Ratio       float64
		Any         any
		Array       [4]byte
		Inner       struct{ Done chan bool }
		List        []func()
		hidden      int
		Plain       int    `wire:"max=3"`
		Zero        string `wire:"max=0"`
		Many        string `wire:"max=65536"`
		Word        string `wire:"min=3"`
		Twice       string `wire:"optional,optional"`
		Late        string `wire:"max=3,optional"`
		Address     uintptr
		Loop        loop
	}
	twin    struct{}
	shouted struct{}
	unnamed struct{}
	endless struct{}
	tree    struct{ Root node }
	node    struct{ Children []node }
	loop    []loop
	costly  struct {
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

func (odd) Kind() string     { return "odd" }
func (twin) Kind() string    { return "beat" }
func (shouted) Kind() string { return "Beat\n" }
func (unnamed) Kind() string { return "" }
func (endless) Kind() string { return strings.Repeat("x", 65) }
func (tree) Kind() string    { return "tree" }
func (costly) Kind() string  { return "costly" }
func (nested) Kind() string  { return "nested" }
func (bare) Kind() string    { return "bare" }
func (vast) Kind() string    { return "vast" }

func TestNewCodecReportsEveryProblem(t *testing.T) {
	_ = odd{}.hidden // it stands there to be refused
	_, err := NewCodec(heartbeat{}, odd{}, nil, &empty{}, twin{}, shouted{}, unnamed{}, endless{}, tree{})
	if err == nil {
		t.Fatal("NewCodec took everything")
	}
	const what = " (" + supported + ")"
	want := []string{
		`wire: wire.odd.Weights: map[int]string is not supported` + what,
		`wire: wire.odd.Pointer: *float32 is not supported` + what,
		`wire: wire.odd.Ratio: float64 is not supported` + what,
		`wire: wire.odd.Any: interface {} is not supported` + what,
		`wire: wire.odd.Array: [4]uint8 is not supported` + what,
		`wire: wire.odd.Inner.Done: chan bool is not supported` + what,
		`wire: wire.odd.List: func() is not supported` + what,
		`wire: wire.odd.hidden: is not exported, so its value would be lost`,
		`wire: wire.odd.Plain: tag "max=3": max is for strings and slices, not for int`,
		`wire: wire.odd.Zero: tag "max=0", want optional, or max= and a number from 1 to 65535`,
		`wire: wire.odd.Many: tag "max=65536", want optional, or max= and a number from 1 to 65535`,
		`wire: wire.odd.Word: tag "min=3", want optional, or max= and a number from 1 to 65535`,
		`wire: wire.odd.Twice: tag "optional,optional", want optional, or max= and a number from 1 to 65535`,
		`wire: wire.odd.Address: uintptr is not supported` + what,
		`wire: wire.odd.Address: follows an optional field, and is not optional itself`,
		`wire: wire.odd.Loop: wire.loop contains itself, which is not supported`,
		`wire: <nil> is a message, but no struct: pass messages by value`,
		`wire: *wire.empty is a message, but no struct: pass messages by value`,
		`wire: two messages of kind "beat": wire.heartbeat and wire.twin`,
		`wire: wire.shouted has kind "Beat\n", want 1 to 64 of a-z, 0-9, "-", "_" and "/"`,
		`wire: wire.unnamed has kind "", want 1 to 64 of a-z, 0-9, "-", "_" and "/"`,
		`wire: wire.endless has kind "` + strings.Repeat("x", 32) + `" and so on, 65 bytes, want 1 to 64 of a-z, 0-9, "-", "_" and "/"`,
		`wire: wire.tree.Root.Children: wire.node contains itself, which is not supported`,
	}
	if got := err.Error(); got != strings.Join(want, "\n") {
		t.Errorf("NewCodec reports\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// What people are shown is decoded as it can be shown.
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
