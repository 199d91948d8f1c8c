package algotest

import (
	"fmt"
	"reflect"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/sim"
)

// envelope is a message that was sent.
type envelope struct {
	to      algo.NodeID
	message algo.Message
}

// haunt has five nodes elect some times. Then each of them sends what forge makes of all
// that it has sent so far, and they must agree again.
func (p *probe) haunt(about string, forge func(m algo.Message, l algo.Leader) []algo.Message, after func(w *world)) {
	const nodes = 5
	for range p.seeds(4) {
		p.try(about, nodes, func(w *world) {
			sent := w.remember()
			w.settle()
			w.do(w.Campaign(w.leader()))
			w.settle()
			w.do(w.Campaign(1))
			w.settle()
			w.crash(w.leader())
			w.settle()
			for _, n := range p.random().Perm(nodes) {
				if l, up := w.Follows(n + 1); up {
					w.utter(n+1, sent, func(m algo.Message) []algo.Message { return forge(m, l) })
				}
			}
			w.settle()
			after(w)
		})
	}
}

// remember keeps what each node sends, each message once.
func (w *world) remember() map[algo.NodeID][]envelope {
	sent := make(map[algo.NodeID][]envelope)
	known := make(map[string]bool)
	w.tape.sent = func(from, to algo.NodeID, m algo.Message) {
		if text := fmt.Sprintf("%v %v %T%+v", from, to, m, m); !known[text] {
			known[text] = true
			sent[from] = append(sent[from], envelope{to, m})
		}
	}
	return sent
}

// utter has a node send what forge makes of what it has sent before. To the world it is a
// call for an election.
func (w *world) utter(n int, sent map[algo.NodeID][]envelope, forge func(algo.Message) []algo.Message) {
	recall := w.tape.sent
	w.tape.sent = nil
	w.tape.campaign = func(self algo.NodeID, env algo.Env) {
		for _, e := range sent[self] {
			for _, m := range forge(e.message) {
				env.Send(e.to, m)
			}
		}
	}
	w.do(w.Campaign(n))
	w.tape.campaign, w.tape.sent = nil, recall
}

func nothing(*world) {}

// oldMessages has them come again to nodes that have just started again, and have nothing
// but what they saved, and to the others.
func oldMessages(p *probe) {
	const nodes = 4
	for range p.seeds(16) {
		p.try("to which old messages come again", nodes, func(w *world) {
			random := p.random()
			sent := w.remember()
			w.settle()
			for range 3 {
				leader := w.leader()
				w.crash(leader)
				w.settle()
				w.restart(leader)
				w.settle()
				back := 1 + random.IntN(nodes)
				w.crash(back)
				w.restart(back)
				w.pass(random, p.options.Timing.RoundTrip/2)
				for _, n := range random.Perm(nodes) {
					w.utter(n+1, sent, func(m algo.Message) []algo.Message { return []algo.Message{m} })
				}
				w.settle()
			}
		})
	}
}

// strangers sends those that name nodes with a stranger in their place, in the epoch of the
// leader and in the next.
func strangers(p *probe) {
	stranger := explore.NodeID(0xee)
	forge := func(m algo.Message, l algo.Leader) (all []algo.Message) {
		if len(fields(m, idType)) == 0 {
			return nil
		}
		for _, epoch := range []algo.Epoch{l.Epoch, l.Epoch + 1} {
			all = append(all, changed(m, func(_ string, v reflect.Value) {
				switch v.Type() {
				case epochType:
					v.SetUint(uint64(epoch))
				case idType:
					v.Set(reflect.ValueOf(stranger))
				}
			}))
		}
		return all
	}
	p.haunt("to which messages name a stranger", forge, nothing)
}

var (
	epochType = reflect.TypeFor[algo.Epoch]()
	idType    = reflect.TypeFor[algo.NodeID]()
)

// poisonedEpochs sends them with epochs that are the last there is, or too far ahead: all
// epochs of a message, and each alone.
func poisonedEpochs(p *probe) {
	forge := func(m algo.Message, l algo.Leader) (all []algo.Message) {
		paths := fields(m, epochType)
		if len(paths) == 0 {
			return nil
		}
		for _, epoch := range []algo.Epoch{^algo.Epoch(0), ^algo.Epoch(0) - 1, l.Epoch + 2*algo.MaxEpochLead} {
			for _, only := range append([]string{""}, paths...) {
				all = append(all, changed(m, func(path string, v reflect.Value) {
					if v.Type() == epochType && (only == "" || only == path) {
						v.SetUint(uint64(epoch))
					}
				}))
			}
		}
		return all
	}
	p.haunt("to which messages bring poisoned epochs", forge, func(w *world) {
		for _, n := range w.all() {
			if l, _ := w.Follows(n); l.Epoch > algo.MaxEpochLead {
				p.fatalf("%s is in epoch %d", w.Name(sim.ID(n)), l.Epoch)
			}
		}
	})
}

// fields are the paths of a message's fields of a type.
func fields(m algo.Message, t reflect.Type) (paths []string) {
	changed(m, func(path string, v reflect.Value) {
		if v.Type() == t {
			paths = append(paths, path)
		}
	})
	return paths
}

// changed returns a copy of m in which change was called for each field, and for each
// element of its slices, that is not itself made of fields.
func changed(m algo.Message, change func(path string, v reflect.Value)) algo.Message {
	v := reflect.New(reflect.TypeOf(m)).Elem()
	v.Set(reflect.ValueOf(m))
	visit("", v, change)
	return v.Interface().(algo.Message)
}

func visit(path string, v reflect.Value, change func(path string, v reflect.Value)) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				visit(path+"."+f.Name, v.Field(i), change)
			}
		}
	case v.Kind() == reflect.Slice:
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
		for i := range own.Len() {
			visit(path+"[]", own.Index(i), change)
		}
	default:
		change(path, v)
	}
}
