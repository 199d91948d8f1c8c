package algotest

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/wire"
)

// elections runs some elections among seven nodes, and calls sent for each message.
func (p *checkRun) elections(sent func(from, to int, m algo.Message)) {
	c := p.machines(7)
	c.OnSend = sent
	c.StartAll()
	p.pass(c)
	for range 3 {
		for _, i := range c.Live() { // the leader crashes and the others campaign
			if c.Leader(i).ID == algosim.ID(i) {
				c.Crash(i)
			} else {
				c.Campaign(i)
			}
		}
		p.pass(c)
	}
}

// survivesWire encodes and decodes each message that is sent. (The tests of package wire check
// truncated messages and messages with unknown fields.)
func survivesWire(p *checkRun) {
	codec, err := wire.NewCodec(p.spec.Messages...)
	if err != nil {
		p.fatalf("there is no codec: %v", err)
	}
	p.elections(func(_, _ int, m algo.Message) {
		encoded, encodeErr := codec.Append(nil, m)
		decoded, decodeErr := codec.Decode(encoded)
		if err := cmp.Or(encodeErr, decodeErr); err != nil {
			p.fatalf("the wire does not carry %T: %v\n%+v", m, err, m)
		}
		if again, err := codec.Append(nil, decoded); err != nil || !bytes.Equal(again, encoded) {
			p.fatalf("%T arrives as a different message:\n%+v\n%+v", m, m, decoded)
		}
	})
}

// sentMessagesStay records each message that is sent, and checks at the end that none has
// changed.
func sentMessagesStay(p *checkRun) {
	type sent struct {
		message algo.Message
		print   algosim.Fingerprint
		text    string
	}
	var all []sent
	p.elections(func(_, _ int, m algo.Message) {
		all = append(all, sent{m, algosim.FingerprintOf(m), fmt.Sprintf("%+v", m)})
	})
	for _, s := range all {
		if algosim.FingerprintOf(s.message) != s.print {
			p.fatalf("%T was sent as\n%s\nand has changed to\n%+v", s.message, s.text, s.message)
		}
	}
}
