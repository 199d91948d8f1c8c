package schema

import (
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
)

type (
	heartbeat struct{ View uint64 }
	empty     struct{}
	odd       struct {
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
)

func (heartbeat) Kind() string { return "beat" }
func (empty) Kind() string     { return "empty" }
func (odd) Kind() string       { return "odd" }
func (twin) Kind() string      { return "beat" }
func (shouted) Kind() string   { return "Beat\n" }
func (unnamed) Kind() string   { return "" }
func (endless) Kind() string   { return strings.Repeat("x", 65) }
func (tree) Kind() string      { return "tree" }

func TestOfReportsEveryProblem(t *testing.T) {
	_ = odd{}.hidden // Of must reject this field
	_, err := Of(heartbeat{}, odd{}, nil, &empty{}, twin{}, shouted{}, unnamed{}, endless{}, tree{})
	if err == nil {
		t.Fatal("Of accepted everything")
	}
	const what = " (" + supported + ")"
	want := []string{
		`wire: schema.odd.Weights: map[int]string is not supported` + what,
		`wire: schema.odd.Pointer: *float32 is not supported` + what,
		`wire: schema.odd.Ratio: float64 is not supported` + what,
		`wire: schema.odd.Any: interface {} is not supported` + what,
		`wire: schema.odd.Array: [4]uint8 is not supported` + what,
		`wire: schema.odd.Inner.Done: chan bool is not supported` + what,
		`wire: schema.odd.List: func() is not supported` + what,
		`wire: schema.odd.hidden: is not exported, so its value would be lost`,
		`wire: schema.odd.Plain: tag "max=3": max is for strings and slices, not for int`,
		`wire: schema.odd.Zero: tag "max=0", want optional, or max= and a number from 1 to 65535`,
		`wire: schema.odd.Many: tag "max=65536", want optional, or max= and a number from 1 to 65535`,
		`wire: schema.odd.Word: tag "min=3", want optional, or max= and a number from 1 to 65535`,
		`wire: schema.odd.Twice: tag "optional,optional", want optional, or max= and a number from 1 to 65535`,
		`wire: schema.odd.Address: uintptr is not supported` + what,
		`wire: schema.odd.Address: follows an optional field, and is not optional itself`,
		`wire: schema.odd.Loop: schema.loop contains itself, which is not supported`,
		`wire: <nil> is a message, but no struct: pass messages by value`,
		`wire: *schema.empty is a message, but no struct: pass messages by value`,
		`wire: two messages of kind "beat": schema.heartbeat and schema.twin`,
		`wire: schema.shouted has kind "Beat\n", want 1 to 64 of a-z, 0-9, "-", "_" and "/"`,
		`wire: schema.unnamed has kind "", want 1 to 64 of a-z, 0-9, "-", "_" and "/"`,
		`wire: schema.endless has kind "` + strings.Repeat("x", 65) + `", want 1 to 64 of a-z, 0-9, "-", "_" and "/"`,
		`wire: schema.tree.Root.Children: schema.node contains itself, which is not supported`,
	}
	if got := err.Error(); got != strings.Join(want, "\n") {
		t.Errorf("Of reports\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
