package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// Entry is one member in the membership that nodes exchange. Of two entries for
// one ID the one with the higher version counts, wherever it came from.
type Entry struct {
	ID       algo.NodeID
	Name     string `wire:"max=64"`
	Addr     string `wire:"max=255"`
	Priority int
	Eligible bool
	Version  uint64 // grows with every change of the entry
	Gone     bool   // it left or was removed; kept so that no late message brings it back
}

func (e Entry) member() algo.Member {
	return algo.Member{ID: e.ID, Name: e.Name, Addr: e.Addr, Priority: e.Priority, Eligible: e.Eligible}
}

// supersedes is the order in which entries of one ID are merged: by version, and
// where two changes were made at once by content, so that all choose alike.
func (e Entry) supersedes(o Entry) bool {
	return cmp.Or(
		cmp.Compare(e.Version, o.Version),
		compareBool(e.Gone, o.Gone),
		compareBool(o.Eligible, e.Eligible),
		cmp.Compare(e.Priority, o.Priority),
		strings.Compare(e.Addr, o.Addr),
		strings.Compare(e.Name, o.Name),
	) > 0
}

// sameSeat reports whether two entries have one name and one address: one node, whose
// ID is new because it kept nothing.
func (e Entry) sameSeat(o Entry) bool { return e.Name == o.Name && e.Addr == o.Addr }

// outlives reports whether e is the later life of a seat.
func (e Entry) outlives(o Entry) bool {
	return cmp.Or(cmp.Compare(e.Version, o.Version), e.ID.Compare(o.ID)) > 0
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Roster is the membership: as a message, it is sent to all when it changes and to
// whoever shows another digest; as a record, it is what a node remembers of it.
type Roster struct {
	Cluster algo.NodeID // drawn by the founder; two clusters of one name differ in it
	Size    int         // members of a fixed set, met or not; 0 otherwise
	// Epoch is that of the leader that made it or confirmed it, and Number its place
	// among those that followed each other. They are 0 where entries are merged.
	Epoch  algo.Epoch
	Number uint64
	// Confirmed says that a majority of its members hold it.
	Confirmed bool
	Entries   []Entry `wire:"max=1024"` // by ID
}

// stamp is the place of the roster among those of its cluster.
func (r Roster) stamp() algo.Stamp {
	stamp := algo.Stamp{Epoch: r.Epoch, Number: r.Number}
	if r.Epoch == 0 {
		stamp.Number = versions(r.Entries)
	}
	return stamp
}

func (r Roster) find(id algo.NodeID) (Entry, bool) {
	at, found := slices.BinarySearchFunc(r.Entries, id, func(e Entry, id algo.NodeID) int { return e.ID.Compare(id) })
	if !found {
		return Entry{}, false
	}
	return r.Entries[at], true
}

// Kind is "view".
func (Roster) Kind() string { return "view" }

// Join asks a member to let the sender in.
type Join struct{ Entry Entry }

// Kind is "join".
func (Join) Kind() string { return "join" }

// Reject answers a Join that cannot be granted.
type Reject struct {
	Reason string `wire:"max=1024"`
}

// Kind is "reject".
func (Reject) Kind() string { return "reject" }

// Propose asks for a change of the membership on behalf of its sender, or of a node that
// has asked the sender to be let in: an entry as it should be. It is not answered: the
// next roster shows it. Until then it is repeated.
type Propose struct{ Entry Entry }

// Kind is "propose".
func (Propose) Kind() string { return "propose" }

// Held says to the leader that its sender has saved the roster of that stamp, and has
// taken part in no later epoch before.
type Held struct {
	Epoch  algo.Epoch
	Number uint64
}

// Kind is "held".
func (Held) Kind() string { return "held" }

// Goodbye says that the sender stops of its own will. It stays a member.
type Goodbye struct{}

// Kind is "goodbye".
func (Goodbye) Kind() string { return "goodbye" }

// Kept is the record of what an algorithm must not forget.
type Kept struct {
	Epoch     algo.Epoch
	Vote      algo.NodeID
	Extra     string `wire:"max=4096"` // algo.MaxExtra
	Algorithm string `wire:"max=32"`   // whose it is
}

// Kind is "stable".
func (Kept) Kind() string { return "stable" }

// changeLead is how many epochs a change of the algorithm skips. One leader in an epoch is
// the promise of one algorithm, and kept among those who run it: of the last epochs of the
// one before, this node may not have heard. It is far more than a node that nobody hears
// gets through, and far less than algo.MaxEpochLead.
const changeLead = 1 << 20

// stable is what an algorithm goes on from. Of what another one kept, only the epoch means
// something to it: a vote of that one would not be one of its own.
func (k Kept) stable(algorithm string) algo.Stable {
	if k.Algorithm != algorithm {
		return algo.Stable{Epoch: k.Epoch + changeLead}
	}
	return algo.Stable{Epoch: k.Epoch, Vote: k.Vote, Extra: k.Extra}
}

// Override is the record of a priority that was set while the node ran, and of the
// configured one that it replaced.
type Override struct{ Configured, Priority int }

// Kind is "priority".
func (Override) Kind() string { return "priority" }

// Messages returns a zero value of each message that the engine and its detector
// send, for the codec of frames.
func Messages() []algo.Message {
	return append(fd.Messages(), Roster{}, Join{}, Reject{}, Goodbye{}, Propose{}, Held{})
}

// Records returns a zero value of each record that the engine has saved, for the
// codec of the store.
func Records() []algo.Message { return []algo.Message{Kept{}, Roster{}, Override{}} }
