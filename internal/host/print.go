package host

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"

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

// Digest computes a fingerprint, word by word. The mixing is that of MurmurHash3
// (x64, 128 bits), where each word goes into both halves.
type Digest struct {
	a, b  uint64
	depth int // of the pointers that are followed
}

// deepest is how many pointers in a row are followed: what points to itself has no end.
const deepest = 10_000

const (
	mix1 = 0x87c37b91114253d5
	mix2 = 0x4cf5ad432745937f
)

// NewDigest returns one that differs from a digest of nothing: what is fed into it stands
// for something else.
func NewDigest(kind uint64) Digest { return Digest{a: kind} }

// Word takes a number.
func (d *Digest) Word(w uint64) {
	d.a ^= bits.RotateLeft64(w*mix1, 31) * mix2
	d.a = (bits.RotateLeft64(d.a, 27)+d.b)*5 + 0x52dce729
	d.b ^= bits.RotateLeft64(w*mix2, 33) * mix1
	d.b = (bits.RotateLeft64(d.b, 31)+d.a)*5 + 0x38495ab5
}

// Bool takes one.
func (d *Digest) Bool(v bool) {
	if v {
		d.Word(1)
	} else {
		d.Word(0)
	}
}

// Text takes one.
func (d *Digest) Text(s string) {
	d.Word(uint64(len(s)))
	for len(s) >= 8 {
		var w uint64
		for i := range 8 {
			w |= uint64(s[i]) << (8 * i)
		}
		d.Word(w)
		s = s[8:]
	}
	var w uint64
	for i := range len(s) {
		w |= uint64(s[i]) << (8 * i)
	}
	d.Word(w)
}

// ID takes one.
func (d *Digest) ID(id algo.NodeID) { d.Text(string(id[:])) }

// Leader takes one.
func (d *Digest) Leader(l algo.Leader) {
	d.Word(uint64(l.Epoch))
	d.ID(l.ID)
}

// Stable takes one.
func (d *Digest) Stable(s algo.Stable) {
	d.Word(uint64(s.Epoch))
	d.ID(s.Vote)
	d.Text(s.Extra)
}

// Sum is the fingerprint of all that was taken.
func (d Digest) Sum() Fingerprint {
	a, b := d.a+d.b, d.b
	b += a
	a, b = final(a), final(b)
	a += b
	return Fingerprint{a, b + a}
}

func final(k uint64) uint64 {
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}

// reader feeds one value into a digest.
type reader func(d *Digest, v reflect.Value)

// Readers know how to read the types of an algorithm's state and messages: every
// field, exported or not. They are made once for each type.
//
//   - A View counts by its number.
//   - A map counts by its entries, in no order; a slice by its elements, in order.
//   - A pointer and an interface count by what they point to.
//   - Nil is not empty: an algorithm may tell them apart, so the search does.
//   - A function counts by its code. What a closure has captured is not seen.
//   - Channels, unsafe pointers and what points to itself are refused. They have no place in a state.
type Readers map[reflect.Type]*reader

// UnreadableError says that a fingerprint cannot cover a field.
type UnreadableError struct {
	Type  reflect.Type // of the field
	Where string       // from the type that was asked for down to the field
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s is of the type %v, which no fingerprint can cover", e.Where, e.Type)
}

// Of feeds any value into a digest. It panics with an [*UnreadableError].
func (rs Readers) Of(d *Digest, v any) {
	rs.dynamic(d, reflect.ValueOf(v))
}

// dynamic reads a value whose type is part of what it is.
func (rs Readers) dynamic(d *Digest, v reflect.Value) {
	if !v.IsValid() {
		d.Word(0)
		return
	}
	t := v.Type()
	d.Text(t.PkgPath())
	d.Text(t.String())
	(*rs.reader(t, t.String()))(d, v)
}

var viewType = reflect.TypeFor[algo.View]()

func (rs Readers) reader(t reflect.Type, where string) *reader {
	if r, ok := rs[t]; ok {
		return r
	}
	r := new(reader)
	rs[t] = r // first, for a type that contains pointers to itself
	*r = rs.build(t, where)
	return r
}

func (rs Readers) build(t reflect.Type, where string) reader {
	if t == viewType {
		return readView
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(d *Digest, v reflect.Value) { d.Bool(v.Bool()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(d *Digest, v reflect.Value) { d.Word(uint64(v.Int())) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return func(d *Digest, v reflect.Value) { d.Word(v.Uint()) }
	case reflect.Float32, reflect.Float64:
		return func(d *Digest, v reflect.Value) { d.Word(math.Float64bits(v.Float())) }
	case reflect.Complex64, reflect.Complex128:
		return func(d *Digest, v reflect.Value) {
			d.Word(math.Float64bits(real(v.Complex())))
			d.Word(math.Float64bits(imag(v.Complex())))
		}
	case reflect.String:
		return func(d *Digest, v reflect.Value) { d.Text(v.String()) }
	case reflect.Func:
		return func(d *Digest, v reflect.Value) { d.Word(uint64(v.Pointer())) }
	case reflect.Array:
		return rs.array(t, where)
	case reflect.Slice:
		return rs.slice(t, where)
	case reflect.Struct:
		return rs.structure(t, where)
	case reflect.Map:
		return rs.mapping(t, where)
	case reflect.Pointer:
		elem := rs.reader(t.Elem(), where)
		return func(d *Digest, v reflect.Value) {
			d.Bool(!v.IsNil())
			if !v.IsNil() {
				if d.depth++; d.depth > deepest {
					panic(&UnreadableError{Type: t, Where: where})
				}
				(*elem)(d, v.Elem())
				d.depth--
			}
		}
	case reflect.Interface:
		return func(d *Digest, v reflect.Value) { rs.dynamic(d, v.Elem()) }
	}
	panic(&UnreadableError{Type: t, Where: where})
}

// readView reads the number only: it tells a view from the others of a cluster.
func readView(d *Digest, v reflect.Value) {
	if inner := v.Field(0); inner.IsNil() {
		d.Word(0)
	} else {
		d.Word(inner.Elem().FieldByName("number").Uint())
	}
}

func (rs Readers) array(t reflect.Type, where string) reader {
	if t.Len() == 16 && t.Elem().Kind() == reflect.Uint8 { // a NodeID
		return func(d *Digest, v reflect.Value) {
			var words [2]uint64
			for i := range 16 {
				words[i/8] |= v.Index(i).Uint() << (8 * (i % 8))
			}
			d.Word(words[0])
			d.Word(words[1])
		}
	}
	elem := rs.reader(t.Elem(), where+"[]")
	return func(d *Digest, v reflect.Value) {
		for i := range v.Len() {
			(*elem)(d, v.Index(i))
		}
	}
}

func (rs Readers) slice(t reflect.Type, where string) reader {
	elem := rs.reader(t.Elem(), where+"[]")
	return func(d *Digest, v reflect.Value) {
		d.Bool(v.IsNil())
		d.Word(uint64(v.Len()))
		for i := range v.Len() {
			(*elem)(d, v.Index(i))
		}
	}
}

func (rs Readers) structure(t reflect.Type, where string) reader {
	fields := make([]*reader, t.NumField())
	for i := range fields {
		fields[i] = rs.reader(t.Field(i).Type, where+"."+t.Field(i).Name)
	}
	return func(d *Digest, v reflect.Value) {
		for i, field := range fields {
			(*field)(d, v.Field(i))
		}
	}
}

func (rs Readers) mapping(t reflect.Type, where string) reader {
	key := rs.reader(t.Key(), where+"'s key")
	elem := rs.reader(t.Elem(), where+"[]")
	return func(d *Digest, v reflect.Value) {
		d.Bool(v.IsNil())
		d.Word(uint64(v.Len()))
		var all Fingerprint
		for entry := v.MapRange(); entry.Next(); {
			var one Digest
			(*key)(&one, entry.Key())
			(*elem)(&one, entry.Value())
			all = all.Plus(one.Sum())
		}
		d.Word(all.A)
		d.Word(all.B)
	}
}
