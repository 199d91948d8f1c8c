package engine

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/membership"
)

// Recover works out, from the records of a node that does not run, how it goes on after a majority
// was lost for good: see [membership.Recover]. Of what the algorithm keeps nothing changes: it
// takes the epoch from the roster.
func Recover(self algo.NodeID, survivors []string, saved []algo.Message) (membership.Recovery, error) {
	var kept Kept
	var roster membership.Roster
	var owed membership.Owed
	for _, record := range saved {
		switch record := record.(type) {
		case Kept:
			kept = record
		case membership.Roster:
			roster = record
		case membership.Owed:
			owed = record
		}
	}
	return membership.Recover(self, survivors, kept.Epoch, roster, owed)
}
