package ring

import "github.com/elect-go/elect/algo"

// Election is a ring token: it carries one candidate around the ring. Other texts call it
// nomination.
type Election struct {
	Epoch algo.Epoch
	// Eligible, Priority and ID describe the candidate, by its own view. A process that is
	// not eligible can start an election, but its token loses against any eligible candidate.
	Eligible bool
	Priority int
	ID       algo.NodeID
	// Hops is the number of times that the token was sent, including by the candidate.
	Hops uint32
}

// Elected announces the outcome of an election: ID leads in Epoch. If ID is zero, no process is
// eligible. Other texts call it coordinator.
type Elected struct {
	Epoch algo.Epoch
	ID    algo.NodeID
	// Hops is the number of times that the message was sent, including by the leader. It is 0
	// in a message to a new successor, which replies with the outcome that it knows.
	Hops uint32
}

// Kind is "election".
func (Election) Kind() string { return "election" }

// Kind is "elected".
func (Elected) Kind() string { return "elected" }

func (m Election) candidate() algo.Member {
	return algo.Member{ID: m.ID, Priority: m.Priority, Eligible: m.Eligible}
}

func (m Elected) leader() algo.Leader { return algo.Leader{Epoch: m.Epoch, ID: m.ID} }
