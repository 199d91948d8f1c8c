package algo

import (
	"cmp"
	"iter"
	"slices"
)

// Member is one node in the config of the cluster.
type Member struct {
	ID       NodeID
	Name     string // unique in the cluster
	Addr     string // address at which other members dial it: host:port
	Priority int    // higher priorities are elected first; 0 by default
	// Eligible is false for a witness: a member that votes and follows, but is never elected. A
	// leader that has resigned is ineligible for a while.
	Eligible bool
}

// Compare is the order of candidates: by eligibility, then by priority, then by ID. It is positive
// if m is higher than o.
func (m Member) Compare(o Member) int {
	if m.Eligible != o.Eligible {
		if m.Eligible {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(m.Priority, o.Priority), m.ID.Compare(o.ID))
}

// ConfigID orders the configs of a cluster, and so the views: by the epoch of the leader that wrote
// the config, then by its version. Term is 0 until a leader has written a config. All configs with
// term 0 of an algorithm that needs a majority have the same members, so their order has no meaning.
type ConfigID struct {
	Term    Epoch
	Version uint64
}

// Compare is negative if s is older than o, zero if they are equal, and positive if s is newer.
func (s ConfigID) Compare(o ConfigID) int {
	return cmp.Or(cmp.Compare(s.Term, o.Term), cmp.Compare(s.Version, o.Version))
}

// OlderThan reports whether s is older than o. It is false if no leader has written o.
func (s ConfigID) OlderThan(o ConfigID) bool { return o.Term > 0 && s.Compare(o) < 0 }

// View is an immutable snapshot of the config that an algorithm works with. It is cheap to copy.
// Members that have resigned are ineligible in it. The zero value is a view without members.
type View struct{ v *view }

type view struct {
	term    Epoch
	version uint64
	members []Member // sorted by ID
}

// NewView returns a view of members, which it copies. version identifies the config in the cluster and
// increases with each change. If several members have the same ID, the last one counts.
func NewView(version uint64, members ...Member) View {
	unique := slices.Clone(members)
	slices.Reverse(unique) // the last member of an ID comes first
	slices.SortStableFunc(unique, func(a, b Member) int { return a.ID.Compare(b.ID) })
	unique = slices.CompactFunc(unique, func(a, b Member) bool { return a.ID == b.ID })
	return View{&view{version: version, members: unique}}
}

// WithTerm returns the same view with the epoch of the leader that wrote its config.
func (w View) WithTerm(term Epoch) View {
	v := *w.get()
	v.term = term
	return View{&v}
}

var noView view

func (w View) get() *view {
	if w.v == nil {
		return &noView
	}
	return w.v
}

// Version returns the version of the config.
func (w View) Version() uint64 { return w.get().version }

// ConfigID returns the ID of the config, which orders it among the configs of the cluster.
func (w View) ConfigID() ConfigID { return ConfigID{w.get().term, w.get().version} }

// Len returns N, the number of members, including crashed ones.
func (w View) Len() int { return len(w.get().members) }

// Quorum returns the size of the smallest majority of the members.
func (w View) Quorum() int { return w.Len()/2 + 1 }

// At returns the member at position i in the order of IDs, which is also the order of the ring.
func (w View) At(i int) Member { return w.get().members[i] }

// All iterates over the members in the order of IDs.
func (w View) All() iter.Seq[Member] { return slices.Values(w.get().members) }

// Index returns the position of id in the order of IDs, or -1.
func (w View) Index(id NodeID) int {
	// This is hand-written because it runs several times for each message, and the function for
	// slices.BinarySearchFunc would receive a copy of a Member each time.
	members := w.get().members
	low, high := 0, len(members)
	for low < high {
		middle := int(uint(low+high) >> 1)
		switch c := members[middle].ID.Compare(id); {
		case c == 0:
			return middle
		case c < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	return -1
}

// Member returns the member with that ID, and whether there is one.
func (w View) Member(id NodeID) (Member, bool) {
	if i := w.Index(id); i >= 0 {
		return w.At(i), true
	}
	return Member{}, false
}

// IsEligible reports whether id is an eligible member.
func (w View) IsEligible(id NodeID) bool {
	m, _ := w.Member(id)
	return m.Eligible
}

// Contains reports whether id is a member.
func (w View) Contains(id NodeID) bool { return w.Index(id) >= 0 }

// Higher iterates over the eligible members that are higher than id in the order of candidates, in
// the order of IDs. It is empty for a non-member.
func (w View) Higher(id NodeID) iter.Seq[NodeID] {
	return w.pick(id, func(self, other Member) bool { return other.Eligible && other.Compare(self) > 0 })
}

// Lower iterates over the other members that are not in Higher.
func (w View) Lower(id NodeID) iter.Seq[NodeID] {
	return w.pick(id, func(self, other Member) bool { return !other.Eligible || other.Compare(self) < 0 })
}

// Others iterates over all members except id.
func (w View) Others(id NodeID) iter.Seq[NodeID] {
	return w.pick(id, func(Member, Member) bool { return true })
}

func (w View) pick(id NodeID, wanted func(self, other Member) bool) iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		self, ok := w.Member(id)
		if !ok {
			return
		}
		for _, m := range w.get().members {
			if m.ID != id && wanted(self, m) && !yield(m.ID) {
				return
			}
		}
	}
}

// IsHigher reports whether a is eligible and higher than b in the order of candidates. It is false
// if one of them is no member.
func (w View) IsHigher(a, b NodeID) bool {
	ma, ok := w.Member(a)
	mb, known := w.Member(b)
	return ok && known && ma.Eligible && ma.Compare(mb) > 0
}

// Successor returns the next member after id in the ring, that is, in the order of IDs. A single
// member is its own successor.
func (w View) Successor(id NodeID) NodeID { return w.At((w.Index(id) + 1) % w.Len()).ID }
