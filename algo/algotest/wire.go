package algotest

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/wire"
)

// elections runs a few among seven nodes, and hands over what is sent.
func (p *probe) elections(sent func(from, to int, m algo.Message)) {
	c := p.machines(7)
	c.OnSend = sent
	c.StartAll()
	p.pass(c)
	for range 3 {
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

// carried looks at what is sent. (What becomes of any message on the wire, of one that is cut
// short or has a field more, the tests of the wire look at.)
func carried(p *probe) {
	codec, err := wire.NewCodec(p.spec.Messages...)
	if err != nil {
		p.fatalf("there is no codec: %v", err)
	}
	p.elections(func(_, _ int, m algo.Message) {
		encoded, refused := codec.Append(nil, m)
		decoded, unread := codec.Decode(encoded)
		if err := cmp.Or(refused, unread); err != nil {
			p.fatalf("%T is not carried: %v\n%+v", m, err, m)
		}
		if again, err := codec.Append(nil, decoded); err != nil || !bytes.Equal(again, encoded) {
			p.fatalf("%T arrives as another message:\n%+v\n%+v", m, m, decoded)
		}
	})
}

// sentMessagesStay writes down what is sent, and looks at it again in the end.
func sentMessagesStay(p *probe) {
	type sent struct {
		message algo.Message
		print   host.Fingerprint
		text    string
	}
	var all []sent
	p.elections(func(_, _ int, m algo.Message) {
		all = append(all, sent{m, host.FingerprintOf(m), fmt.Sprintf("%+v", m)})
	})
	for _, s := range all {
		if host.FingerprintOf(s.message) != s.print {
			p.fatalf("%T was sent as\n%s\nand has become\n%+v", s.message, s.text, s.message)
		}
	}
}
