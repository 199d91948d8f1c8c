package membership

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
)

// A roster has to fit a frame. What is left beside its members is room for strikes.
const (
	maxEntries = 512
	maxStrikes = 512
	maxBytes   = 60 << 10 // of a frame of 64 KiB
)

// bytes is at least what an entry takes in a frame, as strikeBytes is for a strike.
func (e Entry) bytes() int { return 40 + len(e.Name) + len(e.Addr) }

const strikeBytes = 18

// sameSeat reports whether two entries have one name and one address: one node, whose ID is
// new because it kept nothing.
func (e Entry) sameSeat(o Entry) bool { return e.Name == o.Name && e.Addr == o.Addr }

// malformed is what is wrong with an entry, whoever it is for, or nil. Names and addresses
// are shown in logs and tables, and dialled.
func (e Entry) malformed() error {
	bad := func(s string) bool {
		return s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	switch {
	case e.ID.IsZero():
		return errors.New("it is for nobody")
	case bad(e.Name) || bad(e.Addr):
		return fmt.Errorf("the name %q or the address %q of a member is empty or not plain text", e.Name, e.Addr)
	}
	return nil
}

// Stamp is the place of the roster among those of its cluster.
func (r Roster) Stamp() algo.Stamp { return algo.Stamp{Epoch: r.Epoch, Number: r.Number} }

func (r Roster) search(id algo.NodeID) (int, bool) {
	return slices.BinarySearchFunc(r.Entries, id, func(e Entry, id algo.NodeID) int { return e.ID.Compare(id) })
}

func (r Roster) find(id algo.NodeID) (Entry, bool) {
	if at, found := r.search(id); found {
		return r.Entries[at], true
	}
	return Entry{}, false
}

func (r Roster) has(id algo.NodeID) bool {
	_, found := r.search(id)
	return found
}

// struck reports whether somebody was removed.
func (r Roster) struck(id algo.NodeID) bool { return slices.Contains(r.Strikes, id) }

// size is how many count for a quorum, and quorum the smallest majority of them.
func (r Roster) size() int   { return len(r.Entries) + r.Unmet }
func (r Roster) quorum() int { return r.size()/2 + 1 }

// with is the roster with an entry put in, or in place of the one of its ID. Old strikes make
// room.
func (r Roster) with(e Entry) Roster {
	r.Entries = slices.Clone(r.Entries)
	if at, found := r.search(e.ID); found {
		r.Entries[at] = e
	} else {
		r.Entries = slices.Insert(r.Entries, at, e)
	}
	return r.trimmed()
}

// without is the roster without a member.
func (r Roster) without(id algo.NodeID) Roster {
	r.Entries = slices.DeleteFunc(slices.Clone(r.Entries), func(e Entry) bool { return e.ID == id })
	return r
}

// striking is the roster without a member, who is not let in again.
func (r Roster) striking(id algo.NodeID) Roster {
	r = r.without(id)
	r.Strikes = append(slices.Clone(r.Strikes), id)
	return r.trimmed()
}

// trimmed drops the oldest strikes for which there is no room. That costs at most that one
// who has been away for long is let in once more.
func (r Roster) trimmed() Roster {
	left := min(maxStrikes, (maxBytes-r.bytes())/strikeBytes)
	r.Strikes = r.Strikes[max(0, len(r.Strikes)-max(left, 0)):]
	return r
}

func (r Roster) bytes() (bytes int) {
	for _, e := range r.Entries {
		bytes += e.bytes()
	}
	return bytes
}

// fits reports whether there is room for the members.
func (r Roster) fits() bool { return len(r.Entries) <= maxEntries && r.bytes() <= maxBytes }

// sameVoters reports whether two rosters have the same members, whatever these are like.
func sameVoters(a, b Roster) bool {
	return a.Unmet == b.Unmet && slices.EqualFunc(a.Entries, b.Entries, func(a, b Entry) bool { return a.ID == b.ID })
}

// overlap reports whether any two majorities, one of each roster, have a member in common.
// Who takes an empty seat of a fixed set was counted before.
func overlap(before, after Roster) bool {
	all := after.size()
	for _, e := range before.Entries {
		if !after.has(e.ID) {
			all++
		}
	}
	return before.quorum()+after.quorum() > max(all, before.size())
}

// flag is what is said of a member or a roster, as a number.
var flag = map[bool]byte{true: 1}

// sum is FNV-1a over everything that is exchanged. Zero stands for no cluster.
func sum(r Roster) uint64 {
	if r.Cluster.IsZero() {
		return 0
	}
	h := fnv.New64a()
	var buf []byte
	text := func(s string) { buf = append(binary.AppendUvarint(buf, uint64(len(s))), s...) }
	buf = append(buf, r.Cluster[:]...)
	buf = binary.AppendVarint(buf, int64(r.Unmet))
	buf = binary.AppendUvarint(buf, uint64(r.Epoch))
	buf = binary.AppendUvarint(buf, r.Number)
	buf = append(buf, flag[r.Confirmed])
	for _, e := range r.Entries {
		buf = append(buf, e.ID[:]...)
		text(e.Name)
		text(e.Addr)
		buf = binary.AppendVarint(buf, int64(e.Priority))
		buf = append(buf, flag[e.Eligible])
	}
	for _, id := range r.Strikes {
		buf = append(buf, id[:]...)
	}
	_, _ = h.Write(buf) // never fails
	return max(h.Sum64(), 1)
}

// Known is a Roster that is worked out once, for a host that starts many machines that all
// know each other from the beginning. Each takes it for a saved record, and they share it.
type Known struct {
	Roster
	view   algo.View
	digest uint64
}

// Know works a roster out.
func Know(r Roster) Known {
	members := make([]algo.Member, 0, len(r.Entries))
	for _, e := range r.Entries {
		members = append(members, e.member())
	}
	number := r.Number
	if r.Epoch == 0 {
		number = uint64(len(members)) // of those that were met
	}
	// Seats that nobody has taken yet count for the quorum.
	return Known{r, algo.NewView(number, r.size(), members...).In(r.Epoch), sum(r)}
}

// compare is the order of rosters: positive when k is the later one. The digest orders those
// of two leaders of one epoch, so that all choose alike.
func (k Known) compare(o Known) int {
	return cmp.Or(
		k.Stamp().Compare(o.Stamp()),
		cmp.Compare(flag[k.Confirmed], flag[o.Confirmed]),
		cmp.Compare(k.digest, o.digest),
	)
}

// merging reports whether the members of a fixed set still make each other known: no leader
// has made a roster yet. Then rosters are put together.
func (r Roster) merging() bool { return r.Epoch == 0 && !r.Confirmed }

// meeting reports whether seats of it are empty yet.
func (r Roster) meeting() bool { return r.merging() && r.Unmet > 0 }
