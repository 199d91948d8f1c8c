package algosim

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
)

type part struct{ x int8 }

// whole has a field of each type that a state may contain, exported or not.
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
	stable   algo.HardState
	view     algo.View
	call     func()
	Exported int
	part
}

func nothing()   {}
func something() {}

// others returns values with one field that is not zero, in the order of the fields.
func others() []whole {
	var nested whole
	nested.nested.deep.x = 1
	return []whole{
		{flag: true}, {small: 1}, {number: 1}, {wide: 1}, {real: 1}, {both: 1i}, {text: "a"}, {id: algo.NodeID{15: 1}}, {pair: [2]uint16{1: 1}},
		{list: []int{}}, {parts: []part{{}}}, {set: map[algo.NodeID]bool{}}, {byName: map[string][]int{"": nil}}, {pointer: &part{}}, {anything: 0}, nested,
		{leader: algo.Leader{ID: algo.NodeID{1}}}, {stable: algo.HardState{Extra: "a"}}, {view: algo.NewView(1)}, {call: nothing}, {Exported: 1}, {part: part{1}},
	}
}

func TestFingerprintCoversEveryField(t *testing.T) {
	kind, seen := reflect.TypeFor[whole](), map[Fingerprint]string{FingerprintOf(whole{}): "zero"}
	if len(others()) != kind.NumField() {
		t.Fatalf("%d fields, %d values", kind.NumField(), len(others()))
	}
	for i, w := range others() {
		name, fingerprint := kind.Field(i).Name, FingerprintOf(w)
		if reflect.ValueOf(w).Field(i).IsZero() {
			t.Errorf("%s is zero", name)
		}
		if other, ok := seen[fingerprint]; ok {
			t.Errorf("changes of %s and of %s have the same fingerprint", name, other)
		}
		seen[fingerprint] = name
		if FingerprintOf(w) != fingerprint {
			t.Errorf("%s: two fingerprints for one value", name)
		}
		if FingerprintOf(&w) == fingerprint {
			t.Errorf("%s: a pointer has the fingerprint of its target, although its type differs", name)
		}
	}
}

func TestFingerprintCoversAddedField(t *testing.T) {
	fields := []reflect.StructField{{Name: "A", Type: reflect.TypeFor[int]()}}
	added := append(fields[:1:1], reflect.StructField{Name: "B", Type: reflect.TypeFor[map[string]bool]()})
	before, after := reflect.New(reflect.StructOf(fields)).Elem(), reflect.New(reflect.StructOf(added)).Elem()
	if FingerprintOf(before.Interface()) == FingerprintOf(after.Interface()) {
		t.Error("both types have the same fingerprint")
	}
	empty := FingerprintOf(after.Interface())
	after.Field(1).Set(reflect.ValueOf(map[string]bool{"x": true}))
	if FingerprintOf(after.Interface()) == empty {
		t.Error("the added field does not change the fingerprint")
	}
}

func TestFingerprintsDiffer(t *testing.T) {
	one, two := 1, 1
	member := func(name string) algo.Member { return algo.Member{ID: algo.NodeID{1}, Name: name} }
	for _, tc := range []struct {
		name string
		a, b any
		same bool
	}{
		{"order of a slice", []int{1, 2}, []int{2, 1}, false},
		{"length of a slice", []int{0}, []int{0, 0}, false},
		{"lengths of nested slices", [][]int{{1}, {2, 3}}, [][]int{{1, 2}, {3}}, false},
		{"lengths of strings", []string{"ab", "c"}, []string{"a", "bc"}, false},
		{"last byte of a string", "12345678", "12345678\x00", false},
		{"nil and empty slice", []int(nil), []int{}, false},
		{"nil and empty map", map[int]int(nil), map[int]int{}, false},
		{"keys and values of a map", map[int]int{1: 2, 3: 4}, map[int]int{1: 4, 3: 2}, false},
		{"type of a value", []any{int8(1)}, []any{int16(1)}, false},
		{"equal targets of pointers", &one, &two, true},
		{"version of a view", algo.NewView(1), algo.NewView(2), false},
		{"members of a view", algo.NewView(1, member("a")), algo.NewView(1, member("b")), true},
		{"code of a function", []any{nothing}, []any{something}, false},
	} {
		if same := FingerprintOf(tc.a) == FingerprintOf(tc.b); same != tc.same {
			t.Errorf("%s: same fingerprint: %v, want %v", tc.name, same, tc.same)
		}
	}
}

func TestFingerprintIgnoresMapOrder(t *testing.T) {
	want := Fingerprint{}
	for round := range 50 {
		m := map[int]string{}
		for _, k := range rand.New(rand.NewPCG(uint64(round), 0)).Perm(100) {
			m[k] = strings.Repeat("x", k)
		}
		if fingerprint := FingerprintOf(m); round == 0 {
			want = fingerprint
		} else if fingerprint != want {
			t.Fatal("the order of insertion changes the fingerprint")
		}
	}
}

type linked struct {
	next  *linked
	value int
}

func TestRecursiveTypeIsCovered(t *testing.T) {
	if FingerprintOf(linked{next: &linked{value: 1}}) == FingerprintOf(linked{next: &linked{value: 2}}) {
		t.Error("the target of the pointer does not change the fingerprint")
	}
}

func TestCyclicValueIsRejected(t *testing.T) {
	loop := &linked{value: 1}
	loop.next = loop
	defer func() {
		if err, ok := recover().(*UnreadableError); !ok || !strings.Contains(err.Error(), "linked is of the type") {
			t.Errorf("panic with %v", err)
		}
	}()
	FingerprintOf(loop)
	t.Error("no panic")
}

func TestChannelIsRejected(t *testing.T) {
	type state struct {
		inbox []struct{ wake chan int }
	}
	defer func() {
		err, _ := recover().(error)
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || !strings.Contains(err.Error(), "state.inbox[].wake is of the type chan int") {
			t.Errorf("panic with %v", err)
		}
	}()
	FingerprintOf(state{inbox: []struct{ wake chan int }{{wake: nil}}})
	t.Error("no panic")
}
