package wire

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"

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
	for _, m := range messages {
		mistakes = append(mistakes, c.add(m))
	}
	return c, errors.Join(mistakes...)
}

func (c *Codec) add(m algo.Message) error {
	typ := reflect.TypeOf(m)
	if m == nil || typ.Kind() != reflect.Struct {
		return fmt.Errorf("wire: %v is a message, but no struct: pass messages by value", typ)
	}
	kind := m.Kind()
	if !kinds.MatchString(kind) {
		return fmt.Errorf("wire: %s has kind %s, want 1 to 64 of a-z, 0-9, \"-\", \"_\" and \"/\"", typ, plain(kind))
	}
	if other := c.byKind[kind]; other != nil {
		return fmt.Errorf("wire: two messages of kind %q: %s and %s", kind, other.typ, typ)
	}
	p := &planner{message: typ, open: []reflect.Type{typ}}
	msg := &message{kind: kind, again: kind + repeats, typ: typ, body: p.structOf(typ, "")}
	c.byKind[kind], c.byType[typ] = msg, msg
	return errors.Join(p.mistakes...)
}

// Kinds returns the kinds that c knows, sorted.
func (c *Codec) Kinds() []string { return slices.Sorted(maps.Keys(c.byKind)) }

// Append appends the encoding of m to dst and returns the extended slice. It
// refuses what Decode would refuse, and types that are not registered; with an error dst is
// returned as it was. It allocates nothing but what dst needs to grow.
func (c *Codec) Append(dst []byte, m algo.Message) ([]byte, error) {
	m, repeat := algo.Open(m)
	msg := c.byType[reflect.TypeOf(m)]
	if msg == nil {
		return dst, fmt.Errorf("wire: cannot encode message: %T is not registered", m)
	}
	e := coders.Get().(*coder)
	kind := msg.kind
	if repeat {
		kind = msg.again
	}
	_, _ = e.encoder.EncodeArrayLen(1+len(msg.body.fields)), e.encoder.EncodeString(kind)
	msg.body.appendFields(e, reflect.ValueOf(m))
	if e.failed == "" {
		dst = append(dst, e.out.Bytes()...)
	}
	return dst, e.end("encode", msg.kind)
}

// Decode reads one message, which must be all of b, and returns the struct by
// value. It keeps nothing of b. The text of an error is short and safe to log, whatever b is. Decode never panics, and what it
// allocates is in proportion to the length of b, whatever b holds.
func (c *Codec) Decode(b []byte) (m algo.Message, err error) {
	d := coders.Get().(*coder)
	d.in, d.shown = *bytes.NewBuffer(b), c.shown
	n := d.length(anArray)
	if n == 0 {
		d.fail("is empty, want a kind")
	}
	d.about = "its kind "
	kind, repeat := bytes.CutSuffix(d.bytes(aString), []byte(repeats))
	msg := c.byKind[string(kind)]
	if msg == nil {
		d.fail("is unknown: " + plain(string(kind)))
	}
	if d.failed != "" {
		return nil, d.end("decode", "")
	}
	d.about = ""
	value := reflect.New(msg.typ).Elem()
	msg.body.decodeFields(d, value, n-1)
	if left := d.in.Len(); left > 0 {
		d.fail("has bytes after its end: " + strconv.Itoa(left))
	}
	if d.failed == "" {
		m = value.Interface().(algo.Message)
	}
	if repeat && d.failed == "" {
		m = algo.Repeat{Message: m}
	}
	return m, d.end("decode", msg.kind)
}

// repeats follows the kind of an [algo.Repeat].
const repeats = "+"

// kinds are those that messages may have.
var kinds = regexp.MustCompile(`^[a-z0-9_/-]{1,64}$`)
