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

	// strict is for algorithms that count votes: a node that forgot its vote must not
	// pass for the one that it was. Without it, a node that keeps nothing takes its own
	// seat again at each restart, with a new ID.
	strict bool

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
	view   algo.View
	digest uint64
}

// Settle works a roster out. It must not be changed afterwards.
func Settle(record Roster) Settled {
	var r roster
	r.load(record)
	return Settled{roster: record, view: r.view, digest: r.digest}
}

// Kind is "view", as that of a Roster.
func (Settled) Kind() string { return Roster{}.Kind() }

// share takes over what others have, too.
func (r *roster) share(s Settled) {
	r.cluster, r.size, r.entries = s.roster.Cluster, s.roster.Size, s.roster.Entries
	r.view, r.digest = s.view, s.digest
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
	r.cluster, r.size = record.Cluster, record.Size
	// It was merged before it was saved.
	r.entries = slices.Clone(record.Entries)
	r.rebuild()
	r.changed = false
}

// record is the roster as a message, which shares nothing with it.
func (r *roster) record() Roster {
	return Roster{Cluster: r.cluster, Size: r.size, Entries: slices.Clone(r.entries)}
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

// rebuild makes the view anew. Its number is the sum of all versions: it grows with
// each change, and equal rosters have equal numbers.
func (r *roster) rebuild() {
	if r.shared {
		return // nothing changed
	}
	var number uint64
	var members []algo.Member
	for _, e := range r.entries {
		number += e.Version
		if !e.Gone {
			members = append(members, e.member())
		}
	}
	// Members of a fixed set that nobody has met yet count for the quorum.
	r.view = algo.NewView(number, len(members)+r.unmet(), members...)
	r.digest = sum(r.cluster, r.size, r.entries)
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

// sum is FNV-1a over everything that is exchanged. Zero stands for no cluster.
func sum(cluster algo.NodeID, size int, entries []Entry) uint64 {
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
	buf = append(buf, cluster[:]...)
	buf = binary.AppendVarint(buf, int64(size))
	for _, e := range entries {
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
