package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/member"
	"github.com/elect-go/elect/internal/membership"
)

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

// recall finds the record of the algorithm; without one there is nothing that it has kept.
func recall(saved []algo.Message, algorithm string) Kept {
	for _, record := range saved {
		if k, ok := record.(Kept); ok {
			return k
		}
	}
	return Kept{Algorithm: algorithm}
}

// Recover works out, from the records of a node that does not run, how it goes on after a majority
// was lost for good: see [membership.Recover]. Of what the algorithm keeps nothing changes: it
// takes the epoch from the members.
func Recover(self algo.NodeID, survivors []string, saved []algo.Message) (membership.Recovery, error) {
	taken := recall(saved, "").Epoch
	for _, record := range saved {
		if r, ok := record.(member.Record); ok {
			return recoverRecord(self, survivors, r, taken)
		}
	}
	return membership.Recover(self, survivors, taken, saved...)
}

// recoverRecord makes one survivor the only member: see [member.Recover].
func recoverRecord(self algo.NodeID, survivors []string, saved member.Record, taken algo.Epoch) (r membership.Recovery, err error) {
	mine, _ := saved.Config.Find(self)
	isOwn := func(survivor string) bool { return survivor == mine.Name || survivor == self.String() }
	if len(survivors) != 1 || !isOwn(survivors[0]) {
		return r, fmt.Errorf("its algorithm needs a quorum: name one survivor, the node of this folder (%s), and let the others "+
			"join it with empty folders", cmp.Or(mine.Name, self.String()))
	}
	next, err := member.Recover(self, saved, taken)
	if err != nil {
		return r, err
	}
	view := func(e member.Member) algo.Member {
		return algo.Member{ID: e.ID, Name: e.Name, Addr: e.Addr, Priority: e.Priority, Eligible: !e.Witness}
	}
	for _, e := range saved.Config.Members {
		if e.ID != self {
			r.Removed = append(r.Removed, view(e))
		}
	}
	r.Survivors, r.Epoch = []algo.Member{view(next.Config.Members[0])}, next.Config.ID.Term
	if len(r.Removed) > 0 {
		r.Records = []algo.Message{next}
	}
	return r, nil
}

// Messages returns a zero value of each message that the engine, its detector and its
// membership send, for the codec of frames.
func Messages() []algo.Message {
	return slices.Concat(fd.Messages(), membership.Messages(), member.Messages(), []algo.Message{Goodbye{}})
}

// Records returns a zero value of each record that the engine has saved, for the
// codec of the store.
func Records() []algo.Message {
	return append(slices.Concat(membership.Records(), member.Records()), Kept{})
}
