package membership

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Update carries the config of its sender.
type Update struct {
	Config    Config
	Committed bool // the sender knows that the config is committed
}

// Kind is "config".
func (Update) Kind() string { return "config" }

// Ack tells the author of a config that the sender has saved it, and was in no later epoch then. Without a quorum
// it acknowledges a [Self].
type Ack struct{ Config ConfigID }

// Kind is "config-ack".
func (Ack) Kind() string { return "config-ack" }

// Self describes its sender. From a learner, it is a request to join. From a voter, it is a request to change the
// voter's entry, if that differs.
type Self struct {
	Member  Member
	Holds   ConfigID      // config of the sender; without a quorum, the version of this message
	Standby time.Duration // how long the sender stays ineligible because it resigned
	// Bootstraps: the sender may bootstrap a cluster itself.
	Bootstraps bool
}

// Kind is "self".
func (Self) Kind() string { return "self" }

// RemoveRequest asks the leader to remove a member. It has no reply: a config shows the result.
type RemoveRequest struct{ ID algo.NodeID }

// Kind is "remove-request".
func (RemoveRequest) Kind() string { return "remove-request" }

// Reject tells a learner why it cannot join, or a node that the list of the sender does not name it.
type Reject struct {
	Reason string   `wire:"max=512"`
	Holds  ConfigID // without a quorum, as in Self: an older Reject is overtaken
}

// Kind is "join-rejected".
func (Reject) Kind() string { return "join-rejected" }

// BootstrapRequest asks a listed node whether it is in no cluster. The first node of a list sends it.
type BootstrapRequest struct{}

// Kind is "bootstrap-request".
func (BootstrapRequest) Kind() string { return "bootstrap-request" }

// BootstrapReply tells the first node of a list that the sender is in no cluster.
type BootstrapReply struct{ Member Member }

// Kind is "bootstrap-reply".
func (BootstrapReply) Kind() string { return "bootstrap-reply" }

// Messages returns a zero value of each message, for the codec of frames.
func Messages() []algo.Message {
	return []algo.Message{Update{}, Ack{}, Self{}, RemoveRequest{}, Reject{}, BootstrapRequest{}, BootstrapReply{}}
}

// Record is what [Dynamic] saves. Each field prevents a fault after a restart.
type Record struct {
	// Config: without it, a voter would forget a config that counts it as a holder (R1).
	Config Config
	// Committed: without it, a restarted leader would commit each config again.
	Committed bool
	// WasMember: the node was a member in a committed config. Without it, a node that is left out
	// could not tell a removal from a join that was rolled back (R13).
	WasMember bool
	// Before: the node itself changed Before into Config.Members, and does not know that to be
	// committed. Without it, a restarted author could not roll back (R12). Nil if there is none.
	Before []Member `wire:"max=512"`
}

// Kind is "config".
func (Record) Kind() string { return "config" }

// Shared is a [Record] with its view. A simulation starts thousands of nodes with one, so that all have one
// view instead of one each.
type Shared struct {
	Record
	view algo.View
}

// Share returns a Shared of a record.
func Share(r Record) Shared {
	isEligible := func(e Member) bool { return !e.Witness }
	return Shared{r, updateView(algo.View{}, r.Config.ID, r.Config.Members, isEligible)}
}

// Records returns a zero value of each record, for the codec of the store.
func Records() []algo.Message { return []algo.Message{Record{}} }
