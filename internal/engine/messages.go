package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
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
// gets through, and far less than there are.
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

// Recovery is how one survivor continues after a quorum was lost for good.
type Recovery struct {
	Survivor algo.Member   // the only member from now on
	Removed  []algo.Member // members that are none any more
	Epoch    algo.Epoch    // where the epochs continue
	// Records are to be saved. There are none if the survivor is the only member already.
	Records []algo.Message
}

// Recover works out, from the records of a node that does not run, how it becomes the only member: see
// [membership.Recover]. The record of the algorithm does not change: the algorithm takes the epoch from the config.
func Recover(self algo.NodeID, survivor string, saved []algo.Message) (r Recovery, err error) {
	i := slices.IndexFunc(saved, func(record algo.Message) bool { return record.Kind() == membership.Record{}.Kind() })
	if i < 0 {
		return r, errors.New("it has no config: either the node was never a member, or its algorithm needs no quorum, and its " +
			"members are those of the list in its settings")
	}
	record := saved[i].(membership.Record)
	mine, _ := record.Config.Find(self)
	if survivor != mine.Name && survivor != self.String() {
		return r, fmt.Errorf("the survivor is the node of this folder (%s), and the others join it with empty folders", cmp.Or(mine.Name, self.String()))
	}
	next, err := membership.Recover(self, record, recall(saved, "").Epoch)
	if err != nil {
		return r, err
	}
	view := func(e membership.Member) algo.Member {
		return algo.Member{ID: e.ID, Name: e.Name, Addr: e.Addr, Priority: e.Priority, Eligible: !e.Witness}
	}
	for _, e := range record.Config.Members {
		if e.ID != self {
			r.Removed = append(r.Removed, view(e))
		}
	}
	r.Survivor, r.Epoch = view(next.Config.Members[0]), next.Config.ID.Term
	if len(r.Removed) > 0 {
		r.Records = []algo.Message{next}
	}
	return r, nil
}

// Messages returns a zero value of each message that the engine, its detector and its
// membership send, for the codec of frames.
func Messages() []algo.Message {
	return slices.Concat(fd.Messages(), membership.Messages(), []algo.Message{Goodbye{}})
}

// Records returns a zero value of each record that the engine has saved, for the
// codec of the store.
func Records() []algo.Message {
	return append(membership.Records(), Kept{})
}
