package algotest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
)

// haunt has five nodes elect some times. Then each of them sends what forge makes of all
// that it has sent so far, and they must agree again.
func (p *probe) haunt(forge func(m algo.Message, l algo.Leader) []algo.Message) {
	const nodes = 5
	c := p.machines(nodes)
	echo := echoes(c)
	c.StartAll()
	p.settled(c)
	leader := host.Number(c.Leader(1).ID)
	for _, happens := range []func(...int){c.Campaign, c.Campaign, c.Crash} {
		happens(leader)
		p.settled(c)
	}
	for _, i := range p.random.Perm(nodes) {
		if i++; c.Node(i).Machine != nil {
			l := c.Leader(i)
			echo(i, func(m algo.Message) []algo.Message { return forge(m, l) })
		}
	}
	p.settled(c)
}

// echoes returns what has each node say again what it has sent so far, or what forge makes
// of it, each message once.
func echoes(c *host.Cluster) func(from int, forge func(algo.Message) []algo.Message) {
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

// oldMessages has them come again to nodes that have just started again, and have nothing
// but what they saved, and to the others.
func oldMessages(p *probe) {
	const nodes = 4
	c := p.machines(nodes)
	echo := echoes(c)
	c.StartAll()
	p.settled(c)
	for range 3 {
		leader := host.Number(c.Leader(1).ID)
		c.Crash(leader)
		p.settled(c)
		c.Start(leader)
		p.settled(c)
		back := 1 + p.random.IntN(nodes)
		c.Crash(back)
		c.Run(p.options.Timing.RoundTrip / 8) // so that the others know, and elect
		c.Start(back)
		c.Run(time.Duration(p.random.Int64N(int64(p.options.Timing.RoundTrip / 2))))
		for _, i := range p.random.Perm(nodes) {
			echo(i+1, func(m algo.Message) []algo.Message { return []algo.Message{m} })
		}
		p.settled(c)
	}
}

var (
	epochType = reflect.TypeFor[algo.Epoch]()
	idType    = reflect.TypeFor[algo.NodeID]()
)

// strangers sends those that name nodes with a stranger in their place, in the epoch of the
// leader and in the next.
func strangers(p *probe) {
	stranger := reflect.ValueOf(host.ID(0xee))
	p.haunt(func(m algo.Message, l algo.Leader) (all []algo.Message) {
		named, ids := forged(m, idType, func(_ int, v reflect.Value) { v.Set(stranger) })
		for _, epoch := range []algo.Epoch{l.Epoch, l.Epoch + 1} {
			if m, _ := forged(named, epochType, func(_ int, v reflect.Value) { v.SetUint(uint64(epoch)) }); ids > 0 {
				all = append(all, m)
			}
		}
		return all
	})
}

// forged returns a copy of m in which change was called for each value of a type, numbered, and
// how many there are: in its fields, and in the elements of slices.
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

// visit finds what is not made of parts.
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
