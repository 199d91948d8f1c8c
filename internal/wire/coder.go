package wire

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/wire/schema"
)

// coder decodes or encodes one message. It uses only the msgpack functions for one number or one head. These are
// lenient when they read: nil is 0, and -1 is a large uint64. So coder checks the first byte before each call. It
// takes bytes directly from the input, because the library would allocate any length that the input claims. After a
// failure, the decoded values are not used.
type coder struct {
	in, out  bytes.Buffer
	decoder  *msgpack.Decoder // reads in
	encoder  *msgpack.Encoder // writes to out, which does not fail
	id       algo.NodeID
	idValue  reflect.Value // of id; a field is copied into it without an allocation
	sanitize func(text string) string
	subject  string // begins the reason of a failure
	failure  string // first reason; empty without one
	field    string // path of the field that has failed
}

var coders = sync.Pool{New: func() any {
	c := &coder{}
	c.decoder, c.encoder = msgpack.NewDecoder(&c.in), msgpack.NewEncoder(&c.out)
	c.idValue = reflect.ValueOf(&c.id).Elem()
	return c
}}

// release returns c to the pool.
func (c *coder) release() {
	c.in, c.subject, c.failure, c.field = bytes.Buffer{}, "", "", ""
	c.out.Reset()
	coders.Put(c)
}

// err returns the failure to decode a message of that kind.
func (c *coder) err(kind string) error {
	return errors.New("wire: cannot decode " + strings.TrimSuffix(kind+"."+c.field, ".") + ": " + c.failure)
}

// fail records a failure, unless there is one. The name of the field will precede the reason.
func (c *coder) fail(reason string) {
	c.failure = cmp.Or(c.failure, c.subject+reason)
}

// check fails if there is a problem.
func (c *coder) check(problem string) {
	if problem != "" {
		c.fail(problem)
	}
}

// nameField records the field of a failure, unless a field inside of it has been recorded.
func (c *coder) nameField(field string) {
	if c.failure != "" {
		c.field = cmp.Or(c.field, field)
	}
}

const truncated = "is cut short"

// peekType returns the first byte of the next value, and the type that it stands for.
func (c *coder) peekType() (code byte, typ string) {
	if c.in.Len() == 0 {
		c.fail(truncated)
	}
	if c.failure != "" {
		return 0, nothing
	}
	code = c.in.Bytes()[0]
	return code, typeOf[code]
}

// expect fails if the next value is not of type typ.
func (c *coder) expect(typ string) (code byte) {
	code, found := c.peekType()
	if found != typ {
		c.fail("is " + found + ", want " + typ)
	}
	return code
}

// integer decodes a number into v, and fails if it does not fit.
func (c *coder) integer(v reflect.Value) {
	code := c.expect(anInteger)
	n, err := c.decoder.DecodeUint64()
	signed := int64(n)
	negative := signed < 0 && code >= msgpcode.Int8 // the codes after Int8 are those of signed integers
	switch {
	case err != nil:
		c.fail(truncated)
	case v.CanInt() && negative == (signed < 0) && !v.OverflowInt(signed):
		v.SetInt(signed)
	case v.CanUint() && !negative && !v.OverflowUint(n):
		c.check(schema.CheckEpoch(v.Type(), n))
		v.SetUint(n)
	case negative:
		c.fail("is " + strconv.FormatInt(signed, 10) + ", which does not fit " + v.Kind().String())
	default:
		c.fail("is " + strconv.FormatUint(n, 10) + ", which does not fit " + v.Kind().String())
	}
}

// length decodes the head of a value, and returns the number of bytes, elements or pairs in it. It fails if the rest
// of the input cannot hold that many.
func (c *coder) length(typ string) (n int) {
	c.expect(typ)
	var err error
	switch typ {
	case anArray:
		n, err = c.decoder.DecodeArrayLen()
	case aMap:
		n, err = c.decoder.DecodeMapLen()
	case anExtension:
		_, n, err = c.decoder.DecodeExtHeader()
	default:
		n, err = c.decoder.DecodeBytesLen()
	}
	if err != nil || n < 0 || n > c.in.Len() { // negative: above 2^31 on a 32-bit machine
		c.fail(truncated)
	}
	if c.failure != "" {
		return 0
	}
	return n
}

// bytes decodes a string or binary data. The result aliases the input.
func (c *coder) bytes(typ string) []byte { return c.in.Next(c.length(typ)) }

// maxSkipDepth limits the nesting of arrays and maps in a skipped value.
const maxSkipDepth = 8

// skip skips one value of any type. The library's own Skip does not limit the depth.
func (c *coder) skip(depth int) {
	switch _, typ := c.peekType(); typ {
	case anArray, aMap:
		n := c.length(typ)
		if typ == aMap {
			n *= 2
		}
		if n > 0 && depth == 0 {
			c.fail("is nested too deep")
		}
		for ; n > 0 && c.failure == ""; n-- {
			c.skip(depth - 1)
		}
	case aString, binary, anExtension:
		c.bytes(typ)
	case nothing:
		c.fail("is " + typ)
	default:
		if c.decoder.Skip() != nil {
			c.fail(truncated)
		}
	}
}

// The types of msgpack.
const (
	nothing     = "no msgpack value"
	anInteger   = "an integer"
	aFloat      = "a float"
	aBool       = "a boolean"
	aNil        = "nil"
	aString     = "a string"
	binary      = "binary data"
	anExtension = "an extension"
	anArray     = "an array"
	aMap        = "a map"
)

// typeOf maps the first byte of a value to its type. Each listed byte begins a range with one type.
var typeOf = func() (types [256]string) {
	from := map[int]string{
		0: anInteger, 0x80: aMap, 0x90: anArray, 0xa0: aString, 0xc0: aNil, 0xc1: nothing, 0xc2: aBool, 0xc4: binary, 0xc7: anExtension,
		0xca: aFloat, 0xcc: anInteger, 0xd4: anExtension, 0xd9: aString, 0xdc: anArray, 0xde: aMap, 0xe0: anInteger,
	}
	for code := range types {
		types[code] = cmp.Or(from[code], types[max(code-1, 0)])
	}
	return types
}()
