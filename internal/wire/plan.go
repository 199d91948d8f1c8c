package wire

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// plan is how the values of one type travel, at one place in one message. It is made once,
// from the type; coding walks it.
type plan struct {
	field  string // its path in the message, for errors
	max    int    // bytes of a string or binary, elements of a list
	least  int    // bytes that a value has at least
	fields []plan // of a struct, in the order of the Go source
	needed int    // how many of the fields, the first ones, must be there; the others are optional
	elem   *plan  // of a slice
}

// The bounds of fields without a tag, and the largest that a tag can set.
const (
	defaultBytes    = 255
	defaultElements = 1024
	largestBound    = 1<<16 - 1
)

const supported = "supported are bool, integers, string, algo.NodeID, []byte, structs of these, and slices of any of these"

// planner makes the plan of one message, and collects the mistakes in it.
type planner struct {
	message  reflect.Type
	open     []reflect.Type // those around the place that it is at
	mistakes []error
}

func (p *planner) mistake(field, format string, args ...any) {
	place := strings.TrimSuffix(p.message.String()+"."+field, ".")
	p.mistakes = append(p.mistakes, fmt.Errorf("wire: %s: %w", place, fmt.Errorf(format, args...)))
}

func (p *planner) plan(t reflect.Type, field string, most int) plan {
	made := plan{field: field, max: cmp.Or(most, defaultElements), least: 1}
	if slices.Contains(p.open, t) {
		p.mistake(field, "%s contains itself, which is not supported", t)
		return made
	}
	p.open = append(p.open, t)
	defer func() { p.open = p.open[:len(p.open)-1] }()
	switch kind := t.Kind(); {
	case kind >= reflect.Bool && kind <= reflect.Uint64: // and all that is an integer
	case kind == reflect.String:
		made.max = cmp.Or(most, defaultBytes)
	case t == reflect.TypeFor[algo.NodeID]():
		made.max, made.least = t.Len(), 2+t.Len()
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		made.least = 2
	case kind == reflect.Struct:
		return p.structOf(t, field)
	case kind == reflect.Slice:
		elem := p.plan(t.Elem(), field, 0)
		made.elem = &elem
	default:
		p.mistake(field, "%s is not supported (%s)", t, supported)
	}
	return made
}

func (p *planner) structOf(t reflect.Type, path string) plan {
	s := plan{field: path, least: 1}
	for f := range t.Fields() {
		field := strings.TrimPrefix(path+"."+f.Name, ".")
		if !f.IsExported() {
			p.mistake(field, "is not exported, so its value would be lost")
			continue
		}
		most, isOptional := p.tag(f, field)
		made := p.plan(f.Type, field, most)
		if !isOptional {
			if s.needed < len(s.fields) {
				p.mistake(field, "follows an optional field, and is not optional itself")
			}
			s.needed = len(s.fields) + 1
			s.least += made.least
		}
		s.fields = append(s.fields, made)
	}
	return s
}

// tag reads `wire:"max=N"`, `wire:"optional"` or both, separated by a comma; a max of 0 is unsaid.
func (p *planner) tag(f reflect.StructField, field string) (most int, isOptional bool) {
	text, ok := f.Tag.Lookup("wire")
	if !ok {
		return 0, false
	}
	limit, isOptional := strings.CutSuffix(","+text, ",optional")
	if limit == "" {
		return 0, isOptional
	}
	digits, isMax := strings.CutPrefix(limit, ",max=")
	most, err := strconv.Atoi(digits)
	if !isMax || err != nil || most < 1 || most > largestBound {
		p.mistake(field, "tag %q, want optional, or max= and a number from 1 to %d", text, largestBound)
	} else if kind := f.Type.Kind(); kind != reflect.String && kind != reflect.Slice {
		p.mistake(field, "tag %q: max is for strings and slices, not for %s", text, f.Type)
	}
	return most, isOptional
}

// append encodes v. It refuses what decode would refuse.
func (p *plan) append(c *coder, v reflect.Value) {
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		_ = c.encoder.EncodeBool(v.Bool())
	case v.CanInt():
		_ = c.encoder.EncodeInt(v.Int())
	case v.CanUint():
		c.epoch(v.Type(), v.Uint())
		_ = c.encoder.EncodeUint(v.Uint())
	case kind == reflect.String:
		_ = c.encoder.EncodeString(c.text(v.String(), p.max))
	case kind == reflect.Array: // an id
		c.idValue.Set(v)
		_ = c.encoder.EncodeBytes(c.id[:])
	case kind == reflect.Struct:
		_ = c.encoder.EncodeArrayLen(len(p.fields))
		p.appendFields(c, v)
	case p.elem == nil: // bytes
		c.bound(v.Len(), p.max, "bytes")
		_ = c.encoder.EncodeBytesLen(v.Len()) // not EncodeBytes, which writes nil for nil
		c.out.Write(v.Bytes())
	default: // a slice
		c.bound(v.Len(), p.max, "elements")
		_ = c.encoder.EncodeArrayLen(v.Len())
		for i := 0; i < v.Len() && c.failed == ""; i++ {
			p.elem.append(c, v.Index(i))
		}
	}
	c.leave(p.field)
}

func (p *plan) appendFields(c *coder, v reflect.Value) {
	for i := range p.fields {
		p.fields[i].append(c, v.Field(i))
	}
}

// decode sets v, which is zero.
func (p *plan) decode(c *coder, v reflect.Value) {
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		v.SetBool(c.want(aBool) == msgpcode.True)
		c.in.Next(1)
	case v.CanInt(), v.CanUint():
		c.integer(v)
	case kind == reflect.String:
		v.SetString(c.shown(c.text(string(c.bytes(aString)), p.max)))
	case kind == reflect.Array: // an id
		b := c.bytes(binary)
		if copy(v.Bytes(), b); len(b) != v.Len() {
			c.fail("has length " + strconv.Itoa(len(b)) + ", want the 16 bytes of a node id")
		}
	case kind == reflect.Struct:
		if n := c.length(anArray); c.failed == "" {
			p.decodeFields(c, v, n)
		}
	case p.elem == nil: // bytes
		b := c.bytes(binary)
		c.bound(len(b), p.max, "bytes")
		v.SetBytes(append([]byte(nil), b...))
	default: // a slice
		p.decodeSlice(c, v)
	}
	c.leave(p.field)
}

// decodeFields decodes an array of n values whose head has been read. Values after the last field come from
// a newer version and are skipped. Optional fields that an older version does not send stay zero.
func (p *plan) decodeFields(c *coder, v reflect.Value, n int) {
	if n < p.needed {
		c.fail("is missing: " + strconv.Itoa(n) + " of " + strconv.Itoa(p.needed) + " fields are there")
		c.leave(p.fields[n].field)
		return
	}
	for i := range min(n, len(p.fields)) {
		p.fields[i].decode(c, v.Field(i))
	}
	c.about = "a field after the last known one "
	for i := len(p.fields); i < n && c.failed == ""; i++ {
		c.skip(maxSkipDepth)
	}
	c.about = ""
}

// decodeSlice allocates for no more elements than what is left of the input has room for.
func (p *plan) decodeSlice(c *coder, v reflect.Value) {
	n := c.length(anArray)
	c.bound(n, p.max, "elements")
	if n > c.in.Len()/p.elem.least {
		c.fail(cutShort)
	}
	if n == 0 || c.failed != "" {
		return
	}
	v.Grow(n) // unlike MakeSlice it allocates the elements only
	v.SetLen(n)
	for i := 0; i < n && c.failed == ""; i++ {
		p.elem.decode(c, v.Index(i))
	}
}
