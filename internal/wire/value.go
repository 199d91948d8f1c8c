package wire

import (
	"reflect"
	"strconv"

	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/elect-go/elect/internal/wire/schema"
)

// encode encodes v, which the schema has accepted.
func (c *coder) encode(t *schema.Value, v reflect.Value) {
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		_ = c.encoder.EncodeBool(v.Bool())
	case v.CanInt():
		_ = c.encoder.EncodeInt(v.Int())
	case v.CanUint():
		_ = c.encoder.EncodeUint(v.Uint())
	case kind == reflect.String:
		_ = c.encoder.EncodeString(v.String())
	case kind == reflect.Array: // a node ID
		c.idValue.Set(v)
		_ = c.encoder.EncodeBytes(c.id[:])
	case kind == reflect.Struct:
		_ = c.encoder.EncodeArrayLen(len(t.Fields))
		c.encodeFields(t, v)
	case t.Elem == nil: // bytes
		_ = c.encoder.EncodeBytesLen(v.Len()) // not EncodeBytes, which writes nil for nil
		c.out.Write(v.Bytes())
	default: // a slice
		_ = c.encoder.EncodeArrayLen(v.Len())
		for i := range v.Len() {
			c.encode(t.Elem, v.Index(i))
		}
	}
}

func (c *coder) encodeFields(t *schema.Value, v reflect.Value) {
	for i := range t.Fields {
		c.encode(&t.Fields[i], v.Field(i))
	}
}

// decode decodes into v, which is zero.
func (c *coder) decode(t *schema.Value, v reflect.Value) {
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		v.SetBool(c.expect(aBool) == msgpcode.True)
		c.in.Next(1)
	case v.CanInt(), v.CanUint():
		c.integer(v)
	case kind == reflect.String:
		text := string(c.bytes(aString))
		c.check(t.CheckText(text))
		v.SetString(c.sanitize(text))
	case kind == reflect.Array: // a node ID
		b := c.bytes(binary)
		if copy(v.Bytes(), b); len(b) != v.Len() {
			c.fail("has length " + strconv.Itoa(len(b)) + ", want the 16 bytes of a node id")
		}
	case kind == reflect.Struct:
		if n := c.length(anArray); c.failure == "" {
			c.decodeFields(t, v, n)
		}
	case t.Elem == nil: // bytes
		b := c.bytes(binary)
		c.check(t.CheckLen(len(b)))
		v.SetBytes(append([]byte(nil), b...))
	default: // a slice
		c.decodeSlice(t, v)
	}
	c.nameField(t.Field)
}

// decodeFields decodes an array of n values after its head. It skips values after the last field, which come from a
// newer version. Optional fields that an older version does not send stay zero.
func (c *coder) decodeFields(t *schema.Value, v reflect.Value, n int) {
	if n < t.Required {
		c.fail("is missing: " + strconv.Itoa(n) + " of " + strconv.Itoa(t.Required) + " fields are there")
		c.nameField(t.Fields[n].Field)
		return
	}
	for i := range min(n, len(t.Fields)) {
		c.decode(&t.Fields[i], v.Field(i))
	}
	c.subject = "a field after the last known one "
	for i := len(t.Fields); i < n && c.failure == ""; i++ {
		c.skip(maxSkipDepth)
	}
	c.subject = ""
}

// decodeSlice allocates no more elements than the rest of the input has room for.
func (c *coder) decodeSlice(t *schema.Value, v reflect.Value) {
	n := c.length(anArray)
	c.check(t.CheckLen(n))
	if n > c.in.Len()/t.Elem.MinSize {
		c.fail(truncated)
	}
	if n == 0 || c.failure != "" {
		return
	}
	v.Grow(n) // unlike MakeSlice, it allocates only the elements
	v.SetLen(n)
	for i := 0; i < n && c.failure == ""; i++ {
		c.decode(t.Elem, v.Index(i))
	}
}
