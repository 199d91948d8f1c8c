package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

type (
	odd struct {
		algo.Leader // an embedded struct is a field like any other
		Weights     map[string]int
		Pointer     *int
		Ratio       float64
		Any         any
		Array       [4]byte
		Time        time.Time
		Slices      [][]byte
		Inner       struct{ Done chan bool }
		List        []func()
		hidden      int
		Plain       int    `wire:"max=3"`
		Zero        string `wire:"max=0"`
		Many        string `wire:"max=65536"`
		Word        string `wire:"min=3"`
		Address     uintptr
	}
	twin    struct{}
	shouted struct{}
	unnamed struct{}
	endless struct{}
	tree    struct{ Root node }
	node    struct{ Children []node }
	costly  struct {
		Few  []string `wire:"max=2"`
		Many []string
	}
	nested  struct{ Outer []struct{ Inner []int } }
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
func (vast) Kind() string    { return "vast" }

func TestNewCodecReportsAllMistakesAtOnce(t *testing.T) {
	_ = odd{}.hidden // it stands there to be refused
	_, err := NewCodec(heartbeat{}, odd{}, nil, &empty{}, twin{}, shouted{}, unnamed{}, endless{}, tree{})
	if err == nil {
		t.Fatal("NewCodec took everything")
	}
	const what = " (supported are bool, integers, string, algo.NodeID, []byte, structs of these, and slices of any of these but slices)"
	want := []string{
		`wire: wire.odd.Weights: map[string]int is not supported` + what,
		`wire: wire.odd.Pointer: *int is not supported` + what,
		`wire: wire.odd.Ratio: float64 is not supported` + what,
		`wire: wire.odd.Any: interface {} is not supported` + what,
		`wire: wire.odd.Array: [4]uint8 is not supported` + what,
		`wire: wire.odd.Time.wall: is not exported, so its value would be lost`,
		`wire: wire.odd.Time.ext: is not exported, so its value would be lost`,
		`wire: wire.odd.Time.loc: is not exported, so its value would be lost`,
		`wire: wire.odd.Slices: [][]uint8 is not supported: it is a slice of slices` + what,
		`wire: wire.odd.Inner.Done: chan bool is not supported` + what,
		`wire: wire.odd.List: func() is not supported` + what,
		`wire: wire.odd.hidden: is not exported, so its value would be lost`,
		`wire: wire.odd.Plain: tag "max=3": max is for strings and slices, not for int`,
		`wire: wire.odd.Zero: tag "max=0" wants a number from 1 to 65535 after "max="`,
		`wire: wire.odd.Many: tag "max=65536" wants a number from 1 to 65535 after "max="`,
		`wire: wire.odd.Word: tag "min=3" has "min", want max`,
		`wire: wire.odd.Address: uintptr is not supported` + what,
		`wire: message 3 of 9 is nil`,
		`wire: *wire.empty is a message, but no struct: pass messages by value`,
		`wire: two messages of kind "beat": wire.heartbeat and wire.twin`,
		`wire: wire.shouted has kind "Beat\n", which has other than lower case letters, digits, "-", "_" and "/"`,
		`wire: wire.unnamed has kind "", which is empty`,
		`wire: wire.endless has kind "` + strings.Repeat("x", 32) + `" and 33 more bytes, which is longer than 64 bytes`,
		`wire: wire.tree.Root.Children: wire.node contains itself, which is not supported`,
	}
	if got := err.Error(); got != strings.Join(want, "\n") {
		t.Errorf("NewCodec reports\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
