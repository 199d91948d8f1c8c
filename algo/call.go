package algo

import "time"

// ElectionCause is the cause of an election, as one node knows it.
type ElectionCause struct {
	Caller NodeID `json:"caller"` // node that started the election: this node, or the one that informed it
	// Reason is a word of package fd if Caller suspects a member. Otherwise it is the
	// name of the event that started the election, such as "start", "campaign", "reconfigure"
	// (Previous is no longer eligible), "expire" (an expected message did not arrive) or "receive" (a
	// message from Caller).
	Reason    string        `json:"reason"`
	Previous  NodeID        `json:"previous,omitzero"`      // previous leader; zero if none was known
	Epoch     Epoch         `json:"epoch"`                  // epoch of the previous leader
	SilentFor time.Duration `json:"silent_for_ns,omitzero"` // silence after which Previous was suspected
}
