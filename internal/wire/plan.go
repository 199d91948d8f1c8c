package wire

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/elect-go/elect/algo"
)

// plan describes how to encode the values of one type, at one place in one message. It is made once, from the type.
type plan struct {
	field    string // path in the message, for errors
	max      int    // bytes of a string or binary, elements of a slice
	minSize  int    // minimum size of a value in bytes
	fields   []plan // of a struct, in the order of the Go source
	required int    // number of leading fields that must be present; the others are optional
	elem     *plan  // of a slice
}

// The limits of fields without a tag, and the largest limit in a tag.
const (
	defaultBytes    = 255
	defaultElements = 1024
	maxTag          = 1<<16 - 1
)

const supported = "supported are bool, integers, string, algo.NodeID, []byte, structs of these, and slices of any of these"

// planner makes the plan of one message, and collects its problems.
type planner struct {
	message  reflect.Type
	path     []reflect.Type // types that enclose the current place
	problems []error
}

func (p *planner) report(field, format string, args ...any) {
	place := strings.TrimSuffix(p.message.String()+"."+field, ".")
	p.problems = append(p.problems, fmt.Errorf("wire: %s: %w", place, fmt.Errorf(format, args...)))
}

func (p *planner) plan(t reflect.Type, field string, max int) plan {
	result := plan{field: field, max: cmp.Or(max, defaultElements), minSize: 1}
	if slices.Contains(p.path, t) {
		p.report(field, "%s contains itself, which is not supported", t)
		return result
	}
	p.path = append(p.path, t)
	defer func() { p.path = p.path[:len(p.path)-1] }()
	switch kind := t.Kind(); {
	case kind >= reflect.Bool && kind <= reflect.Uint64: // and all integers
	case kind == reflect.String:
		result.max = cmp.Or(max, defaultBytes)
	case t == reflect.TypeFor[algo.NodeID]():
		result.max, result.minSize = t.Len(), 2+t.Len()
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		result.minSize = 2
	case kind == reflect.Struct:
		return p.structOf(t, field)
	case kind == reflect.Slice:
		elem := p.plan(t.Elem(), field, 0)
		result.elem = &elem
	default:
		p.report(field, "%s is not supported (%s)", t, supported)
	}
	return result
}

func (p *planner) structOf(t reflect.Type, path string) plan {
	result := plan{field: path, minSize: 1}
	for f := range t.Fields() {
		field := strings.TrimPrefix(path+"."+f.Name, ".")
		if !f.IsExported() {
			p.report(field, "is not exported, so its value would be lost")
			continue
		}
		max, isOptional := p.parseTag(f, field)
		fieldPlan := p.plan(f.Type, field, max)
		if !isOptional {
			if result.required < len(result.fields) {
				p.report(field, "follows an optional field, and is not optional itself")
			}
			result.required = len(result.fields) + 1
			result.minSize += fieldPlan.minSize
		}
		result.fields = append(result.fields, fieldPlan)
	}
	return result
}

// parseTag parses `wire:"max=N"`, `wire:"optional"` or both, separated by a comma. A max of 0 means that there is
// none.
func (p *planner) parseTag(f reflect.StructField, field string) (max int, isOptional bool) {
	text, ok := f.Tag.Lookup("wire")
	if !ok {
		return 0, false
	}
	limit, isOptional := strings.CutSuffix(","+text, ",optional")
	if limit == "" {
		return 0, isOptional
	}
	digits, isMax := strings.CutPrefix(limit, ",max=")
	max, err := strconv.Atoi(digits)
	if !isMax || err != nil || max < 1 || max > maxTag {
		p.report(field, "tag %q, want optional, or max= and a number from 1 to %d", text, maxTag)
	} else if kind := f.Type.Kind(); kind != reflect.String && kind != reflect.Slice {
		p.report(field, "tag %q: max is for strings and slices, not for %s", text, f.Type)
	}
	return max, isOptional
}

// append encodes v. It rejects the values that decode would reject.
func (p *plan) append(c *coder, v reflect.Value) {
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		_ = c.encoder.EncodeBool(v.Bool())
	case v.CanInt():
		_ = c.encoder.EncodeInt(v.Int())
	case v.CanUint():
		c.checkEpoch(v.Type(), v.Uint())
		_ = c.encoder.EncodeUint(v.Uint())
	case kind == reflect.String:
		_ = c.encoder.EncodeString(c.text(v.String(), p.max))
	case kind == reflect.Array: // a node ID
		c.idValue.Set(v)
		_ = c.encoder.EncodeBytes(c.id[:])
	case kind == reflect.Struct:
		_ = c.encoder.EncodeArrayLen(len(p.fields))
		p.appendFields(c, v)
	case p.elem == nil: // bytes
		c.checkMax(v.Len(), p.max, "bytes")
		_ = c.encoder.EncodeBytesLen(v.Len()) // not EncodeBytes, which writes nil for nil
		c.out.Write(v.Bytes())
	default: // a slice
		c.checkMax(v.Len(), p.max, "elements")
		_ = c.encoder.EncodeArrayLen(v.Len())
		for i := 0; i < v.Len() && c.failure == ""; i++ {
			p.elem.append(c, v.Index(i))
		}
	}
	c.nameField(p.field)
}

func (p *plan) appendFields(c *coder, v reflect.Value) {
	for i := range p.fields {
		p.fields[i].append(c, v.Field(i))
	}
}

// decode decodes into v, which is zero.
func (p *plan) decode(c *coder, v reflect.Value) {
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		v.SetBool(c.expect(aBool) == msgpcode.True)
		c.in.Next(1)
	case v.CanInt(), v.CanUint():
		c.integer(v)
	case kind == reflect.String:
		v.SetString(c.sanitize(c.text(string(c.bytes(aString)), p.max)))
	case kind == reflect.Array: // a node ID
		b := c.bytes(binary)
		if copy(v.Bytes(), b); len(b) != v.Len() {
			c.fail("has length " + strconv.Itoa(len(b)) + ", want the 16 bytes of a node id")
		}
	case kind == reflect.Struct:
		if n := c.length(anArray); c.failure == "" {
			p.decodeFields(c, v, n)
		}
	case p.elem == nil: // bytes
		b := c.bytes(binary)
		c.checkMax(len(b), p.max, "bytes")
		v.SetBytes(append([]byte(nil), b...))
	default: // a slice
		p.decodeSlice(c, v)
	}
	c.nameField(p.field)
}

// decodeFields decodes an array of n values after its head. It skips values after the last field, which come from a
// newer version. Optional fields that an older version does not send stay zero.
func (p *plan) decodeFields(c *coder, v reflect.Value, n int) {
	if n < p.required {
		c.fail("is missing: " + strconv.Itoa(n) + " of " + strconv.Itoa(p.required) + " fields are there")
		c.nameField(p.fields[n].field)
		return
	}
	for i := range min(n, len(p.fields)) {
		p.fields[i].decode(c, v.Field(i))
	}
	c.subject = "a field after the last known one "
	for i := len(p.fields); i < n && c.failure == ""; i++ {
		c.skip(maxSkipDepth)
	}
	c.subject = ""
}

// decodeSlice allocates no more elements than the rest of the input has room for.
func (p *plan) decodeSlice(c *coder, v reflect.Value) {
	n := c.length(anArray)
	c.checkMax(n, p.max, "elements")
	if n > c.in.Len()/p.elem.minSize {
		c.fail(truncated)
	}
	if n == 0 || c.failure != "" {
		return
	}
	v.Grow(n) // unlike MakeSlice, it allocates only the elements
	v.SetLen(n)
	for i := 0; i < n && c.failure == ""; i++ {
		p.elem.decode(c, v.Index(i))
	}
}
