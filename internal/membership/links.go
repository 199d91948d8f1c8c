package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// Peer describes a new connection.
type Peer struct {
	ID algo.NodeID
	// Name is that of its hello, which the driver has authenticated, where names can be. The peer can be
	// a member under no other name.
	Name string
	// Incarnation of the peer. It grows with each start of a node at one address, also if the data
	// directory of that node was emptied in between.
	Incarnation uint64
	Digest      uint64 // of the peer's config, from its hello; 0 if it is in no cluster
	Addr        string // where the peer listens, from its hello
	Dialed      string // address that this node dialed; empty if the peer dialed
}

// link is a connection, with the messages of both sides that matter later.
type link struct {
	peer        algo.NodeID
	name        string
	incarnation uint64
	digest      uint64    // last digest of the peer's config
	sent        sentState // the last config that was sent to the peer; of a Static, its last Self that was acknowledged
	sentAt      time.Duration
	selfSent    bool     // entry of the peer in its last Self
	self        Member   // what the peer said last about itself
	isLearner   bool     // the peer requests to join
	holds       ConfigID // config of the peer at the time of self
	bootstraps  bool     // the peer may bootstrap a cluster itself
}

// isBlank reports whether the peer was in no cluster when it sent its last digest, and its last Self.
func (l link) isBlank() bool { return l.digest == 0 && l.holds == ConfigID{} }

// hasSelf reports whether a Self of the peer has arrived.
func (l link) hasSelf() bool { return !l.self.ID.IsZero() }

// checkSelf checks the entry in a Self of the peer.
func (l link) checkSelf(e Member) error {
	if e.ID != l.peer || e.Name != l.name {
		return fmt.Errorf("membership: the peer %s, named %q, says that it is %s, named %q", l.peer, l.name, e.ID, e.Name)
	}
	return nil
}

// sentState identifies the content of an Update.
type sentState struct {
	id        ConfigID
	committed bool
}

// links are the connections of a node, sorted by peer: their order must not depend on a map.
type links []link

func (ls links) search(peer algo.NodeID) (int, bool) {
	return searchID(len(ls), func(i int) algo.NodeID { return ls[i].peer }, peer)
}

// searchID returns the place of an ID in a sorted list of n entries. Other than slices.BinarySearchFunc it copies no
// entry, and each message searches several times.
func searchID(n int, at func(i int) algo.NodeID, id algo.NodeID) (place int, found bool) {
	low, high := 0, n
	for low < high {
		middle := (low + high) / 2
		if at(middle).Compare(id) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < n && at(low) == id
}

// find returns the link to peer, or nil. It is valid until the next add or remove.
func (ls links) find(peer algo.NodeID) *link {
	if i, found := ls.search(peer); found {
		return &ls[i]
	}
	return nil
}

func (ls links) has(peer algo.NodeID) bool { return ls.find(peer) != nil }

// haveLearner reports whether a connected peer requests to join.
func (ls links) haveLearner() bool {
	for i := range ls {
		if ls[i].isLearner {
			return true
		}
	}
	return false
}

func (ls *links) add(l link) {
	i, found := ls.search(l.peer)
	if found {
		(*ls)[i] = l
		return
	}
	*ls = slices.Insert(*ls, i, l)
}

func (ls *links) remove(peer algo.NodeID) {
	if i, found := ls.search(peer); found {
		*ls = slices.Delete(*ls, i, i+1)
	}
}

// peers returns the connected peers. Callers may change the links while they iterate over it.
func (ls links) peers() []algo.NodeID {
	ids := make([]algo.NodeID, 0, len(ls))
	for _, l := range ls {
		ids = append(ids, l.peer)
	}
	return ids
}
