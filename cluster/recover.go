package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/store"
)

// Recovery is how one survivor goes on without those who are lost: see [Recover].
type Recovery struct {
	Cluster string
	Self    algo.NodeID // whose data folder it is
	// Survivors are all members from now on, in the order of their IDs. Where none of them could
	// be elected, because all were witnesses, now all can.
	Survivors []algo.Member
	// Removed are the members that are none any more, with the addresses at which this node
	// knows them.
	Removed []algo.Member
	// Unmet is how many of a fixed set of members were never met: they do not count any more. It is 0 with
	// a quorum.
	Unmet int
	// Epoch is where the epochs go on, above all that the survivors have taken part in.
	Epoch algo.Epoch
}

// Recover is the way out for a cluster that has lost so many members for good that nobody can
// be elected, nor removed. In the data folder of a node that does not run it makes the survivors,
// each given by its name or ID, the only members.
//
// With an algorithm that needs a quorum there is one survivor: the node of the folder. The other nodes join
// it with empty folders. Otherwise it is to be done on each survivor with the same survivors, before they
// are started.
//
// It is not safe: it puts the word of an operator in place of a majority. Of those who are
// removed none may still run; agree has to see to that. It is called while nothing is written yet
// and no node can start with the folder, and its error is that of Recover. Where the survivors are
// all there is already it is not called, and nothing is written.
//
// Other errors say that the folder is in use, damaged, or that of no member, or that the survivors
// are not members, or not with this one among them.
func Recover(data string, survivors []string, agree func(Recovery) error) (done Recovery, err error) {
	if _, err := os.Stat(filepath.Join(data, store.FileName)); err != nil {
		return done, fmt.Errorf("cluster: %s is not the data folder of a node: %w", data, err)
	}
	kept, err := store.Open(data)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	r := newRecords(kept, data)
	self, saved, err := r.read()
	if err != nil {
		return done, err
	}
	done.Cluster, done.Self = self.Cluster, self.ID
	next, err := engine.Recover(self.ID, survivors, saved)
	if err != nil {
		return done, fmt.Errorf("cluster: the data folder %s: %w", data, err)
	}
	done.Survivors, done.Removed, done.Unmet, done.Epoch = next.Survivors, next.Removed, next.Unmet, next.Epoch
	if len(next.Records) == 0 {
		return done, nil
	}
	if err := agree(done); err != nil {
		return done, err
	}
	return done, r.save(next.Records...)
}
