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

// Codec encodes and decodes messages of the types that it was made for, and rejects all others. It is safe for
// concurrent use.
type Codec struct {
	byKind   map[string]*message
	byType   map[reflect.Type]*message
	sanitize func(text string) string // applied to each decoded string
}

// message is one registered type.
type message struct {
	kind         string
	periodicKind string // the kind of the message in an algo.Periodic
	typ          reflect.Type
	body         plan
}

// NewCodec compiles a codec for the types of the messages. Their values do not matter. Its error lists every problem:
// malformed and duplicate kinds, and fields of types that the package comment does not list.
func NewCodec(messages ...algo.Message) (*Codec, error) {
	c := &Codec{byKind: map[string]*message{}, byType: map[reflect.Type]*message{}, sanitize: func(text string) string { return text }}
	var problems []error
	for _, m := range messages {
		problems = append(problems, c.add(m))
	}
	return c, errors.Join(problems...)
}

func (c *Codec) add(m algo.Message) error {
	typ := reflect.TypeOf(m)
	if m == nil || typ.Kind() != reflect.Struct {
		return fmt.Errorf("wire: %v is a message, but no struct: pass messages by value", typ)
	}
	kind := m.Kind()
	if !kinds.MatchString(kind) {
		return fmt.Errorf("wire: %s has kind %s, want 1 to 64 of a-z, 0-9, \"-\", \"_\" and \"/\"", typ, quoteUnsafe(kind))
	}
	if other := c.byKind[kind]; other != nil {
		return fmt.Errorf("wire: two messages of kind %q: %s and %s", kind, other.typ, typ)
	}
	p := &planner{message: typ, path: []reflect.Type{typ}}
	msg := &message{kind: kind, periodicKind: kind + periodicSuffix, typ: typ, body: p.structOf(typ, "")}
	c.byKind[kind], c.byType[typ] = msg, msg
	return errors.Join(p.problems...)
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
	e := coders.Get().(*coder)
	kind := msg.kind
	if isPeriodic {
		kind = msg.periodicKind
	}
	_, _ = e.encoder.EncodeArrayLen(1+len(msg.body.fields)), e.encoder.EncodeString(kind)
	msg.body.appendFields(e, reflect.ValueOf(m))
	if e.failure == "" {
		dst = append(dst, e.out.Bytes()...)
	}
	return dst, e.release("encode", msg.kind)
}

// Decode decodes one message, which must be all of b, and returns the struct by value. The result does not alias b.
// The text of an error is short and safe to log. Decode never panics, and its allocations are in proportion to the
// length of b, whatever b contains.
func (c *Codec) Decode(b []byte) (m algo.Message, err error) {
	d := coders.Get().(*coder)
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
		return nil, d.release("decode", "")
	}
	d.subject = ""
	value := reflect.New(msg.typ).Elem()
	msg.body.decodeFields(d, value, n-1)
	if left := d.in.Len(); left > 0 {
		d.fail("has bytes after its end: " + strconv.Itoa(left))
	}
	if d.failure == "" {
		m = value.Interface().(algo.Message)
	}
	if isPeriodic && d.failure == "" {
		m = algo.Periodic{Message: m}
	}
	return m, d.release("decode", msg.kind)
}

// periodicSuffix follows the kind of a message in an [algo.Periodic].
const periodicSuffix = "+"

// kinds matches valid kinds.
var kinds = regexp.MustCompile(`^[a-z0-9_/-]{1,64}$`)
