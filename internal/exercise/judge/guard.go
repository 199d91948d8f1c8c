package judge

import (
	"fmt"
	"sync/atomic"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/sim"
)

// guard runs an algorithm of a submission. A panic becomes a violation of the contract, so a search finds a shortest
// run that leads to it. The guard records the event that runs, so a check that exceeds a limit can name it.
type guard struct {
	algo.Algorithm
	self algo.NodeID
	name string // of the Spec
}

// guardSpec returns spec with a guard around each process.
func guardSpec(spec algo.Spec) algo.Spec {
	build := spec.New
	spec.New = func(self algo.NodeID) algo.Algorithm { return guard{build(self), self, spec.Name} }
	return spec
}

// event is a call of an algorithm.
type event struct {
	node   algo.NodeID
	action string
	sent   algo.Message // or nil
	from   algo.NodeID
}

// running is the event that an algorithm handles.
var running atomic.Pointer[event]

func (e *event) String() string {
	if e.sent != nil {
		return fmt.Sprintf("%s handles %s from %s", sim.Name(e.node), e.sent.Kind(), sim.Name(e.from))
	}
	return sim.Name(e.node) + " " + e.action
}

// call runs f, which handles e.
func (g guard) call(e event, f func()) {
	e.node = g.self
	running.Store(&e)
	defer func() {
		running.Store(nil)
		switch cause := recover().(type) {
		case nil:
		case *driver.ContractError:
			panic(cause)
		default:
			panic(&driver.ContractError{Algorithm: g.name, Node: g.self, Property: algo.Contract, Action: fmt.Sprintf("panics: %v%s", cause, panicPlace())})
		}
	}()
	f()
}

func (g guard) Start(env algo.Env, view algo.View, saved algo.HardState) {
	g.call(event{action: "starts"}, func() { g.Algorithm.Start(env, view, saved) })
}

func (g guard) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	g.call(event{sent: m, from: from}, func() { g.Algorithm.Receive(env, from, m) })
}

func (g guard) Expire(env algo.Env, t algo.Timer) {
	g.call(event{action: "handles the end of timer " + string(t)}, func() { g.Algorithm.Expire(env, t) })
}

func (g guard) Suspect(env algo.Env, peer algo.NodeID) {
	g.call(event{action: "handles a suspicion"}, func() { g.Algorithm.Suspect(env, peer) })
}

func (g guard) Trust(env algo.Env, peer algo.NodeID) {
	g.call(event{action: "handles the end of a suspicion"}, func() { g.Algorithm.Trust(env, peer) })
}

func (g guard) Campaign(env algo.Env) {
	g.call(event{action: "handles a request for an election"}, func() { g.Algorithm.Campaign(env) })
}

func (g guard) Reconfigure(env algo.Env, view algo.View) {
	g.call(event{action: "handles a new view"}, func() { g.Algorithm.Reconfigure(env, view) })
}

func (g guard) HardState() (saved algo.HardState) {
	g.call(event{action: "returns its hard state"}, func() { saved = g.Algorithm.HardState() })
	return saved
}

func (g guard) Clone() algo.Algorithm { return guard{g.Algorithm.Clone(), g.self, g.name} }
