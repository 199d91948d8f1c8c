package wire

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// StatusRequest requests the status of a node. Only clients send it. The reply is a [StatusReply], or an [AdminReply]
// with the reason if there is no status.
type StatusRequest struct{}

// The actions of an [AdminRequest].
const (
	Remove      = "remove"   // of Member
	Leave       = "leave"    // of the receiver
	SetPriority = "priority" // of the receiver, to Priority
	Resign      = "resign"   // of the receiver, for StandbyPeriod; zero: as long as an election may take
)

// AdminRequest requests a change of the cluster or of a node. The reply is an [AdminReply].
type AdminRequest struct {
	Action        string `wire:"max=16"`
	Member        string `wire:"max=64"` // name or ID
	Priority      int
	StandbyPeriod time.Duration // for Resign
	Timeout       time.Duration // after which the node replies in any case
}

// The limits of AdminRequest.Timeout, and in bytes of AdminReply.Reason.
const (
	MaxWait   = time.Minute
	MaxReason = 512
)

// AdminReply is the result of an [AdminRequest]. It has an empty Reason if the request succeeded. If Applied is set,
// this node has applied the change, and Reason names the members that may not know it.
type AdminReply struct {
	Reason  string `wire:"max=512"`
	Applied bool
}

// End states that an incarnation of a member has ended, and with it all Lead callbacks of its leaderships up to Epoch.
// The reply is an [AdminReply].
type End struct {
	Cluster     algo.NodeID
	Node        algo.NodeID
	Incarnation uint64
	Epoch       algo.Epoch
}

// Kind is "end".
func (End) Kind() string { return "end" }

// Kind is "status-request".
func (StatusRequest) Kind() string { return "status-request" }

// Kind is "admin-request".
func (AdminRequest) Kind() string { return "admin-request" }

// Kind is "admin-reply".
func (AdminReply) Kind() string { return "admin-reply" }

// HelloCodec is the codec of the handshake.
var HelloCodec = Must(Hello{})

// NewClientCodec returns the codec for messages between clients and nodes. Decode applies sanitize to each string,
// because the sender may be untrusted and the text is shown to people.
func NewClientCodec(sanitize func(text string) string) *Codec {
	codec := Must(StatusRequest{}, StatusReply{}, AdminRequest{}, AdminReply{}, End{}, WatchRequest{}, WatchReply{}, DebugRequest{}, DebugReply{})
	codec.sanitize = sanitize
	return codec
}

// Must is like [NewCodec], but panics on an error. It is for messages that are fixed in a program.
func Must(messages ...algo.Message) *Codec {
	codec, err := NewCodec(messages...)
	if err != nil {
		panic(err)
	}
	return codec
}
