package wire

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// WatchRequest requests a [WatchReply] at once, after each change of the leadership, and at least every WatchInterval.
// Only clients send it. An [AdminReply] rejects it.
type WatchRequest struct{}

// WatchInterval is the longest time between two replies to a watcher.
const WatchInterval = 2 * time.Second

// WatchReply is the leadership that a node knows.
type WatchReply struct {
	Cluster  algo.NodeID   // zero before the node is in a cluster
	Epoch    algo.Epoch    // of the leader, or the highest epoch in which the node has known one
	Leader   []WatchLeader `wire:"max=1"`  // empty if no leader is known
	Addrs    []string      `wire:"max=64"` // of members; not all of them in a large cluster
	Watchers uint32        // of the node
}

// WatchLeader is the leader in a WatchReply.
type WatchLeader struct {
	ID   algo.NodeID
	Name string `wire:"max=64"`
	Addr string
	Meta []StatusMeta // sorted by key
}

// MaxWatchAddrs is the maximum length of WatchReply.Addrs.
const MaxWatchAddrs = 64

// Kind is "watch-request".
func (WatchRequest) Kind() string { return "watch-request" }

// Kind is "watch-reply".
func (WatchReply) Kind() string { return "watch-reply" }
