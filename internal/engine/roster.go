package engine

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/elect-go/elect/algo"
)

// roster is the membership that this node knows: what views are made of. Any two
// nodes that have seen the same changes, in whatever order, have the same one.
type roster struct {
	cluster algo.NodeID
	size    int     // of a fixed set
	entries []Entry // by ID, those that are gone included
	changed bool    // since it was last saved

	// strict is for algorithms that count votes. The roster is replaced as a whole, and
	// only the leader makes one. And a node that forgot its vote must not pass for the
	// one that it was: without strict, a node that keeps nothing takes its own seat again
	// at each restart, with a new ID.
	strict    bool
	epoch     algo.Epoch // see Roster
	number    uint64
	confirmed bool

	view   algo.View
	digest uint64

	// shared says that all of it belongs to other engines as well: see Settled. It ends
	// with the first change.
	shared bool
}

// Settled is a Roster that is worked out once, for a host that starts many engines which
// all know each other from the beginning. Each takes it for a saved record; they share
// its view, where a Roster would be as large again in each of them.
type Settled struct {
	roster Roster
	merged settledAs // for algorithms that ask no majority
	strict settledAs
}

type settledAs struct {
	view   algo.View
	digest uint64
}

// Settle works a roster out. It must not be changed afterwards.
func Settle(record Roster) Settled {
	as := func(strict bool) settledAs {
		r := roster{strict: strict}
		r.load(record)
		return settledAs{r.view, r.digest}
	}
	return Settled{roster: record, merged: as(false), strict: as(true)}
}

// Kind is "view", as that of a Roster.
func (Settled) Kind() string { return Roster{}.Kind() }

// share takes over what others have, too.
func (r *roster) share(s Settled) {
	r.take(s.roster)
	as := s.merged
	if r.strict {
		as = s.strict
	}
	r.view, r.digest = as.view, as.digest
	r.shared = true
}

// own ends the sharing, before a change.
func (r *roster) own() {
	if r.shared {
		r.entries, r.shared = slices.Clone(r.entries), false
	}
}

// load takes over what was saved.
func (r *roster) load(record Roster) {
	r.take(record)
	// It was merged before it was saved.
	r.entries = slices.Clone(record.Entries)
	r.rebuild()
	r.changed = false
}

// take is without a copy.
func (r *roster) take(record Roster) {
	r.cluster, r.size, r.entries = record.Cluster, record.Size, record.Entries
	if r.strict {
		r.epoch, r.number, r.confirmed = record.Epoch, record.Number, record.Confirmed
	}
}

// replace takes over another roster as a whole.
func (r *roster) replace(other Roster) {
	r.shared = false
	r.load(other)
	r.changed = true
}

// merging reports whether entries are merged one by one. With strict that is so only
// until the first leader: the members of a fixed set meet, and how many they are stands.
func (r *roster) merging() bool { return !r.strict || r.epoch == 0 && !r.confirmed }

// record is the roster as a message, which shares nothing with it.
func (r *roster) record() Roster {
	record := r.borrow()
	record.Entries = slices.Clone(r.entries)
	return record
}

// borrow is record for one look.
func (r *roster) borrow() Roster {
	return Roster{
		Cluster: r.cluster, Size: r.size, Epoch: r.epoch, Number: r.number, Confirmed: r.confirmed, Entries: r.entries,
	}
}

func (r *roster) search(id algo.NodeID) (int, bool) {
	return slices.BinarySearchFunc(r.entries, id, func(e Entry, id algo.NodeID) int { return e.ID.Compare(id) })
}

func (r *roster) find(id algo.NodeID) (Entry, bool) {
	if at, found := r.search(id); found {
		return r.entries[at], true
	}
	return Entry{}, false
}

// live returns the entries of members.
func (r *roster) live() []Entry {
	return slices.DeleteFunc(slices.Clone(r.entries), func(e Entry) bool { return e.Gone })
}

// holder returns who else has the seat of e: its name and address.
func (r *roster) holder(e Entry) (Entry, bool) {
	at := slices.IndexFunc(r.entries, func(o Entry) bool { return o.ID != e.ID && o.sameSeat(e) })
	if r.strict || at < 0 {
		return Entry{}, false
	}
	return r.entries[at], true
}

// next is the version of a change to e that counts everywhere: above that of e and
// of whoever had its seat before.
func (r *roster) next(e Entry) uint64 {
	known, _ := r.find(e.ID)
	holder, _ := r.holder(e)
	return max(known.Version, holder.Version) + 1
}

// put merges one entry in and reports whether that changed anything. The caller
// calls rebuild.
//
// Of two nodes with one seat the later one stays, and no trace of the other: else a
// node that keeps nothing would leave one behind at each of its restarts, until there
// is no room for more.
func (r *roster) put(e Entry) bool {
	at, found := r.search(e.ID)
	if found && !e.supersedes(r.entries[at]) {
		return false
	}
	r.own()
	if holder, taken := r.holder(e); taken {
		if !e.outlives(holder) {
			if found {
				r.entries = slices.Delete(r.entries, at, at+1)
				r.changed = true
			}
			return found
		}
		r.entries = slices.DeleteFunc(r.entries, func(o Entry) bool { return o.ID == holder.ID })
		at, found = r.search(e.ID)
	}
	if found {
		r.entries[at] = e
	} else {
		r.entries = slices.Insert(r.entries, at, e)
	}
	r.changed = true
	return true
}

// unmet is how many members of a fixed set nobody has met yet.
func (r *roster) unmet() int { return max(0, r.size-len(r.entries)) }

// rebuild makes the view anew.
func (r *roster) rebuild() {
	if r.shared {
		return // nothing changed
	}
	var members []algo.Member
	for _, e := range r.entries {
		if !e.Gone {
			members = append(members, e.member())
		}
	}
	stamp := r.borrow().stamp()
	// Members of a fixed set that nobody has met yet count for the quorum.
	r.view = algo.NewView(stamp.Number, len(members)+r.unmet(), members...)
	if stamp.Epoch > 0 {
		r.view = r.view.In(stamp.Epoch)
	}
	r.digest = sum(r.borrow())
}

// confirm has the roster known as one that a majority holds. The view is the same.
func (r *roster) confirm() {
	r.confirmed, r.changed = true, true
	r.digest = sum(r.borrow())
}

// versions is the sum of all of them. It grows with each change that is merged, and
// equal rosters have equal sums.
func versions(entries []Entry) (sum uint64) {
	for _, e := range entries {
		sum += e.Version
	}
	return sum
}

// A membership has to fit a frame, those that are gone included.
const (
	maxEntries = 512
	maxBytes   = 60 << 10 // of a frame of 64 KiB
)

// bytes is at least what an entry takes in a frame.
func (e Entry) bytes() int { return 48 + len(e.Name) + len(e.Addr) }

// room reports whether the roster still fits a frame with the entries merged in.
func (r *roster) room(more ...Entry) bool {
	count, bytes := len(r.entries), 0
	for _, e := range r.entries {
		bytes += e.bytes()
	}
	for _, e := range more {
		known, found := r.find(e.ID)
		holder, taken := r.holder(e)
		switch {
		case found:
			bytes += max(0, e.bytes()-known.bytes())
		case taken:
			bytes += max(0, e.bytes()-holder.bytes())
		default:
			count++
			bytes += e.bytes()
		}
	}
	return count <= maxEntries && bytes <= maxBytes
}

// spare drops the oldest of those that are gone until there is room for one more, where
// the leader makes the roster. Each member of a fixed set keeps its place.
func (r *roster) spare(newcomer Entry) {
	for !r.room(newcomer) && r.spares(newcomer) {
		r.entries = slices.Delete(r.entries, r.oldest(), r.oldest()+1)
	}
}

// spares reports whether spare can make room.
func (r *roster) spares(newcomer Entry) bool {
	if !r.strict {
		return false
	}
	left := roster{strict: true, size: r.size, entries: slices.Clone(r.entries)}
	for !left.room(newcomer) {
		at := left.oldest()
		if at < 0 {
			return false
		}
		left.entries = slices.Delete(left.entries, at, at+1)
	}
	return true
}

// oldest is the place of the entry that went first, of those that may be dropped, or -1.
func (r *roster) oldest() int {
	at := -1
	for i, e := range r.entries {
		if e.Gone && len(r.entries) > r.size && (at < 0 || e.Version < r.entries[at].Version) {
			at = i
		}
	}
	return at
}

// sum is FNV-1a over everything that is exchanged. Zero stands for no cluster.
func sum(r Roster) uint64 {
	h := fnv.New64a()
	var buf []byte
	text := func(s string) { buf = append(binary.AppendUvarint(buf, uint64(len(s))), s...) }
	flag := func(b bool) {
		if b {
			buf = append(buf, 1)
		} else {
			buf = append(buf, 0)
		}
	}
	buf = append(buf, r.Cluster[:]...)
	buf = binary.AppendVarint(buf, int64(r.Size))
	buf = binary.AppendUvarint(buf, uint64(r.Epoch))
	buf = binary.AppendUvarint(buf, r.Number)
	flag(r.Confirmed)
	for _, e := range r.Entries {
		buf = append(buf, e.ID[:]...)
		text(e.Name)
		text(e.Addr)
		buf = binary.AppendVarint(buf, int64(e.Priority))
		flag(e.Eligible)
		flag(e.Gone)
		buf = binary.AppendUvarint(buf, e.Version)
	}
	_, _ = h.Write(buf) // never fails
	return max(h.Sum64(), 1)
}
