package algosim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/elect-go/elect/algo"
)

// Fingerprint is what is kept of a state: 128 bits of hash. Two of a billion states
// have the same one with a probability of 10⁻²¹.
//
// The fingerprint of a set is the sum of those of its elements, so that it does not
// depend on their order and follows a change without being computed anew.
type Fingerprint struct{ A, B uint64 }

// Plus is the fingerprint of a set with another element.
func (f Fingerprint) Plus(g Fingerprint) Fingerprint { return Fingerprint{f.A + g.A, f.B + g.B} }

// Minus is that of a set without it.
func (f Fingerprint) Minus(g Fingerprint) Fingerprint { return Fingerprint{f.A - g.A, f.B - g.B} }

// FingerprintOf covers values of any types: every field, exported or not. It panics with an
// [*UnreadableError].
//
//   - A View counts by its number.
//   - A map counts by its entries, in no order; a slice by its elements, in order.
//   - A pointer and an interface count by what they point to.
//   - Nil is not empty: an algorithm may tell them apart, so the search does.
//   - A function counts by its code. What a closure has captured is not seen.
//   - Channels, unsafe pointers and what points to itself are refused. They have no place in a state.
func FingerprintOf(values ...any) Fingerprint {
	var d digest
	for _, v := range values {
		d.dynamic(reflect.ValueOf(v))
	}
	return d.sum()
}

// UnreadableError says that a fingerprint cannot cover a field.
type UnreadableError struct {
	Type  reflect.Type // of the field
	Where string       // from the type that was asked for down to the field
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s is of the type %v, which no fingerprint can cover", e.Where, e.Type)
}

// digest writes values so that no two are written alike, and none as the beginning of
// another.
type digest struct {
	written []byte
	where   []string // what is being read, from the type that was asked for
	depth   int      // of the pointers that are followed
}

// deepest is how many pointers in a row are followed: what points to itself has no end.
const deepest = 10_000

func (d *digest) sum() Fingerprint {
	hash := sha256.Sum256(d.written)
	return Fingerprint{binary.LittleEndian.Uint64(hash[:]), binary.LittleEndian.Uint64(hash[8:])}
}

func (d *digest) word(w uint64) { d.written = binary.AppendUvarint(d.written, w) }

func (d *digest) text(s string) {
	d.word(uint64(len(s)))
	d.written = append(d.written, s...)
}

// has writes whether there is something, and returns it.
func (d *digest) has(something bool) bool {
	w := uint64(0)
	if something {
		w = 1
	}
	d.word(w)
	return something
}

// dynamic reads a value whose type is part of what it is.
func (d *digest) dynamic(v reflect.Value) {
	if !d.has(v.IsValid()) {
		return
	}
	t := v.Type()
	d.text(t.PkgPath())
	d.text(t.String())
	d.within(v, t.String())
}

// within reads a part of a value.
func (d *digest) within(v reflect.Value, where ...string) {
	above := len(d.where)
	d.where = append(d.where, where...)
	d.read(v)
	d.where = d.where[:above]
}

var viewType = reflect.TypeFor[algo.View]()

func (d *digest) read(v reflect.Value) {
	switch v.Kind() {
	case reflect.Func, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		if !d.has(!v.IsNil()) {
			return
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		d.has(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.word(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		d.word(v.Uint())
	case reflect.Float32, reflect.Float64:
		d.word(math.Float64bits(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		d.word(math.Float64bits(real(v.Complex())))
		d.word(math.Float64bits(imag(v.Complex())))
	case reflect.String:
		d.text(v.String())
	case reflect.Func:
		d.word(uint64(v.Pointer()))
	case reflect.Array, reflect.Slice:
		d.word(uint64(v.Len()))
		for i := range v.Len() {
			d.within(v.Index(i), "[]")
		}
	case reflect.Struct:
		d.fields(v)
	case reflect.Map:
		d.entries(v)
	case reflect.Pointer:
		if d.depth++; d.depth > deepest {
			panic(&UnreadableError{Type: v.Type(), Where: d.where[0]})
		}
		d.read(v.Elem())
		d.depth--
	case reflect.Interface:
		d.dynamic(v.Elem())
	default:
		panic(&UnreadableError{Type: v.Type(), Where: strings.Join(d.where, "")})
	}
}

// fields reads all of a struct, but of a view only its number: that tells it from the others
// of a cluster.
func (d *digest) fields(v reflect.Value) {
	if v.Type() == viewType {
		if inner := v.Field(0); d.has(!inner.IsNil()) {
			d.word(inner.Elem().FieldByName("number").Uint())
		}
		return
	}
	for f, field := range v.Fields() {
		d.within(field, ".", f.Name)
	}
}

func (d *digest) entries(v reflect.Value) {
	var all Fingerprint
	for entry := v.MapRange(); entry.Next(); {
		one := digest{where: d.where, depth: d.depth}
		one.within(entry.Key(), "'s key")
		one.within(entry.Value(), "[]")
		all = all.Plus(one.sum())
	}
	d.word(uint64(v.Len()))
	d.word(all.A)
	d.word(all.B)
}
