package membership

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/algo"
)

// A config must fit in one frame of 64 KiB, and in one record.
const (
	maxMembers = 512
	maxExpired = 64
	maxBytes   = 56 << 10 // of all members; the rest is for Expired and the envelope
)

// maxTerm and maxVersion are far beyond what a cluster reaches. After a config with the last term no leader
// could be elected, and after one with the last version no config could be written.
const (
	maxTerm    algo.Epoch = algo.MaxEpoch / 2
	maxVersion uint64     = 1 << 63
)

// Member is one entry of a config: a node as its own settings describe it.
type Member struct {
	ID       algo.NodeID
	Name     string `wire:"max=64"`
	Addr     string `wire:"max=255"` // host:port, as peers dial it
	Priority int
	Witness  bool // votes and is never elected
}

// MemberOf returns the entry of an [algo.Member].
func MemberOf(m algo.Member) Member {
	return Member{ID: m.ID, Name: m.Name, Addr: m.Addr, Priority: m.Priority, Witness: !m.Eligible}
}

// size returns an upper bound on the encoded size of e, in bytes.
func (e Member) size() int { return 40 + len(e.Name) + len(e.Addr) }

// check returns what is wrong with e, or nil. Names and addresses are shown in logs and dialed.
func (e Member) check() error {
	isPlain := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	switch {
	case e.ID.IsZero():
		return errors.New("a member has no ID")
	case !isPlain(e.Name) || !isPlain(e.Addr):
		return fmt.Errorf("the name %q or the address %q of a member is empty or not plain text", e.Name, e.Addr)
	}
	return nil
}

// ConfigID orders configs: by the epoch of the leader that wrote the config, then by a counter. The
// version never restarts, so that it also counts the changes of a cluster.
type ConfigID struct {
	Term    algo.Epoch
	Version uint64
}

// Compare is negative if id is older than o, and positive if it is newer.
func (id ConfigID) Compare(o ConfigID) int {
	return cmp.Or(cmp.Compare(id.Term, o.Term), cmp.Compare(id.Version, o.Version))
}

// String returns "term.version".
func (id ConfigID) String() string {
	return strconv.FormatUint(uint64(id.Term), 10) + "." + strconv.FormatUint(id.Version, 10)
}

// Config is the register. A node holds one, and a newer one replaces an older one as a whole. The
// zero value belongs to a node that is in no cluster. A config is never changed in place.
type Config struct {
	Cluster algo.NodeID // drawn at the bootstrap; it never changes
	ID      ConfigID
	Author  algo.NodeID // node that wrote this config
	Members []Member    `wire:"max=512"` // sorted by ID
	// Expired lists former members that no admin request removed: they were suspected for too long,
	// or replaced. Such a node may join again under a new ID. The oldest is first.
	Expired []algo.NodeID `wire:"max=64"`
}

// Find returns the entry of a member.
func (c Config) Find(id algo.NodeID) (Member, bool) {
	if i, found := c.index(id); found {
		return c.Members[i], true
	}
	return Member{}, false
}

// index returns the place of a member.
func (c Config) index(id algo.NodeID) (int, bool) {
	return searchID(len(c.Members), func(i int) algo.NodeID { return c.Members[i].ID }, id)
}

// Has reports whether id is a member.
func (c Config) Has(id algo.NodeID) bool {
	_, found := c.index(id)
	return found
}

// isInitial reports whether c comes from a bootstrap, and no leader has written a config since.
func (c Config) isInitial() bool { return !c.Cluster.IsZero() && c.ID.Term == 0 }

// with returns the members after e was added, or has replaced the entry with its ID.
func (c Config) with(e Member) []Member { return sortMembers(append(c.without(e.ID), e)) }

// without returns the members after id was removed.
func (c Config) without(id algo.NodeID) []Member {
	return slices.DeleteFunc(slices.Clone(c.Members), func(e Member) bool { return e.ID == id })
}

// expiredWith returns c.Expired after id was added. The oldest entries make room.
func (c Config) expiredWith(id algo.NodeID) []algo.NodeID {
	expired := append(slices.Clone(c.Expired), id)
	return expired[max(0, len(expired)-maxExpired):]
}

// check returns what is wrong with a config from a peer, or nil.
func (c Config) check() error {
	if c.Cluster.IsZero() || c.ID.Version == 0 || len(c.Members) == 0 {
		return errors.New("a config has no cluster, no version or no members")
	}
	if c.ID.Term > maxTerm || c.ID.Version > maxVersion {
		return fmt.Errorf("the config %s leaves no room for later ones", c.ID)
	}
	for i, e := range c.Members {
		if err := e.check(); err != nil {
			return err
		}
		if i > 0 && c.Members[i-1].ID.Compare(e.ID) >= 0 {
			return errors.New("the members of a config are not sorted by ID")
		}
	}
	return nil
}

// digest hashes what this node knows of c. It is 0 for a node that is in no cluster.
func (c Config) digest(committed bool) uint64 {
	if c.Cluster.IsZero() {
		return 0
	}
	hash := fnv.New64a()
	known := append([]byte{0}, c.Cluster[:]...)
	if committed {
		known[0] = 1
	}
	known = binary.BigEndian.AppendUint64(known, uint64(c.ID.Term))
	known = binary.BigEndian.AppendUint64(known, c.ID.Version)
	_, _ = hash.Write(known) // never fails
	return max(hash.Sum64(), 1)
}

func sortMembers(members []Member) []Member {
	slices.SortFunc(members, func(a, b Member) int { return a.ID.Compare(b.ID) })
	return members
}

// quorum returns the size of the smallest majority of members.
func quorum(members []Member) int { return len(members)/2 + 1 }

// quorumsOverlap reports whether each quorum of a and each quorum of b have a member in common.
func quorumsOverlap(a, b []Member) bool {
	union := len(a)
	for _, e := range b {
		if !(Config{Members: a}).Has(e.ID) {
			union++
		}
	}
	return quorum(a)+quorum(b) > union
}

// sameIDs reports whether a and b differ at most in names, addresses, priorities and witnesses.
func sameIDs(a, b []Member) bool {
	return slices.EqualFunc(a, b, func(x, y Member) bool { return x.ID == y.ID })
}

// hasEligible reports whether a member of members is no witness.
func hasEligible(members []Member) bool {
	return slices.ContainsFunc(members, func(e Member) bool { return !e.Witness })
}

// fits reports whether members fit in one frame.
func fits(members []Member) bool {
	size := 0
	for _, e := range members {
		size += e.size()
	}
	return len(members) <= maxMembers && size <= maxBytes
}
