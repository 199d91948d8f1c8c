package wire

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
)

// Codec turns messages into bytes and back. It knows the types it was made for
// and refuses every other. It is safe for concurrent use.
type Codec struct {
	byKind map[string]*message
	byType map[reflect.Type]*message
	shown  func(text string) string // what Decode makes of each string
}

// message is one registered type.
type message struct {
	kind  string
	again string // the kind of a repeat
	typ   reflect.Type
	body  plan
}

// NewCodec compiles a codec for the types of the messages, whose values do not
// matter. It reports all mistakes at once: kinds that are malformed or taken, and
// fields whose types the package comment does not list.
func NewCodec(messages ...algo.Message) (*Codec, error) {
	c := &Codec{byKind: map[string]*message{}, byType: map[reflect.Type]*message{}, shown: func(text string) string { return text }}
	var mistakes []error
	for i, m := range messages {
		if m == nil {
			mistakes = append(mistakes, fmt.Errorf("wire: message %d of %d is nil", i+1, len(messages)))
		} else if err := c.add(m); err != nil {
			mistakes = append(mistakes, err)
		}
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Codec) add(m algo.Message) error {
	typ := reflect.TypeOf(m)
	if typ.Kind() != reflect.Struct {
		return fmt.Errorf("wire: %s is a message, but no struct: pass messages by value", typ)
	}
	kind := m.Kind()
	if why := malformedKind(kind); why != "" {
		return fmt.Errorf("wire: %s has kind %s, which %s", typ, quote(kind), why)
	}
	if other := c.byKind[kind]; other != nil {
		return fmt.Errorf("wire: two messages of kind %q: %s and %s", kind, other.typ, typ)
	}
	body, err := planOf(typ)
	msg := &message{kind: kind, again: kind + repeats, typ: typ, body: body}
	c.byKind[kind], c.byType[typ] = msg, msg
	return err
}

// Kinds returns the kinds that c knows, sorted.
func (c *Codec) Kinds() []string { return slices.Sorted(maps.Keys(c.byKind)) }

// Append appends the encoding of m to dst and returns the extended slice. It
// refuses what Decode would refuse: an error is an [*Error], or
// [ErrUnknownKind] if the type of m is not registered, and dst is then returned as
// it was. It allocates nothing but what dst needs to grow.
func (c *Codec) Append(dst []byte, m algo.Message) ([]byte, error) {
	m, repeat := algo.Open(m)
	msg := c.byType[reflect.TypeOf(m)]
	if msg == nil {
		return dst, fmt.Errorf("%w: %T is not registered", ErrUnknownKind, m)
	}
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.out.Reset()
	kind := msg.kind
	if repeat {
		kind = msg.again
	}
	_, _ = e.msgpack.EncodeArrayLen(1+len(msg.body.fields)), e.msgpack.EncodeString(kind) // writing to memory does not fail
	if f := msg.body.appendFields(e, reflect.ValueOf(m)); f != nil {
		f.Verb, f.Kind = "encode", msg.kind
		return dst, f
	}
	return append(dst, e.out.Bytes()...), nil
}

// Decode reads one message, which must be all of b, and returns the struct by
// value. It keeps nothing of b. An error is a [*Error], or
// [ErrUnknownKind]. Decode never panics, and what it allocates is in proportion to the
// length of b, whatever b holds.
func (c *Codec) Decode(b []byte) (algo.Message, error) {
	d := decoders.Get().(*decoder)
	d.reset(b)
	d.shown = c.shown
	defer func() {
		d.reset(nil)
		decoders.Put(d)
	}()
	n, why := d.arrayLen()
	if why == "" && n < 1 {
		why = "is empty, want a kind"
	}
	if why != "" {
		return nil, &Error{Verb: "decode", Why: why}
	}
	kind, why := d.bytes(typeString)
	if why != "" {
		return nil, &Error{Verb: "decode", Why: "its kind " + why}
	}
	kind, repeat := bytes.CutSuffix(kind, []byte(repeats))
	msg := c.byKind[string(kind)]
	if msg == nil {
		return nil, fmt.Errorf("%w: %s", ErrUnknownKind, quote(kind))
	}
	value := reflect.New(msg.typ).Elem()
	f := msg.body.decodeFields(d, value, n-1)
	if f == nil && d.left() > 0 {
		f = &Error{Why: count(d.left(), "byte") + " too many"}
	}
	if f != nil {
		f.Verb, f.Kind = "decode", msg.kind
		return nil, f
	}
	m := value.Interface().(algo.Message)
	if repeat {
		m = algo.Repeat{Message: m}
	}
	return m, nil
}

// repeats follows the kind of an [algo.Repeat].
const repeats = "+"

// maxKind bounds the kinds of messages, in bytes.
const maxKind = 64

// malformedKind says what is wrong with a kind, or nothing.
func malformedKind(kind string) string {
	if kind == "" {
		return "is empty"
	}
	if len(kind) > maxKind {
		return "is longer than 64 bytes"
	}
	if strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789-_/") != "" {
		return `has other than lower case letters, digits, "-", "_" and "/"`
	}
	return ""
}
