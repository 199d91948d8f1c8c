package algo

import "time"

// Call is the cause of an election, as one node knows it.
type Call struct {
	By NodeID `json:"by"` // node that started the election: this node, or the one that informed it
	// Why is the reason. If By suspects a member, it is a word of package fd. Otherwise it is the
	// name of the event that started the election, such as "start", "campaign", "reconfigure"
	// (Left is no longer eligible), "expire" (an expected message did not arrive) or "receive" (a
	// message from By).
	Why     string        `json:"why"`
	Left    NodeID        `json:"left,omitzero"`       // previous leader; zero if none was known
	Epoch   Epoch         `json:"epoch"`               // epoch of the previous leader
	Silence time.Duration `json:"silence_ns,omitzero"` // silence after which Left was suspected
}
