package algotest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// replayForged runs some elections among five nodes. Then each node sends the messages that forge
// makes from each message that the node has sent. The nodes must agree again.
func (p *checkRun) replayForged(forge func(m algo.Message, l algo.Leader) []algo.Message) {
	const nodes = 5
	c := p.machines(nodes)
	resend := recordSends(c)
	c.StartAll()
	p.requireAgreed(c)
	leader := algosim.Number(c.Leader(1).ID)
	for _, happens := range []func(...int){c.Campaign, c.Campaign, c.Crash} {
		happens(leader)
		p.requireAgreed(c)
	}
	for _, i := range p.random.Perm(nodes) {
		if i++; c.Node(i).Machine != nil {
			l := c.Leader(i)
			resend(i, func(m algo.Message) []algo.Message { return forge(m, l) })
		}
	}
	p.requireAgreed(c)
}

// recordSends records the messages of each node. The function that it returns sends what forge
// makes from each of them, in the name of the same node.
func recordSends(c *algosim.Cluster) func(from int, forge func(algo.Message) []algo.Message) {
	type envelope struct {
		to      int
		message algo.Message
	}
	sent := make(map[int][]envelope)
	known := make(map[string]bool)
	c.OnSend = func(from, to int, m algo.Message) {
		if text := fmt.Sprintf("%v %v %T%+v", from, to, m, m); !known[text] {
			known[text] = true
			sent[from] = append(sent[from], envelope{to, m})
		}
	}
	return func(from int, forge func(algo.Message) []algo.Message) {
		for _, e := range sent[from] {
			for _, m := range forge(e.message) {
				delay, _ := c.Delay(from, e.to, m)
				c.At(c.Now+delay, func() { c.Deliver(from, e.to, m) })
			}
		}
	}
}

// oldMessages sends old messages again to all nodes, including nodes that have just restarted and
// have only their saved state.
func oldMessages(p *checkRun) {
	const nodes = 4
	c := p.machines(nodes)
	resend := recordSends(c)
	c.StartAll()
	p.requireAgreed(c)
	for range 3 {
		leader := algosim.Number(c.Leader(1).ID)
		c.Crash(leader)
		p.requireAgreed(c)
		c.Start(leader)
		p.requireAgreed(c)
		restarted := 1 + p.random.IntN(nodes)
		c.Crash(restarted)
		c.Run(p.options.Timing.RoundTrip / 8) // the others detect the crash and elect
		c.Start(restarted)
		c.Run(time.Duration(p.random.Int64N(int64(p.options.Timing.RoundTrip / 2))))
		for _, i := range p.random.Perm(nodes) {
			resend(i+1, func(m algo.Message) []algo.Message { return []algo.Message{m} })
		}
		p.requireAgreed(c)
	}
}

var (
	epochType = reflect.TypeFor[algo.Epoch]()
	idType    = reflect.TypeFor[algo.NodeID]()
)

// nonMembers sends the messages that name nodes with a non-member in their place, in the epoch of
// the leader and in the next.
func nonMembers(p *checkRun) {
	nonMember := reflect.ValueOf(algosim.ID(0xee))
	p.replayForged(func(m algo.Message, l algo.Leader) (all []algo.Message) {
		named, ids := forged(m, idType, func(_ int, v reflect.Value) { v.Set(nonMember) })
		for _, epoch := range []algo.Epoch{l.Epoch, l.Epoch + 1} {
			if m, _ := forged(named, epochType, func(_ int, v reflect.Value) { v.SetUint(uint64(epoch)) }); ids > 0 {
				all = append(all, m)
			}
		}
		return all
	})
}

// forged returns a copy of m in which it called change for each value of type t, in fields and in
// elements of slices. It also returns their number.
func forged(m algo.Message, t reflect.Type, change func(i int, v reflect.Value)) (copied algo.Message, count int) {
	v := reflect.New(reflect.TypeOf(m)).Elem()
	v.Set(reflect.ValueOf(m))
	visit(v, func(v reflect.Value) {
		if v.Type() == t {
			change(count, v)
			count++
		}
	})
	return v.Interface().(algo.Message), count
}

// visit calls found for each value in v that is neither a struct nor a slice.
func visit(v reflect.Value, found func(v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for f, field := range v.Fields() {
			if f.IsExported() {
				visit(field, found)
			}
		}
	case reflect.Slice:
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
		for i := range v.Len() {
			visit(v.Index(i), found)
		}
	default:
		found(v)
	}
}
