package algosim

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
)

func printOf(v any) Fingerprint {
	return FingerprintOf(v)
}

type part struct{ x int8 }

// whole has a field of each kind that a state may be made of, exported or not.
type whole struct {
	flag     bool
	small    int8
	number   int
	wide     uint64
	real     float64
	both     complex128
	text     string
	id       algo.NodeID
	pair     [2]uint16
	list     []int
	parts    []part
	set      map[algo.NodeID]bool
	byName   map[string][]int
	pointer  *part
	anything any
	nested   struct{ deep struct{ x int } }
	leader   algo.Leader
	stable   algo.Stable
	view     algo.View
	call     func()
	Exported int
	part
}

func nothing()   {}
func something() {}

// others are wholes of which one field is not zero, in the order of the fields.
func others() []whole {
	var nested whole
	nested.nested.deep.x = 1
	return []whole{
		{flag: true}, {small: 1}, {number: 1}, {wide: 1}, {real: 1}, {both: 1i}, {text: "a"}, {id: algo.NodeID{15: 1}}, {pair: [2]uint16{1: 1}},
		{list: []int{}}, {parts: []part{{}}}, {set: map[algo.NodeID]bool{}}, {byName: map[string][]int{"": nil}}, {pointer: &part{}}, {anything: 0}, nested,
		{leader: algo.Leader{ID: algo.NodeID{1}}}, {stable: algo.Stable{Extra: "a"}}, {view: algo.NewView(1)}, {call: nothing}, {Exported: 1}, {part: part{1}},
	}
}

func TestEveryFieldCounts(t *testing.T) {
	kind, seen := reflect.TypeFor[whole](), map[Fingerprint]string{printOf(whole{}): "zero"}
	if len(others()) != kind.NumField() {
		t.Fatalf("%d fields, %d are tried", kind.NumField(), len(others()))
	}
	for i, w := range others() {
		name, print := kind.Field(i).Name, printOf(w)
		if reflect.ValueOf(w).Field(i).IsZero() {
			t.Errorf("%s is zero", name)
		}
		if other, ok := seen[print]; ok {
			t.Errorf("another %s does not change the fingerprint of %s", name, other)
		}
		seen[print] = name
		if printOf(w) != print {
			t.Errorf("%s: two fingerprints of one value", name)
		}
		if printOf(&w) == print {
			t.Errorf("%s: a pointer is told from what it points to by its type", name)
		}
	}
}

// A field that is added to a type counts without a word.
func TestAnAddedFieldCounts(t *testing.T) {
	fields := []reflect.StructField{{Name: "A", Type: reflect.TypeFor[int]()}}
	added := append(fields[:1:1], reflect.StructField{Name: "B", Type: reflect.TypeFor[map[string]bool]()})
	before, after := reflect.New(reflect.StructOf(fields)).Elem(), reflect.New(reflect.StructOf(added)).Elem()
	if printOf(before.Interface()) == printOf(after.Interface()) {
		t.Error("the types have one fingerprint")
	}
	empty := printOf(after.Interface())
	after.Field(1).Set(reflect.ValueOf(map[string]bool{"x": true}))
	if printOf(after.Interface()) == empty {
		t.Error("the value of the added field does not count")
	}
}

func TestWhatIsToldApart(t *testing.T) {
	one, two := 1, 1
	member := func(name string) algo.Member { return algo.Member{ID: algo.NodeID{1}, Name: name} }
	for _, tc := range []struct {
		name string
		a, b any
		same bool
	}{
		{"a list by its order", []int{1, 2}, []int{2, 1}, false},
		{"a list by its end", []int{0}, []int{0, 0}, false},
		{"lists by where one ends", [][]int{{1}, {2, 3}}, [][]int{{1, 2}, {3}}, false},
		{"texts by where one ends", []string{"ab", "c"}, []string{"a", "bc"}, false},
		{"a text by its last byte", "12345678", "12345678\x00", false},
		{"nil and empty", []int(nil), []int{}, false},
		{"a nil map and an empty one", map[int]int(nil), map[int]int{}, false},
		{"a map by key and value", map[int]int{1: 2, 3: 4}, map[int]int{1: 4, 3: 2}, false},
		{"a value by its type", []any{int8(1)}, []any{int16(1)}, false},
		{"a pointer by what it points to", &one, &two, true},
		{"a view by its number", algo.NewView(1), algo.NewView(2), false},
		{"a view not by its members", algo.NewView(1, member("a")), algo.NewView(1, member("b")), true},
		{"a function by its code", []any{nothing}, []any{something}, false},
	} {
		if same := printOf(tc.a) == printOf(tc.b); same != tc.same {
			t.Errorf("%s: the same fingerprint is %v, want %v", tc.name, same, tc.same)
		}
	}
}

func TestTheOrderOfAMapDoesNotCount(t *testing.T) {
	want := Fingerprint{}
	for round := range 50 {
		m := map[int]string{}
		for _, k := range rand.New(rand.NewPCG(uint64(round), 0)).Perm(100) {
			m[k] = strings.Repeat("x", k)
		}
		if print := printOf(m); round == 0 {
			want = print
		} else if print != want {
			t.Fatal("another order gives another fingerprint")
		}
	}
}

type linked struct {
	next  *linked
	value int
}

func TestATypeMayContainItself(t *testing.T) {
	if printOf(linked{next: &linked{value: 1}}) == printOf(linked{next: &linked{value: 2}}) {
		t.Error("what is behind the pointer does not count")
	}
}

func TestWhatPointsToItselfIsRefused(t *testing.T) {
	loop := &linked{value: 1}
	loop.next = loop
	defer func() {
		if err, ok := recover().(*UnreadableError); !ok || !strings.Contains(err.Error(), "linked is of the type") {
			t.Errorf("refused with %v", err)
		}
	}()
	printOf(loop)
	t.Error("it is taken")
}

func TestAChannelIsRefusedByName(t *testing.T) {
	type state struct {
		inbox []struct{ wake chan int }
	}
	defer func() {
		err, _ := recover().(error)
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || !strings.Contains(err.Error(), "state.inbox[].wake is of the type chan int") {
			t.Errorf("refused with %v", err)
		}
	}()
	printOf(state{inbox: []struct{ wake chan int }{{wake: nil}}})
	t.Error("it is taken")
}
