package engine

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/trace"
)

// What an engine needs of its host, and what it asks of it.

// Detector is what an engine needs of a failure detector. [fd.Detector] is one; a
// simulation may script another.
type Detector interface {
	Monitor(now time.Duration, peers []algo.NodeID)
	HandleFrame(now time.Duration, peer algo.NodeID)
	RecordSend(now time.Duration, peer algo.NodeID)
	Receive(now time.Duration, peer algo.NodeID, m algo.Message) (view uint64, err error)
	Up(now time.Duration, peer algo.NodeID, incarnation uint64)
	Down(now time.Duration, peer algo.NodeID, polite bool)
	HandleDialFailure(now time.Duration, peer algo.NodeID, fact fd.DialResult)
	HandleGoodbye(now time.Duration, peer algo.NodeID)
	Forget(peer algo.NodeID)
	SetDigest(view uint64)
	SetLeader(now time.Duration, leader algo.NodeID)
	Wake(now time.Duration)
	Deadline() time.Duration
	TakeOutput() fd.Output
	Subscribers() []algo.NodeID
	State(peer algo.NodeID) (state fd.State, since, timeout time.Duration)
}

// Place is how a node becomes a member.
type Place struct {
	// Self is this node as its entry should be.
	Self algo.Member
	// Cluster is the ID of the cluster: with a quorum, if this node founds it.
	Cluster algo.NodeID
	// Join has addresses of members that may add this node, List those of all members, this node's own included.
	// Without a quorum there is only List.
	Join, List []string
	// Bootstrap makes this node found a cluster if each node in Join answers that it is in none.
	Bootstrap bool
	// RemoveSuspectedAfter is how long the leader suspects a member before it removes it; 0: never.
	RemoveSuspectedAfter time.Duration
	// Unconnected is for a simulation without connections: the engine dials nobody.
	Unconnected bool
}

// Config is what an engine is made of.
type Config struct {
	Place
	// Timing is that of the failure detector.
	Timing   algo.Timing
	Spec     algo.Spec
	Detector Detector
	// Pick chooses a time within [least, most]: randomness is the host's.
	Pick func(least, most time.Duration) time.Duration
	// Trace, when set, sees everything. It must not call the engine.
	Trace func(trace.Event)
}

// Target is whom to dial. A zero ID means whoever is at the address.
type Target struct {
	ID   algo.NodeID
	Addr string
}

// Refusal asks the host to close a peer's connection, with a reason.
type Refusal struct {
	Peer   algo.NodeID
	Reason error
}

// Output is what the host must do, in the order of the fields. It is valid until
// the next call of the engine.
type Output struct {
	// Save holds all records that changed, each kept under its Kind, in one
	// transaction that is durable before anything below is done. If it fails the node
	// must stop and do nothing else: a message never promises what a restart forgets.
	Save []algo.Message
	// Dial is one attempt each.
	Dial []Target
	// Send is in order for each peer.
	Send []driver.Envelope
	// Refuse is after Send.
	Refuse []Refusal
	// Leaders is what the algorithm announced, in order. The last counts.
	Leaders []algo.Leader
	// Called are the elections that began, as far as this node knows.
	Called []algo.Call
	// Links are those to the leader that are broken, as others hear it.
	Links []trace.Event
	// ViewChanged says that View returns something new: members and addresses.
	ViewChanged bool
	// End is why this node must stop, nil if it goes on: an error of package member.
	End error
}
