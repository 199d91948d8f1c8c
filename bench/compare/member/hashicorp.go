package member

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

var hashicorpRaft = Library{
	Name:     "hashicorp-raft",
	Leads:    true,
	Modules:  []string{"github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb/v2", "go.etcd.io/bbolt"},
	Settings: func(t Timing) []string { return describeHashicorp(hashicorpConfig(t)) },
	Beat:     func(t Timing) time.Duration { return hashicorpConfig(t).HeartbeatTimeout / 5 },
	start:    startHashicorp,
}

// hashicorpConfig makes followers wait at least t.Timeout: the library draws each wait between
// t.Timeout and twice that. The heartbeat interval of a leader cannot be set.
func hashicorpConfig(t Timing) *raft.Config {
	c := raft.DefaultConfig()
	c.LogLevel = "OFF"
	if t != (Timing{}) {
		c.HeartbeatTimeout, c.ElectionTimeout = t.Timeout, t.Timeout
		c.LeaderLeaseTimeout = max(t.Timeout/2, 5*time.Millisecond) // half, as by default
		c.CommitTimeout = min(c.CommitTimeout, t.Timeout/2)
	}
	return c
}

func describeHashicorp(c *raft.Config) []string {
	return []string{
		fmt.Sprintf("HeartbeatTimeout %v, ElectionTimeout %v, LeaderLeaseTimeout %v, CommitTimeout %v",
			c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout, c.CommitTimeout),
		fmt.Sprintf("a leader sends every %v to %v, a tenth of HeartbeatTimeout and up to twice that; a follower waits HeartbeatTimeout and up to twice that",
			c.HeartbeatTimeout/10, c.HeartbeatTimeout/5),
		fmt.Sprintf("pre-vote %s; raft-boltdb, synced; TCP transport, 3 connections to each; log %s (default DEBUG); the rest by DefaultConfig",
			onOff(!c.PreVoteDisabled), c.LogLevel),
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func startHashicorp(m *member, t Timing) error {
	c := hashicorpConfig(t)
	c.LocalID = raft.ServerID(m.name)
	store, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(m.data, "raft.db")})
	if err != nil {
		return err
	}
	snapshots, err := raft.NewFileSnapshotStore(m.data, 2, io.Discard)
	if err != nil {
		return err
	}
	transport, err := raft.NewTCPTransport(m.listen, nil, 3, 10*time.Second, io.Discard)
	if err != nil {
		return err
	}
	known, err := raft.HasExistingState(store, store, snapshots)
	if err != nil {
		return err
	}
	if !known {
		// All members start with the same configuration, so each may bootstrap.
		var all raft.Configuration
		for i, addr := range m.members {
			all.Servers = append(all.Servers, raft.Server{ID: raft.ServerID(name(i + 1)), Address: raft.ServerAddress(addr)})
		}
		if err := raft.BootstrapCluster(c, store, store, snapshots, transport, all); err != nil {
			return err
		}
	}
	node, err := raft.NewRaft(c, emptyMachine{}, store, store, snapshots, transport)
	if err != nil {
		return err
	}
	follow := func() {
		m.events.follow(func() (string, uint64) {
			_, leader := node.LeaderWithID()
			return string(leader), node.CurrentTerm()
		})
	}
	// The filter runs where the leader is set, before anything else happens there.
	node.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		if _, ok := o.Data.(raft.LeaderObservation); ok {
			follow()
		}
		return false
	}))
	follow() // a leader elected before the observer was registered
	return nil
}

// emptyMachine is the state machine of an application that needs only a leader.
type emptyMachine struct{}

func (emptyMachine) Apply(*raft.Log) any                  { return nil }
func (emptyMachine) Snapshot() (raft.FSMSnapshot, error)  { return emptyMachine{}, nil }
func (emptyMachine) Restore(from io.ReadCloser) error     { return from.Close() }
func (emptyMachine) Persist(sink raft.SnapshotSink) error { return sink.Close() }
func (emptyMachine) Release()                             {}
