package algotest

import (
	"testing"

	"github.com/elect-go/elect/algo"
)

type inner struct {
	list []int
	next *inner
}

type outer struct {
	flag  bool
	name  string
	id    algo.NodeID
	view  algo.View
	inner inner
	pair  *inner
	any   any
	set   map[string]int
	fn    func()
}

// What a state holds shows, wherever it stands; and nothing else does.
func TestAStateShowsAllThatItHolds(t *testing.T) {
	view := algo.NewView(1, 1, algo.Member{ID: algo.NodeID{1}})
	make := func() *outer {
		return &outer{
			name: "x", view: view, inner: inner{list: []int{1, 2}}, pair: &inner{list: []int{3}}, any: inner{},
			set: map[string]int{"a": 1, "b": 2, "c": 3}, fn: func() {},
		}
	}
	first := dump(make())
	for range 20 {
		if again := dump(make()); again != first {
			t.Fatalf("the same state shows as\n%s\nand as\n%s", first, again)
		}
	}
	for name, change := range map[string]func(o *outer){
		"a bool":                func(o *outer) { o.flag = true },
		"a string":              func(o *outer) { o.name = "x " },
		"an ID":                 func(o *outer) { o.id[15] = 1 },
		"another view":          func(o *outer) { o.view = algo.NewView(1, 1) },
		"an element":            func(o *outer) { o.inner.list[1] = 3 },
		"a length":              func(o *outer) { o.inner.list = o.inner.list[:1] },
		"empty, not nil":        func(o *outer) { o.inner.next = nil; o.any = inner{list: []int{}} },
		"behind a pointer":      func(o *outer) { o.pair.list[0]++ },
		"a pointer":             func(o *outer) { o.pair.next = &inner{} },
		"the type of an any":    func(o *outer) { o.any = outer{} },
		"the value of a key":    func(o *outer) { o.set["b"] = 3 },
		"a key":                 func(o *outer) { o.set["d"] = 0 },
		"no map":                func(o *outer) { o.set = nil },
		"a pointer that is nil": func(o *outer) { o.pair = nil },
	} {
		o := make()
		change(o)
		if dump(o) == first {
			t.Errorf("%s does not show", name)
		}
	}
}

func TestAStateMayPointToItself(t *testing.T) {
	loop := &inner{list: []int{1}}
	loop.next = loop
	if got, want := dump(loop), "&{list:[1] next:nil}"; got != want {
		t.Errorf("it shows as %s, want %s", got, want)
	}
}
