package fleet

// What an [Event] is about.
const (
	Ready   = "ready"   // the node runs: ID, Name, Addr, Pid, Clock
	Leader  = "leader"  // it takes Peer, named Name, for the leader of Epoch; no Peer is a vacancy
	Suspect = "suspect" // its detector takes Peer for dead
	Trust   = "trust"   // its detector takes that back
	View    = "view"    // its membership changed
	Send    = "send"    // it sent a message of an election, Kind, to Peer; what must be saved first is saved then
	Deliver = "deliver" // it took a message of an election, Kind, from Peer
	Save    = "save"    // it saved, which took Took ns and ended at At
	Lost    = "lost"    // Count events are missing here: the reader was too slow
)

// Campaign is a line that a fleet writes to a node: its application calls for an election.
const Campaign = "campaign"

// Event is one line of what a node writes: something that happened there. Which
// fields count follows from What.
type Event struct {
	At    int64  `json:"at"`              // ns of the clock that the ready event names
	What  string `json:"event"`           // one of the constants
	ID    string `json:"id,omitempty"`    // ready: its own
	Name  string `json:"name,omitempty"`  // ready: its own; leader: the leader's
	Addr  string `json:"addr,omitempty"`  // ready: where it listens
	Pid   int    `json:"pid,omitempty"`   // ready
	Clock string `json:"clock,omitempty"` // ready: see Clock
	Peer  string `json:"peer,omitempty"`  // leader, suspect, trust, send, deliver: an id
	Epoch uint64 `json:"epoch,omitempty"` // leader
	Leads bool   `json:"leads,omitempty"` // leader: it is this node
	Kind  string `json:"kind,omitempty"`  // send, deliver
	Took  int64  `json:"took,omitempty"`  // save: ns
	Count int    `json:"count,omitempty"` // lost
}
