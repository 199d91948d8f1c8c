package membership

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/elect-go/elect/algo"
)

// leap is the grid of the epochs at which recovered rosters begin. Whoever was lost and goes on
// alone has to use up that many epochs to come so far; and it is far less than algo.MaxEpochLead,
// so that who comes back believes it.
const leap = 1 << 30

// Recovery is how one node goes on after a majority of its cluster was lost for good.
type Recovery struct {
	// Survivors are the members that stay, and Removed those that do not, by ID.
	Survivors, Removed []algo.Member
	// Unmet is how many seats of a fixed set nobody had taken: they are given up.
	Unmet int
	// Epoch is that of the new roster.
	Epoch algo.Epoch
	// Records are to be saved: none, if the survivors are all there is already.
	Records []algo.Message
}

// Recover works out how a node goes on that does not run, from what it has saved and the highest epoch
// that it has taken part in. Survivors are names or IDs.
//
// The survivors alone are members then, and all others are struck, also those whose strike was
// owed. Each survivor makes its own roster. Where they know the same, these are the same: the epoch
// is one for all who are less than a leap apart, unless a multiple of it lies between them. Where
// they do not, the later roster replaces the other when they meet, or that with the higher digest,
// and what the loser had struck and what it is itself is asked for again, as after a partition.
func Recover(self algo.NodeID, survivors []string, taken algo.Epoch, saved ...algo.Message) (r Recovery, err error) {
	known, owed := recall(saved)
	now := known.Roster
	if now.Cluster.IsZero() {
		return r, errors.New("it was never let into a cluster, there is nothing to recover")
	}
	stay, err := now.named(survivors)
	if err != nil {
		return r, err
	}
	if !slices.Contains(stay, self) {
		mine, _ := now.find(self)
		return r, fmt.Errorf("it is that of %s, which is not among the survivors", cmp.Or(mine.Name, self.String()))
	}
	next := now
	for _, e := range now.Entries {
		if !slices.Contains(stay, e.ID) {
			r.Removed = append(r.Removed, e.member())
			next = next.striking(e.ID)
		}
	}
	for _, id := range owed.Strikes {
		if !next.has(id) && !next.struck(id) {
			next = next.striking(id)
		}
	}
	highest := max(now.Epoch, taken)
	next.Epoch, next.Number, next.Confirmed, next.Unmet = (highest/leap+2)*leap, 1, true, 0
	if next.Epoch <= highest {
		return r, fmt.Errorf("after epoch %d there are not enough left: found a new cluster", highest)
	}
	next.Entries = slices.Clone(next.Entries)
	mayLead := slices.ContainsFunc(next.Entries, func(e Entry) bool { return e.Eligible })
	for i := range next.Entries {
		// Only a leader could make one of them eligible. What it should be, each says once there is one.
		next.Entries[i].Eligible = next.Entries[i].Eligible || !mayLead
		r.Survivors = append(r.Survivors, next.Entries[i].member())
	}
	r.Unmet, r.Epoch = now.Unmet, next.Epoch
	if len(r.Removed) > 0 || r.Unmet > 0 {
		r.Records = []algo.Message{next, Owed{}}
	}
	return r, nil
}

// named returns the IDs of members, each given by name or ID.
func (r Roster) named(members []string) (ids []algo.NodeID, err error) {
	for _, member := range members {
		at := slices.IndexFunc(r.Entries, func(e Entry) bool { return e.Name == member || e.ID.String() == member })
		if at < 0 {
			return nil, fmt.Errorf("it knows of no member %q: leave that out, and have it join anew, with an empty folder, when this is done", member)
		}
		ids = append(ids, r.Entries[at].ID)
	}
	return ids, nil
}
