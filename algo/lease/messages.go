package lease

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Ask requests a grant: a promise to accept no other leader. With a Ballot of 0 it is a pre-vote,
// which asks whether the receiver would grant one now.
type Ask struct {
	Ballot algo.Epoch
	Round  uint64        // number of the request, counted from the start of the process
	View   algo.Stamp    // view by which the sender counts grants
	For    time.Duration // duration of the grant
	Holds  bool          // the sender leads: a majority has granted this ballot
	Heard  bool          // a majority has replied to the pre-vote
	Again  bool          // the request repeats an earlier one, and the reply is periodic too
}

// Reply grants or denies the requests up to Round. With a Ballot of 0 it replies to a pre-vote and
// says whether its sender would grant a ballot now. A voter also sends it when it becomes free and,
// after a restart, to the member that has its grant.
type Reply struct {
	Ballot algo.Epoch
	Round  uint64
	Yes    bool
	Max    algo.Epoch // highest ballot of the sender
}

// Release says that its sender does not lead and will not lead in any ballot up to Ballot.
type Release struct{ Ballot algo.Epoch }

// Aside says that member ID has withdrawn, because it reaches no majority, or, if Off is set, that
// its withdrawal has ended.
type Aside struct {
	ID   algo.NodeID
	Said uint64 // number of the message, counted from the start of the process
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

// asPeriodic marks m as periodic if again is set, so that drivers count it with the heartbeats.
func asPeriodic(m algo.Message, again bool) algo.Message {
	if again {
		return algo.Repeat{Message: m}
	}
	return m
}
