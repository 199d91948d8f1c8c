package vote

import "github.com/elect-go/elect/algo"

// Elect requests the election of round Round. It is also the claim of its sender to be
// elected: it reports the last Lead that the sender has seen. A member that is not eligible
// sends it too, and shows that it is there and will vote. In a reply, Round can be the round in
// which the sender has voted: see claimRound.
type Elect struct {
	Round algo.Epoch
	// Term, Msg and Leader describe the last Lead that the sender has seen since its start: the
	// term, the number within the term, and the leader. They are zero if there was none.
	Term   algo.Epoch
	Msg    uint64
	Leader algo.NodeID
	// ConfigID is the ID of the config by which the sender would count its votes.
	ConfigID algo.ConfigID
	// FailedRounds is the number of rounds in a row without a leader, as far as the sender knows. The
	// receiver adopts a higher number.
	FailedRounds uint64
	// WantsReply requests the claim of the receiver, which the sender lacks.
	WantsReply bool
}

// Vote is the vote of its sender in Round, for the receiver.
type Vote struct{ Round algo.Epoch }

// Lead says that its sender leads in Term. In the source, it is also the heartbeat.
type Lead struct {
	Term algo.Epoch
	Msg  uint64 // number of this broadcast of the leader in this term, from 1
}

// Kind is "elect".
func (Elect) Kind() string { return "elect" }

// Kind is "vote".
func (Vote) Kind() string { return "vote" }

// Kind is "lead".
func (Lead) Kind() string { return "lead" }
