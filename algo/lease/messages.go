package lease

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Ask asks for the promise to have no other leader; with a Ballot of 0, who would promise that now.
type Ask struct {
	Ballot algo.Epoch
	Round  uint64        // counts the questions of one life
	View   algo.Stamp    // of the members among whom it counts
	For    time.Duration // the promise
	Holds  bool          // a majority has granted this ballot: the sender leads
	Heard  bool          // a majority has answered, who would promise now
	Again  bool          // it repeats what was asked before, and so does the answer
}

// Reply is the answer: a promise, for this round and those before, or not. With a Ballot of 0 it says whether
// its sender would promise now, which it says as well when it has come to be free, and, when it has restarted, to
// the member that it promised before.
type Reply struct {
	Ballot algo.Epoch
	Round  uint64
	Yes    bool
	Max    algo.Epoch // the ballot of the sender
}

// Release says that its sender neither leads nor will, in no ballot up to that.
type Release struct{ Ballot algo.Epoch }

// Aside says that a member stands aside: too few answer it. Off: it does so no more.
type Aside struct {
	ID   algo.NodeID
	Said uint64 // counts what the member has said of that in this life
	Off  bool
}

// Kind is "lease/aside".
func (Aside) Kind() string { return "lease/aside" }

// Kind is "lease/ask".
func (Ask) Kind() string { return "lease/ask" }

// Kind is "lease/reply".
func (Reply) Kind() string { return "lease/reply" }

// Kind is "lease/release".
func (Release) Kind() string { return "lease/release" }

// repeated has hosts count what only keeps up what is so with the heartbeats.
func repeated(m algo.Message, again bool) algo.Message {
	if again {
		return algo.Repeat{Message: m}
	}
	return m
}
