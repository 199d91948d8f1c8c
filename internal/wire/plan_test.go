package wire

import (
	"bytes"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

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
	loop    []*loop
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

func TestNewCodecReportsAllMistakesAtOnce(t *testing.T) {
	_ = odd{}.hidden // it stands there to be refused
	_, err := NewCodec(heartbeat{}, odd{}, nil, &empty{}, twin{}, shouted{}, unnamed{}, endless{}, tree{})
	if err == nil {
		t.Fatal("NewCodec took everything")
	}
	const what = " (" + supported + ")"
	want := []string{
		`wire: wire.odd.Weights: map[int]string is not supported` + what,
		`wire: wire.odd.Pointer: float32 is not supported` + what,
		`wire: wire.odd.Ratio: float64 is not supported` + what,
		`wire: wire.odd.Any: interface {} is not supported` + what,
		`wire: wire.odd.Array: [4]uint8 is not supported` + what,
		`wire: wire.odd.Inner.Done: chan bool is not supported` + what,
		`wire: wire.odd.List: func() is not supported` + what,
		`wire: wire.odd.hidden: is not exported, so its value would be lost`,
		`wire: wire.odd.Plain: tag "max=3": max is for strings, slices and maps, not for int`,
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

// shelf has what travels as a list, and a time.
type shelf struct {
	At    time.Time
	One   *algo.NodeID
	Sizes map[string]uint64 `wire:"max=2"`
	Other map[string]member
}

func (shelf) Kind() string { return "shelf" }

func TestPointersAndMapsAreLists(t *testing.T) {
	c := newCodec(t, shelf{})
	at := time.Date(2026, 11, 23, 0, 18, 23, 0, time.UTC)
	for _, test := range []struct {
		m    shelf
		want string
	}{
		{shelf{At: at}, "95 a5 7368656c66 b4 323032362d31312d32335430303a31383a32335a 90 90 90"},
		{shelf{At: at, One: &nodeA, Sizes: map[string]uint64{"b": 2, "a": 1}}, "95 a5 7368656c66 b4 323032362d31312d32335430303a31383a32335a 91 c410 000102030405060708090a0b0c0d0e0f 92 92 a161 01 92 a162 02 90"},
		{shelf{At: at, Other: map[string]member{"m": {Name: "n"}}}, "95 a5 7368656c66 b4 323032362d31312d32335430303a31383a32335a 90 90 91 92 a16d 95 c410 00000000000000000000000000000000 a16e a0 00 c2"},
	} {
		b, err := c.Append(nil, test.m)
		if err != nil || !bytes.Equal(b, unhex(t, test.want)) {
			t.Errorf("Append(%+v) = %x, %v, want %s", test.m, b, err, test.want)
		}
		if got, err := c.Decode(b); err != nil || !reflect.DeepEqual(got, test.m) {
			t.Errorf("Decode(%x) = %+v, %v, want %+v", b, got, err, test.m)
		}
	}
	for input, want := range map[string]string{
		"95 a5 7368656c66 b4 323032362d31312d32335430303a31383a32335a 92 c0c0":                "wire: cannot decode shelf.One: has 2 elements, at most 1 are allowed",
		"95 a5 7368656c66 b4 323032362d31312d32335430303a31383a32335a c0":                     "wire: cannot decode shelf.One: is nil, want an array",
		"95 a5 7368656c66 b4 323032362d31312d32335430303a31383a32335a 90 93 c0c0c0":           "wire: cannot decode shelf.Sizes: has 3 elements, at most 2 are allowed",
		"95 a5 7368656c66 b4 323032362d31312d32335430303a31383a32335a 90 91 92 00 00":         "wire: cannot decode shelf.Sizes.Key: is an integer, want a string",
		"95 a5 7368656c66 b4 323032362d31312d32335430303a31383a32335a 90 91 92 a0 a0":         "wire: cannot decode shelf.Sizes.Value: is a string, want an integer",
		"95 a5 7368656c66 b4 323032362d31312d32335430303a31383a32335a 90 90 dd 00000400 9292": "wire: cannot decode shelf.Other: is cut short",
		"95 a5 7368656c66 c3":   "wire: cannot decode shelf.At: is a boolean, want a string",
		"95 a5 7368656c66 a131": "wire: cannot decode shelf.At: is no text of a time.Time",
	} {
		if _, err := c.Decode(unhex(t, input)); err == nil || err.Error() != want {
			t.Errorf("Decode(%s) = %v, want %s", input, err, want)
		}
	}
	if _, err := c.Append(nil, shelf{Sizes: map[string]uint64{"a": 1, "b": 2, "c": 3}}); err == nil {
		t.Error("Append takes three of two")
	}
}

// What people are shown is decoded as it can be shown.
func TestClientsAreShown(t *testing.T) {
	c := Clients(shelf{}, strings.ToUpper)
	b, err := c.Append(nil, shelf{Sizes: map[string]uint64{"a": 1}, Other: map[string]member{"m": {Name: "n"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := shelf{Sizes: map[string]uint64{"A": 1}, Other: map[string]member{"M": {Name: "N"}}}
	got, err := c.Decode(b)
	if shown, ok := got.(shelf); err != nil || !ok || !maps.Equal(shown.Sizes, want.Sizes) || !maps.Equal(shown.Other, want.Other) {
		t.Errorf("Decode = %+v, %v, want %+v", got, err, want)
	}
	if _, err := c.Append(nil, Done{Reason: "x"}); err != nil {
		t.Error(err)
	}
}
