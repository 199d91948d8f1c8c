package sim

import (
	"fmt"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/member"
	"github.com/elect-go/elect/internal/membership"
)

// knownMembers is what a node has saved of the membership.
type knownMembers struct {
	stamp     algo.Stamp
	committed bool
	ids       []algo.NodeID
	empty     int           // members of a fixed set that nobody has met
	struck    []algo.NodeID // who is removed, where no majority is needed
	text      string        // all of it
}

// membersIn reads a record of the membership.
func membersIn(record algo.Message) (h knownMembers) {
	switch r := record.(type) {
	case membership.Roster:
		h = knownMembers{stamp: r.Stamp(), committed: r.Confirmed, empty: r.Unmet, struck: r.Strikes, text: fmt.Sprint(r.Unmet, r.Entries, r.Strikes)}
		for _, e := range r.Entries {
			h.ids = append(h.ids, e.ID)
		}
	case member.Record:
		h = knownMembers{
			stamp:     algo.Stamp{Epoch: r.Config.ID.Term, Number: r.Config.ID.Version},
			committed: r.Committed,
			text:      fmt.Sprint(r.Config.Members, r.Config.Expired),
		}
		for _, e := range r.Config.Members {
			h.ids = append(h.ids, e.ID)
		}
	}
	return h
}
