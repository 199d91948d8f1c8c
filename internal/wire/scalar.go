package wire

import (
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
)

// Each shape of this file knows the path of its field, for errors.

type boolShape struct{ field string }

func (s boolShape) append(e *encoder, v reflect.Value) *fault {
	return failed(s.field, e.msgpack.EncodeBool(v.Bool()))
}

func (s boolShape) decode(d *decoder, v reflect.Value) *fault {
	b, why := d.bool()
	v.SetBool(b)
	return because(s.field, why)
}

func (s boolShape) least() int  { return 1 }
func (s boolShape) excess() int { return -4 }

type intShape struct{ field string }

func (s intShape) append(e *encoder, v reflect.Value) *fault {
	return failed(s.field, e.msgpack.EncodeInt(v.Int()))
}

func (s intShape) decode(d *decoder, v reflect.Value) *fault {
	n, why := d.int()
	if why == "" && v.OverflowInt(n) {
		why = "is " + strconv.FormatInt(n, 10) + ", which does not fit " + v.Kind().String()
	}
	if why == "" {
		v.SetInt(n)
	}
	return because(s.field, why)
}

func (s intShape) least() int  { return 1 }
func (s intShape) excess() int { return -4 }

type uintShape struct{ field string }

func (s uintShape) append(e *encoder, v reflect.Value) *fault {
	return failed(s.field, e.msgpack.EncodeUint(v.Uint()))
}

func (s uintShape) decode(d *decoder, v reflect.Value) *fault {
	n, why := d.uint()
	if why == "" && v.OverflowUint(n) {
		why = "is " + strconv.FormatUint(n, 10) + ", which does not fit " + v.Kind().String()
	}
	if why == "" {
		v.SetUint(n)
	}
	return because(s.field, why)
}

func (s uintShape) least() int  { return 1 }
func (s uintShape) excess() int { return -4 }

type stringShape struct {
	field string
	max   int // bytes
}

func (s stringShape) append(e *encoder, v reflect.Value) *fault {
	text := v.String()
	why := tooMany(len(text), s.max, "byte")
	if why == "" && !utf8.ValidString(text) {
		why = notUTF8
	}
	if why != "" {
		return because(s.field, why)
	}
	return failed(s.field, e.msgpack.EncodeString(text))
}

func (s stringShape) decode(d *decoder, v reflect.Value) *fault {
	text, why := d.text()
	if why == "" {
		why = tooMany(len(text), s.max, "byte")
	}
	if why == "" && !utf8.Valid(text) {
		why = notUTF8
	}
	if why == "" {
		v.SetString(string(text))
	}
	return because(s.field, why)
}

const notUTF8 = "is not valid UTF-8"

func (s stringShape) least() int { return 1 }

// excess: an empty string is a byte and no allocation. Longer ones gain 4 for each
// byte and spend little more than 1.
func (s stringShape) excess() int { return -4 }

// bytesShape is for []byte.
type bytesShape struct {
	field string
	max   int
}

func (s bytesShape) append(e *encoder, v reflect.Value) *fault {
	b := v.Bytes()
	if why := tooMany(len(b), s.max, "byte"); why != "" {
		return because(s.field, why)
	}
	// Not EncodeBytes, which writes nil for nil.
	if err := e.msgpack.EncodeBytesLen(len(b)); err != nil {
		return failed(s.field, err)
	}
	e.out = append(e.out, b...)
	return nil
}

func (s bytesShape) decode(d *decoder, v reflect.Value) *fault {
	b, why := d.binary()
	if why == "" {
		why = tooMany(len(b), s.max, "byte")
	}
	if why == "" && len(b) > 0 {
		v.SetBytes(append(make([]byte, 0, len(b)), b...))
	}
	return because(s.field, why)
}

func (s bytesShape) least() int { return 2 }

// excess: one byte is three on the wire, and the runtime's smallest allocation is 16.
func (s bytesShape) excess() int { return 16 - 4*3 }

type idShape struct{ field string }

func (s idShape) append(e *encoder, v reflect.Value) *fault {
	e.idValue.Set(v)
	return failed(s.field, e.msgpack.EncodeBytes(e.id[:]))
}

func (s idShape) decode(d *decoder, v reflect.Value) *fault {
	b, why := d.binary()
	if why == "" && len(b) != len(algo.NodeID{}) {
		why = "has " + count(len(b), "byte") + ", want the 16 of a node id"
	}
	if why == "" {
		copy(d.id[:], b)
		v.Set(d.idValue)
	}
	return because(s.field, why)
}

func (s idShape) least() int  { return 2 + len(algo.NodeID{}) }
func (s idShape) excess() int { return -4 * s.least() }

// because makes a fault of a reason; no reason, no fault.
func because(field, why string) *fault {
	if why == "" {
		return nil
	}
	return &fault{Field: field, Why: why}
}

// failed makes a fault of an error of msgpack's encoder. There is none when it
// writes to memory, but it is not for this package to rely on it.
func failed(field string, err error) *fault {
	if err == nil {
		return nil
	}
	return &fault{Field: field, Why: err.Error()}
}
