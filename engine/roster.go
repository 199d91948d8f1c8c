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

	view   algo.View
	digest uint64
}

// load takes over what was saved.
func (r *roster) load(record Roster) {
	r.cluster, r.size = record.Cluster, record.Size
	for _, e := range record.Entries {
		r.put(e)
	}
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

// put merges one entry in and reports whether that changed anything. The caller
// calls rebuild.
func (r *roster) put(e Entry) bool {
	at, found := r.search(e.ID)
	switch {
	case !found:
		r.entries = slices.Insert(r.entries, at, e)
	case e.supersedes(r.entries[at]):
		r.entries[at] = e
	default:
		return false
	}
	r.changed = true
	return true
}

// rebuild makes the view anew. Its number is the sum of all versions: it grows by
// one with each change, and equal rosters have equal numbers.
func (r *roster) rebuild() {
	var number uint64
	var members []algo.Member
	for _, e := range r.entries {
		number += e.Version
		if !e.Gone {
			members = append(members, e.member())
		}
	}
	// Members of a fixed set that nobody has met yet count for the quorum.
	unmet := max(0, r.size-len(r.entries))
	r.view = algo.NewView(number, len(members)+unmet, members...)
	r.digest = r.sum()
}

// sum is FNV-1a over everything that is exchanged.
func (r *roster) sum() uint64 {
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
	buf = append(buf, r.cluster[:]...)
	buf = binary.AppendVarint(buf, int64(r.size))
	for _, e := range r.entries {
		buf = append(buf, e.ID[:]...)
		text(e.Name)
		text(e.Addr)
		buf = binary.AppendVarint(buf, int64(e.Priority))
		flag(e.Eligible)
		flag(e.Gone)
		buf = binary.AppendUvarint(buf, e.Version)
	}
	_, _ = h.Write(buf) // never fails
	return h.Sum64()
}
