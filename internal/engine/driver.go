package engine

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/trace"
)

// Detector is the failure detector that an engine needs. [fd.Detector] implements it; a simulation may script another
// one.
type Detector interface {
	Monitor(now time.Duration, peers []algo.NodeID)
	HandleFrame(now time.Duration, peer algo.NodeID)
	RecordSend(now time.Duration, peer algo.NodeID)
	Receive(now time.Duration, peer algo.NodeID, m algo.Message) (digest uint64, err error)
	Up(now time.Duration, peer algo.NodeID, incarnation uint64)
	Down(now time.Duration, peer algo.NodeID, graceful bool)
	HandleDialFailure(now time.Duration, peer algo.NodeID, result fd.DialResult)
	HandleGoodbye(now time.Duration, peer algo.NodeID)
	Forget(peer algo.NodeID)
	SetDigest(digest uint64)
	SetLeader(now time.Duration, leader algo.NodeID)
	Wake(now time.Duration)
	Deadline() time.Duration
	TakeOutput() fd.Output
	Subscribers() []algo.NodeID
	State(peer algo.NodeID) (state fd.State, since, timeout time.Duration)
}

// MemberConfig sets how a node becomes a member.
type MemberConfig struct {
	// Self is the entry of this node in the config.
	Self algo.Member
	// Cluster is the ID of the cluster. With a quorum, it is used only if this node creates the cluster.
	Cluster algo.NodeID
	// Join has addresses of members that may add this node. List has the addresses of all members, this node's own
	// included. Without a quorum, only List is used.
	Join, List []string
	// Bootstrap makes this node create a cluster if each node in Join replies that it is in none.
	Bootstrap bool
	// RemoveSuspectedAfter is how long the leader suspects a member before it removes it; 0: never.
	RemoveSuspectedAfter time.Duration
	// Unconnected is for a simulation without connections: the engine dials no node.
	Unconnected bool
}

// Config has the parts and settings of an engine.
type Config struct {
	MemberConfig
	// Timing is the timing of the failure detector.
	Timing   algo.Timing
	Spec     algo.Spec
	Detector Detector
	// Pick returns a time from least to most. The driver provides it because the engine has no randomness.
	Pick func(least, most time.Duration) time.Duration
	// Trace receives all events, if it is set. It must not call the engine.
	Trace func(trace.Event)
}

// Target is the address or node to dial. A zero ID means any node at the address.
type Target struct {
	ID   algo.NodeID
	Addr string
}

// Rejection requests that the driver closes the connection of a peer, with a reason.
type Rejection struct {
	Peer   algo.NodeID
	Reason error
}

// Output is what the driver must do, in the order of the fields. It is valid until the next call of the engine.
type Output struct {
	// Save has all records that have changed. The driver must save them under their kinds in one transaction, and
	// must not do anything below before that is durable. If the save fails, the node must stop and do nothing else: a
	// message must not promise what a restart forgets.
	Save []algo.Message
	// Dial has one attempt for each target.
	Dial []Target
	// Send has the messages to send, in order for each peer.
	Send []driver.Envelope
	// Rejections follow after Send.
	Rejections []Rejection
	// Leaders has the leaders that the algorithm announced, in order. The last one counts.
	Leaders []algo.Leader
	// Elections has the causes of the elections that have started, as far as this node knows.
	Elections []algo.ElectionCause
	// BrokenLinks has a note for each broken link to the leader, if other members hear the leader.
	BrokenLinks []trace.Event
	// ViewChanged is set if the members, or their addresses, have changed.
	ViewChanged bool
	// End is the reason why this node must stop, an error of package membership; nil if it continues.
	End error
}
