package membership

import "github.com/elect-go/elect/algo"

// Entry is one member.
type Entry struct {
	ID       algo.NodeID
	Name     string `wire:"max=64"`
	Addr     string `wire:"max=255"`
	Priority int
	Eligible bool // false for a witness; who resigned for a while says so with a [Stand]
}

func entryOf(m algo.Member) Entry {
	return Entry{ID: m.ID, Name: m.Name, Addr: m.Addr, Priority: m.Priority, Eligible: m.Eligible}
}

func (e Entry) member() algo.Member {
	return algo.Member{ID: e.ID, Name: e.Name, Addr: e.Addr, Priority: e.Priority, Eligible: e.Eligible}
}

// Roster is the membership: as a message, it is sent to all when it changes and to whoever
// shows another digest; as a record, it is what a node remembers of it. It is never changed
// in place: nodes share it.
type Roster struct {
	Cluster algo.NodeID // drawn by the founder; two clusters of one name differ in it
	// Unmet is how many seats of a fixed set nobody has taken yet. They count for a quorum.
	Unmet int
	// Epoch is that of the leader that made it, and Number its place among those of that
	// leader, from 1. Both are 0 until there was a leader that made one.
	Epoch  algo.Epoch
	Number uint64
	// Confirmed says that it stands: a majority of its members hold it, where the algorithm
	// needs one.
	Confirmed bool
	Entries   []Entry       `wire:"max=512"` // by ID
	Strikes   []algo.NodeID `wire:"max=512"` // who was removed, or left; the latest last
}

// Kind is "view".
func (Roster) Kind() string { return "view" }

// Join asks a member to let the sender in. Who is in no cluster sends it to all it is connected to.
type Join struct {
	Entry  Entry
	Founds bool // the sender may found a cluster itself
}

// Kind is "join".
func (Join) Kind() string { return "join" }

// Reject answers a Join that cannot be granted.
type Reject struct {
	Reason string `wire:"max=1024"`
}

// Kind is "reject".
func (Reject) Kind() string { return "reject" }

// Propose asks the leader for a change on behalf of its sender, or of a node that has asked
// the sender to be let in: an entry as it should be, or that it should be struck. It is not
// answered: the next roster shows it. Until then it is repeated.
type Propose struct {
	Entry Entry
	Gone  bool
}

// Kind is "propose".
func (Propose) Kind() string { return "propose" }

// Held says to the leader that its sender has saved the roster of that stamp, and has taken
// part in no later epoch before.
type Held struct {
	Epoch  algo.Epoch
	Number uint64
}

// Kind is "held".
func (Held) Kind() string { return "held" }

// Stand says whether the sender may be elected for now. One that resigned says it again and
// again, and it holds three times as long as until it is due again: whoever hears nothing more
// takes it back.
type Stand struct {
	Resigned bool
	Count    uint64 // of those that this process has said
}

// Kind is "stand".
func (Stand) Kind() string { return "stand" }

// Owed is the record of what the roster does not show: strikes that this node knows of and has not found
// in a later one, and the last change of who is a member that it has made itself, as a leader.
type Owed struct {
	Strikes []algo.NodeID `wire:"max=512"`
	Change  Change
}

// Kind is "owed".
func (Owed) Kind() string { return "owed" }

// Change is how a leader has made the roster of that stamp: an entry came, or went, and so many seats
// were empty before. Until it knows that a majority holds that roster it can go back.
type Change struct {
	Epoch  algo.Epoch
	Number uint64
	Unmet  int
	Entry  Entry
	Gone   bool
}

// Messages returns a zero value of each message, for the codec of frames.
func Messages() []algo.Message {
	return []algo.Message{Roster{}, Join{}, Reject{}, Propose{}, Held{}, Stand{}}
}

// Records returns a zero value of each record, for the codec of the store.
func Records() []algo.Message { return []algo.Message{Roster{}, Owed{}} }
