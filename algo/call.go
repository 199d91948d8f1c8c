package algo

import "time"

// Call is how an election began, as one node knows it.
type Call struct {
	By NodeID `json:"by"` // who called it: this node, or who has told it
	// Why is what By suspects of Left, or of who should lead, in a word of package fd; or else the name of
	// the event with which it began, such as "start", "campaign", "reconfigure" (Left may not lead any
	// more), "expire" (it was waited for in vain) and "receive" (By has said so, or leads).
	Why     string        `json:"why"`
	Left    NodeID        `json:"left,omitzero"`       // who led until then; zero where nobody was known to
	Epoch   Epoch         `json:"epoch"`               // of that leadership
	Silence time.Duration `json:"silence_ns,omitzero"` // after which Left was suspected
}
