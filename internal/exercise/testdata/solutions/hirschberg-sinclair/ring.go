// Package ring is the election of Hirschberg and Sinclair in a bidirectional ring, by the rules of README.md.
package ring

import "github.com/elect-go/elect/algo"

// The messages. Each travels in one direction, right or left, from neighbor to neighbor.
type (
	// Probe asks all nodes up to Limit hops away whether they are lower than Candidate.
	Probe struct {
		Epoch     algo.Epoch // of the leadership that the election decides
		Candidate algo.NodeID
		Hops      uint32 // number of nodes that have passed it on
		Limit     uint32 // a power of two
		Right     bool   // it travels to the right
	}
	// Reply is the answer to a Probe, and travels back to Candidate.
	Reply struct {
		Epoch     algo.Epoch
		Candidate algo.NodeID
		OK        bool // no node on the way was higher
		Right     bool
	}
	// Elected travels around the ring once, to the right.
	Elected struct {
		Epoch  algo.Epoch
		Leader algo.NodeID
	}
)

func (Probe) Kind() string   { return "probe" }
func (Reply) Kind() string   { return "reply" }
func (Elected) Kind() string { return "elected" }

// Spec describes the algorithm to the simulator and to the search.
func Spec() algo.Spec {
	return algo.Spec{
		Name: "ring", Textbook: true, Claims: algo.Claims{HighestLeads: true},
		Messages: []algo.Message{Probe{}, Reply{}, Elected{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &node{self: self} },
	}
}

// status is what a node does in the current election.
type status uint8

const (
	idle      status = iota // there is none, as far as it knows
	candidate               // it may still win
	lost                    // it knows of a higher node
)

// node is one node.
type node struct {
	algo.Base

	self   algo.NodeID
	view   algo.View
	epoch  algo.Epoch // of the last leadership that this node knows
	status status
	limit  uint32 // of the last Probes, while it is a candidate
	oks    int    // Replies to them
}

// startElection is rule 1: "I start an election: I am a candidate, and send a Probe with limit 1 to both neighbors. If I
// am alone, I lead."
func (n *node) startElection(env algo.Env) {
	n.status, n.limit = candidate, 1
	if n.view.Len() == 1 {
		n.lead(env)
		return
	}
	n.sendProbes(env)
}

// handleProbe is rules 2, 3 and 4:
//
//	"I get the Probe of a lower node: I reply no, and start an election if I am in none."
//	"I get the Probe of a higher node: I have lost. I pass it on with one hop more, if that is below its limit, and
//	otherwise reply ok."
//	"I get my own Probe: it has come around, so no node is higher. I lead."
func (n *node) handleProbe(env algo.Env, m Probe) {
	switch {
	case m.Epoch <= n.epoch: // That election is over.
	case m.Candidate == n.self:
		if n.status == candidate {
			n.lead(env)
		}
	case n.view.IsHigher(n.self, m.Candidate):
		n.send(env, !m.Right, Reply{m.Epoch, m.Candidate, false, !m.Right})
		if n.status == idle {
			n.startElection(env)
		}
	default:
		n.status = lost
		if m.Hops++; m.Hops < m.Limit {
			n.send(env, m.Right, m)
		} else {
			n.send(env, !m.Right, Reply{m.Epoch, m.Candidate, true, !m.Right})
		}
	}
}

// handleReply is rule 5: "I get a Reply to another node: I pass it on. To me: after a no, I have lost. After two oks, I
// double the limit, and send a Probe to both neighbors again."
func (n *node) handleReply(env algo.Env, m Reply) {
	switch {
	case m.Epoch <= n.epoch: // That election is over.
	case m.Candidate != n.self:
		n.send(env, m.Right, m)
	case n.status != candidate:
	case !m.OK:
		n.status = lost
	default:
		if n.oks++; n.oks == 2 {
			n.limit *= 2
			n.sendProbes(env)
		}
	}
}

// lead is the end of rules 1 and 4: "I take the next epoch, and send Elected to the right."
func (n *node) lead(env algo.Env) {
	n.epoch++
	n.status = idle
	env.Announce(algo.Leader{Epoch: n.epoch, ID: n.self})
	n.send(env, true, Elected{n.epoch, n.self})
}

// handleElected is rule 6: "I get an Elected: I follow its leader, and pass it on, unless I am the leader."
func (n *node) handleElected(env algo.Env, m Elected) {
	if m.Leader == n.self || m.Epoch <= n.epoch {
		return
	}
	n.epoch, n.status = m.Epoch, idle
	env.Announce(algo.Leader{Epoch: m.Epoch, ID: m.Leader})
	n.send(env, true, m)
}

// sendProbes sends a Probe with the current limit to both neighbors.
func (n *node) sendProbes(env algo.Env) {
	n.oks = 0
	for _, right := range []bool{true, false} {
		n.send(env, right, Probe{n.epoch + 1, n.self, 0, n.limit, right})
	}
}

// The rest is complete: you need not change it.

// send sends m to the right or the left neighbor. A node alone sends nothing.
func (n *node) send(env algo.Env, right bool, m algo.Message) {
	step := n.view.Len() - 1
	if right {
		step = 1
	}
	if neighbor := n.view.At((n.view.Index(n.self) + step) % n.view.Len()).ID; neighbor != n.self {
		env.Send(neighbor, m)
	}
}

// Start starts the node, for the first time or after a crash.
func (n *node) Start(env algo.Env, view algo.View, saved algo.HardState) {
	n.view, n.epoch = view, saved.Epoch
	n.startElection(env)
}

// Campaign is called when the application wants an election.
func (n *node) Campaign(env algo.Env) {
	if n.status == idle {
		n.startElection(env)
	}
}

// Receive is called with each message.
func (n *node) Receive(env algo.Env, _ algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Probe:
		n.handleProbe(env, m)
	case Reply:
		n.handleReply(env, m)
	case Elected:
		n.handleElected(env, m)
	}
}

// Reconfigure is called when the members change: the nodes elect again.
func (n *node) Reconfigure(env algo.Env, view algo.View) {
	n.view = view
	n.startElection(env)
}

// HardState is what a crash does not erase. It is saved before the messages of the same call are sent.
func (n *node) HardState() algo.HardState { return algo.HardState{Epoch: n.epoch} }

// Clone copies the node for the search, which continues from one state in several ways.
func (n *node) Clone() algo.Algorithm {
	clone := *n
	return &clone
}
