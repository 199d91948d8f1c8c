package lease

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Request requests a grant: a promise to accept no other leader. With a Ballot of 0 it is a pre-vote,
// which asks whether the receiver would grant one now.
type Request struct {
	Ballot          algo.Epoch
	Round           uint64        // number of the request, counted from the start of the process
	ConfigID        algo.ConfigID // config by which the sender counts grants
	Duration        time.Duration // duration of the grant
	Leading         bool          // the sender leads: a majority has granted this ballot
	QuorumReachable bool          // a majority has replied to the pre-vote
	Again           bool          // the request repeats an earlier one, and the reply is periodic too
}

// Reply grants or denies the requests up to Round. With a Ballot of 0 it replies to a pre-vote and
// says whether its sender would grant a ballot now. A voter also sends it when it becomes free and,
// after a restart, to the member that has its grant.
type Reply struct {
	Ballot        algo.Epoch
	Round         uint64
	Granted       bool
	HighestBallot algo.Epoch // highest ballot of the sender
}

// Release says that its sender does not lead and will not lead in any ballot up to Ballot.
type Release struct{ Ballot algo.Epoch }

// Withdraw says that member ID has withdrawn because it reaches no majority or, if Cancelled is set, that
// its withdrawal has ended.
type Withdraw struct {
	ID        algo.NodeID
	Seq       uint64 // number of the message, counted from the start of the process
	Cancelled bool
}

// Kind is "lease/withdraw".
func (Withdraw) Kind() string { return "lease/withdraw" }

// Kind is "lease/request".
func (Request) Kind() string { return "lease/request" }

// Kind is "lease/reply".
func (Reply) Kind() string { return "lease/reply" }

// Kind is "lease/release".
func (Release) Kind() string { return "lease/release" }

// asPeriodic marks m as periodic if again is set, so that drivers count it with the heartbeats.
func asPeriodic(m algo.Message, again bool) algo.Message {
	if again {
		return algo.Periodic{Message: m}
	}
	return m
}
