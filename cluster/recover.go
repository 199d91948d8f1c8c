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

// Recovery describes the cluster of one survivor after a quorum was lost for good: see [Recover].
type Recovery struct {
	Cluster string
	Self    algo.NodeID // node of the data directory
	// Survivor is the only member from now on. A witness becomes eligible.
	Survivor algo.Member
	// Removed are the former members, with their last known addresses.
	Removed []algo.Member
	// Epoch is the epoch from which the cluster continues. It is above each epoch in which the survivor took part.
	Epoch algo.Epoch
}

// Recover makes a node the only member of its cluster. It is for a cluster that has lost a quorum for good, and so can
// neither elect a leader nor remove a member. data is the data directory of the node, which must not run. survivor is
// the name or the ID of the node. Afterwards the other nodes join it with empty folders.
//
// Recover overrides the quorum, so it is safe only if no removed node still runs. The function agree must make sure of
// that. Recover calls agree before it writes anything, while no node can start with the folder. If agree returns an
// error, Recover writes nothing and returns that error. If the survivor is the only member already, Recover neither
// calls agree nor writes anything.
//
// Recover returns an error if the folder is in use or damaged, if it belongs to no member or to another node than the
// survivor, or if the algorithm of the node needs no quorum.
func Recover(data, survivor string, agree func(Recovery) error) (done Recovery, err error) {
	if _, err := os.Stat(filepath.Join(data, store.FileName)); err != nil {
		return done, fmt.Errorf("cluster: %s is not the data directory of a node: %w", data, err)
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
		return done, fmt.Errorf("cluster: the data directory %s: %w", data, err)
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
