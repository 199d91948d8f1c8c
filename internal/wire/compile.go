package wire

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/algo"
)

// The bounds of fields without a tag, and the largest that a tag can set.
const (
	defaultBytes    = 255
	defaultElements = 1024
	largestBound    = 1<<16 - 1
)

const supported = "supported are bool, integers, string, algo.NodeID, []byte, structs of these, and slices of any of these but slices"

// shape is how the values of one type travel, at one place in one message. The
// shapes of a message are made once, from its type; coding walks them.
type shape interface {
	// append encodes v.
	append(e *encoder, v reflect.Value) *fault
	// decode sets v, which is zero.
	decode(d *decoder, v reflect.Value) *fault
	// least is a lower bound of the encoded size in bytes, at least 1.
	least() int
	// excess is the most that decoding one value allocates on top of four times the
	// value's encoded size. See cost.go.
	excess() int
}

var nodeID = reflect.TypeFor[algo.NodeID]()

// compiler makes the shapes of one message.
type compiler struct {
	message  reflect.Type
	open     []reflect.Type // structs around the place being compiled
	mistakes []error
}

func compile(message reflect.Type, kind string) (*structShape, error) {
	c := &compiler{message: message}
	body, _ := c.structOf(message, "").(*structShape)
	if len(c.mistakes) == 0 {
		if why := tooCostly(message, kind, body); why != "" {
			c.mistake("", "%s", why)
		}
	}
	return body, errors.Join(c.mistakes...)
}

func (c *compiler) mistake(field, format string, args ...any) {
	place := c.message.String()
	if field != "" {
		place += "." + field
	}
	c.mistakes = append(c.mistakes, fmt.Errorf("wire: %s: %w", place, fmt.Errorf(format, args...)))
}

// compile returns the shape of t, or nil after noting a mistake.
func (c *compiler) compile(t reflect.Type, field string, tag bounds) shape {
	switch {
	case t == nodeID:
		return idShape{field}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return bytesShape{field, tag.bound(defaultElements)}
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolShape{field}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intShape{field}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintShape{field}
	case reflect.String:
		return stringShape{field, tag.bound(defaultBytes)}
	case reflect.Struct:
		return c.structOf(t, field)
	case reflect.Slice:
		return c.sliceOf(t, field, tag)
	}
	c.mistake(field, "%s is not supported (%s)", t, supported)
	return nil
}

func (c *compiler) structOf(t reflect.Type, path string) shape {
	if slices.Contains(c.open, t) {
		c.mistake(path, "%s contains itself, which is not supported", t)
		return nil
	}
	c.open = append(c.open, t)
	defer func() { c.open = c.open[:len(c.open)-1] }()

	s := &structShape{field: path}
	for i := range t.NumField() {
		f := t.Field(i)
		field := f.Name
		if path != "" {
			field = path + "." + f.Name
		}
		if !f.IsExported() {
			c.mistake(field, "is not exported, so its value would be lost")
			continue
		}
		tag, err := parseTag(f)
		if err != nil {
			c.mistake(field, "%w", err)
			continue
		}
		if shape := c.compile(f.Type, field, tag); shape != nil {
			s.fields = append(s.fields, shape)
			s.names = append(s.names, field)
			s.body += shape.least()
		}
	}
	return s
}

func (c *compiler) sliceOf(t reflect.Type, field string, tag bounds) shape {
	if t.Elem().Kind() == reflect.Slice {
		c.mistake(field, "%s is not supported: it is a slice of slices (%s)", t, supported)
		return nil
	}
	elem := c.compile(t.Elem(), field, bounds{max: tag.each})
	if elem == nil {
		return nil
	}
	return sliceShape{field: field, max: tag.bound(defaultElements), size: int(t.Elem().Size()), elem: elem}
}

// bounds are what a struct tag says; zero is unsaid.
type bounds struct{ max, each int }

func (b bounds) bound(unsaid int) int {
	if b.max == 0 {
		return unsaid
	}
	return b.max
}

// parseTag reads `wire:"max=N,each=N"`.
func parseTag(f reflect.StructField) (bounds, error) {
	var b bounds
	text, ok := f.Tag.Lookup("wire")
	if !ok {
		return b, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > largestBound {
			return b, fmt.Errorf("tag %q wants a number from 1 to %d after %q", text, largestBound, name+"=")
		}
		kind := f.Type.Kind()
		switch {
		case name == "max" && (kind == reflect.String || kind == reflect.Slice):
			b.max = n
		case name == "each" && kind == reflect.Slice && f.Type.Elem().Kind() == reflect.String:
			b.each = n
		case name == "max":
			return b, fmt.Errorf("tag %q: max is for strings and slices, not for %s", text, f.Type)
		case name == "each":
			return b, fmt.Errorf("tag %q: each is for slices of strings, not for %s", text, f.Type)
		default:
			return b, fmt.Errorf("tag %q has %q, want max or each", text, name)
		}
	}
	return b, nil
}
