package wire

import (
	"bytes"
	"io"
	"reflect"
	"strconv"
	"sync"

	"github.com/elect-go/elect/algo"
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
	id      algo.NodeID
	idValue reflect.Value // id, to set a field from without an allocation
}

var decoders = sync.Pool{New: func() any {
	d := &decoder{}
	d.msgpack = msgpack.NewDecoder(&d.rest)
	d.idValue = reflect.ValueOf(&d.id).Elem()
	return d
}}

func (d *decoder) reset(b []byte) {
	d.input = b
	d.rest.Reset(b)
}

func (d *decoder) left() int { return d.rest.Len() }

// peek returns the code that the next value begins with.
func (d *decoder) peek() (code byte, ok bool) {
	if d.left() == 0 {
		return 0, false
	}
	return d.input[len(d.input)-d.left()], true
}

// The methods below return a reason when they fail; it follows the name of what
// was to be read.

const cutShort = "is cut short"

func unwanted(code byte, want string) string { return "is " + describe(code) + ", want " + want }

func (d *decoder) bool() (bool, string) {
	code, ok := d.peek()
	if !ok {
		return false, cutShort
	}
	if code != msgpcode.True && code != msgpcode.False {
		return false, unwanted(code, "a boolean")
	}
	b, err := d.msgpack.DecodeBool()
	return b, ended(err)
}

func (d *decoder) int() (int64, string) {
	code, ok := d.peek()
	if !ok {
		return 0, cutShort
	}
	if !isInteger(code) {
		return 0, unwanted(code, "an integer")
	}
	n, err := d.msgpack.DecodeInt64()
	if err == nil && n < 0 && code == msgpcode.Uint64 {
		return 0, "is " + strconv.FormatUint(uint64(n), 10) + ", which does not fit int64"
	}
	return n, ended(err)
}

func (d *decoder) uint() (uint64, string) {
	code, ok := d.peek()
	if !ok {
		return 0, cutShort
	}
	if !isInteger(code) {
		return 0, unwanted(code, "an integer")
	}
	if !isSigned(code) {
		n, err := d.msgpack.DecodeUint64()
		return n, ended(err)
	}
	n, err := d.msgpack.DecodeInt64()
	if err == nil && n < 0 {
		return 0, "is " + strconv.FormatInt(n, 10) + ", want none below 0"
	}
	return uint64(n), ended(err)
}

// text returns the bytes of a string, which are part of the input.
func (d *decoder) text() ([]byte, string) { return d.bytes(msgpcode.IsString, "a string") }

// binary returns the bytes of binary data, which are part of the input.
func (d *decoder) binary() ([]byte, string) { return d.bytes(msgpcode.IsBin, "binary data") }

func (d *decoder) bytes(wanted func(code byte) bool, want string) ([]byte, string) {
	code, ok := d.peek()
	if !ok {
		return nil, cutShort
	}
	if !wanted(code) {
		return nil, unwanted(code, want)
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
	code, ok := d.peek()
	if !ok {
		return 0, cutShort
	}
	if !isArray(code) {
		return 0, unwanted(code, "an array")
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

func isArray(code byte) bool {
	return msgpcode.IsFixedArray(code) || code == msgpcode.Array16 || code == msgpcode.Array32
}

func isMap(code byte) bool {
	return msgpcode.IsFixedMap(code) || code == msgpcode.Map16 || code == msgpcode.Map32
}

func isInteger(code byte) bool {
	return msgpcode.IsFixedNum(code) || code >= msgpcode.Uint8 && code <= msgpcode.Int64
}

// isSigned is for codes of integers.
func isSigned(code byte) bool { return code >= msgpcode.Int8 }

func isFloat(code byte) bool { return code == msgpcode.Float || code == msgpcode.Double }

func isBool(code byte) bool { return code == msgpcode.False || code == msgpcode.True }

// describe says of what type a value is that begins with code.
func describe(code byte) string {
	switch {
	case isInteger(code):
		return "an integer"
	case msgpcode.IsString(code):
		return "a string"
	case msgpcode.IsBin(code):
		return "binary data"
	case isArray(code):
		return "an array"
	case isMap(code):
		return "a map"
	case isBool(code):
		return "a boolean"
	case isFloat(code):
		return "a float"
	case msgpcode.IsExt(code):
		return "an extension"
	case code == msgpcode.Nil:
		return "nil"
	}
	return "no msgpack value"
}
