package algotest

import (
	"fmt"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/wire/schema"
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

// survivesWire checks the values of each message that is sent. (The tests of package wire encode and decode every
// value that the schema accepts, and the messages of our algorithms.)
func survivesWire(p *checkRun) {
	types, err := schema.Of(p.spec.Messages...)
	if err != nil {
		p.fatalf("%v", err)
	}
	p.elections(func(_, _ int, m algo.Message) {
		inner, _ := algo.Unwrap(m)
		i := slices.IndexFunc(types, func(t schema.Message) bool { return t.Kind == inner.Kind() })
		if err := types[i].Check(inner); err != nil {
			p.fatalf("the wire does not carry %T: %v\n%+v", inner, err, inner)
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
