package vote

import "github.com/elect-go/elect/algo"

// Elect asks for the election of round Round, and is its sender's claim to be
// elected: it reports the last message of a leader that the sender has seen. A
// member that may not lead sends it too: it says that it is there, and will vote.
// As an answer it may be of the round in which its sender has voted: see claimed.
type Elect struct {
	Round algo.Epoch
	// Term, Msg and Leader are of the last Lead seen since the sender's start: its
	// term, its number in that term, and who sent it. They are zero when there was none.
	Term   algo.Epoch
	Msg    uint64
	Leader algo.NodeID
	// View is the stamp of the view by which the sender would count its votes.
	View algo.Stamp
	// InVain is how many rounds in a row have elected nobody, as far as the sender knows: all go
	// by the most of them.
	InVain uint64
	// Again: the sender lacks the receiver's claim, and wants it.
	Again bool
}

// Vote is its sender's vote in Round, for whom it is sent to.
type Vote struct{ Round algo.Epoch }

// Lead says that its sender leads in Term. It is the heartbeat of the source, too.
type Lead struct {
	Term algo.Epoch
	Msg  uint64 // counts the broadcasts of this leader in this term, from 1
}

// Kind is "elect".
func (Elect) Kind() string { return "elect" }

// Kind is "vote".
func (Vote) Kind() string { return "vote" }

// Kind is "lead".
func (Lead) Kind() string { return "lead" }
