package algosim

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/elect-go/elect/algo"
)

// Fingerprint is a hash of 128 bits that represents a state. Two of a billion states have the same
// one with a probability of 10⁻²¹.
//
// The fingerprint of a set is the sum of the fingerprints of its elements: it does not depend on
// their order, and a change needs no new computation of the whole.
type Fingerprint struct{ A, B uint64 }

// Plus returns the fingerprint of a set after the addition of an element.
func (f Fingerprint) Plus(g Fingerprint) Fingerprint { return Fingerprint{f.A + g.A, f.B + g.B} }

// Minus returns the fingerprint of a set after the removal of an element.
func (f Fingerprint) Minus(g Fingerprint) Fingerprint { return Fingerprint{f.A - g.A, f.B - g.B} }

// FingerprintOf returns the fingerprint of values of any types, with all fields, exported or not.
// It panics with an [*UnreadableError].
//
//   - A View is covered by its version.
//   - A map is covered by its entries without order, a slice by its elements in order.
//   - A pointer and an interface are covered by their targets.
//   - Nil differs from empty, because an algorithm may distinguish them.
//   - A function is covered by its code, without the variables that a closure captures.
//   - Channels, unsafe pointers and cyclic values are rejected. They do not belong into a state.
func FingerprintOf(values ...any) Fingerprint {
	var d digest
	for _, v := range values {
		d.writeTyped(reflect.ValueOf(v))
	}
	return d.sum()
}

// UnreadableError means that a fingerprint cannot cover a field.
type UnreadableError struct {
	Type reflect.Type // of the field
	Path string       // from the outermost type to the field
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s is of the type %v, which no fingerprint can cover", e.Path, e.Type)
}

// digest encodes values. Different values have different encodings, and no encoding is a prefix of
// another.
type digest struct {
	data  []byte
	path  []string // of the current value, from the outermost type
	depth int      // of the current pointer chain
}

// maxDepth is the maximum number of pointers in a row. A cyclic value exceeds it.
const maxDepth = 10_000

func (d *digest) sum() Fingerprint {
	hash := hashOf(d.data)
	return Fingerprint{binary.LittleEndian.Uint64(hash[:]), binary.LittleEndian.Uint64(hash[8:])}
}

func (d *digest) writeUint(w uint64) { d.data = binary.AppendUvarint(d.data, w) }

func (d *digest) writeString(s string) {
	d.writeUint(uint64(len(s)))
	d.data = append(d.data, s...)
}

// writeBool writes and returns a bool.
func (d *digest) writeBool(b bool) bool {
	w := uint64(0)
	if b {
		w = 1
	}
	d.writeUint(w)
	return b
}

// writeTyped writes a value with its type.
func (d *digest) writeTyped(v reflect.Value) {
	if !d.writeBool(v.IsValid()) {
		return
	}
	t := v.Type()
	d.writeString(t.PkgPath())
	d.writeString(t.String())
	d.writePart(v, t.String())
}

// writePart writes a part of a value.
func (d *digest) writePart(v reflect.Value, where ...string) {
	above := len(d.path)
	d.path = append(d.path, where...)
	d.writeValue(v)
	d.path = d.path[:above]
}

var viewType = reflect.TypeFor[algo.View]()

func (d *digest) writeValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Func, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		if !d.writeBool(!v.IsNil()) {
			return
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		d.writeBool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.writeUint(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		d.writeUint(v.Uint())
	case reflect.Float32, reflect.Float64:
		d.writeUint(math.Float64bits(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		d.writeUint(math.Float64bits(real(v.Complex())))
		d.writeUint(math.Float64bits(imag(v.Complex())))
	case reflect.String:
		d.writeString(v.String())
	case reflect.Func:
		d.writeUint(uint64(v.Pointer()))
	case reflect.Array, reflect.Slice:
		d.writeUint(uint64(v.Len()))
		for i := range v.Len() {
			d.writePart(v.Index(i), "[]")
		}
	case reflect.Struct:
		d.writeStruct(v)
	case reflect.Map:
		d.writeMap(v)
	case reflect.Pointer:
		if d.depth++; d.depth > maxDepth {
			panic(&UnreadableError{Type: v.Type(), Path: d.path[0]})
		}
		d.writeValue(v.Elem())
		d.depth--
	case reflect.Interface:
		d.writeTyped(v.Elem())
	default:
		panic(&UnreadableError{Type: v.Type(), Path: strings.Join(d.path, "")})
	}
}

// writeStruct writes all fields of a struct. Of a view it writes only the version, which
// distinguishes the views of a cluster.
func (d *digest) writeStruct(v reflect.Value) {
	if v.Type() == viewType {
		if inner := v.Field(0); d.writeBool(!inner.IsNil()) {
			d.writeUint(inner.Elem().FieldByName("version").Uint())
		}
		return
	}
	for f, field := range v.Fields() {
		d.writePart(field, ".", f.Name)
	}
}

func (d *digest) writeMap(v reflect.Value) {
	var all Fingerprint
	for entry := v.MapRange(); entry.Next(); {
		one := digest{path: d.path, depth: d.depth}
		one.writePart(entry.Key(), "'s key")
		one.writePart(entry.Value(), "[]")
		all = all.Plus(one.sum())
	}
	d.writeUint(uint64(v.Len()))
	d.writeUint(all.A)
	d.writeUint(all.B)
}
