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

// Recovery is how one survivor continues after a quorum was lost for good: see [Recover].
type Recovery struct {
	Cluster string
	Self    algo.NodeID // node of the data folder
	// Survivor is the only member from now on. A witness becomes eligible.
	Survivor algo.Member
	// Removed are the members that are none any more, with the addresses at which this node
	// knows them.
	Removed []algo.Member
	// Epoch is where the epochs continue, above all in which the survivor has taken part.
	Epoch algo.Epoch
}

// Recover is the way out for a cluster that has lost a quorum for good, so that no leader can be elected and no
// member removed. In the data folder of a node that does not run, it makes that node, given by its name or ID,
// the only member. The other nodes join it with empty folders.
//
// It is not safe: it puts the word of an operator in place of a quorum. No removed node may still run; agree has
// to see to that. It is called before anything is written, while no node can start with the folder, and its
// error is that of Recover. If the survivor is the only member already, agree is not called and nothing is
// written.
//
// Other errors say that the folder is in use, damaged, or that of no member, that the survivor is not the node
// of the folder, or that its algorithm needs no quorum.
func Recover(data, survivor string, agree func(Recovery) error) (done Recovery, err error) {
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
	next, err := engine.Recover(self.ID, survivor, saved)
	if err != nil {
		return done, fmt.Errorf("cluster: the data folder %s: %w", data, err)
	}
	done.Survivor, done.Removed, done.Epoch = next.Survivor, next.Removed, next.Epoch
	if len(next.Records) == 0 {
		return done, nil
	}
	if err := agree(done); err != nil {
		return done, err
	}
	return done, r.save(next.Records...)
}
