package wire

import (
	"bytes"
	"io"
	"strconv"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// decoder reads one message. Of msgpack it uses what reads a number or a head; those
// are lenient (nil is 0, -1 is a large uint64), so each is called only after a
// look at the code that it will meet. Bytes are taken from the input directly:
// the library would allocate what a length claims.
type decoder struct {
	input   []byte
	rest    bytes.Reader // what is left of the input; msgpack does not buffer it
	msgpack *msgpack.Decoder
	shown   func(text string) string
}

var decoders = sync.Pool{New: func() any {
	d := &decoder{}
	d.msgpack = msgpack.NewDecoder(&d.rest)
	return d
}}

func (d *decoder) reset(b []byte) {
	d.input = b
	d.rest.Reset(b)
}

func (d *decoder) left() int { return d.rest.Len() }

// The methods below return a reason when they fail; it follows the name of what
// was to be read.

const cutShort = "is cut short"

// next looks at the code that the next value begins with, which should be one of a type.
func (d *decoder) next(want valueType) (code byte, why string) {
	if d.left() == 0 {
		return 0, cutShort
	}
	code = d.input[len(d.input)-d.left()]
	if got := typeOf[code]; got != want {
		return code, "is " + typeNames[got] + ", want " + typeNames[want]
	}
	return code, ""
}

func (d *decoder) bool() (bool, string) {
	if _, why := d.next(typeBool); why != "" {
		return false, why
	}
	b, err := d.msgpack.DecodeBool()
	return b, ended(err)
}

func (d *decoder) int() (int64, string) {
	code, why := d.next(typeInteger)
	if why != "" {
		return 0, why
	}
	n, err := d.msgpack.DecodeInt64()
	if err == nil && n < 0 && code == msgpcode.Uint64 {
		return 0, "is " + strconv.FormatUint(uint64(n), 10) + ", which does not fit int64"
	}
	return n, ended(err)
}

func (d *decoder) uint() (uint64, string) {
	code, why := d.next(typeInteger)
	if why != "" {
		return 0, why
	}
	if code < msgpcode.Int8 { // those of signed integers follow
		n, err := d.msgpack.DecodeUint64()
		return n, ended(err)
	}
	n, err := d.msgpack.DecodeInt64()
	if err == nil && n < 0 {
		return 0, "is " + strconv.FormatInt(n, 10) + ", want none below 0"
	}
	return uint64(n), ended(err)
}

// bytes returns the bytes of a string or of binary data, which are part of the input.
func (d *decoder) bytes(want valueType) ([]byte, string) {
	if _, why := d.next(want); why != "" {
		return nil, why
	}
	n, err := d.msgpack.DecodeBytesLen()
	if err != nil {
		return nil, cutShort
	}
	return d.take(n)
}

// take returns the next n bytes of the input.
func (d *decoder) take(n int) ([]byte, string) {
	if left := d.left(); n < 0 || n > left {
		return nil, "claims " + count(n, "byte") + " where " + strconv.Itoa(left) + " can be"
	}
	at := len(d.input) - d.left()
	_, _ = d.rest.Seek(int64(n), io.SeekCurrent) // it is there
	return d.input[at : at+n], ""
}

// arrayLen reads the head of an array. Whether its elements can be in the input is
// for the caller to check.
func (d *decoder) arrayLen() (int, string) {
	if _, why := d.next(typeArray); why != "" {
		return 0, why
	}
	n, err := d.msgpack.DecodeArrayLen()
	if err != nil || n < 0 { // below 0: above 2^31, in the int of a 32-bit machine
		return 0, cutShort
	}
	return n, ""
}

func ended(err error) string {
	if err != nil {
		return cutShort
	}
	return ""
}

// valueType is what type of value the input has.
type valueType uint8

const (
	typeNone valueType = iota
	typeInteger
	typeFloat
	typeBool
	typeNil
	typeString
	typeBinary
	typeExtension
	typeArray
	typeMap
)

var typeNames = [...]string{"no msgpack value", "an integer", "a float", "a boolean", "nil", "a string", "binary data",
	"an extension", "an array", "a map"}

// typeOf is of what type a value is that begins with a code.
var typeOf = func() (types [256]valueType) {
	for i := range types {
		switch code := byte(i); {
		case msgpcode.IsFixedNum(code), code >= msgpcode.Uint8 && code <= msgpcode.Int64:
			types[i] = typeInteger
		case code == msgpcode.Float, code == msgpcode.Double:
			types[i] = typeFloat
		case code == msgpcode.False, code == msgpcode.True:
			types[i] = typeBool
		case code == msgpcode.Nil:
			types[i] = typeNil
		case msgpcode.IsString(code):
			types[i] = typeString
		case msgpcode.IsBin(code):
			types[i] = typeBinary
		case msgpcode.IsExt(code):
			types[i] = typeExtension
		case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
			types[i] = typeArray
		case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
			types[i] = typeMap
		}
	}
	return types
}()

// maxSkipDepth is how deep arrays and maps may be nested in a value that is skipped.
const maxSkipDepth = 8

// skip reads one value of any type and forgets it. What it holds may be nested so deep; the
// library's own Skip goes as deep as the input does.
func (d *decoder) skip(deep int) string {
	inside, why := d.skipHead()
	if inside > 0 && deep == 0 {
		return "is nested too deep"
	}
	for ; inside > 0 && why == ""; inside-- {
		why = d.skip(deep - 1)
	}
	return why
}

// skipHead reads one value; of an array or a map, the head, and returns how many
// values are inside.
func (d *decoder) skipHead() (inside int, why string) {
	if d.left() == 0 {
		return 0, cutShort
	}
	switch kind := typeOf[d.input[len(d.input)-d.left()]]; kind {
	case typeArray:
		return d.arrayLen()
	case typeMap:
		n, err := d.msgpack.DecodeMapLen()
		if err != nil || n < 0 || n > d.left()/2 {
			return 0, cutShort
		}
		return 2 * n, ""
	case typeString, typeBinary:
		_, why = d.bytes(kind)
	case typeExtension:
		_, n, err := d.msgpack.DecodeExtHeader()
		if err != nil {
			return 0, cutShort
		}
		_, why = d.take(n)
	case typeNone:
		why = "is " + typeNames[kind]
	default:
		why = ended(d.msgpack.Skip())
	}
	return 0, why
}
