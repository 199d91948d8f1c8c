package wire

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/wire/schema"
)

// Codec encodes and decodes messages of the types that it was made for, and rejects all others. It is safe for
// concurrent use.
type Codec struct {
	byKind   map[string]*message
	byType   map[reflect.Type]*message
	sanitize func(text string) string // applied to each decoded string
}

// message is one registered type.
type message struct {
	schema.Message
	periodicKind string // the kind of the message in an algo.Periodic
}

// NewCodec compiles a codec for the types of the messages. Their values do not matter. Its error lists every problem:
// malformed and duplicate kinds, and fields of types that the package comment does not list.
func NewCodec(messages ...algo.Message) (*Codec, error) {
	c := &Codec{byKind: map[string]*message{}, byType: map[reflect.Type]*message{}, sanitize: func(text string) string { return text }}
	types, err := schema.Of(messages...)
	for _, t := range types {
		msg := &message{Message: t, periodicKind: t.Kind + periodicSuffix}
		c.byKind[t.Kind], c.byType[t.Type] = msg, msg
	}
	return c, err
}

// Kinds returns the kinds that c knows, sorted.
func (c *Codec) Kinds() []string { return slices.Sorted(maps.Keys(c.byKind)) }

// Append appends the encoding of m to dst and returns the extended slice. It rejects types that are not registered,
// and values that Decode would reject; then it returns dst unchanged. It allocates only to grow dst.
func (c *Codec) Append(dst []byte, m algo.Message) ([]byte, error) {
	m, isPeriodic := algo.Unwrap(m)
	msg := c.byType[reflect.TypeOf(m)]
	if msg == nil {
		return dst, fmt.Errorf("wire: cannot encode message: %T is not registered", m)
	}
	if err := msg.Check(m); err != nil {
		return dst, err
	}
	kind := msg.Kind
	if isPeriodic {
		kind = msg.periodicKind
	}
	e := coders.Get().(*coder)
	defer e.release()
	_, _ = e.encoder.EncodeArrayLen(1+len(msg.Body.Fields)), e.encoder.EncodeString(kind)
	e.encodeFields(&msg.Body, reflect.ValueOf(m))
	return append(dst, e.out.Bytes()...), nil
}

// Decode decodes one message, which must be all of b, and returns the struct by value. The result does not alias b.
// The text of an error is short and safe to log. Decode never panics, and its allocations are in proportion to the
// length of b, whatever b contains.
func (c *Codec) Decode(b []byte) (m algo.Message, err error) {
	d := coders.Get().(*coder)
	defer d.release()
	d.in, d.sanitize = *bytes.NewBuffer(b), c.sanitize
	n := d.length(anArray)
	if n == 0 {
		d.fail("is empty, want a kind")
	}
	d.subject = "its kind "
	kind, isPeriodic := bytes.CutSuffix(d.bytes(aString), []byte(periodicSuffix))
	msg := c.byKind[string(kind)]
	if msg == nil {
		d.fail("is unknown: " + quoteUnsafe(string(kind)))
	}
	if d.failure != "" {
		return nil, d.err("message")
	}
	d.subject = ""
	value := reflect.New(msg.Type).Elem()
	d.decodeFields(&msg.Body, value, n-1)
	if left := d.in.Len(); left > 0 {
		d.fail("has bytes after its end: " + strconv.Itoa(left))
	}
	if d.failure != "" {
		return nil, d.err(msg.Kind)
	}
	m = value.Interface().(algo.Message)
	if isPeriodic {
		m = algo.Periodic{Message: m}
	}
	return m, nil
}

// periodicSuffix follows the kind of a message in an [algo.Periodic].
const periodicSuffix = "+"
