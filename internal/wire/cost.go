package wire

import (
	"fmt"
	"reflect"
)

// Decode allocates at most 4 times the length of its input plus 1 KiB. That every
// length is checked against what is left of the input does not give this yet: an
// empty string is one byte on the wire and 16 in a slice. So a message is measured
// when it is registered, and refused if any input could cost more.
//
// The measure is the excess of a shape: the most that decoding one value allocates
// on top of four times its encoded size. It adds up over the fields of a struct. It
// holds for malformed input too: a decoder never lets a value have bytes which the
// values after it need at least (decoder.owed), so at every moment the input could
// still end well, and what has been allocated by then is a part of what that
// well-formed input costs. Pooled memory, which the garbage collector may take away
// between two calls, is not counted.

const (
	// allowance is what Decode may allocate beyond 4 times the input.
	allowance = 1024
	// refusal is what an error costs. It takes the place of the message.
	refusal = 256
	// slack is the most by which the runtime rounds up a small allocation.
	slack = 16
)

// withSlack is a bound on what the runtime hands out for one of many elements of n
// bytes: it rounds the whole up by a quarter at most, slack aside.
func withSlack(n int) int { return n + n/4 }

// handedOut is what the runtime hands out for n bytes.
func handedOut(n int) int { return cap(append([]byte(nil), make([]byte, n)...)) }

// tooCostly says why a message must not be registered, or nothing.
func tooCostly(message reflect.Type, kind string, body *structShape) string {
	cost := max(handedOut(int(message.Size())), refusal) + body.excess() - 4*(1+len(kind))
	if cost <= allowance {
		return ""
	}
	why := fmt.Sprintf("decoding could allocate %d bytes on top of four times the input, at most %d are allowed", cost, allowance)
	worst := sliceShape{}
	body.eachSlice(func(s sliceShape) {
		if worst.elem == nil || s.excess() > worst.excess() {
			worst = s
		}
	})
	if worst.elem == nil || worst.excess() <= 0 {
		return why + ": it has too many fields"
	}
	return why + fmt.Sprintf(": set a lower max for %s, now %d elements of %d bytes that may be %s on the wire",
		worst.field, worst.max, worst.size, count(worst.elem.least(), "byte"))
}

// eachSlice visits the slices in s.
func (s *structShape) eachSlice(visit func(sliceShape)) {
	for _, field := range s.fields {
		if slice, ok := field.(sliceShape); ok {
			visit(slice)
			field = slice.elem
		}
		if inner, ok := field.(*structShape); ok {
			inner.eachSlice(visit)
		}
	}
}
