package wire

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// coder reads one message, or writes one. Of msgpack it uses what is about one number or one
// head. What reads these is lenient (nil is 0, -1 is a large uint64), so each is called after
// a look at the code that it will meet, and bytes are taken from the input directly: the
// library would allocate what a length claims. What is read after a failure does not count.
type coder struct {
	in, out bytes.Buffer
	decoder *msgpack.Decoder // reads in
	encoder *msgpack.Encoder // writes to out, which does not fail
	id      algo.NodeID
	idValue reflect.Value // id, to copy a field into without an allocation
	shown   func(text string) string
	about   string // what the reason of a failure begins with
	failed  string // why, the first time
	field   string // in which, by its path
}

var coders = sync.Pool{New: func() any {
	c := &coder{}
	c.decoder, c.encoder = msgpack.NewDecoder(&c.in), msgpack.NewEncoder(&c.out)
	c.idValue = reflect.ValueOf(&c.id).Elem()
	return c
}}

// end gives c back, and returns what has failed. The kind is empty where it is not known.
func (c *coder) end(verb, kind string) (err error) {
	if c.failed != "" {
		what := strings.TrimSuffix(cmp.Or(kind, "message")+"."+c.field, ".")
		err = errors.New("wire: cannot " + verb + " " + what + ": " + c.failed)
	}
	c.in, c.about, c.failed, c.field = bytes.Buffer{}, "", "", ""
	c.out.Reset()
	coders.Put(c)
	return err
}

// fail gives a reason, which follows the name of what was to be coded.
func (c *coder) fail(why string) {
	c.failed = cmp.Or(c.failed, c.about+why)
}

// leave names the field in which something has failed, where no field inside it has been named.
func (c *coder) leave(field string) {
	if c.failed != "" {
		c.field = cmp.Or(c.field, field)
	}
}

const cutShort = "is cut short"

// bound fails if there are more than are allowed.
func (c *coder) bound(n, most int, what string) {
	if n > most {
		c.fail("has " + strconv.Itoa(n) + " " + what + ", at most " + strconv.Itoa(most) + " are allowed")
	}
}

// text returns a string that fits, or fails.
func (c *coder) text(text string, most int) string {
	c.bound(len(text), most, "bytes")
	if !utf8.ValidString(text) {
		c.fail("is not valid UTF-8")
	}
	return text
}

// next is the code that the next value begins with, and what type that is of.
func (c *coder) next() (code byte, what string) {
	if c.in.Len() == 0 {
		c.fail(cutShort)
	}
	if c.failed != "" {
		return 0, nothing
	}
	code = c.in.Bytes()[0]
	return code, typeOf[code]
}

// want fails if the next value is of another type.
func (c *coder) want(want string) (code byte) {
	code, what := c.next()
	if what != want {
		c.fail("is " + what + ", want " + want)
	}
	return code
}

// integer reads a number into v, which it must fit.
func (c *coder) integer(v reflect.Value) {
	code := c.want(anInteger)
	n, err := c.decoder.DecodeUint64()
	signed := int64(n)
	negative := signed < 0 && code >= msgpcode.Int8 // those of signed integers follow
	switch {
	case err != nil:
		c.fail(cutShort)
	case v.CanInt() && negative == (signed < 0) && !v.OverflowInt(signed):
		v.SetInt(signed)
	case v.CanUint() && !negative && !v.OverflowUint(n):
		c.epoch(v.Type(), n)
		v.SetUint(n)
	case negative:
		c.fail("is " + strconv.FormatInt(signed, 10) + ", which does not fit " + v.Kind().String())
	default:
		c.fail("is " + strconv.FormatUint(n, 10) + ", which does not fit " + v.Kind().String())
	}
}

// epoch fails for an epoch above algo.MaxEpoch: the epochs after it must not run out.
func (c *coder) epoch(t reflect.Type, n uint64) {
	if t == reflect.TypeFor[algo.Epoch]() && n > uint64(algo.MaxEpoch) {
		c.fail("is " + strconv.FormatUint(n, 10) + ", want an epoch of at most " + strconv.FormatUint(uint64(algo.MaxEpoch), 10))
	}
}

// length reads the head of a value, and returns how many bytes, elements or pairs are in it:
// no more than can be in what is left of the input.
func (c *coder) length(what string) (n int) {
	c.want(what)
	var err error
	switch what {
	case anArray:
		n, err = c.decoder.DecodeArrayLen()
	case aMap:
		n, err = c.decoder.DecodeMapLen()
	case anExtension:
		_, n, err = c.decoder.DecodeExtHeader()
	default:
		n, err = c.decoder.DecodeBytesLen()
	}
	if err != nil || n < 0 || n > c.in.Len() { // below 0: above 2^31, in the int of a 32-bit machine
		c.fail(cutShort)
	}
	if c.failed != "" {
		return 0
	}
	return n
}

// bytes are those of a string or of binary data, and part of the input.
func (c *coder) bytes(what string) []byte { return c.in.Next(c.length(what)) }

// maxSkipDepth is how deep arrays and maps may be nested in a value that is skipped.
const maxSkipDepth = 8

// skip reads one value of any type and forgets it. What it holds may be nested so deep; the
// library's own Skip goes as deep as the input does.
func (c *coder) skip(deep int) {
	switch _, what := c.next(); what {
	case anArray, aMap:
		n := c.length(what)
		if what == aMap {
			n *= 2
		}
		if n > 0 && deep == 0 {
			c.fail("is nested too deep")
		}
		for ; n > 0 && c.failed == ""; n-- {
			c.skip(deep - 1)
		}
	case aString, binary, anExtension:
		c.bytes(what)
	case nothing:
		c.fail("is " + what)
	default:
		if c.decoder.Skip() != nil {
			c.fail(cutShort)
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

// typeOf is of what type a value is that begins with a code. A type holds from its code on
// to the next one that is listed.
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
