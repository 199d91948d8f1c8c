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

// Goodbye says that the sender stops gracefully. It stays a member.
type Goodbye struct{}

// Kind is "goodbye".
func (Goodbye) Kind() string { return "goodbye" }

// SavedState is the record of an algorithm's hard state.
type SavedState struct {
	Epoch     algo.Epoch
	Vote      algo.NodeID
	Extra     string `wire:"max=4096"` // algo.MaxExtra
	Algorithm string `wire:"max=32"`   // name of the algorithm that saved the record
}

// Kind is "hard-state".
func (SavedState) Kind() string { return "hard-state" }

// algorithmChangeGap is the number of epochs that a change of the algorithm skips. An algorithm guarantees one leader
// in an epoch only among nodes that run the same algorithm, and this node may not know the last epochs of the
// previous algorithm. The gap is far larger than the number of epochs that an isolated node goes through, and far
// smaller than the number of all epochs.
const algorithmChangeGap = 1 << 20

// hardState returns the state from which an algorithm continues. From the record of another algorithm it takes only
// the epoch: a vote has a meaning only within one algorithm.
func (k SavedState) hardState(algorithm string) algo.HardState {
	if k.Algorithm != algorithm {
		return algo.HardState{Epoch: k.Epoch + algorithmChangeGap}
	}
	return algo.HardState{Epoch: k.Epoch, Vote: k.Vote, Extra: k.Extra}
}

// findSaved returns the record of the algorithm, or an empty one.
func findSaved(saved []algo.Message, algorithm string) SavedState {
	for _, record := range saved {
		if k, ok := record.(SavedState); ok {
			return k
		}
	}
	return SavedState{Algorithm: algorithm}
}

// Recovery describes how one survivor continues after the permanent loss of a quorum.
type Recovery struct {
	Survivor algo.Member   // the only member from now on
	Removed  []algo.Member // former members
	Epoch    algo.Epoch    // at which the epochs continue
	// Records must be saved. There are none if the survivor already is the only member.
	Records []algo.Message
}

// Recover returns how a node becomes the only member, given its records: see [membership.Recover]. The node must not
// run. The record of the algorithm does not change: the algorithm takes the epoch from the config.
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
	next, err := membership.Recover(self, record, findSaved(saved, "").Epoch)
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

// Messages returns a zero value of each message that the engine, its detector and its membership send, for the codec
// of frames.
func Messages() []algo.Message {
	return slices.Concat(fd.Messages(), membership.Messages(), []algo.Message{Goodbye{}})
}

// Records returns a zero value of each record that the engine saves, for the codec of the store.
func Records() []algo.Message {
	return append(membership.Records(), SavedState{})
}
