package ring

import "github.com/elect-go/elect/algo"

// Election is a token: it carries one candidate around the ring. Another name for it
// is nomination.
type Election struct {
	Epoch algo.Epoch
	// Eligible, Priority and ID are the candidate's, as it knows itself. Who is not
	// eligible calls for an election with a token that cannot win against one who is.
	Eligible bool
	Priority int
	ID       algo.NodeID
	// Hops is how often the token was sent: 1 by the candidate.
	Hops uint32
}

// Elected says that ID leads in Epoch. A zero ID says that the election is over and
// nobody may lead. Another name for it is coordinator.
type Elected struct {
	Epoch algo.Epoch
	ID    algo.NodeID
	// Hops is how often the message was sent: 1 by whose token came back. 0 is said to a new
	// successor, which answers with what it knows itself.
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
