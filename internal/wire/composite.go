package wire

import (
	"reflect"
	"strconv"
)

// structShape is a struct: an array of its fields in the order of the Go source.
// The body of a message is one too, without an array of its own: its fields follow
// the kind.
type structShape struct {
	field  string
	fields []shape
	names  []string // paths of the fields
	body   int      // least size of all fields together
}

func (s *structShape) append(e *encoder, v reflect.Value) *fault {
	if err := e.msgpack.EncodeArrayLen(len(s.fields)); err != nil {
		return failed(s.field, err)
	}
	return s.appendFields(e, v)
}

func (s *structShape) appendFields(e *encoder, v reflect.Value) *fault {
	for i, field := range s.fields {
		if f := field.append(e, v.Field(i)); f != nil {
			return f
		}
	}
	return nil
}

func (s *structShape) decode(d *decoder, v reflect.Value) *fault {
	n, why := d.arrayLen()
	if why != "" {
		return because(s.field, why)
	}
	return s.decodeFields(d, v, n)
}

// decodeFields decodes an array of n values whose head has been read. Those
// beyond the fields come from a newer peer and are skipped.
func (s *structShape) decodeFields(d *decoder, v reflect.Value, n int) *fault {
	extra := n - len(s.fields)
	if extra < 0 {
		return &fault{Field: s.names[n], Why: "is missing: " + count(n, "field") + ", want " + strconv.Itoa(len(s.fields))}
	}
	if extra > d.room() || s.body > d.room()-extra {
		return because(s.field, cutShort)
	}
	d.owed += s.body + extra
	for i, field := range s.fields {
		d.owed -= field.least()
		if f := field.decode(d, v.Field(i)); f != nil {
			return f
		}
	}
	for range extra {
		d.owed--
		if why := d.skip(); why != "" {
			return because(s.field, "a field after the last known one "+why)
		}
	}
	return nil
}

func (s *structShape) least() int { return 1 + s.body }

func (s *structShape) excess() int {
	sum := -4
	for _, field := range s.fields {
		sum += field.excess()
	}
	return sum
}

// sliceShape is a slice of anything but bytes and slices.
type sliceShape struct {
	field string
	max   int // elements
	size  int // of an element in memory
	elem  shape
}

func (s sliceShape) append(e *encoder, v reflect.Value) *fault {
	n := v.Len()
	if why := tooMany(n, s.max, "element"); why != "" {
		return because(s.field, why)
	}
	if err := e.msgpack.EncodeArrayLen(n); err != nil {
		return failed(s.field, err)
	}
	for i := range n {
		if f := s.elem.append(e, v.Index(i)); f != nil {
			return f
		}
	}
	return nil
}

func (s sliceShape) decode(d *decoder, v reflect.Value) *fault {
	n, why := d.arrayLen()
	if why == "" {
		why = tooMany(n, s.max, "element")
	}
	least := s.elem.least()
	if why == "" && n > d.room()/least {
		why = cutShort
	}
	if why != "" || n == 0 {
		return because(s.field, why)
	}
	d.owed += n * least
	v.Grow(n) // unlike MakeSlice it allocates the elements only
	v.SetLen(n)
	for i := range n {
		d.owed -= least
		if f := s.elem.decode(d, v.Index(i)); f != nil {
			return f
		}
	}
	return nil
}

func (s sliceShape) least() int { return 1 }

// excess is linear in the number of elements, so it is largest at one end.
func (s sliceShape) excess() int {
	each := withSlack(s.size) + s.elem.excess()
	return max(0, each, each*s.max) + slack - 4
}
