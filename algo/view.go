package algo

import (
	"cmp"
	"iter"
	"slices"
)

// Member is one process of the cluster.
type Member struct {
	ID       NodeID
	Name     string // unique in the cluster
	Addr     string // where it listens: host:port, as others dial it
	Priority int    // a higher one is elected first; 0 unless configured
	// Eligible is false for a witness: a member that votes and is told, but is never
	// elected. A leader that resigned is one for a while.
	Eligible bool
}

// Compare is the order of candidates: eligible members are above the others, then
// a higher priority is above, then a higher ID. It is positive when m is above o.
func (m Member) Compare(o Member) int {
	if m.Eligible != o.Eligible {
		if m.Eligible {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(m.Priority, o.Priority), m.ID.Compare(o.ID))
}

// Stamp orders the views of a cluster, in which only the leader changes the membership: by
// the epoch of the leader that made the view, then by its number. Other names for it are
// configuration term and version. Epoch is 0 before there was such a leader: then all views
// of an algorithm that needs a majority have the same members, and their order means nothing.
type Stamp struct {
	Epoch  Epoch
	Number uint64
}

// Compare is negative when s is older than o, zero when they are the same, and positive
// when s is newer.
func (s Stamp) Compare(o Stamp) int {
	return cmp.Or(cmp.Compare(s.Epoch, o.Epoch), cmp.Compare(s.Number, o.Number))
}

// OlderThan reports whether s comes before o. Nothing is older than what no leader has
// made.
func (s Stamp) OlderThan(o Stamp) bool { return o.Epoch > 0 && s.Compare(o) < 0 }

// View is the membership as one node knows it: immutable, cheap to copy, shared.
// The zero value is a view without members.
type View struct{ v *view }

type view struct {
	epoch   Epoch
	number  uint64
	members []Member // sorted by ID
}

// NewView returns a view of the members, which it copies. Its number tells it
// from other views of the cluster and grows with every change. Of members with the
// same ID the last counts.
func NewView(number uint64, members ...Member) View {
	unique := slices.Clone(members)
	slices.Reverse(unique) // so that the last of the same ID is the first
	slices.SortStableFunc(unique, func(a, b Member) int { return a.ID.Compare(b.ID) })
	unique = slices.CompactFunc(unique, func(a, b Member) bool { return a.ID == b.ID })
	return View{&view{number: number, members: unique}}
}

// In returns the same view as one that the leader of an epoch made.
func (w View) In(epoch Epoch) View {
	v := *w.get()
	v.epoch = epoch
	return View{&v}
}

var noView view

func (w View) get() *view {
	if w.v == nil {
		return &noView
	}
	return w.v
}

// Number tells the view from the cluster's other views.
func (w View) Number() uint64 { return w.get().number }

// Stamp is the place of the view among those of its cluster.
func (w View) Stamp() Stamp { return Stamp{w.get().epoch, w.get().number} }

// Len is N: how many members the cluster has, alive or not.
func (w View) Len() int { return len(w.get().members) }

// Quorum is the smallest majority of the members.
func (w View) Quorum() int { return w.Len()/2 + 1 }

// At returns the member at position i of the order of IDs, which is the order of
// the ring.
func (w View) At(i int) Member { return w.get().members[i] }

// All iterates over the members in the order of IDs.
func (w View) All() iter.Seq[Member] { return slices.Values(w.get().members) }

// Index returns the position of id in the order of IDs, or -1.
func (w View) Index(id NodeID) int {
	// By hand, for it is done several times for every message, and a function that
	// compares would get a copy of a whole Member each time.
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

// Member returns the member of that ID.
func (w View) Member(id NodeID) (Member, bool) {
	if i := w.Index(id); i >= 0 {
		return w.At(i), true
	}
	return Member{}, false
}

// MayLead reports whether id is a member that may be elected.
func (w View) MayLead(id NodeID) bool {
	m, _ := w.Member(id)
	return m.Eligible
}

// Contains reports whether id is a member.
func (w View) Contains(id NodeID) bool { return w.Index(id) >= 0 }

// Above iterates over the eligible members above id in the order of candidates,
// in the order of IDs: those who lead rather than id. It is empty for a stranger.
func (w View) Above(id NodeID) iter.Seq[NodeID] {
	return w.pick(id, func(self, other Member) bool { return other.Eligible && other.Compare(self) > 0 })
}

// Below iterates over the members that Above leaves out, except id itself.
func (w View) Below(id NodeID) iter.Seq[NodeID] {
	return w.pick(id, func(self, other Member) bool { return !other.Eligible || other.Compare(self) < 0 })
}

// Others iterates over all members but id.
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

// IsAbove reports whether a is eligible and above b in the order of candidates.
// Both must be members.
func (w View) IsAbove(a, b NodeID) bool {
	ma, ok := w.Member(a)
	mb, known := w.Member(b)
	return ok && known && ma.Eligible && ma.Compare(mb) > 0
}

// Successor returns the next member clockwise of a member, in the order of IDs. Alone, a
// member is its own successor.
func (w View) Successor(id NodeID) NodeID { return w.At((w.Index(id) + 1) % w.Len()).ID }
