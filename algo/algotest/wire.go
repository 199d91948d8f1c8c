package algotest

import (
	"bytes"
	"reflect"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/wire"
)

// codec is that of the algorithm's messages.
func (p *probe) codec() *wire.Codec {
	p.Helper()
	c, err := wire.NewCodec(p.spec.Messages...)
	if err != nil {
		p.fatalf("there is no codec: %v", err)
	}
	return c
}

// elections runs a few, and hands over what is sent.
func (p *probe) elections(nodes int, sent func(from, to int, m algo.Message)) {
	c := p.machines(nodes)
	c.OnSend = sent
	c.StartAll()
	p.pass(c)
	c.Campaign(1)
	p.pass(c)
	for range 2 {
		for _, i := range c.Live() { // while one of them has just died
			if c.Leader(i).ID == host.ID(i) {
				c.Crash(i)
			} else {
				c.Campaign(i)
			}
		}
		p.pass(c)
	}
}

// carried looks at one message of each type with no field set, one with all, and those that
// seven nodes send each other in some elections.
func carried(p *probe) {
	codec := p.codec()
	each := func(_, _ int, m algo.Message) {
		encoded, err := codec.Append(nil, m)
		if err != nil {
			p.fatalf("%T is refused: %v\n%+v", m, err, m)
		}
		decoded, err := codec.Decode(encoded)
		if err != nil {
			p.fatalf("%T is not read again: %v\n%+v", m, err, m)
		}
		if again, err := codec.Append(nil, decoded); err != nil || !bytes.Equal(again, encoded) {
			p.fatalf("%T arrives as another message:\n%+v\n%+v", m, m, decoded)
		}
		if got, err := codec.Decode(longer(encoded)); err != nil || !reflect.DeepEqual(got, decoded) {
			p.fatalf("%T with a field more is read as %+v, error %v; want %+v", m, got, err, decoded)
		}
		for length := range encoded {
			if got, err := codec.Decode(encoded[:length]); err == nil {
				p.fatalf("%d of the %d bytes of %T are read as %+v", length, len(encoded), m, got)
			}
		}
	}
	for _, m := range p.spec.Messages {
		each(0, 0, m)
		each(0, 0, filled(m))
	}
	p.elections(7, each)
}

// more is what a newer version adds: a list with a text and a map.
var more = []byte{0x93, 0xa3, 'n', 'e', 'w', 0x81, 0x01, 0xc3, 0xc0}

// longer returns the array of msgpack with one element more.
func longer(encoded []byte) []byte {
	var head []byte
	rest := encoded[1:]
	switch count := int(encoded[0] & 0x0f); {
	case encoded[0] == 0xdc: // array 16
		count = int(encoded[1])<<8 | int(encoded[2])
		head, rest = []byte{0xdc, byte((count + 1) >> 8), byte(count + 1)}, encoded[3:]
	case count == 15:
		head = []byte{0xdc, 0, 16}
	default:
		head = []byte{encoded[0] + 1}
	}
	return append(append(head, rest...), more...)
}

func sentMessagesStay(p *probe) {
	codec := p.codec()
	type sent struct {
		message algo.Message
		then    []byte
	}
	var all []sent
	p.elections(5, func(_, _ int, m algo.Message) {
		encoded, err := codec.Append(nil, m)
		if err == nil {
			all = append(all, sent{m, encoded})
		}
	})
	for _, s := range all {
		if now, err := codec.Append(nil, s.message); err != nil || !bytes.Equal(now, s.then) {
			then, _ := codec.Decode(s.then)
			p.fatalf("%T was sent as\n%+v\nand has become\n%+v", s.message, then, s.message)
		}
	}
}

// filled returns a message of the type of m whose fields are all set, to values that take
// more than one byte.
func filled(m algo.Message) algo.Message {
	return changed(m, func(_ string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			v.SetInt(-1 << (v.Type().Bits() - 1))
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			v.SetUint(1<<v.Type().Bits() - 1)
		case reflect.String:
			v.SetString("ü")
		case reflect.Array:
			for i := range v.Len() {
				v.Index(i).SetUint(uint64(i + 1))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
	})
}
