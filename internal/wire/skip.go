package wire

import (
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// maxSkipDepth is how deep arrays and maps may be nested in a value that is
// skipped.
const maxSkipDepth = 8

// skip reads one value of any type and forgets it. It does not recurse, for the
// input decides how deep it would: the library's own Skip overflows the stack.
func (d *decoder) skip() string {
	var open [maxSkipDepth]int // values still to come in each open array or map
	depth := 0
	for {
		inside, why := d.skipHead()
		if why != "" {
			return why
		}
		if inside > 0 {
			if depth == maxSkipDepth {
				return "is nested too deep"
			}
			open[depth] = inside
			depth++
			continue
		}
		for depth > 0 {
			open[depth-1]--
			if open[depth-1] > 0 {
				break
			}
			depth--
		}
		if depth == 0 {
			return ""
		}
	}
}

// skipHead reads one value; of an array or a map, the head, and returns how many
// values are inside.
func (d *decoder) skipHead() (inside int, why string) {
	code, ok := d.peek()
	if !ok {
		return 0, cutShort
	}
	var err error
	switch {
	case isArray(code):
		n, why := d.arrayLen()
		if why == "" && n > d.left() {
			why = cutShort
		}
		return n, why
	case isMap(code):
		n, err := d.msgpack.DecodeMapLen()
		if err != nil || n < 0 || n > d.left()/2 {
			return 0, cutShort
		}
		return 2 * n, ""
	case isInteger(code):
		_, err = d.msgpack.DecodeUint64()
	case isFloat(code):
		_, err = d.msgpack.DecodeFloat64()
	case isBool(code):
		_, err = d.msgpack.DecodeBool()
	case code == msgpcode.Nil:
		err = d.msgpack.DecodeNil()
	case msgpcode.IsString(code):
		_, why = d.text()
		return 0, why
	case msgpcode.IsBin(code):
		_, why = d.binary()
		return 0, why
	case msgpcode.IsExt(code):
		_, n, err := d.msgpack.DecodeExtHeader()
		if err != nil {
			return 0, cutShort
		}
		_, why = d.take(n)
		return 0, why
	default:
		return 0, "is " + describe(code)
	}
	return 0, ended(err)
}
