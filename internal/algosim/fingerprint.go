package algosim

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"

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
	d := digests.Get().(*digest)
	*d = digest{data: d.data[:0], path: d.path[:0]}
	for _, v := range values {
		d.writeTyped(reflect.ValueOf(v))
	}
	f := fingerprint(d.data)
	digests.Put(d)
	return f
}

// digests are used again: a search computes millions of fingerprints.
var digests = sync.Pool{New: func() any { return new(digest) }}

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
	path  []step // to the current value, from the outermost type
	depth int    // of the current pointer chain
}

// step leads to a part of a value: the fields of structs have a number.
type step struct {
	of    reflect.Type
	kind  stepKind
	field int
}

type stepKind uint8

const (
	wholeOf stepKind = iota
	fieldOf
	elementOf
	keyOf
)

func (s step) String() string {
	switch s.kind {
	case fieldOf:
		return "." + s.of.Field(s.field).Name
	case elementOf:
		return "[]"
	case keyOf:
		return "'s key"
	}
	return s.of.String()
}

// maxDepth is the maximum number of pointers in a row. A cyclic value exceeds it.
const maxDepth = 10_000

func fingerprint(data []byte) Fingerprint {
	hash := hashOf(data)
	return Fingerprint{binary.LittleEndian.Uint64(hash[:]), binary.LittleEndian.Uint64(hash[8:])}
}

func (d *digest) writeUint(w uint64) { d.data = binary.AppendUvarint(d.data, w) }

func (d *digest) writeString(s string) {
	d.writeUint(uint64(len(s)))
	d.data = append(d.data, s...)
}

// writeBool writes and returns a bool.
func (d *digest) writeBool(b bool) bool {
	w := byte(0)
	if b {
		w = 1
	}
	d.data = append(d.data, w)
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
	d.writePart(v, step{of: t})
}

// writePart writes a part of a value.
func (d *digest) writePart(v reflect.Value, by step) {
	above := len(d.path)
	d.path = append(d.path, by)
	d.writeValue(v)
	d.path = d.path[:above]
}

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
		d.writeElements(v)
	case reflect.Struct:
		d.writeStruct(v)
	case reflect.Map:
		d.writeMap(v)
	case reflect.Pointer:
		if d.depth++; d.depth > maxDepth {
			panic(&UnreadableError{Type: v.Type(), Path: d.path[0].String()})
		}
		d.writeValue(v.Elem())
		d.depth--
	case reflect.Interface:
		d.writeTyped(v.Elem())
	default:
		panic(&UnreadableError{Type: v.Type(), Path: d.where()})
	}
}

// where formats the path.
func (d *digest) where() string {
	var text strings.Builder
	for _, s := range d.path {
		text.WriteString(s.String())
	}
	return text.String()
}

// writeElements writes an array or a slice. It writes bytes as they are, such as those of a NodeID.
func (d *digest) writeElements(v reflect.Value) {
	d.writeUint(uint64(v.Len()))
	isBytes := v.Type().Elem().Kind() == reflect.Uint8
	switch {
	case isBytes && (v.Kind() == reflect.Slice || v.CanAddr()):
		d.data = append(d.data, v.Bytes()...)
	case isBytes:
		for i := range v.Len() {
			d.data = append(d.data, byte(v.Index(i).Uint()))
		}
	default:
		for i := range v.Len() {
			d.writePart(v.Index(i), step{kind: elementOf})
		}
	}
}

var (
	viewType       = reflect.TypeFor[algo.View]()
	viewVersion, _ = viewType.Field(0).Type.Elem().FieldByName("version")
)

// writeStruct writes all fields of a struct. Of a view it writes only the version, which
// distinguishes the views of a cluster.
func (d *digest) writeStruct(v reflect.Value) {
	t := v.Type()
	if t == viewType {
		if inner := v.Field(0); d.writeBool(!inner.IsNil()) {
			d.writeUint(inner.Elem().FieldByIndex(viewVersion.Index).Uint())
		}
		return
	}
	for i := range v.NumField() {
		d.writePart(v.Field(i), step{of: t, kind: fieldOf, field: i})
	}
}

// writeMap writes the sum of the fingerprints of all entries.
func (d *digest) writeMap(v reflect.Value) {
	var all Fingerprint
	above := len(d.data)
	for entry := v.MapRange(); entry.Next(); {
		d.writePart(entry.Key(), step{kind: keyOf})
		d.writePart(entry.Value(), step{kind: elementOf})
		all = all.Plus(fingerprint(d.data[above:]))
		d.data = d.data[:above]
	}
	d.writeUint(uint64(v.Len()))
	d.writeUint(all.A)
	d.writeUint(all.B)
}
